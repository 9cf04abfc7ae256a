"""What every method copies and waits for in a training step on a device, counted on the one that needs no GPU."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import torch

from cold.config import make_config
from cold.methods.base import Batch
from cold.streams import Streams
from cold.trainer import Trainer
from tests.cold import second_device

SETTING: dict[str, Any] = {
    "dataset": "synthetic", "tasks": 3, "limit_train": 300, "limit_test": 20, "epochs": 1, "batch_size": 4,
    "memory": 60, "memory_batch": 2, "lr": 1e-3, "threads": 1,
}  # fmt: skip
NETWORKS: dict[str, dict[str, Any]] = {
    "mlp": {"model": "mlp-16-16", "data_options": {"classes": 6, "shape": [1, 6, 6]}},
    "resnet": {
        "model": "resnet18", "width": 2, "augment": True, "data_options": {"classes": 6, "shape": [3, 16, 16]},
    },
}  # fmt: skip
STREAM: dict[str, Any] = {"memory_policy": "reservoir", "replay": "mixed"}
#: Few inner steps where the published number would take minutes.
SHORT: dict[str, dict[str, Any]] = {
    "mer": {"limit_train": 60, "options": {"batches": 2}}, "gdumb": {"options": {"passes": 2}},
}  # fmt: skip


@dataclass
class Traffic:
    """Events of the training steps from the second task on; a name is "kind operation place"."""

    steps: int = 0
    inside: Counter[str] = field(default_factory=Counter)  #: in the method's steps, blocks of draws left out
    blocks: int = 0  #: copies of draws that were made for many steps at once
    between: Counter[str] = field(default_factory=Counter)  #: in the loop around the steps
    most: int = 0  #: the most events that one step had

    def per_step(self, kind: str) -> float:
        return sum(n for name, n in self.inside.items() if name.startswith(kind)) / max(self.steps, 1)


def traffic(method: str, network: str, **changes: Any) -> Traffic:
    """One short run on the second device, in a process of its own."""
    device = second_device.device()
    short = SHORT.get(method, {})
    options = {**short.get("options", {}), **changes.pop("options", {})}
    config = make_config(
        SETTING, NETWORKS[network], {k: v for k, v in short.items() if k != "options"},
        {"method": method, "options": options, "device": str(device)}, changes,
    )  # fmt: skip
    plain = Streams._get
    # torch has no generator for such a device; one of the CPU draws the same law
    Streams._get = lambda self, name, _: plain(self, name, torch.device("cpu"))  # type: ignore[method-assign]
    try:
        return _counted(Trainer(config))
    finally:
        Streams._get = plain  # type: ignore[method-assign]


def _counted(trainer: Trainer) -> Traffic:
    found, seen, step = Traffic(), second_device.events(), trainer.method.step
    last = len(seen)
    steps_before = [0]

    def watched(batch: Batch) -> torch.Tensor:
        nonlocal last
        if batch.task and steps_before[0]:
            found.between.update(_names(seen[last:]))
        start = len(seen)
        loss = step(batch)
        last, steps_before[0] = len(seen), steps_before[0] + 1
        if batch.task:
            found.steps += 1
            here = [event for event in seen[start:] if not event.where.startswith("ahead.py")]
            found.blocks += last - start - len(here)
            found.most = max(found.most, len(here))
            found.inside.update(_names(here))
        return loss

    def fresh(*_: Any) -> None:
        steps_before[0] = 0

    begin = trainer.method.begin_task

    def begin_task(task: int, train: Any) -> None:
        fresh()
        begin(task, train)

    trainer.method.step, trainer.method.begin_task = watched, begin_task  # type: ignore[method-assign]
    result = trainer.run()
    assert all(math.isfinite(x) for x in result.arrays["accuracy"].ravel())
    return found


def _names(events: list[second_device.Event]) -> list[str]:
    return [f"{event.kind} {event.operation} {event.where}" for event in events]
