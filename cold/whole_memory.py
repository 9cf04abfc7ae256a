"""The loss of every memory sample, measured as a training step of the present task would measure it.

Reference losses must be the same quantity as the losses that a step compares with them; `cold.dpp` says why. Where a
sample's loss depends on the other samples of its batch, or on chance, the whole memory therefore goes through the model
in batches of the composition of a step. Elsewhere one plain pass is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from .joint import JointPass
from .layer_modes import frozen_statistics, is_noisy, shares_statistics
from .memory import Draw, Memory, Samples
from .references import State
from .streams import Streams

_EVALUATION_BATCH = 1024


@dataclass(frozen=True, eq=False)
class WholeMemory:
    """How the whole memory is measured; the settings are those of `cold.COLD`.

    rounds : passes over the memory that are averaged, where one is not exact
    """

    memory: Memory
    through: JointPass
    streams: Streams
    memory_batch: int
    per_task: bool
    batch_size: int
    rounds: int

    def excess(self, model: nn.Module, samples: Samples, task: int) -> Tensor:
        """The mean over each past task's memory of the present minus the reference loss, (past,)."""
        slots = self.memory.everything(task)
        excess = self.losses(model, samples, task) - self.memory.reference[slots.to(self.memory.device)]
        return self.memory.task_means(slots, excess, task)

    @torch.no_grad()
    def losses(self, model: nn.Module, samples: Samples, task: int, weights: State | None = None) -> Tensor:
        """The loss of every memory sample during a task with these samples, (n,).

        weights : of another model, in place of the model's own
        """
        memory, device = self.memory, self.memory.device
        placed = {} if weights is None else {name: value.to(device) for name, value in weights.items()}
        called = model if weights is None else _Replaced(model, placed)
        total = torch.zeros(memory.size, device=device, dtype=memory.reference.dtype)
        count = torch.zeros_like(total)
        depends = shares_statistics(model) or is_noisy(model) or self.through.augments
        was_training = model.training
        model.train(depends)
        with frozen_statistics(model):
            for draw, company in self._as_in_steps(samples, task) if depends else self._plain(task):
                if company is None:
                    losses = self.through.losses(called, self.through.memory_only(draw), stream="reference")
                else:
                    no_labels = torch.zeros(len(company), dtype=torch.int64, device=device)
                    batch = self.through.with_memory(company, no_labels, task, draw)
                    losses = self.through.losses(called, batch, stream="reference")[len(company) :]
                # no slot is twice in a draw: one number per place and call, so that a GPU's order does not matter
                total.index_add_(0, draw.slots, losses.to(total.dtype))
                count.index_add_(0, draw.slots, torch.ones_like(losses, dtype=total.dtype))
        model.train(was_training)
        slots = memory.everything(task).to(device)
        return total[slots] / count[slots]

    def _plain(self, task: int) -> Iterator[tuple[Draw, None]]:
        for draw in self.memory.pieces(_EVALUATION_BATCH, task):
            yield draw, None

    def _as_in_steps(self, samples: Samples, task: int) -> Iterator[tuple[Draw, Tensor]]:
        """Batches of the composition of a training step, each memory sample at least once per round."""
        generator = self.streams.cpu("reference")
        b = min(self.batch_size, len(samples))
        for _ in range(self.rounds):
            for draw in self.memory.chunks(self.memory_batch, task, per_task=self.per_task, generator=generator):
                rows = torch.randperm(len(samples), generator=generator)[:b]
                yield draw, samples.raw(rows.to(self.memory.device)).to(self.memory.device)


class _Replaced(nn.Module):
    """A model called with other weights; its own stay as they are."""

    def __init__(self, model: nn.Module, weights: State) -> None:
        super().__init__()
        self._model = [model]  # not a submodule
        self._weights = weights

    def forward(self, *args: Any) -> Any:
        return functional_call(self._model[0], self._weights, args)
