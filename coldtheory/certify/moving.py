"""The algebra of a V that moves and of steps that follow the queues."""

from __future__ import annotations

from .algebra import Problem, claim
from .terms import ZERO, Goal, Maximum, Number, Values, total


def _named(letter: str, first: int, last: int) -> tuple[str, ...]:
    return tuple(f"{letter}{t}" for t in range(first, last + 1))


@claim(
    "moving.drift", "new:moving_gap",
    "sum_t (Pot[t-1] - Pot[t])/V_t <= sum_{t<T} (1/V_{t+1} - 1/V_t)_+ Pot[t]",
    unit="tasks", small=(2, 3, 4), full=(2, 3, 4, 5, 6),
)  # fmt: skip
def moving_drift(T: int) -> Problem:
    """Abel's summation of the drift.

    Problem    dividing by a V that moves, the Lyapunov function no longer telescopes.
    Method     any potentials Pot[t] >= 0 with Pot[0] = 0 and any r_t = 1/V_t > 0.
    Guarantee  the gap and the gradient for every way in which V moves; nothing is added where V rises.
    Paper      not in the paper
    Example

    >>> moving_drift(2).at(P1=1, P2=0, r1=1, r2=3)
    [Fraction(0, 1)]
    """

    def goal(v: Values, maximum: Maximum) -> Goal:
        P = [ZERO, *(v[name] for name in _named("P", 1, T))]
        r = [ZERO, *(v[name] for name in _named("r", 1, T))]
        left = total((P[t - 1] - P[t]) * r[t] for t in range(1, T + 1))
        right = total(maximum(r[t + 1] - r[t], ZERO) * P[t] for t in range(1, T))
        return Goal([right - left], assume=P[1:], positive=r[1:])

    return Problem((*_named("P", 1, T), *_named("r", 1, T)), goal)


@claim(
    "moving.losses", "new:moving_queue",
    "sum_{t>=2} u_t (p_{t-1} - p_t) <= u_2 p_1 + sum_{1<t<T} (u_{t+1} - u_t)_+ p_t",
    unit="tasks", small=(2, 3, 4), full=(2, 3, 4, 5, 6),
)  # fmt: skip
def moving_losses(T: int) -> Problem:
    """Abel's summation of the losses.

    Problem    not divided by V, the losses after each task no longer telescope.
    Method     any p_t = Phi_t(x_t) >= 0 and any u_t > 0.
    Guarantee  the queue for every way in which V moves; nothing is added where V falls.
    Paper      not in the paper
    Example

    >>> moving_losses(3).at(p1=1, p2=1, p3=0, u2=1, u3=2)
    [Fraction(0, 1)]
    """

    def goal(v: Values, maximum: Maximum) -> Goal:
        p = {t: v[f"p{t}"] for t in range(1, T + 1)}
        u = {t: v[f"u{t}"] for t in range(2, T + 1)}
        left = total(u[t] * (p[t - 1] - p[t]) for t in range(2, T + 1))
        right = u[2] * p[1] + total(maximum(u[t + 1] - u[t], ZERO) * p[t] for t in range(2, T))
        return Goal([right - left], assume=list(p.values()), positive=list(u.values()))

    return Problem((*_named("p", 1, T), *_named("u", 2, T)), goal)


@claim(
    "adaptive.total", "new:adaptive_step", "eta_t alpha_t = c implies 1/sum_t eta_t <= (1/(c T^2)) sum_t alpha_t",
    unit="tasks", small=(1, 2), full=(1, 2, 3),
)  # fmt: skip
def adaptive_total(T: int) -> Problem:
    """The mean of alpha_t in place of its maximum.

    Problem    how small the sum of the steps c/alpha_t can get.
    Method     multiplied by the product of all alpha_t it is the inequality of the harmonic and arithmetic mean.
    Guarantee  equality where all alpha_t are equal.
    Paper      not in the paper
    Example

    >>> adaptive_total(2).at(a1=1, a2=3)
    [Fraction(4, 1)]
    """

    def goal(v: Values, maximum: Maximum) -> Goal:
        a = [v[name] for name in _named("a", 1, T)]
        others = total(_product([x for s, x in enumerate(a) if s != t]) for t in range(T))
        return Goal([total(a) * others - T * T * _product(a)], positive=a)

    return Problem(_named("a", 1, T), goal)


def _product(numbers: list[Number]) -> Number:
    whole: Number = ZERO + 1
    for number in numbers:
        whole = whole * number
    return whole
