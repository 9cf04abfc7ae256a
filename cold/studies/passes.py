"""How much work a run is, in passes of one sample through the network; counted, not measured.

One unit is forward and backward; a forward pass alone (evaluation, reference losses) is a third of it. How often each
method passes a sample through the network in one step is in `cold.catalogue`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from coldtheory.ground.errors import ColdError

from ..catalogue import BENCHMARKS, METHODS, BenchmarkEntry, canonical
from ..config import RunConfig

FORWARD = 1 / 3


@dataclass(frozen=True)
class Work:
    """Of one run. `steps[t]`, `samples[t]`: steps and passes per step in task t; `forward`: forward passes besides."""

    steps: tuple[int, ...]
    samples: tuple[float, ...]
    forward: float
    extra: float = 0.0  #: passes outside of steps (GDumb trains when the task has ended)

    @property
    def units(self) -> float:
        """All work of the run in passes of one sample, forward and backward."""
        inside = sum(steps * samples for steps, samples in zip(self.steps, self.samples, strict=True))
        return inside + self.extra + FORWARD * self.forward


def work(config: RunConfig) -> Work:
    """How much work a run is, from its settings alone; raises `ColdError` if the size of its data is not known."""
    tasks, train, test = sizes(config)
    steps = config.epochs * math.ceil(train / config.batch_size)
    entry = METHODS.get(canonical(config.method))
    present, past = (1, 1) if entry is None else entry.passes_per_step  # a method of the user's own: as plain replay
    kept = config.memory // tasks
    drawn = [memory_samples(config, t, kept) for t in range(tasks)]
    dumb = entry is METHODS["gdumb"]
    passes = float(config.options.get("passes", METHODS["gdumb"].defaults()["passes"]))
    has_queues = entry is not None and entry.has_queues
    reference = sum(config.reference_passes * kept * t for t in range(tasks)) if has_queues else 0
    return Work(
        steps=(0 if dumb else steps,) * tasks,
        samples=tuple(present * config.batch_size + past * drawn[t] for t in range(tasks)),
        forward=(tasks + 1) * tasks * test + reference,
        extra=sum(passes * kept * (t + 1) for t in range(tasks)) if dumb else 0.0,
    )


def memory_samples(config: RunConfig, t: int, kept: int) -> int:
    """Samples drawn from the memory in a step of task t, the first being 0."""
    if t == 0:
        return 0
    return min(config.memory_batch, kept) * t if config.replay == "per-task" else config.memory_batch


def sizes(config: RunConfig) -> tuple[int, int, int]:
    """The number of tasks, and of training and test samples of each."""
    entry = _benchmark(config)
    tasks = config.tasks or entry.tasks
    train, test = entry.per_task(tasks)
    if entry.name == "synthetic":
        given = config.data_options
        per_task = int(given.get("classes", entry.classes)) / tasks
        train = int(per_task * given.get("train_per_class", entry.train // entry.classes))
        test = int(per_task * given.get("test_per_class", entry.test // entry.classes))
    return tasks, min(train, config.limit_train or train), min(test, config.limit_test or test)


def shape(config: RunConfig) -> tuple[tuple[int, int, int], int]:
    """The shape of an image, and the number of classes in all."""
    entry = _benchmark(config)
    given = config.data_options
    if entry.name != "synthetic":
        channels, height, width = entry.shape
        return (channels, given.get("size", height), given.get("size", width)), entry.classes
    channels, height, width = given.get("shape", entry.shape)
    return (channels, height, width), int(given.get("classes", entry.classes))


def size_of_pass(config: RunConfig) -> float:
    """A pass in units of one 32 x 32 image through ResNet-18 of width 64, by multiplications.

    The MLPs have some 0.27 million, ResNet-18 has 556 million; convolutions grow with the square of width and side.
    """
    (_, height, width), _ = shape(config)
    if (config.model or _benchmark(config).model or "resnet18").startswith("mlp"):
        return 0.27 / 556
    return (config.width / 64) ** 2 * height * width / 32**2


def _benchmark(config: RunConfig) -> BenchmarkEntry:
    if config.dataset not in BENCHMARKS:
        raise ColdError(f"how large {config.dataset} is cannot be told before it is loaded; run it without --dry-run")
    return BENCHMARKS[config.dataset]
