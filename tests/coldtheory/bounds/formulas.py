"""Every claimed form written out a second time, in rationals: left side and each term by name.

Straight from the statements in the docstrings of `coldtheory.bounds`, with plain sums over t and k. What a change of
one term, sign or index in the float code would alter, a comparison with these numbers shows.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from tests.coldtheory.bounds.rationals import HALF, Exact, Point

Sides = tuple[object, dict[str, object]]  #: left side and terms: numbers, or lists over t (and k)


class Written(Exact):
    """More quantities of the same run."""

    @property
    def gains(self) -> dict[int, int]:
        return {t: 1 if self.weights == "mean" else t - 1 for t in self.tasks}

    @property
    def caps(self) -> dict[int, Fraction]:
        """c_t of Theorem 3."""
        age = {t: max(t - 2, 0) if self.reference == "best" else min(max(t - 2, 0), 1) for t in self.tasks}
        return {t: Fraction(age[t] * self.gains[t], self.past(t)) for t in self.tasks}

    @property
    def shares(self) -> dict[int, Fraction]:
        """0 at t = 1, then 1 or 1/(t-1)."""
        return {t: Fraction(0 if t == 1 else 1) / (1 if self.weights == "mean" else self.past(t)) for t in self.tasks}

    def mean(self, values: Callable[[int], Fraction]) -> Fraction:
        return self.average(values)

    def moved(self, t: int) -> Fraction:
        """|Phi_t - Phi_{t-1}|(x_{t-1})."""
        return abs(self.phi(t, self.x[t - 1]) - self.phi(t - 1, self.x[t - 1])) if t > 1 else Fraction(0)

    def slope(self, t: int, w: Point) -> Fraction:
        return self.h[t - 1] * (w[0] - self.a[t - 1][0])

    def memory_slope(self, k: int, w: Point) -> Fraction:
        return self.g[k - 1] * (w[0] - self.b[k - 1][0])

    def opposed(self, t: int, k: int) -> Fraction:
        """Negative part of <grad Phi_t, grad hatPhi_k>(x_{t-1})."""
        x = self.x[t - 1]
        return max(-self.slope(t, x) * self.memory_slope(k, x), Fraction(0))

    def rho_here(self, t: int) -> Fraction:
        return sum((self.opposed(t, k) for k in range(1, t)), Fraction(0))

    def conflict(self, t: int) -> Fraction:
        return sum((self.beta(t)[k] * self.opposed(t, k) for k in range(1, t)), Fraction(0))

    def ageing(self, t: int) -> Fraction:
        return self.lyapunov(t - 1) / self.past(t)

    @property
    def r_models(self) -> Fraction:
        return max(abs(x[0] - b[0]) for x in self.x for b in self.b)

    @property
    def alpha(self) -> Fraction:
        return max(self.V * self.L + self.l * sum(self.beta(t)) for t in self.tasks)

    @property
    def lyapunov_end(self) -> Fraction:
        return self.lyapunov(self.T) * (1 if self.weights == "mean" else self.T - 1)

    def inner_squares(self, t: int) -> Fraction:
        """Mean over the J inner iterates of |grad Phi_t|^2."""
        y, total, J = self.x[t - 1][0], Fraction(0), self.s["steps"]
        for _ in range(J):
            total += self.slope(t, (y,)) ** 2
            pull = sum(self.beta(t)[k] * self.memory_slope(k, (y,)) for k in range(1, t))
            y -= self.eta * (self.V * self.slope(t, (y,)) + pull)
        return total / J

    @property
    def star(self) -> list[Point]:
        return [tuple(Fraction(v) for v in row) for row in self.options["w_star"]]

    @property
    def margin(self) -> Fraction:
        return self.delta - Fraction(self.options["delta_prime"])

    def memory_error(self, t: int, w: Point) -> Fraction:
        return abs(self.phi(t, w) - self.hat(t - 1, w)) if t > 1 else Fraction(0)

    def memory_sup(self, t: int) -> Fraction:
        """sup_W |Phi_t - hatPhi_{t-1}|."""
        if t == 1:
            return Fraction(0)
        bend = self.h[t - 1] - self.g[t - 2]
        points = list(self.W)
        if bend:
            points.append((self.h[t - 1] * self.a[t - 1][0] - self.g[t - 2] * self.b[t - 2][0]) / bend)
        return max(self.memory_error(t, (w,)) for w in points if self.W[0] <= w <= self.W[1])

    def rise(self, t: int, k: int, tilt: Fraction = Fraction(0)) -> Fraction:
        """hatPhi_k(x_t) - min_{k<=s<=t} [hatPhi_k(x_s) + (t-s) tilt], 0 for k >= t."""
        if k >= t:
            return Fraction(0)
        return self.hat(k, self.x[t]) - min(self.hat(k, self.x[s]) + (t - s) * tilt for s in range(k, t + 1))


def written(id_: str, form: str, it: Written) -> Sides:
    """Left side and terms of a form."""
    return _FORMS[id_](it, form)


def _lemma1(it: Written, form: str) -> Sides:
    terms: dict[str, object] = {
        "residual": [it.Delta(t) for t in it.tasks],
        "queue times increment": [it.cross(t) / it.past(t) for t in it.tasks],
    }
    if form in ("corrected", "identity"):
        terms["ageing"] = [-it.ageing(t) for t in it.tasks]
    if form == "identity":

        def cut(t: int, k: int) -> Fraction:
            return min(it.Q[t - 1][k] + it.inc[t][k] - it.delta, Fraction(0)) ** 2

        terms["clipped"] = [-sum((cut(t, k) for k in range(1, t)), Fraction(0)) / (2 * it.past(t)) for t in it.tasks]
    return [it.lyapunov(t) - it.lyapunov(t - 1) for t in it.tasks], terms


def _lemma2(it: Written, form: str) -> Sides:
    curvature = [it.V * it.h[t - 1] + sum(it.beta(t)[k] * it.g[k - 1] for k in range(1, t)) for t in it.tasks]
    past = [it.l * sum(it.beta(t)) for t in it.tasks]
    return curvature, {"current task": [it.V * it.L] * it.T, "past tasks": past}


def _gap(it: Written, form: str) -> Sides:
    low, high = it.W
    ends = [[it.hat(k, (w,)) for w in (low, high, min(max(it.b[k - 1][0], low), high))] for k in it.tasks]
    return [max(each) - min(each) for each in ends], {"l r^2 / 2": [HALF * it.l * it.r**2] * it.T}


def _dpp(it: Written, form: str) -> Sides:
    def value(t: int, w: Point) -> Fraction:
        return it.V * it.phi(t, w) + sum(it.beta(t)[k] * it.hat(k, w) for k in range(1, t))

    near = form == "trajectory"
    r = it.r_models if near else it.r
    return it.mean(lambda t: value(t, it.x[t - 1]) - value(t, it.x[t])) / it.eta, {
        "first loss": it.V * it.phi(1, it.x[0]) / (it.T * it.eta),
        "variation": it.V / it.eta * it.mean(it.moved if near else it.variation),
        "queues": r**2 * it.l / (2 * it.eta) * it.mean(lambda t: it.gains[t] * it.Qbar(t)),
    }


def _thm1(it: Written, form: str) -> Sides:
    weight = {t: Fraction(1, it.past(t)) if form == "weighted" else Fraction(1) for t in it.tasks}
    gain = {t: 1 if form == "weighted" else it.gains[t] for t in it.tasks}
    gap = it.mean(lambda t: weight[t] * (it.phi(t, it.x[t]) - it.phi(t, it.star[t - 1])))
    terms: dict[str, object] = {"residual": it.mean(lambda t: gain[t] * it.Delta(t)) / it.V}
    if form == "sharp":
        terms["relief"] = -it.margin / it.V * it.mean(lambda t: it.gains[t] * it.Qbar(t))
        terms["last Lyapunov"] = -it.lyapunov_end / (it.V * it.T)
        if it.weights == "mean":
            terms["ageing"] = -it.mean(it.ageing) / it.V
    return gap, terms


def _thm2(it: Written, form: str) -> Sides:
    over, V = 1 / it.margin, it.V
    share = {t: Fraction(1) for t in it.tasks} if form == "printed" else it.shares
    terms: dict[str, object] = {"residual": over * it.mean(it.Delta)}
    if form == "sharp":
        gap = it.mean(lambda t: share[t] * (it.phi(t, it.star[t - 1]) - it.phi(t, it.x[t])))
        terms |= {"loss gap": over * V * gap, "ageing": -over * it.mean(it.ageing)}
        terms["last Lyapunov"] = -over * it.lyapunov(it.T) / it.T
    else:

        def error(t: int) -> Fraction:
            if form == "trajectory":
                return it.memory_error(t, it.x[t]) + it.memory_error(t, it.star[t - 1])
            return 2 * it.memory_sup(t)

        terms["tolerance"] = over * V * Fraction(it.options["delta_prime"]) * it.mean(lambda t: share[t])
        terms["memory error"] = over * V * it.mean(lambda t: share[t] * error(t))
    return it.mean(it.Qbar), terms


def _thm3(it: Written, form: str) -> Sides:
    near = form in ("trajectory", "sharp")
    r = it.r_models if near else it.r
    factor = 1 / (1 - it.eta * it.alpha / 2) if form == "sharp" else Fraction(2)
    J = it.s["steps"] if form == "inner_average" else 1
    over = factor / (it.eta * J)
    rho = it.rho_here if near else it.rho_minus
    squares = {
        "inner_average": it.inner_squares,
        "after_update": lambda t: it.slope(t, it.x[t]) ** 2,
    }.get(form, lambda t: it.slope(t, it.x[t - 1]) ** 2)
    return it.mean(squares), {
        "first loss": over * it.phi(1, it.x[0]) / (it.T * it.V),
        "variation": over / it.V * it.mean(it.moved if near else it.variation),
        "conflict": it.l * r**2 / it.V * it.mean(lambda t: it.caps[t] * rho(t)),
        "queues": over * r**2 * it.l / (2 * it.V**2) * it.mean(lambda t: it.gains[t] * it.Qbar(t)),
    }


def _thm3_sharp(it: Written, form: str) -> Sides:
    factor = 1 / (1 - it.eta * it.alpha / 2) if form == "sharp" else Fraction(2)
    over, V, T = factor / it.eta, it.V, it.T
    terms: dict[str, object] = {
        "first loss": over * it.phi(1, it.x[0]) / (V * T),
        "last loss": -over * it.phi(T, it.x[T]) / (V * T),
        "variation": over / V * it.mean(it.variation if form == "ball" else it.moved),
        "residual": over / V**2 * it.mean(lambda t: it.gains[t] * it.Delta(t)),
        "relief": -over * it.delta / V**2 * it.mean(lambda t: it.gains[t] * it.Qbar(t)),
        "last Lyapunov": -over / V**2 * it.lyapunov_end / T,
        "conflict": 2 / V * it.mean(it.conflict),
    }
    if form == "sharp" and it.weights == "mean":
        terms["ageing"] = -over / V**2 * it.mean(it.ageing)
    return it.mean(lambda t: it.slope(t, it.x[t - 1]) ** 2), terms


def _thm4(it: Written, form: str) -> Sides:
    over, V, T = 1 / it.delta, it.V, it.T
    first = {"first loss": over * V * it.phi(1, it.x[1]) / T}
    residual = {"residual": over * it.mean(it.Delta)}
    ends = {"ageing": -over * it.mean(it.ageing), "last Lyapunov": -over * it.lyapunov(T) / T}
    rise = it.mean(lambda t: sum((it.rise(t - 1, k) for k in range(1, t)), Fraction(0)) / it.past(t))
    progress = over * V * it.mean(lambda t: it.shares[t] * (it.phi(t, it.x[t - 1]) - it.phi(t, it.x[t])))
    whole = sum((progress, *residual.values(), *ends.values()))
    terms: dict[str, dict[str, object]] = {
        "corrected": {**first, **residual, "variation": over * V * it.mean(it.variation)},
        "zero_start": {
            **residual,
            "variation": over * V * it.mean(it.variation),
            "first loss": over * V * max(it.phi(1, (w,)) for w in it.W) / T,
        },
        "trajectory": {**first, **residual, "variation": over * V * it.mean(it.moved)},
        "sharp": {
            **first,
            **residual,
            **ends,
            "variation": over * V * it.mean(lambda t: it.shares[t] * it.moved(t)),
            "last loss": -over * V * it.shares[T] * it.phi(T, it.x[T]) / T,
        },
        "progress": {**residual, **ends, "progress": progress},
        "by_lindley": {"rise": rise},
        "a_priori": {"l r^2 / 2": HALF * it.l * it.r**2 * it.mean(lambda t: Fraction(max(t - 2, 0), it.past(t)))},
        "best": {
            "progress bound": whole if whole < rise else Fraction(0),
            "Lindley bound": Fraction(0) if whole < rise else rise,
        },
    }
    return it.mean(it.Qbar), terms[form]


def _cor1(it: Written, form: str) -> Sides:
    over, V, square = 1 / it.eta, it.V, it.r**2 * it.l
    plain = form in ("printed", "mean")
    terms: dict[str, object] = {
        "first loss": 2 * over * it.phi(1, it.x[0]) / (V * it.T),
        "variation": 2 * over / V * it.mean(it.variation),
        "conflict": square / V * it.mean(lambda t: (1 if plain else it.caps[t]) * it.rho_minus(t)),
        "residual": square * over / (it.delta * V**2) * it.mean(lambda t: (1 if plain else it.gains[t]) * it.Delta(t)),
    }
    if form != "sharp":
        through = square / (V * it.delta) if plain else square / it.delta
        terms["variation through the queues"] = over / V * through * it.mean(it.variation)
    if form == "corrected":
        terms["first loss again"] = square * it.phi(1, it.x[1]) / (it.eta * it.T * V * it.delta)
    return it.mean(lambda t: it.slope(t, it.x[t - 1]) ** 2), terms


def _cor2_gradient(it: Written, form: str) -> Sides:
    c = it.eta * it.V
    return it.mean(lambda t: it.slope(t, it.x[t - 1]) ** 2), {
        "first loss": 2 / c * it.phi(1, it.x[0]) / it.T,
        "variation": 2 / c * it.mean(it.variation),
        "residual": 2 / (c * it.V) * it.mean(lambda t: it.gains[t] * it.Delta(t)),
        "conflict": it.l * it.r**2 / it.V * it.mean(lambda t: it.caps[t] * it.rho_minus(t)),
    }


def _cor2_queue(it: Written, form: str) -> Sides:
    return _thm4(it, "corrected")


def _constraint(it: Written, form: str) -> Sides:
    pairs = Fraction(it.T * (it.T - 1), 2)
    if form == "corrected":
        total = sum(sum(row) for row in it.inc)
        return total / pairs, {"delta": it.delta, "last queues": sum(it.Q[it.T]) / pairs}
    ages = [[max(t - k, 0) for k in it.tasks] for t in it.tasks]
    sums = [[sum(it.inc[s][k] for s in range(k + 1, t + 1)) for k in it.tasks] for t in it.tasks]

    def over(values: list[list[Fraction]]) -> list[list[Fraction]]:
        return [
            [v / n if n else Fraction(0) for v, n in zip(*rows, strict=True)] for rows in zip(values, ages, strict=True)
        ]

    deltas = [[it.delta if n else Fraction(0) for n in row] for row in ages]
    return over(sums), {"delta": deltas, "queue": over([it.Q[t][1:] for t in it.tasks])}


def _lindley(it: Written, form: str) -> Sides:
    queues = [it.Q[t][1:] for t in it.tasks]
    if form in ("identity", "reverse"):
        rises = [[it.rise(t, k, it.delta) for k in it.tasks] for t in it.tasks]
        return (queues, {"largest rise": rises}) if form == "identity" else (rises, {"queue": queues})
    if form == "corrected":
        return queues, {"rise above the best": [[it.rise(t, k) for k in it.tasks] for t in it.tasks]}
    counts = [[max(t - k, 0) if it.reference == "best" else int(t > k) for k in it.tasks] for t in it.tasks]
    return queues, {"l r^2 / 2": [[HALF * it.l * it.r**2 * n for n in row] for row in counts]}


_FORMS: dict[str, Callable[[Written, str], Sides]] = {
    "lemma1": _lemma1,
    "lemma2": _lemma2,
    "lemma_gap": _gap,
    "lemma_dpp": _dpp,
    "thm1": _thm1,
    "thm2": _thm2,
    "thm3": _thm3,
    "thm3_sharp": _thm3_sharp,
    "thm4": _thm4,
    "cor1": _cor1,
    "cor2_gradient": _cor2_gradient,
    "cor2_queue": _cor2_queue,
    "constraint": _constraint,
    "lindley": _lindley,
}
