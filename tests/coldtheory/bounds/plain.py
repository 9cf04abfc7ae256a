"""Statements on real forgetting evaluated a second time: loops over tasks and pairs, from the models alone.

Written from the statements in docs/theorems, not from the code. Losses are 1/2 (w - a)' H (w - a) + c.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coldtheory import Run


@dataclass(frozen=True)
class Plain:
    """One run without leading axes: its tasks, models and settings, and all that follows from them."""

    run: Run

    @property
    def T(self) -> int:
        return self.run.tasks.T

    @property
    def V(self) -> float:
        return float(self.run.V)

    @property
    def delta(self) -> float:
        return float(self.run.delta)

    def loss(self, losses, k: int, w) -> float:
        """The k-th loss (from 1) at w, above its infimum."""
        gap = np.asarray(w) - losses.optima[k - 1]
        H = losses.hessians[k - 1]
        return 0.5 * float(gap @ (H @ gap if np.ndim(H) else H * gap))

    def phi(self, t: int, w) -> float:
        return self.loss(self.run.tasks.phi, t, w)

    def hat(self, k: int, w) -> float:
        return self.loss(self.run.tasks.phi_hat, k, w)

    def x(self, t: int):
        return self.run.w[t]

    def reference(self, t: int, k: int) -> float:
        """hatPhi_k at the reference that task t compares with."""
        if self.run.settings.reference == "previous":
            return self.hat(k, self.x(t - 1))
        if self.run.settings.reference == "stored":
            return self.hat(k, self.x(k))
        return min(self.hat(k, self.x(s)) for s in range(1, t))

    def d(self, t: int, k: int) -> float:
        return self.hat(k, self.x(t)) - self.reference(t, k) - self.delta

    @cached_property
    def Q(self) -> dict[tuple[int, int], float]:
        """(k, t) -> Q_k[t]."""
        Q = {}
        for k in range(1, self.T + 1):
            for t in range(self.T + 1):
                Q[k, t] = 0.0 if t <= k else max(Q[k, t - 1] + self.d(t, k), 0.0)
        return Q

    def forgotten(self, k: int, t: int) -> float:
        return self.hat(k, self.x(t)) - self.hat(k, self.x(k))

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return [(k, t) for t in range(1, self.T + 1) for k in range(1, t)]

    @cached_property
    def mean_forgetting(self) -> float:
        return math.fsum(self.forgotten(k, t) for k, t in self.pairs) / max(len(self.pairs), 1)

    def Qbar(self, t: int) -> float:
        """Qbar[t-1]."""
        return sum(self.Q[k, t - 1] for k in range(1, t)) / (t - 1) if t > 1 else 0.0

    def Delta(self, t: int) -> float:
        return sum(self.d(t, k) ** 2 for k in range(1, t)) / (2 * (t - 1)) if t > 1 else 0.0

    def eps(self, t: int) -> float:
        """DPP_t(x_t) - min DPP_t; the gradient at x_t gives it, without a difference of large numbers."""
        tasks, dim = self.run.tasks, self.run.tasks.d
        weights = [(self.V, tasks.phi, t), *((self.Q[k, t - 1] / (t - 1), tasks.phi_hat, k) for k in range(1, t))]
        H, g = np.zeros((dim, dim)), np.zeros(dim)
        for weight, losses, k in weights:
            one = losses.hessians[k - 1]
            one = one if np.ndim(one) else one * np.eye(dim)
            H, g = H + weight * one, g + weight * (one @ (self.x(t) - losses.optima[k - 1]))
        return 0.5 * float(g @ np.linalg.solve(H, g))

    def b(self, t: int, star, delta_prime: float) -> float:
        gap = self.phi(t, star[t - 1]) - self.phi(t, self.x(t))
        return self.Delta(t) + self.eps(t) + self.V * gap - (self.delta - delta_prime) * self.Qbar(t)

    def forgetting_bound(self, form: str, star, delta_prime: float) -> float:
        """The right side of `forgetting`."""
        share = [1.0 if form == "proved" else (t - 1) / max(self.T - 1, 1) for t in range(1, self.T + 1)]
        B = math.fsum(s * self.b(t, star, delta_prime) for t, s in enumerate(share, 1))
        return (self.delta if self.T > 1 else 0.0) + 2.0 * math.sqrt(2.0 * max(B, 0.0)) / self.T

    def tolerance_of(self, star) -> float:
        """The smallest delta' with which the points are feasible."""
        return max((self.hat(k, star[t - 1]) for k, t in self.pairs), default=0.0)
