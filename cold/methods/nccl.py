"""NCCL: step sizes for past and present gradients that keep the forgetting term small."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..catalogue import METHODS
from ..memory import Draw
from .base import Batch, Context
from .gradients import assign, combined, dot, gradient, present, weights_of
from .replay import Replay


class NCCL(Replay, entry=METHODS["nccl"]):
    """theta <- theta - a f - b g with f = grad CE(M), g = grad CE(B), s = f.g and the learning rate alpha:

        s <= 0:  a = alpha (1 - s / |f|^2),  b = alpha
        s >  0:  a = alpha,                  b = min(alpha (1 - delta), (1 - alpha L) s / (L |g|^2))

    The paper gives no numbers for L and delta. L = 0 stands for 1 / (2 alpha), for which the second form is
    b = alpha min(1 - delta, s / |g|^2). beta_max > 0 takes the place of alpha (1 - delta).
    (a f + b g) / alpha goes to the optimiser as a gradient: SGD without momentum makes exactly this step.
    """

    _draw: Draw | None = None

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.weights = weights_of(self.model)
        self.forgetting = torch.zeros(len(context.benchmark.tasks), 2)  # sum of Gamma, steps

    def loss(self, batch: Batch) -> Tensor:
        self.task, self._draw = batch.task, self.sample(batch)
        return self.batch_losses(batch).mean()

    def adjust_gradients(self) -> None:
        if self._draw is None:
            return
        self.context.unscale()
        weights = self.weights
        g, f = present(weights), gradient(self.memory_loss(self._draw), weights)
        alpha, options = self.config.lr, self.options
        L = options.L or 1 / (2 * alpha)
        s, gg, ff = torch.stack([dot(f, g), dot(g, g), dot(f, f)]).tolist()  # all at once: one wait for the device
        limit = options.beta_max or alpha * (1 - options.delta)
        a, b = step_sizes(s, ff, gg, alpha, L, limit)
        gamma = 0.5 * b**2 * L * gg - b * (1 - a * L) * s
        self.forgetting[self.task] += torch.tensor([gamma, 1.0])
        assign(weights, combined(a / alpha, f, b / alpha, g))

    def arrays(self) -> dict[str, Tensor]:
        """nccl_gamma (T,): the mean of the paper's forgetting term over each task's steps."""
        return {"nccl_gamma": self.forgetting[:, 0] / self.forgetting[:, 1].clamp_min(1)}

    def state(self) -> dict[str, Any]:
        return {**super().state(), "forgetting": self.forgetting}

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self.forgetting = state["forgetting"]


def step_sizes(s: float, ff: float, gg: float, alpha: float, L: float, limit: float) -> tuple[float, float]:
    """(a, b) from s = f.g, |f|^2 (needed where s <= 0) and |g|^2 (where s > 0)."""
    tiny = torch.finfo(torch.float32).tiny
    if s > 0:
        return alpha, min(limit, (1 - alpha * L) * s / max(L * gg, tiny))
    return alpha * (1 - s / max(ff, tiny)), alpha
