"""REFRESH on DER++: unlearn the batch a little, then learn it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..catalogue import METHODS
from ..data import Part
from ..layer_modes import frozen_statistics
from .base import Batch, Context
from .der import DERpp
from .fisher import diagonal_fisher
from .gradients import gradient


class Refresh(DERpp, entry=METHODS["refresh"]):
    """Before each DER++ step, for every parameter tensor that takes part in CE(B):

        D = unlearn_lr * grad CE(B)                       one step of gradient ascent, taken on a copy
        n = D |theta| / (|D| + 1e-20)
        theta <- theta + rate (n + noise N(0, I)) / (1 + fisher_weight F)

    F <- fisher_decay F + F_new at the end of a task (as for EWC, weighted), 0 during the first. The paper trains with
    weight decay 1e-4 (`--weight-decay`).
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.importance = [torch.zeros_like(p) for p in self.model.parameters()]

    def step(self, batch: Batch) -> Tensor:
        self._unlearn(batch)
        return super().step(batch)

    def _unlearn(self, batch: Batch) -> None:
        weights = list(self.model.parameters())
        with frozen_statistics(self.model):
            slopes = gradient(self.batch_losses(batch).mean(), weights)
        generator, options = self.context.streams.device("refresh"), self.options
        with torch.no_grad():
            for weight, slope, importance in zip(weights, slopes, self.importance, strict=True):
                if slope is None:
                    continue
                ascent = options.unlearn_lr * slope
                move = ascent * (weight.norm() / (ascent.norm() + 1e-20))
                noise = torch.randn(weight.shape, generator=generator, device=weight.device, dtype=weight.dtype)
                weight.add_(
                    (move + options.noise * noise) / (1 + options.fisher_weight * importance), alpha=options.rate
                )

    def end_task(self, task: int, train: Part) -> None:
        super().end_task(task, train)
        new = diagonal_fisher(self.model, train, self.context.heads[task], self.context.inputs)
        decay = self.options.fisher_decay
        self.importance = [decay * old + more for old, more in zip(self.importance, new, strict=True)]

    def state(self) -> dict[str, Any]:
        return {**super().state(), "importance": self.importance}

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self.importance = [value.to(self.context.device) for value in state["importance"]]
