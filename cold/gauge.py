"""A gauge of real forgetting: samples of past tasks that no step ever trains on.

What a network has forgotten cannot be read off the samples that it replays, for it learns those by heart; nor off other
samples that it was trained on, for their loss was too small when the task ended. So before a task begins some of its
samples are set aside. They take up a part of the memory and are only looked at, as a test set would be: in evaluation
mode, without augmentation. For past task k and the model after t tasks

    F_k[t] = (mean loss of task k's gauge samples now) - (their mean loss when task k ended)          in nats

is an unbiased estimate of what the task has lost on new data; the share of right answers gives the same in accuracy.

Where all tasks are made from the same images, as in Permuted-MNIST, an image that measures one task must not be trained
on in any other. All tasks then set the same pool of images aside, and each is measured by a part of its own: were it
the same part, the luck of so few images would be the same in all tasks and not average out over them. The pool takes
at most a fiftieth of the images, for what it takes is not trained on; in small tasks all are measured by the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from coldtheory.ground.checks import number, whole
from coldtheory.ground.errors import ColdError

from .config import GAUGE, gauge_size
from .forgetting import CEILING, CEILING_WITH_NEW_CLASSES, FLOOR, RATIOS, START, Request
from .losses import Runs, joined, per_sample_losses
from .memory import Memory, Samples, picked
from .streams import derived_seed

_PIECE = 512  # samples of one forward
_POOL = 0.02  # share of the images of all tasks that their common pool may take, if one task needs no more
_COMPARED = 256  # labels of two tasks that tell whether their images are the same
Answers = Callable[[nn.Module, Tensor, Runs], list[Tensor]]  # stored samples -> logits of each piece, as for a test


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a task's samples."""

    samples: Samples
    rows: Tensor

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def y(self) -> Tensor:
        return self.samples.y[self.rows.to(self.samples.y.device)]

    def raw(self, rows: Tensor | None = None) -> Tensor:
        return self.samples.raw(self.rows if rows is None else self.rows.to(rows.device)[rows])

    def pick(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        return picked(self.samples, self.rows[rows])


class Gauge:
    """The gauge samples of all tasks: at most `size` of them, as many of each task."""

    def __init__(
        self, size: int, tasks: int | None, answers: Answers, *, seed: int = 0, device: torch.device | str = "cpu"
    ) -> None:
        if size < (tasks or 1):
            raise ColdError(
                f"a gauge of {size} samples holds less than one of each of {tasks} tasks; take a larger gauge or memory"
            )
        self.memory = Memory(size, tasks, device=device)
        self._answers, self._seed = answers, seed
        self._heads: list[int] = []  # of each task in the gauge
        self._at = 0  # where the next look begins in each task's samples
        self._first: list[int] | None = None  # how many samples the first task has, and some of its labels
        self._pool = 0  # how many rows are set aside in tasks made from the same images
        self.losses: list[Tensor] = []  #: after each task the mean loss of its and all earlier tasks' samples, (t+1,)
        self.accuracies: list[Tensor] = []  #: the same for the share of right answers

    def choose(self, samples: Samples, task: int) -> tuple[Tensor, Tensor]:
        """Of these samples of a task: (the rows that measure it, the rows to train on).

        The choice follows from the seed, the task and the number of rows, so that a run that goes on finds it again.
        Tasks whose labels are those of the first one, row by row, count as made from the same images.
        """
        count = len(samples)
        order = torch.randperm(count, generator=torch.Generator().manual_seed(derived_seed(self._seed, "gauge")))
        share = min(self.memory.size // max(self.memory.tasks, task + 1), count - 1)
        labels = [count, *picked(samples, order[:_COMPARED])[1].tolist()]
        if self._first is None:
            self._first = labels
        if labels != self._first:
            return order[:share].sort().values, order[share:].sort().values
        self._pool = max(self._pool, share, min(self.memory.size, int(_POOL * count)))
        turn = (task * share + torch.arange(share)) % self._pool
        return order[turn].sort().values, order[self._pool :].sort().values

    def end_task(self, model: nn.Module, aside: Samples, head: int) -> None:
        """Take the samples in that were set aside, and look at all; what is measured of them now is their reference."""
        task = len(self._heads)
        self.memory.grow(task + 1)
        generator = torch.Generator().manual_seed(derived_seed(self._seed, "gauge", "kept", task))
        self.memory.add_task(aside, task, generator)
        self._heads.append(head)
        slots = self.memory.everything(len(self._heads))
        losses, right = self._measured(model, slots)
        there = slots.to(self.memory.device)
        new = (self.memory.owner[slots] == task).to(self.memory.device)
        reference, was_right = self.memory.reference, self.memory.column("right")
        reference[there] = torch.where(new, losses, reference[there])
        was_right[there] = torch.where(new, right, was_right[there])
        self.losses.append(self.memory.task_means(slots, losses, task + 1))
        self.accuracies.append(self.memory.task_means(slots, right, task + 1))

    def lost(self) -> tuple[Tensor, Tensor]:
        """F_k of each past task at the end of the newest one, (past,), in loss and in accuracy."""
        slots = self.memory.everything(len(self._heads) - 1)
        past, there = len(self._heads) - 1, slots.to(self.memory.device)
        before = self.memory.task_means(slots, self.memory.reference[there], past)
        right = self.memory.task_means(slots, self.memory.column("right")[there], past)
        return self.losses[-1][:past] - before, right - self.accuracies[-1][:past]

    def forgetting(self, model: nn.Module, at_most: int | None = None) -> tuple[Tensor, Tensor]:
        """F_k of each past task, (past,), in loss and in accuracy; from about `at_most` samples, the next in turn."""
        past = len(self._heads)
        slots = self.memory.everything(past) if at_most is None else self._next(max(1, at_most // past), past)
        losses, right = self._measured(model, slots)
        there = slots.to(self.memory.device)
        lost = losses - self.memory.reference[there]
        missed = self.memory.column("right")[there] - right
        return self.memory.task_means(slots, lost, past), self.memory.task_means(slots, missed, past)

    def _next(self, each: int, past: int) -> Tensor:
        ledger = self.memory.ledger
        starts, counts = ledger.starts[:past, None], torch.tensor(ledger.counts[:past])[:, None]
        place, turn = torch.arange(each), torch.arange(self._at, self._at + each)
        self._at += each
        return ledger.order[(starts + turn % counts.clamp_min(1))[place < counts]]

    @torch.no_grad()
    def _measured(self, model: nn.Module, slots: Tensor) -> tuple[Tensor, Tensor]:
        """Loss and right answer (1 or 0) of each sample, (n,) each."""
        assert self.memory.raw is not None
        was_training = model.training
        model.eval()
        found = []
        for part in torch.split(slots, _PIECE):
            tasks, counts = torch.unique_consecutive(self.memory.owner[part], return_counts=True)
            runs = [(self._heads[k], n) for k, n in zip(tasks.tolist(), counts.tolist(), strict=True)]
            there = part.to(self.memory.device)
            logits = joined(self._answers(model, self.memory.raw.index_select(0, there), runs))
            y = self.memory.y[there]
            found.append(torch.stack([per_sample_losses([logits], y), (logits.argmax(1) == y).float()]).float())
        model.train(was_training)
        losses, right = torch.cat(found, dim=1)
        return losses, right

    def measured(self) -> dict[str, Tensor]:
        """What was measured so far, as tables by name, tasks by tasks: see `COLD.measured`."""
        return {"gauge_loss": _lower(self.losses), "gauge_accuracy": _lower(self.accuracies)}

    def state(self) -> dict[str, Any]:
        ends = {"losses": list(self.losses), "accuracies": list(self.accuracies)}
        pool = {"first": self._first, "pool": self._pool}
        return {"memory": self.memory.state(), "heads": list(self._heads), "at": self._at, **pool, **ends}

    def load(self, state: dict[str, Any]) -> None:
        self.memory.grow(len(state["heads"]))
        self.memory.load(state["memory"])
        self._heads, self._at = list(state["heads"]), int(state["at"])
        self._first, self._pool = state.get("first"), int(state.get("pool", 0))  # not kept by earlier versions
        self.losses, self.accuracies = list(state["losses"]), list(state["accuracies"])


class RequestedWeight:
    """The common weight of the past tasks, on the device; nothing here waits for it."""

    def __init__(self, request: Request, device: torch.device | str = "cpu") -> None:
        self.request = request
        self._weight = torch.tensor(START, device=device)
        self._ratio = torch.tensor(1.0, device=device)  # forgetting at the end of a task over that at the looks before
        self._looked = torch.zeros(2, device=device)  # sums over this task's looks: progress * forgetting, and progress
        self.ends: list[Tensor] = []  #: the weight at the end of each task from the second on

    @property
    def weight(self) -> Tensor:
        return torch.where(self._weight > FLOOR, self._weight, 0.0)

    def _mean(self, in_loss: Tensor, in_accuracy: Tensor) -> Tensor:
        return (in_loss if self.request.kind == "loss" else in_accuracy).mean()

    def move(
        self, in_loss: Tensor, in_accuracy: Tensor, progress: float, looks: int, *, new_classes: bool = False
    ) -> None:
        """After a look at the gauge during a task: forgetting of each past task, (past,)."""
        lost = self._mean(in_loss, in_accuracy)
        self._looked += progress * torch.stack([lost, torch.ones_like(lost)])
        ceiling = CEILING_WITH_NEW_CLASSES if new_classes else CEILING
        self._weight = self.request.moved(self._weight, self._ratio * lost, progress, looks, ceiling)

    def end_task(self, in_loss: Tensor, in_accuracy: Tensor) -> None:
        """At the end of a task, with forgetting on the whole gauge."""
        before = self._looked[0] / self._looked[1]
        found = (self._mean(in_loss, in_accuracy) / before).clamp(*RATIOS)
        told = (before > self.request.smallest) & found.isfinite()
        self._ratio = torch.where(told, (self._ratio + found) / 2, self._ratio)
        self._looked = torch.zeros_like(self._looked)
        self.ends.append(self.weight.clone())

    def state(self) -> dict[str, Any]:
        numbers = {"weight": self._weight.clone(), "ratio": self._ratio.clone(), "looked": self._looked.clone()}
        return {**numbers, "ends": list(self.ends)}

    def load(self, state: dict[str, Any]) -> None:
        device = self._weight.device
        self._weight, self._ratio, self._looked = (state[name].to(device) for name in ("weight", "ratio", "looked"))
        self.ends = list(state["ends"])


def gauge_share(gauge: float, request: Request | None) -> float:
    """The share of the memory that measures: as given, or the usual one where forgetting is requested."""
    return number("gauge", gauge, least=0, most=0.9) or (GAUGE if request else 0.0)


def without_gauge(given: int | Memory, share: float, tasks: int | None, **place: Any) -> tuple[Memory, int]:
    """The memory to replay from, and how many samples a gauge takes away from it."""
    if not isinstance(given, Memory):
        size = whole("memory", given, least=0)
        return Memory(size - gauge_size(size, share), tasks, **place), gauge_size(size, share)
    if share:
        raise ColdError("with a gauge give the size of the memory: COLD makes the gauge a part of it")
    if tasks is not None and given.tasks < tasks:
        raise ColdError(f"memory is for {given.tasks} tasks, tasks is {tasks}; give a memory for all of them")
    return given, 0


def _lower(rows: Sequence[Tensor]) -> Tensor:
    """Rows of growing length as one table; NaN fills it up."""
    table = torch.full((len(rows), len(rows)), torch.nan)
    for t, row in enumerate(rows):
        table[t, : len(row)] = row
    return table
