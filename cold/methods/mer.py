"""MER: Reptile steps over replayed samples, which align the gradients of past and present."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from ..catalogue import METHODS
from ..memory import Draw
from .base import Batch, Context
from .gradients import gradient, weights_of
from .replay import Replay


class MER(Replay, entry=METHODS["mer"]):
    """Algorithm 1, for each incoming example (x, y):

        theta_A <- theta
        `batches` times:  theta_W <- theta; SGD on (x, y), then on each replayed sample, one at a time
                          theta <- theta_W + beta (theta - theta_W)
        theta <- theta_A + gamma (theta - theta_A)

    form : "sequential" is this, with plain SGD at the learning rate. "mini-batch" is cheaper: one step of the run's
           optimiser on the whole incoming batch joined with its replay batch in place of the inner sequence.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.weights: list[Tensor] = list(weights_of(self.model))

    def step(self, batch: Batch) -> Tensor:
        if self.options.form == "mini-batch":
            loss = self._meta_step(batch)
            self.after_step(batch)
            return loss
        examples = zip(torch.split(batch.raw, 1), torch.split(batch.y, 1), strict=True)
        losses = []
        for raw, y in examples:
            example = Batch(raw, y, batch.task, batch.head)
            losses.append(self._meta_step(example))
            self.after_step(example)
        return torch.stack(losses).mean()

    def _meta_step(self, batch: Batch) -> Tensor:
        """The loss is that of the incoming samples in the first of the inner steps."""
        losses = []
        with self._reptile(self.options.gamma):
            for _ in range(self.options.batches):
                draw = self.sample(batch, shuffled=self.options.form == "sequential")
                with self._reptile(self.options.beta):
                    inner = self._together if self.options.form == "mini-batch" else self._one_by_one
                    losses.append(inner(batch, draw))
        return losses[0]

    def _together(self, batch: Batch, draw: Draw | None) -> Tensor:
        self.context.optimizer.zero_grad(set_to_none=True)
        losses = self.batch_losses(batch) if draw is None else self.losses_with_memory(batch, self.memory, draw)
        self.context.backward(losses.mean())
        self.context.update()
        return losses[: len(batch.raw)].detach().mean()

    def _one_by_one(self, batch: Batch, draw: Draw | None) -> Tensor:
        first = self._descend(batch.raw, batch.y, batch.head)
        if draw is not None:
            assert self.memory.raw is not None
            assert draw.order is not None
            slots = torch.split(draw.slots, 1)
            owners = [task for task, count in zip(draw.tasks, draw.counts, strict=True) for _ in range(count)]
            for i in draw.order:
                self._descend(self.memory.raw[slots[i]], self.memory.y[slots[i]], self.context.heads[owners[i]])
        return first

    def _descend(self, raw: Tensor, y: Tensor, head: int) -> Tensor:
        """One plain SGD step on one sample; its loss before."""
        loss = self.losses(raw, y, [(head, len(raw))]).mean()
        moves = [(w, g) for w, g in zip(self.weights, gradient(loss, self.weights), strict=True) if g is not None]
        with torch.no_grad():
            torch._foreach_add_([w for w, _ in moves], [g for _, g in moves], alpha=-self.config.lr)
        return loss.detach()

    @contextmanager
    def _reptile(self, rate: float) -> Iterator[None]:
        """theta <- before + rate (theta - before) at the end of the block."""
        before = [w.detach().clone() for w in self.weights]
        yield
        if rate != 1:
            with torch.no_grad():
                torch._foreach_lerp_(before, self.weights, rate)
                torch._foreach_copy_(self.weights, before)
