"""Runs and the statements on steps that move, a second time: plain loops over t and k, numbers in lists.

Written from the statements in the docstrings of `coldtheory.bounds.adaptive_step`, `.moving_v` and `.gradient_noise`,
for losses 1/2 h |w - a|^2, and from nothing else of the package. Tasks are counted from 1, as in the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

Point = list[float]


@dataclass
class Plain:
    """One run; `eta` is a number, or None for c/alpha_t. `noise[t]` is added to the gradient of Phi_t."""

    a: list[Point]
    h: list[float]
    b: list[Point]
    g: list[float]
    V: list[float]
    delta: float
    start: Point
    eta: float | None = None
    c: float = 0.5
    steps: int = 1
    reference: str = "previous"
    weights: str = "mean"
    exact: bool = False
    noise: list[Point] | None = None
    x: list[Point] = field(init=False)
    Q: list[list[float]] = field(init=False)  #: Q[t][k], k from 1
    etas: list[float] = field(init=False)

    def __post_init__(self) -> None:
        T = self.T = len(self.a)
        self.tasks = range(1, T + 1)
        self.x, self.Q, self.etas = [list(self.start)], [[0.0] * (T + 1)], [0.0]
        for t in self.tasks:
            eta = self.c / self.alpha(t) if self.eta is None else self.eta
            self.etas.append(eta)
            y = list(self.x[t - 1])
            if self.exact:
                curvature = self.V[t - 1] * self.h[t - 1] + sum(self.beta(t, k) * self.g[k - 1] for k in range(1, t))
                slope = self.dpp_gradient(t, y)
                y = [v - s / curvature for v, s in zip(y, slope, strict=True)]
            for _ in range(0 if self.exact else self.steps):
                slope = self.dpp_gradient(t, y)
                if self.noise is not None:
                    slope = [s + self.V[t - 1] * n for s, n in zip(slope, self.noise[t - 1], strict=True)]
                y = [v - eta * s for v, s in zip(y, slope, strict=True)]
            self.x.append(y)
            queues = [0.0] * (T + 1)
            for k in range(1, t):
                queues[k] = max(self.Q[t - 1][k] + self.d(t, k), 0.0)
            self.Q.append(queues)

    # Losses and gradients ------------------------------------------------------------------------------

    def phi(self, t: int, w: Point) -> float:
        return 0.5 * self.h[t - 1] * sum((v - u) ** 2 for v, u in zip(w, self.a[t - 1], strict=True))

    def hat(self, k: int, w: Point) -> float:
        return 0.5 * self.g[k - 1] * sum((v - u) ** 2 for v, u in zip(w, self.b[k - 1], strict=True))

    def phi_gradient(self, t: int, w: Point) -> Point:
        return [self.h[t - 1] * (v - u) for v, u in zip(w, self.a[t - 1], strict=True)]

    def hat_gradient(self, k: int, w: Point) -> Point:
        return [self.g[k - 1] * (v - u) for v, u in zip(w, self.b[k - 1], strict=True)]

    def dpp_gradient(self, t: int, w: Point) -> Point:
        total = [self.V[t - 1] * s for s in self.phi_gradient(t, w)]
        for k in range(1, t):
            total = [s + self.beta(t, k) * v for s, v in zip(total, self.hat_gradient(k, w), strict=True)]
        return total

    # The method ------------------------------------------------------------------------------------------

    def f(self, t: int) -> float:
        return 1.0 if self.weights == "mean" else t - 1.0

    def beta(self, t: int, k: int) -> float:
        return self.Q[t - 1][k] / (t - 1) if self.weights == "mean" else self.Q[t - 1][k]

    def alpha(self, t: int) -> float:
        return self.V[t - 1] * max(self.h) + max(self.g) * sum(self.beta(t, k) for k in range(1, t))

    def at_reference(self, t: int, k: int) -> float:
        if self.reference == "previous":
            return self.hat(k, self.x[t - 1])
        if self.reference == "stored":
            return self.hat(k, self.x[k])
        return min(self.hat(k, self.x[s]) for s in range(1, t))

    def d(self, t: int, k: int) -> float:
        return self.hat(k, self.x[t]) - self.at_reference(t, k) - self.delta

    # What the statements speak about ---------------------------------------------------------------------

    def Qbar(self, t: int) -> float:
        """Qbar[t-1]."""
        return sum(self.Q[t - 1][k] for k in range(1, t)) / (t - 1) if t > 1 else 0.0

    def Delta(self, t: int) -> float:
        return sum(self.d(t, k) ** 2 for k in range(1, t)) / (2 * (t - 1)) if t > 1 else 0.0

    def lyap(self, t: int) -> float:
        return sum(self.Q[t][k] ** 2 for k in range(1, t)) / (2 * (t - 1)) if t > 1 else 0.0

    def pot(self, t: int) -> float:
        return self.lyap(t) * (1.0 if self.weights == "mean" else t - 1.0)

    def var(self, t: int) -> float:
        return abs(self.phi(t, self.x[t - 1]) - self.phi(t - 1, self.x[t - 1])) if t > 1 else 0.0

    def square(self, t: int) -> float:
        return sum(s * s for s in self.phi_gradient(t, self.x[t - 1]))

    def conflict(self, t: int) -> float:
        total, slope = 0.0, self.phi_gradient(t, self.x[t - 1])
        for k in range(1, t):
            inner = sum(s * v for s, v in zip(slope, self.hat_gradient(k, self.x[t - 1]), strict=True))
            total += self.beta(t, k) * max(0.0, -inner)
        return total

    def excess(self, t: int) -> float:
        return sum(self.beta(t, k) * (self.hat(k, self.x[t - 1]) - self.at_reference(t, k)) for k in range(1, t))

    def fall(self, t: int) -> float:
        """(1/V_{t+1} - 1/V_t) Pot[t]."""
        return (1 / self.V[t] - 1 / self.V[t - 1]) * self.pot(t)

    def u(self, t: int) -> float:
        return self.V[t - 1] / (1.0 if self.weights == "mean" else t - 1.0)

    # The statements: left side, right side -------------------------------------------------------------

    def K(self) -> float:
        V = self.V[0]
        whole = V * (self.phi(1, self.x[0]) - self.phi(self.T, self.x[self.T])) - self.pot(self.T)
        for t in self.tasks:
            whole += V * self.var(t) + self.f(t) * self.Delta(t) - self.delta * self.f(t) * self.Qbar(t)
        return whole

    def adaptive_step(self, form: str) -> tuple[float, float]:
        V, etas, rates = self.V[0], self.etas[1:], [self.etas[t] * self.alpha(t) for t in self.tasks]
        mean_alpha = sum(self.alpha(t) for t in self.tasks) / self.T
        if form == "total_step":
            return 1 / sum(etas), mean_alpha / (min(rates) * self.T)
        weight, K, factor = etas, self.K(), 1 / (1 - max(rates) / 2)
        if form == "sharp":
            weight, factor = [e * (1 - r / 2) for e, r in zip(etas, rates, strict=True)], 1.0
            if self.weights == "mean":
                K -= sum(self.lyap(t - 1) / (t - 1) for t in self.tasks if t > 1)
        if form == "any_case":
            K += sum(self.excess(t) for t in self.tasks)
        over = mean_alpha / (min(rates) * self.T) if form == "mean_queue" else 1 / sum(weight)
        lhs = sum(w * self.square(t) for w, t in zip(weight, self.tasks, strict=True)) / sum(weight)
        conflict = sum(w * self.conflict(t) for w, t in zip(weight, self.tasks, strict=True)) / sum(weight)
        return lhs, over * factor * K / V**2 + 2 / V * conflict

    def moving_gap(self, form: str, star: Sequence[Point], prime: float) -> tuple[float, float]:
        gaps = [self.phi(t, self.x[t]) - self.phi(t, star[t - 1]) for t in self.tasks]
        if form == "weighted":
            lhs = sum(v * gap for v, gap in zip(self.V, gaps, strict=True)) / sum(self.V)
            return lhs, sum(self.f(t) * self.Delta(t) for t in self.tasks) / sum(self.V)
        rhs = sum(self.f(t) * self.Delta(t) / self.V[t - 1] for t in self.tasks)
        if form == "proved":
            rhs += sum(max(self.fall(t), 0.0) for t in range(1, self.T))
        if form == "sharp":
            rhs += sum(self.fall(t) for t in range(1, self.T)) - self.pot(self.T) / self.V[-1]
            rhs -= sum((self.delta - prime) * self.f(t) * self.Qbar(t) / self.V[t - 1] for t in self.tasks)
            if self.weights == "mean":
                rhs -= sum(self.lyap(t - 1) / (t - 1) / self.V[t - 1] for t in self.tasks if t > 1)
        return sum(gaps) / self.T, rhs / self.T

    def moving_queue(self, form: str, star: Sequence[Point] = (), prime: float = 0.0) -> tuple[float, float]:
        lhs, late = sum(self.Qbar(t) for t in self.tasks) / self.T, range(2, self.T + 1)
        rhs, over = sum(self.Delta(t) for t in self.tasks), self.delta
        if form == "exact":
            over -= prime
            rhs += sum(self.u(t) * (self.phi(t, star[t - 1]) - self.phi(t, self.x[t])) for t in late)
            rhs -= sum(self.lyap(t - 1) / (t - 1) for t in late) + self.lyap(self.T)
        elif self.T > 1:
            rhs += sum(self.u(t) * self.var(t) for t in late) + self.u(2) * self.phi(1, self.x[1])
            if form == "proved":
                jumps = [(self.u(t + 1) - self.u(t), t) for t in range(2, self.T)]
                rhs += sum(max(jump, 0.0) * self.phi(t, self.x[t]) for jump, t in jumps)
        return lhs, rhs / (self.T * over)

    def moving_gradient(self, form: str) -> tuple[float, float]:
        c = min(eta * v for eta, v in zip(self.etas[1:], self.V, strict=True))
        inner = self.phi(1, self.x[0])
        for t in self.tasks:
            inner += self.var(t) + self.f(t) * self.Delta(t) / self.V[t - 1]
        if form in ("proved", "any_case"):
            inner += sum(max(self.fall(t), 0.0) for t in range(1, self.T))
        if form == "any_case":
            inner += sum(self.excess(t) / self.V[t - 1] for t in self.tasks)
        if form == "sharp":
            inner += sum(self.fall(t) for t in range(1, self.T)) - self.pot(self.T) / self.V[-1]
            inner -= self.phi(self.T, self.x[self.T])
            inner -= sum(self.delta * self.f(t) * self.Qbar(t) / self.V[t - 1] for t in self.tasks)
            if self.weights == "mean":
                inner -= sum(self.lyap(t - 1) / (t - 1) / self.V[t - 1] for t in self.tasks if t > 1)
        conflict = sum(self.conflict(t) / self.V[t - 1] for t in self.tasks)
        return sum(self.square(t) for t in self.tasks) / self.T, (2 / c * inner + 2 * conflict) / self.T

    def noise_gradient(self, s2: float) -> tuple[float, float]:
        """Both sides of one run; the statement is about their means."""
        V, eta = self.V[0], self.etas[1]
        rhs = 2 / (eta * V**2) * self.K() + 2 / V * sum(self.conflict(t) for t in self.tasks)
        rhs += eta * s2 * sum(self.alpha(t) for t in self.tasks)
        return sum(self.square(t) for t in self.tasks) / self.T, rhs / self.T

    def noise_queue(self, s2: float) -> tuple[float, float]:
        V, eta, late = self.V[0], self.etas[1], range(2, self.T + 1)
        h = {t: 1.0 if self.weights == "mean" else 1 / (t - 1) for t in late}
        rhs = V * sum(h[t] * self.var(t) for t in late) + sum(self.Delta(t) for t in late)
        rhs += V * self.phi(1, self.x[1]) if self.T > 1 else 0.0
        rhs += eta**2 * V**2 * s2 / 2 * sum(h[t] * self.alpha(t) for t in late)
        return sum(self.Qbar(t) for t in self.tasks) / self.T, rhs / (self.T * self.delta)
