"""EWC and online EWC: weights that mattered are held where they were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..catalogue import METHODS
from ..data import Part
from .base import Context, Method
from .fisher import diagonal_fisher


class EWC(Method, entry=METHODS["ewc"]):
    """CE(B) + strength * sum over past tasks k of F_k (theta - theta_k)^2, F_k measured at the end of task k.

    The sum is one quadratic: its curvature is the sum of the F_k and its centre the mean of the theta_k
    weighted by them. Two vectors are kept, however many tasks there were. The penalty's gradient is added after the
    backward pass; the loss that is shown is CE(B).

    fisher : "weighted" by p(y | x), for which the usual strengths hold; or "empirical", without this factor
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.importance: list[Tensor] = []  #: F, one tensor per parameter; empty during the first task
        self.centre: list[Tensor] = []

    @torch.no_grad()
    def adjust_gradients(self) -> None:
        if not self.importance:
            return
        self.context.unscale()
        # A head that takes no part has not moved since its own task: its penalty is 0.
        moving = [triple for triple in zip(self.model.parameters(), self.importance, self.centre, strict=True)
                  if triple[0].grad is not None]  # fmt: skip
        weights, importance, centre = (list(column) for column in zip(*moving, strict=True))
        away = torch._foreach_sub(weights, centre)
        slopes = [weight.grad for weight in weights]
        torch._foreach_addcmul_(slopes, importance, away, value=2 * self.options.strength)

    def end_task(self, task: int, train: Part) -> None:
        weighted = self.options.fisher == "weighted"
        new = diagonal_fisher(self.model, train, self.context.heads[task], self.context.inputs, weighted=weighted)
        weights = [p.detach().clone() for p in self.model.parameters()]
        if not self.importance:
            self.importance, self.centre = new, weights
        else:
            self.consolidate(new, weights)

    def consolidate(self, new: list[Tensor], weights: list[Tensor]) -> None:
        """Add a quadratic, so that one stands for both."""
        total = torch._foreach_add(self.importance, new)
        share = [torch.where(s > 0, n / s, 1.0) for n, s in zip(new, total, strict=True)]
        self.centre = [torch.lerp(c, w, s) for c, w, s in zip(self.centre, weights, share, strict=True)]
        self.importance = list(total)

    def state(self) -> dict[str, Any]:
        return {"importance": self.importance, "centre": self.centre}

    def load(self, state: Mapping[str, Any]) -> None:
        self.importance = [value.to(self.context.device) for value in state["importance"]]
        self.centre = [value.to(self.context.device) for value in state["centre"]]


class OnlineEWC(EWC, entry=METHODS["ewc-online"]):
    """F <- decay * F + F_new, theta* <- theta at the end of every task; penalty strength * sum F (theta - theta*)^2."""

    def consolidate(self, new: list[Tensor], weights: list[Tensor]) -> None:
        self.importance = [self.options.decay * old + more for old, more in zip(self.importance, new, strict=True)]
        self.centre = weights
