"""Measured costs of methods on a small benchmark: time per step and stored numbers, in an early and in a late task."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..config import make_config
from ..data import Part
from ..methods import Batch, Method
from ..methods.fisher import diagonal_fisher
from ..models import HeadedModel
from ..models.networks import mlp
from ..trainer import Trainer

_TASKS = 8
_SETTING: dict[str, Any] = {
    "dataset": "synthetic", "tasks": _TASKS, "epochs": 1, "batch_size": 64, "memory": 256, "memory_batch": 32,
    "replay": "mixed", "model": "mlp-256", "lr": 1e-4, "threads": 1, "device": "cpu",
    "limit_train": 256, "limit_test": 32,
    "data_options": {"classes": 2 * _TASKS, "shape": [1, 16, 16], "train_per_class": 128},
}  # fmt: skip
_REDUCED: dict[str, dict[str, Any]] = {"mer": {"batches": 1, "form": "mini-batch"}, "gdumb": {"passes": 1}}
_REPEATS = 4  # the least of them counts, since disturbances only add time
_STEPS = 5  # measured together, because CBA's outer level acts in every fifth step


def measured(name: str) -> dict[str, Any]:
    """Measure processor milliseconds per step and the numbers stored beside the model, in task 2 and in the last task.

    Every task replays 32 samples, drawn from all past tasks, so that any growth comes from the rule.
    """
    trainer = _trainer(name)
    method, times, stored = trainer.method, [], []
    for task, part in enumerate(trainer.benchmark.tasks):
        method.begin_task(task, part.train)
        batch = _batch(part.train, task, part.head)
        if task in (1, _TASKS - 1):
            times.append(_milliseconds(method, batch))
            stored.append(numbers(method))
        else:
            method.step(batch)
        method.end_task(task, part.train)
    return {"step_ms": times, "stored": stored, "reduced": _REDUCED.get(name, {})}


def numbers(method: Method) -> int:
    """Count the numbers that a method keeps in a checkpoint, beside model, optimiser and random streams."""

    def count(value: Any) -> int:
        if isinstance(value, Tensor):
            return value.numel()
        if isinstance(value, dict):
            return sum(count(v) for v in value.values())
        return sum(count(v) for v in value) if isinstance(value, list | tuple) else 0

    return count(method.state())


def fisher_speed(samples: int = 4096, looped: int = 128) -> dict[str, float]:
    """Compare the batched Fisher of the paper's network for Permuted-MNIST with one backward pass per sample.

    Times are measured in single precision, the difference in double, where rounding does not switch a ReLU.
    """
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(samples, 784, generator=generator)
    part = Part(x, torch.arange(samples), torch.arange(samples) % 10)
    few = Part(x, torch.arange(looped), torch.arange(looped) % 10)
    model = _network(generator)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    batched = min(_seconds(lambda: diagonal_fisher(model, part, 0, lambda raw: raw)) for _ in range(3)) / samples
    loop = min(_seconds(lambda: looped_fisher(model, few, 0)) for _ in range(2)) / looped
    torch.set_num_threads(threads)
    model, few = model.double(), Part(x.double(), few.index, few.y)
    pairs = zip(diagonal_fisher(model, few, 0, lambda raw: raw), looped_fisher(model, few, 0), strict=True)
    difference = max(float((a - b).abs().max() / b.max()) for a, b in pairs)
    return {"samples": samples, "seconds_a_sample": batched, "ratio": loop / batched, "difference": difference}


def _network(generator: torch.Generator) -> HeadedModel:
    backbone, features = mlp((784,), [256, 256])
    model = HeadedModel(backbone, [nn.Linear(features, 10)])
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.rand(p.shape, generator=generator).sub(0.5) / 10)
    return model


def looped_fisher(model: nn.Module, samples: Part, head: int) -> list[Tensor]:
    """Compute the same sum with one backward pass per sample."""
    weights = list(model.parameters())
    total = [torch.zeros_like(p) for p in weights]
    for i in range(len(samples)):
        row = torch.tensor([i])
        value = -functional.cross_entropy(model(samples.raw(row), [(head, 1)])[0], samples.y[row])
        slopes = torch.autograd.grad(value, weights, allow_unused=True, materialize_grads=True)
        for place, slope in zip(total, slopes, strict=True):
            place.add_(value.detach().exp() * slope.square())
    return [value / len(samples) for value in total]


def _trainer(name: str) -> Trainer:
    return Trainer(make_config(_SETTING, {"method": name, "options": _REDUCED.get(name, {})}))


def _batch(part: Part, task: int, head: int) -> Batch:
    rows = torch.arange(_SETTING["batch_size"])
    return Batch(part.raw(rows), part.y[rows], task, head)


def _milliseconds(method: Method, batch: Batch) -> float:
    method.step(batch)

    def steps() -> None:
        for _ in range(_STEPS):
            method.step(batch)

    return 1e3 * min(_seconds(steps) for _ in range(_REPEATS)) / _STEPS


def _seconds(action: Callable[[], object]) -> float:
    """Return processor seconds on one thread, which other programs do not change."""
    start = time.process_time()
    action()
    return time.process_time() - start
