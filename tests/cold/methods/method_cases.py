"""Tiny benchmarks of every kind, and tiny settings of every method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from cold.config import make_config
from cold.data import Benchmark, from_tensors, load_benchmark
from cold.methods import Batch
from cold.trainer import Trainer

TINY: dict[str, Any] = {
    "epochs": 2, "batch_size": 10, "memory": 16, "memory_batch": 3, "lr": 0.05, "optimizer": "sgdm", "momentum": 0.0,
    "threads": 1, "model": "mlp-12",
}  # fmt: skip
STREAM: dict[str, Any] = {"memory_policy": "reservoir", "replay": "mixed", "options": {"fill": "stream"}}
#: Few inner steps and passes where the published number would take minutes; averages that follow in a few dozen steps.
SMALL_OPTIONS: dict[str, dict[str, Any]] = {
    "mer": {"batches": 2},
    "gdumb": {"passes": 3},
    "cls-er": {"stable_rate": 1.0, "stable_decay": 0.5, "plastic_rate": 1.0, "plastic_decay": 0.5},
}


def two_widths() -> Benchmark:
    """Three tasks with 3, 2 and 4 classes, each its own head."""
    generator = torch.Generator().manual_seed(5)
    tasks = []
    for count in (3, 2, 4):
        x, y = torch.randn(36, 6, generator=generator), torch.arange(36) % count
        tasks.append((x, y, x[:12], y[:12]))
    return from_tensors(tasks, name="widths")


def class_incremental() -> Benchmark:
    """One head of four classes, two of them in each of two tasks."""
    generator = torch.Generator().manual_seed(6)
    x, y = torch.randn(40, 6, generator=generator), torch.arange(40) % 2
    return from_tensors([(x, y, x, y), (-x, y + 2, -x, y + 2)], scenario="domain", name="classes")


def _images(**options: Any) -> Benchmark:
    return load_benchmark("synthetic", tasks=2, limit_train=30, limit_test=10, shape=(1, 6, 6), classes=4, **options)


BENCHMARKS: dict[str, Callable[[], Benchmark]] = {
    "heads": _images,
    "permuted": lambda: _images(permuted=True),
    "shared head": lambda: _images(heads="shared"),
    "two widths": two_widths,
    "class-incremental": class_incremental,
}


def trainer(method: str, benchmark: Benchmark, **changes: Any) -> Trainer:
    options = {**SMALL_OPTIONS.get(method, {}), **changes.pop("options", {})}
    return Trainer(make_config(TINY, {"method": method, "options": options}, changes), benchmark=benchmark)


def in_second_task(method: str, benchmark: Benchmark, **changes: Any) -> tuple[Trainer, Batch]:
    """A method that has finished its first task, and a batch of the second."""
    made = trainer(method, benchmark, **changes)
    first, second = made.benchmark.tasks[:2]
    made.method.begin_task(0, first.train)
    made.train_epoch()
    made.method.end_task(0, first.train)
    made.method.begin_task(1, second.train)
    rows = torch.arange(6)
    return made, Batch(second.train.raw(rows), second.train.y[rows], 1, second.head)


def weights(made: Trainer) -> list[torch.Tensor]:
    return [p.detach().clone() for p in made.model.parameters()]
