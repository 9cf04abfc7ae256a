"""COLD in exact rationals, and both sides of the printed statements: plain lists, independent of the float code.

Reads the stored files themselves, with every decimal number as the rational it denotes. Losses are h/2 |w - a|^2 in
any dimension; extreme values over W are computed on a line, where W is an interval and all of them are rational.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

HALF = Fraction(1, 2)
Point = tuple[Fraction, ...]


def load(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Fraction)


class Exact:
    """One instance: losses 1/2 h (w - a)^2, its models and queues. Indices t and k count from 1, as in the paper."""

    def __init__(self, data: dict[str, Any]) -> None:
        tasks, self.s = data["tasks"], data["settings"]
        self.a = _points(tasks["optima"])
        self.T = len(self.a)
        self.h = [Fraction(x) for x in tasks.get("hessians", [1] * self.T)]
        self.b = _points(tasks.get("memory_optima", tasks["optima"]))
        self.g = [Fraction(x) for x in tasks.get("memory_hessians", self.h)]
        self.V, self.delta = Fraction(self.s["V"]), Fraction(self.s.get("delta", 0))
        self.weights, self.reference = self.s.get("weights", "mean"), self.s.get("reference", "previous")
        self.eta = Fraction(self.s["eta"]) if "eta" in self.s else None
        self._given, self._ball = data.get("models"), data.get("ball")
        self.options = data.get("options", {})
        self._walk()

    def phi(self, t: int, w: Point) -> Fraction:
        return HALF * self.h[t - 1] * _square(w, self.a[t - 1])

    def hat(self, k: int, w: Point) -> Fraction:
        return HALF * self.g[k - 1] * _square(w, self.b[k - 1])

    def _walk(self) -> None:
        T = self.T
        given = _points(self._given) if self._given else None
        self.x = [given[0] if given else _points([self.s.get("w0", [0] * len(self.a[0]))])[0]]
        self.Q = [[Fraction(0)] * (T + 1) for _ in range(T + 1)]  # Q[t][k]
        self.inc = [[Fraction(0)] * (T + 1) for _ in range(T + 1)]
        for t in range(1, T + 1):
            self.x.append(given[t] if given else self._next(t))
            for k in range(1, t):
                candidates = self.x[1:t] if self.reference == "best" else [self.x[t - 1]]
                self.inc[t][k] = self.hat(k, self.x[t]) - min(self.hat(k, x) for x in candidates)
                self.Q[t][k] = max(self.Q[t - 1][k] + self.inc[t][k] - self.delta, Fraction(0))

    def beta(self, t: int) -> list[Fraction]:
        share = max(t - 1, 1) if self.weights == "mean" else 1
        return [q / share for q in self.Q[t - 1]]

    def _next(self, t: int) -> Point:
        parts = [(self.V * self.h[t - 1], self.a[t - 1])]
        parts += [(self.beta(t)[k] * self.g[k - 1], self.b[k - 1]) for k in range(1, t)]
        curvature = sum(weight for weight, _ in parts)
        pull = [sum(weight * point[i] for weight, point in parts) for i in range(len(self.a[0]))]
        x = self.x[t - 1]
        if self.s.get("solver") == "exact":
            return tuple(p / curvature for p in pull) if curvature else x
        for _ in range(self.s.get("steps", 3)):
            x = tuple(w - self.eta * (curvature * w - p) for w, p in zip(x, pull, strict=True))
            if "ball" in self.s:
                low, high = _interval(self.s["ball"])
                x = (min(max(x[0], low), high),)
        return x

    @property
    def tasks(self) -> range:
        return range(1, self.T + 1)

    # Sums over past tasks -------------------------------------------------------------------------------

    def past(self, t: int) -> int:
        return max(t - 1, 1)

    def Qbar(self, t: int) -> Fraction:
        """Qbar[t-1]."""
        return sum(self.Q[t - 1], Fraction(0)) / self.past(t)

    def Delta(self, t: int) -> Fraction:
        return sum(((self.inc[t][k] - self.delta) ** 2 for k in range(1, t)), Fraction(0)) / (2 * self.past(t))

    def lyapunov(self, t: int) -> Fraction:
        return sum((q * q for q in self.Q[t]), Fraction(0)) / (2 * self.past(t))

    def cross(self, t: int) -> Fraction:
        return sum((self.Q[t - 1][k] * (self.inc[t][k] - self.delta) for k in range(1, t)), Fraction(0))

    def average(self, values: Any) -> Fraction:
        return sum((values(t) for t in range(1, self.T + 1)), Fraction(0)) / self.T

    # Extreme values over W ------------------------------------------------------------------------------

    @cached_property
    def W(self) -> tuple[Fraction, Fraction]:
        if self._ball:
            return _interval(self._ball)
        points = [_only(p) for p in (*self.x, *self.a, *self.b)]
        return min(points), max(points)

    @property
    def radius(self) -> Fraction:
        return (self.W[1] - self.W[0]) / 2

    @property
    def r(self) -> Fraction:
        return max(max(abs(self.W[0] - _only(b)), abs(self.W[1] - _only(b))) for b in self.b)

    @property
    def L(self) -> Fraction:
        return max(self.h)

    @property
    def l(self) -> Fraction:  # noqa: E743
        return max(self.g)

    def variation(self, t: int) -> Fraction:
        """sup_W |Phi_t - Phi_{t-1}|: at an end of W, or where the slope of the difference vanishes."""
        if t == 1:
            return Fraction(0)
        bend = self.h[t - 1] - self.h[t - 2]
        points = list(self.W)
        if bend:
            points.append((self.h[t - 1] * _only(self.a[t - 1]) - self.h[t - 2] * _only(self.a[t - 2])) / bend)
        inside = [(w,) for w in points if self.W[0] <= w <= self.W[1]]
        return max(abs(self.phi(t, w) - self.phi(t - 1, w)) for w in inside)

    def rho_minus(self, t: int) -> Fraction:
        total = Fraction(0)
        for k in range(1, t):
            a, b = _only(self.a[t - 1]), _only(self.b[k - 1])
            nearest = min(max((a + b) / 2, self.W[0]), self.W[1])
            product = self.h[t - 1] * self.g[k - 1] * (nearest - a) * (nearest - b)
            total += max(-product, Fraction(0))
        return total


Entries = list[tuple[Fraction, Fraction]]


def printed_sides(statement: str, form: str, it: Exact) -> Entries:
    """(lhs, rhs) of the printed form at every entry (task, or just one)."""
    return _SIDES[statement](it, form)


def _lemma1(it: Exact, form: str) -> Entries:
    return [(it.lyapunov(t) - it.lyapunov(t - 1), it.Delta(t) + it.cross(t)) for t in it.tasks]


def _lemma2(it: Exact, form: str) -> Entries:
    past = {t: sum(b * g for b, g in zip(it.beta(t)[1:], it.g, strict=True)) for t in it.tasks}
    return [(it.V * it.h[t - 1] + past[t], it.V * it.L + it.l * it.Qbar(t)) for t in it.tasks]


def _gap(it: Exact, form: str) -> Entries:
    r = {"printed": it.radius, "diameter": 2 * it.radius}[form]
    low, high = it.W
    values = [[it.hat(k, (w,)) for w in (low, high, min(max(_only(it.b[k - 1]), low), high))] for k in it.tasks]
    return [(max(each) - min(each), HALF * it.l * r**2) for each in values]


def _dpp(it: Exact, form: str) -> Entries:
    def dpp(t: int, w: Point) -> Fraction:
        return it.V * it.phi(t, w) + sum(it.beta(t)[k] * it.hat(k, w) for k in range(1, t))

    drop = it.average(lambda t: dpp(t, it.x[t - 1]) - dpp(t, it.x[t])) / it.eta
    rhs = it.V * it.phi(1, it.x[0]) / (it.T * it.eta) + it.V / it.eta * it.average(it.variation)
    return [(drop, rhs + HALF * it.radius**2 * it.l / it.eta * it.average(it.Qbar))]


def _thm1(it: Exact, form: str) -> Entries:
    star = _points(it.options["w_star"])
    return [(it.average(lambda t: it.phi(t, it.x[t]) - it.phi(t, star[t - 1])), it.average(it.Delta) / it.V)]


def _thm3(it: Exact, form: str) -> Entries:
    gradient = it.average(lambda t: it.h[t - 1] ** 2 * _square(it.x[t - 1], it.a[t - 1]))
    rhs = 2 * it.phi(1, it.x[0]) / (it.T * it.V * it.eta) + 2 * it.average(it.variation) / (it.eta * it.V)
    rhs += it.l * it.r**2 / it.V * it.average(it.rho_minus)
    return [(gradient, rhs + it.r**2 * it.l / (it.eta * it.V**2) * it.average(it.Qbar))]


def _cor1(it: Exact, form: str) -> Entries:
    gradient = it.average(lambda t: it.h[t - 1] ** 2 * _square(it.x[t - 1], it.a[t - 1]))
    square = it.r**2 * it.l
    rhs = 2 * it.phi(1, it.x[0]) / (it.T * it.V * it.eta)
    rhs += it.average(it.variation) / (it.eta * it.V) * (2 + square / (it.V * it.delta))
    rhs += square / it.V * it.average(it.rho_minus)
    return [(gradient, rhs + square / (it.delta * it.eta * it.V**2) * it.average(it.Delta))]


def _thm4(it: Exact, form: str) -> Entries:
    rhs = (it.V * it.average(it.variation) + it.average(it.Delta)) / it.delta
    return [(it.average(it.Qbar), rhs)]


def _cor2(it: Exact, form: str) -> Entries:
    return [(it.average(it.Qbar), it.V * it.average(it.variation) / it.delta)]


def _constraint(it: Exact, form: str) -> Entries:
    early = 1 if form == "printed_index" else 0
    mean = {t: sum(it.inc[t][1:t], Fraction(0)) / it.past(t) - (it.delta if t > 1 else 0) for t in it.tasks}
    return [(mean[t], max(it.Q[t - early]) / it.past(t)) for t in it.tasks]


_SIDES: dict[str, Callable[[Exact, str], Entries]] = {
    "lemma1": _lemma1,
    "lemma2": _lemma2,
    "lemma_gap": _gap,
    "lemma_dpp": _dpp,
    "thm1": _thm1,
    "thm3": _thm3,
    "thm4": _thm4,
    "cor1": _cor1,
    "cor2_queue": _cor2,
    "constraint": _constraint,
}


def _points(rows: list[list[Any]]) -> list[Point]:
    return [tuple(Fraction(value) for value in row) for row in rows]


def _square(w: Point, a: Point) -> Fraction:
    return sum(((x - y) ** 2 for x, y in zip(w, a, strict=True)), Fraction(0))


def _only(point: Point) -> Fraction:
    (value,) = point
    return value


def _interval(ball: dict[str, Any]) -> tuple[Fraction, Fraction]:
    centre, radius = Fraction(ball["center"][0]), Fraction(ball["radius"])
    return centre - radius, centre + radius
