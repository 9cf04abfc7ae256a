"""How much work a run is, in passes of one sample through the network; counted, not measured.

One unit is forward and backward; a forward pass alone (evaluation, reference losses) is a third of it. Samples a step
of each method are those of tab:complexity_comparison.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from coldtheory.ground.errors import ColdError

from ..config import RunConfig
from ..plots.names import same

FORWARD = 1 / 3
#: training and test images of each dataset, in all; image shape; whether every task has all of them
_SIZES: dict[str, tuple[int, int, tuple[int, int, int], bool]] = {
    "pmnist": (60_000, 10_000, (1, 28, 28), True),
    "split-mnist": (60_000, 10_000, (1, 28, 28), False),
    "split-cifar10": (50_000, 10_000, (3, 32, 32), False),
    "split-cifar100": (50_000, 10_000, (3, 32, 32), False),
    "split-tinyimagenet": (100_000, 10_000, (3, 64, 64), False),
}
_CLASSES = {"pmnist": 10, "split-mnist": 10, "split-cifar10": 10, "split-cifar100": 100, "split-tinyimagenet": 200}
_TASKS = {"pmnist": 20, "split-mnist": 5, "split-cifar10": 5, "split-cifar100": 20, "split-tinyimagenet": 20}
#: passes of each present sample and of each memory sample in a step; others (1, 1)
_A_STEP = {"finetune": (1, 0), "ewc": (1, 0), "er-ace": (1, 2), "cba": (1, 2), "mer": (10, 10), "refresh": (2, 2)}


@dataclass(frozen=True)
class Work:
    """Of one run. `steps[t]`, `samples[t]`: steps and passes a step in task t; `forward`: forward passes besides."""

    steps: tuple[int, ...]
    samples: tuple[float, ...]
    forward: float
    extra: float = 0.0  #: passes outside of steps (GDumb trains when the task has ended)

    @property
    def units(self) -> float:
        inside = sum(steps * samples for steps, samples in zip(self.steps, self.samples, strict=True))
        return inside + self.extra + FORWARD * self.forward


def work(config: RunConfig) -> Work:
    tasks, train, test = sizes(config)
    steps = config.epochs * math.ceil(train / config.batch_size)
    present, past = next((f for name, f in _A_STEP.items() if same(name, config.method)), (1, 1))
    kept = config.memory // tasks
    drawn = [memory_samples(config, t, kept) for t in range(tasks)]
    dumb = same("gdumb", config.method)
    uses_memory = past > 0 and not dumb
    reference = sum(config.reference_passes * kept * t for t in range(tasks)) if config.method.startswith("cold") else 0
    return Work(
        steps=(0 if dumb else steps,) * tasks,
        samples=tuple(present * config.batch_size + past * drawn[t] * uses_memory for t in range(tasks)),
        forward=(tasks + 1) * tasks * test + reference,
        extra=sum(float(config.options.get("passes", 256)) * kept * (t + 1) for t in range(tasks)) if dumb else 0.0,
    )


def memory_samples(config: RunConfig, t: int, kept: int) -> int:
    """Samples drawn from the memory in a step of task t, the first being 0."""
    if t == 0:
        return 0
    return min(config.memory_batch, kept) * t if config.replay == "per-task" else config.memory_batch


def sizes(config: RunConfig) -> tuple[int, int, int]:
    """Tasks, and training and test samples of each."""
    if config.dataset == "synthetic":
        tasks = config.tasks or 5
        per_task = int(config.data_options.get("classes", 10)) / tasks
        train, test = (
            int(per_task * config.data_options.get(n, d)) for n, d in (("train_per_class", 200), ("test_per_class", 50))
        )
    elif config.dataset in _SIZES:
        tasks = config.tasks or _TASKS[config.dataset]
        all_train, all_test, _, permuted = _SIZES[config.dataset]
        train, test = (all_train, all_test) if permuted else (all_train // tasks, all_test // tasks)
    else:
        raise ColdError(f"how large {config.dataset} is cannot be told before it is loaded; run it without --dry-run")
    return tasks, min(train, config.limit_train or train), min(test, config.limit_test or test)


def shape(config: RunConfig) -> tuple[tuple[int, int, int], int]:
    """The shape of an image, and the number of classes in all."""
    if config.dataset == "synthetic":
        channels, height, width = config.data_options.get("shape", (1, 16, 16))
        return (channels, height, width), int(config.data_options.get("classes", 10))
    return _SIZES[config.dataset][2], _CLASSES[config.dataset]


def size_of_pass(config: RunConfig) -> float:
    """A pass in units of one 32 x 32 image through ResNet-18 of width 64, by multiplications.

    The MLPs have some 0.27 million, ResNet-18 has 556 million; convolutions grow with the square of width and side.
    """
    (_, height, width), _ = shape(config)
    if (config.model or ("mlp" if "mnist" in config.dataset else "resnet18")).startswith("mlp"):
        return 0.27 / 556
    return (config.width / 64) ** 2 * height * width / 32**2
