"""What every method copies and waits for in a training step on a device, counted on the one that needs no GPU."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from cold.catalogue import METHODS
from cold.config import RunConfig, make_config
from cold.methods.base import Batch
from cold.streams import Streams
from cold.trainer import Trainer
from tests.cold import second_device

SETTING: dict[str, Any] = {
    "dataset": "synthetic", "tasks": 3, "limit_train": 160, "limit_test": 20, "epochs": 1, "batch_size": 4,
    "memory": 60, "memory_batch": 2, "lr": 1e-3, "threads": 1,
}  # fmt: skip
NETWORKS: dict[str, dict[str, Any]] = {
    "mlp": {"model": "mlp-16-16", "data_options": {"classes": 6, "shape": [1, 6, 6]}},
    "resnet": {
        "model": "resnet18", "width": 2, "augment": True, "optimizer": "sgdm", "limit_train": 60,
        "data_options": {"classes": 6, "shape": [3, 16, 16]},
    },
}  # fmt: skip
#: How the memory is filled: when a task ends, or along the stream.
FILLS: dict[str, dict[str, Any]] = {
    "task-end": {},
    "stream": {"memory_policy": "reservoir", "replay": "mixed", "options": {"fill": "stream"}},
}
#: Few inner steps and passes where the published number would take minutes.
SHORT: dict[str, dict[str, Any]] = {
    "mer": {"limit_train": 40, "options": {"batches": 2}}, "gdumb": {"options": {"passes": 2}},
}  # fmt: skip
#: Modules that move what many steps need in one copy.
_BLOCKS = ("cold.ahead:", "cold.methods.joint:")


def fills(method: str) -> list[str]:
    """The ways in which a method's memory can be filled."""
    return [fill for fill in FILLS if fill == "task-end" or "fill" in METHODS[method].defaults()]


@dataclass
class Traffic:
    """Events of the training steps from the second task on."""

    steps: int = 0
    tasks: int = 0
    inside: list[Counter[str]] = field(default_factory=list)  #: of each step of the method, by kind; no blocks
    places: Counter[str] = field(default_factory=Counter)  #: of these steps together, by "kind operation place"
    blocks: int = 0  #: copies of what many steps need
    between: int = 0  #: events of the loop around the steps: the look at the last losses and queues
    orders: Counter[str] = field(default_factory=Counter)  #: of the whole run: sums in an order that a GPU chooses

    def most(self, kind: str) -> int:
        """The most events of a kind that one step had."""
        return max((counts[kind] for counts in self.inside), default=0)

    def per_step(self, kind: str) -> float:
        return sum(counts[kind] for counts in self.inside) / max(self.steps, 1)


def traffic(method: str, network: str, fill: str = "task-end", **changes: Any) -> Traffic:
    """One short run on the second device; in a process of its own, see `second_device`."""
    device = second_device.device()
    with _generators():
        return _counted(Trainer(_config(method, network, fill, device, changes)))


def weights(method: str, network: str, fill: str, on_device: bool, **changes: Any) -> list[list[float]]:
    """The weights after one short run, on the second device or on the CPU."""
    device = second_device.device()  # in both cases: it must be there before the first backward pass
    with _generators():
        trainer = Trainer(_config(method, network, fill, device if on_device else torch.device("cpu"), changes))
        trainer.run()
    return [p.detach().flatten().tolist() for p in trainer.method.network_for_evaluation().parameters()]


def _config(method: str, network: str, fill: str, device: torch.device, changes: dict[str, Any]) -> RunConfig:
    layers = [SETTING, NETWORKS[network], SHORT.get(method, {}), FILLS[fill], changes]
    return make_config(*layers, {"method": method, "device": str(device)})


@contextmanager
def _generators() -> Iterator[None]:
    """Torch has no generator for such a device; one of the CPU stands in."""
    plain: Any = Streams._get
    Streams._get = lambda self, name, _: plain(self, name, torch.device("cpu"))  # type: ignore[method-assign]
    try:
        yield
    finally:
        Streams._get = plain  # type: ignore[method-assign]


def _counted(trainer: Trainer) -> Traffic:
    found, seen = Traffic(), second_device.events()
    first = len(seen)
    step, begin = trainer.method.step, trainer.method.begin_task
    end_of_last: int | None = None  # step of this task: how many events there were

    def watched_step(batch: Batch) -> torch.Tensor:
        nonlocal end_of_last
        start = len(seen)
        loss = step(batch)
        if batch.task:
            events = [event for event in seen[start:] if not event.where.startswith(_BLOCKS)]
            found.steps += 1
            found.inside.append(Counter(event.kind for event in events))
            found.places.update(f"{event.kind} {event.operation} {event.where}" for event in events)
            found.blocks += len(seen) - start - len(events)
            found.between += 0 if end_of_last is None else start - end_of_last
        end_of_last = len(seen)
        return loss

    def watched_begin(task: int, train: Any) -> None:
        nonlocal end_of_last
        begin(task, train)
        end_of_last = None
        found.tasks += bool(task)

    trainer.method.step, trainer.method.begin_task = watched_step, watched_begin  # type: ignore[method-assign]
    result = trainer.run()
    assert all(math.isfinite(x) for x in result.arrays["accuracy"].ravel())
    found.orders.update(f"{event.operation} {event.where}" for event in seen[first:] if event.kind == "order")
    return found
