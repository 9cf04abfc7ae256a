"""Joint training on all tasks at once: the upper bound."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from .base import Batch, Context, Method


class Joint(Method):
    """Batches from the data of all tasks, past and to come, in random order.

    The loop still walks from task to task, but what a step sees is the next piece of one shuffled whole. Over the run
    every sample is seen as often as in any other method: epochs passes over everything. Only the last row of the
    accuracies means something; there is nothing to forget.
    """

    name = "joint"
    title = "Joint"
    paper = "the upper bound: all data at once"
    storage = "N*p"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.ends = list(accumulate(len(task.train) for task in context.benchmark.tasks))
        self.order = torch.zeros(0, dtype=torch.int64)  # what is left of the present pass, on the CPU

    def loss(self, batch: Batch) -> Tensor:
        return self.losses(*self._gather(self._next(len(batch.raw)))).mean()

    def _next(self, count: int) -> Tensor:
        """Places in the whole, of samples not yet seen in this pass; ascending, so that tasks stand together."""
        if len(self.order) < count:
            again = torch.randperm(self.ends[-1], generator=self.context.streams.cpu("joint"))
            self.order = torch.cat([self.order, again])
        taken, self.order = self.order[:count], self.order[count:]
        return taken.sort().values

    def _gather(self, places: Tensor) -> tuple[Tensor, Tensor, list[tuple[int, int]]]:
        owner = torch.bucketize(places, torch.tensor(self.ends), right=True)
        counts = torch.bincount(owner, minlength=len(self.ends)).tolist()
        raw, y, runs = [], [], []
        for task, end, part in zip(self.context.benchmark.tasks, self.ends, torch.split(places, counts), strict=True):
            if len(part):
                rows = (part - (end - len(task.train))).to(self.context.device)
                raw.append(task.train.raw(rows))
                y.append(task.train.y[rows])
                runs.append((task.head, len(part)))
        return torch.cat(raw), torch.cat(y), runs

    def state(self) -> dict[str, Any]:
        return {"order": self.order.clone()}

    def load(self, state: Mapping[str, Any]) -> None:
        self.order = state["order"]
