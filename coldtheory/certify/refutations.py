"""Printed statements that fail, with rational numbers at which they do.

Wherever losses appear they are quadratics in one dimension, so that a model found is a run of the
algorithm, not only a choice of numbers.
"""

from __future__ import annotations

from fractions import Fraction

from .algebra import Problem, claim
from .terms import ZERO, Goal, Maximum, Number, QueuePath, Step, Values, largest, pairs, total

HALF = Fraction(1, 2)


def _last_step(T: int, v: Values, maximum: Maximum) -> Step:
    """Task T of a Case 1 run on losses .5 (w - a_k)^2 with a_1 = x_1 = 0."""
    model = {1: ZERO, **{t: v[f"x{t}"] for t in range(2, T + 1)}}
    optimum = {1: ZERO, **{k: v[f"a{k}"] for k in range(2, T)}}

    def loss(k: int, t: int) -> Number:
        return HALF * (model[t] - optimum[k]) * (model[t] - optimum[k])

    d = {(k, t): loss(k, t) - loss(k, t - 1) - v["delta"] for k, t in pairs(T)}
    return QueuePath(T, d, maximum).step(T)


@claim(
    "lemma1.sum.printed", "lem:upperBoundLem", "FALSE as printed: Lyap[t] - Lyap[t-1] <= Delta_t + S_t",
    unit="T", small=(3,), refute=True,
)  # fmt: skip
def lemma1_sum_printed(T: int) -> Problem:
    """The drift lemma as the main text prints it, without 1/(t-1).

    Problem    S_t is t-1 times what the lemma's own proof gives; where it is negative that is too much.
    Method     losses .5 (w - a_k)^2, x_1 = a_1 = 0, the other models and optima and delta free.
    Guarantee  rational models, checked in fractions; T = 3 is the smallest, as both forms agree at t = 2.
    Paper      `lem:upperBoundLem`, main text
    Example

    >>> lemma1_sum_printed(3).violated(dict(delta=Fraction(1, 1000), a2=1, x2=1, x3=0))
    True
    """

    def goal(v: Values, maximum: Maximum) -> Goal:
        s = _last_step(T, v, maximum)
        drift = s.lyapunov_after - s.lyapunov_before
        return Goal([s.Delta + s.cross - drift], positive=[v["delta"]])

    return Problem(("delta", *(f"a{k}" for k in range(2, T)), *(f"x{t}" for t in range(2, T + 1))), goal)


@claim(
    "lemma1.newest", "lem:upperBoundLem", "FALSE without Q_{t-1}[t-1] = 0: Lyap[t] - Lyap[t-1] <= Delta_t + S_t/(t-1)",
    unit="past tasks", small=(2,), refute=True,
)  # fmt: skip
def lemma1_newest(K: int) -> Problem:
    """The drift lemma when the newest queue may start above zero.

    Problem    Lyap[t-1] does not see Q_{t-1}, Lyap[t] does.
    Method     all K queues free.
    Guarantee  the initial condition of the queues is needed, though the lemma does not state it.
    Paper      `lem:upperBoundLem`, appendix
    Example

    >>> lemma1_newest(2).violated(dict(Q1=0, Q2=1, d1=0, d2=0))
    True
    """

    def goal(v: Values, maximum: Maximum) -> Goal:
        s = Step([v[f"Q{k}"] for k in range(1, K + 1)], [v[f"d{k}"] for k in range(1, K + 1)], maximum)
        return Goal([s.Delta + s.cross / K - s.lyapunov_after + s.lyapunov_before], assume=s.queues)

    return Problem(tuple(f"{n}{k}" for n in "Qd" for k in range(1, K + 1)), goal)


@claim(
    "thm4.printed", "thm:avg_queue_bound_case2",
    "FALSE as printed: delta sum_t Qbar[t-1] <= V T D + sum_t Delta_t (D with its t=1 term 0, eta <= 1/(2 alpha_t))",
    unit="T", small=(3,), refute=True,
)  # fmt: skip
def theorem4_printed(T: int) -> Problem:
    """The queue bound under gradient descent as printed, on a run.

    Problem    with the same loss at every task D is zero, yet the queues are not paid for by Delta_t.
    Method     Phi_t = .5 (w - 1)^2, memory losses .5 w^2, x_0 = 1/2, V = 1, eta = 1/250, mean weights; delta free.
    Guarantee  a run of T gradient steps that obeys eta <= 1/(2 alpha_t), exact.
    Paper      `thm:avg_queue_bound_case2`
    Example

    >>> theorem4_printed(3).violated(dict(delta=Fraction(4, 5000)))
    True
    """
    eta, V = Fraction(1, 250), Fraction(1)

    def goal(v: Values, maximum: Maximum) -> Goal:
        delta = v["delta"]
        x: Number = HALF
        queues: list[Number] = []
        slack: Number = ZERO
        assume = []
        for _ in range(T):
            K = max(len(queues), 1)
            beta = total(queues) / K
            assume.append(1 - 2 * eta * (V + beta))
            y = x - eta * (V * (x - 1) + beta * x)
            if queues:
                step = Step(queues, [HALF * (y * y - x * x) - delta] * len(queues), maximum)
                slack = slack + step.Delta - delta * step.Qbar
                queues = step.after
            queues = [*queues, ZERO]
            x = y
        return Goal([slack], assume, [delta])

    return Problem(("delta",), goal)


@claim(
    "drift.sum.printed", "lemm:drift",
    "FALSE for the printed DPP: sum_k Q_k [hatPhi_k(x_{t-1}) - hatPhi_k(x_t)] <= (l r^2/2) Qbar",
    unit="past tasks", small=(2,), refute=True,
)  # fmt: skip
def drift_sum_printed(K: int) -> Problem:
    """The queue part of the average-DPP lemma for the printed DPP.

    Problem    the proof drops the factor t-1 that the sum of the queues carries.
    Method     losses .5 w^2 (l = 1), two models within r of their minimiser 0, any queues.
    Guarantee  the factor is needed from two past tasks on.
    Paper      `lemm:drift` with `eq:dpp_opt_problem`
    Example

    >>> drift_sum_printed(2).violated(dict(r=1, x=1, y=0, Q1=1, Q2=0))
    True
    """

    def goal(v: Values, maximum: Maximum) -> Goal:
        queues = [v[f"Q{k}"] for k in range(1, K + 1)]
        r, x, y = v["r"], v["x"], v["y"]
        fall = total(queues) * HALF * (x * x - y * y)
        return Goal([HALF * r * r * total(queues) / K - fall], [*queues, r - x, r + x, r - y, r + y])

    return Problem(("r", "x", "y", *(f"Q{k}" for k in range(1, K + 1))), goal)


@claim(
    "bounded_queue.printed", "cor:case1_final_result",
    "FALSE as printed: (1/(t-1)) sum_{k<t} d_k[t] <= max_k Q_k[t]/(t-1)", unit="T", small=(3,), refute=True,
)  # fmt: skip
def bounded_queue_printed(T: int) -> Problem:
    """The step from a bounded queue to the constraint at one task.

    Problem    an average over past tasks is bounded by one queue divided by their number.
    Method     losses .5 (w - a_k)^2, x_1 = a_1 = 0; even the largest queue, even at the later index t.
    Guarantee  the step fails from t = 3 on; at t = 2 it is d <= Q.
    Paper      the paragraph "Bounded average queue" after `cor:case1_final_result`
    Example

    >>> bounded_queue_printed(3).violated(dict(delta=Fraction(1, 1000), a2=0, x2=0, x3=1))
    True
    """

    def goal(v: Values, maximum: Maximum) -> Goal:
        s = _last_step(T, v, maximum)
        return Goal([(largest(s.after, maximum) - total(s.d)) / s.K], positive=[v["delta"]])

    return Problem(("delta", *(f"a{k}" for k in range(2, T)), *(f"x{t}" for t in range(2, T + 1))), goal)


@claim(
    "bounded_queue.premise", "cor:case1_final_result",
    "FALSE as printed: Q_k[t] >= Q_k[t-1] + hatPhi_k(x_t) - hatPhi_k(x_{t-1}), without delta",
    unit="queues", small=(1,), refute=True,
)  # fmt: skip
def bounded_queue_premise(n: int) -> Problem:
    """The inequality that paragraph starts from.

    Problem    it lost the -delta of the queue update.
    Method     one queue, any rise of the loss, delta > 0.
    Guarantee  with -delta it is true by definition; without it, false for every delta > 0.
    Paper      the paragraph "Bounded average queue" after `cor:case1_final_result`
    Example

    >>> bounded_queue_premise(1).violated(dict(Q=0, rise=1, delta=1))
    True
    """

    def goal(v: Values, maximum: Maximum) -> Goal:
        after = maximum(v["Q"] + v["rise"] - v["delta"], ZERO)
        return Goal([after - v["Q"] - v["rise"]], assume=[v["Q"]], positive=[v["delta"]])

    return Problem(("Q", "rise", "delta"), goal)
