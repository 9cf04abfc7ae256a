"""Plain replay: one mean cross-entropy over the batch and the memory batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from ..data import Part
from .base import Batch, Context, Method


class ER(Method):
    """theta <- theta - eta grad CE(B u M). The memory batch is the one COLD draws: same samples, same random stream."""

    name = "er"
    title = "ER"
    paper = "Chaudhry et al. 2019, On Tiny Episodic Memories in Continual Learning"
    uses_memory = True
    over_processes = True

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.memory = context.new_memory()

    def loss(self, batch: Batch) -> Tensor:
        if not batch.task:
            return self.batch_losses(batch).mean()
        return self.losses_with_memory(batch, self.memory, self.draw(self.memory, batch.task)).mean()

    def end_task(self, task: int, train: Part) -> None:
        self.memory.add_task(train, task, self.context.streams.cpu("memory"))

    def state(self) -> dict[str, Any]:
        return {"memory": self.memory.state()}

    def load(self, state: Mapping[str, Any]) -> None:
        self.memory.load(state["memory"])
