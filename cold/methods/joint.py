"""Joint training on all tasks at once: the upper bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from ..catalogue import METHODS
from ..data import Part
from .base import Batch, Context, Method

_AHEAD = 64  # batches that are moved to the device at once


@dataclass(frozen=True, eq=False)
class Pool:
    """Samples of all tasks, gathered at once from the pool that they share, in a quarter of the time."""

    images: Tensor
    index: Tensor  #: (N,), rows of `images`, task by task
    permutations: Tensor | None  #: (T, H * W)

    def raw(self, places: Tensor, owner: Tensor) -> Tensor:
        """The images at some places, in the pixel order of their tasks."""
        x = self.images.index_select(0, self.index[places])
        if self.permutations is None:
            return x
        order = self.permutations.index_select(0, owner)[:, None].expand(-1, x.shape[1], -1)
        return x.flatten(2).gather(2, order).view_as(x)


@dataclass(frozen=True, eq=False)
class _Places:
    """A batch: places in the whole, ascending; the task of each, both on the device; how many are of each task."""

    places: Tensor
    owner: Tensor
    counts: list[int]


def shared_pool(parts: Sequence[Part]) -> Pool | None:
    """None where each task has data of its own, or is rotated, or only some are permuted."""
    permutations = [part.permutation for part in parts if part.permutation is not None]
    if any(part.pool is not parts[0].pool or part.rotation is not None for part in parts) or len(permutations) not in (
        0,
        len(parts),
    ):
        return None
    stacked = torch.stack(permutations) if permutations else None
    return Pool(parts[0].pool, torch.cat([part.index for part in parts]), stacked)


class Joint(Method, entry=METHODS["joint"]):
    """Batches from the data of all tasks, past and to come, in random order.

    The loop still walks from task to task, but what a step sees is the next piece of one shuffled whole. Over the run
    every sample is seen as often as in any other method: epochs passes over everything. Only the last row of the
    accuracies means something; there is nothing to forget.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.ends = list(accumulate(len(task.train) for task in context.benchmark.tasks))
        parts = [task.train for task in context.benchmark.tasks]
        self.pool = shared_pool(parts)
        self.y = torch.cat([part.y for part in parts])
        self.order = torch.zeros(0, dtype=torch.int64)  # what is left of the present pass, on the CPU
        self._batches: list[_Places] = []  # the next ones of `order`, last first

    def loss(self, batch: Batch) -> Tensor:
        return self.losses(*self._gather(self._next(len(batch.raw)))).mean()

    def _next(self, count: int) -> _Places:
        """Samples not yet seen in this pass."""
        if not self._batches or len(self._batches[-1].places) != count:
            if len(self.order) < count:
                again = torch.randperm(self.ends[-1], generator=self.context.streams.cpu("joint"))
                self.order = torch.cat([self.order, again])
            batches = min(_AHEAD, len(self.order) // count)
            self._batches = self._placed(self.order[: batches * count].view(batches, count))[::-1]
        self.order = self.order[count:]
        return self._batches.pop()

    def _placed(self, places: Tensor) -> list[_Places]:
        """Batches from their places in the whole, (batches, samples), moved to the device in one copy."""
        batches, places = len(places), places.sort(dim=1).values  # so that tasks stand together
        owner = torch.bucketize(places, torch.tensor(self.ends), right=True)
        cells = owner + len(self.ends) * torch.arange(batches)[:, None]
        counts = torch.bincount(cells.flatten(), minlength=batches * len(self.ends)).view(batches, -1).tolist()
        there = torch.stack([places, owner]).to(self.context.device)
        return [_Places(there[0, i], there[1, i], counts[i]) for i in range(batches)]

    def _gather(self, batch: _Places) -> tuple[Tensor, Tensor, list[tuple[int, int]]]:
        tasks = self.context.benchmark.tasks
        runs = [(task.head, count) for task, count in zip(tasks, batch.counts, strict=True) if count]
        if self.pool is not None:
            return self.pool.raw(batch.places, batch.owner), self.y[batch.places], runs
        parts = zip(tasks, self.ends, torch.split(batch.places, batch.counts), strict=True)
        raw = [task.train.raw(part - (end - len(task.train))) for task, end, part in parts if len(part)]
        return torch.cat(raw), self.y[batch.places], runs

    def state(self) -> dict[str, Any]:
        return {"order": self.order.clone()}

    def load(self, state: Mapping[str, Any]) -> None:
        self.order, self._batches = state["order"], []
