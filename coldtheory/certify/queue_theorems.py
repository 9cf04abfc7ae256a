"""The algebra of the queue bound under gradient descent, and of the lemma on the average DPP."""

from __future__ import annotations

from fractions import Fraction

from .algebra import Problem, claim
from .terms import Goal, Maximum, Number, Step, Values, Weights, pairs, total
from .theorems import _factor, _pairs, _path, _pull, _queue_terms, _tasks, _variation


def queue_step(K: int, weights: Weights) -> Problem:
    """delta Qbar[t-1] <= (V/f_t) fall + Delta_t - (Lyap[t] - Lyap[t-1]), fall = Phi_t(x_{t-1}) - Phi_t(x_t)."""

    def goal(v: Values, maximum: Maximum) -> Goal:
        queues = [*(v[f"Q{k}"] for k in range(1, K)), Fraction(0)]
        s = Step(queues, [v[f"d{k}"] for k in range(1, K + 1)], maximum)
        drift = s.lyapunov_after - s.lyapunov_before
        right = v["V"] * v["fall"] / _factor(weights, K + 1) + s.Delta - drift
        descent = v["V"] * v["fall"] - _pull(s, weights, v["delta"])
        return Goal([right - v["delta"] * s.Qbar], [*queues, v["delta"], descent], [v["V"]])

    return Problem(("V", "delta", "fall", *(f"Q{k}" for k in range(1, K)), *(f"d{k}" for k in range(1, K + 1))), goal)


@claim(
    "thm4.step.mean", "thm:avg_queue_bound_case2",
    "delta Qbar[t-1] <= V [Phi_t(x_{t-1}) - Phi_t(x_t)] + Delta_t - (Lyap[t] - Lyap[t-1]) (mean weights)",
    unit="past tasks", small=(1, 2, 3, 4), full=(1, 2, 3, 4, 5, 6),
)  # fmt: skip
def queue_step_mean(K: int) -> Problem:
    """One task of the queue bound, for any queues.

    Problem    what one task may add to the queues.
    Method     DPP_t(x_t) <= DPP_t(x_{t-1}) and the drift lemma.
    Guarantee  any update that does not increase DPP_t, such as gradient steps with eta <= 2/alpha_t.
    Paper      `thm:avg_queue_bound_case2`, the inequality before averaging
    Example

    >>> queue_step_mean(2).at(V=1, delta=1, fall=0, Q1=2, d1=-1, d2=0)
    [Fraction(1, 1)]
    """
    return queue_step(K, "mean")


@claim(
    "thm4.step.sum", "thm:avg_queue_bound_case2",
    "delta Qbar[t-1] <= V [Phi_t(x_{t-1}) - Phi_t(x_t)]/(t-1) + Delta_t - (Lyap[t] - Lyap[t-1]) (sum weights)",
    unit="past tasks", small=(1, 2, 3, 4), full=(1, 2, 3, 4, 5, 6),
)  # fmt: skip
def queue_step_sum(K: int) -> Problem:
    """One task of the queue bound for the printed DPP.

    Problem    its descent inequality is t-1 times too large for the drift lemma.
    Method     divide it by t-1 first.
    Guarantee  V acts as V/(t-1).
    Paper      `thm:avg_queue_bound_case2` with `eq:batchCOLD`
    Example

    >>> queue_step_sum(2).at(V=1, delta=1, fall=0, Q1=2, d1=-1, d2=0)
    [Fraction(1, 1)]
    """
    return queue_step(K, "sum")


@claim(
    "thm4.abel", "thm:avg_queue_bound_case2",
    "sum_{t>=2} [Phi_t(x_{t-1}) - Phi_t(x_t)]/(t-1) <= Phi_1(x_1) + sum_{t>=2} |Phi_t - Phi_{t-1}|(x_{t-1})/(t-1)",
    unit="T", small=(2, 3, 4, 5), full=(2, 3, 4, 5, 6, 7, 8),
)  # fmt: skip
def abel_summation(T: int) -> Problem:
    """The telescoping with the decreasing weights 1/(t-1).

    Problem    with sum weights the loss terms do not telescope by themselves.
    Method     Abel summation: 1/(t-1) decreases and Phi >= 0.
    Guarantee  any losses that are not negative.
    Paper      `thm:avg_queue_bound_case2`, the averaging step
    Example

    >>> abel_summation(2).at(after1=3, before2=5, after2=0)
    [Fraction(0, 1)]
    """

    def goal(v: Values, maximum: Maximum) -> Goal:
        variation = _variation(T, v, maximum)
        left = total((v[f"before{t}"] - v[f"after{t}"]) / Fraction(t - 1) for t in variation)
        right = v["after1"] + total(x / Fraction(t - 1) for t, x in variation.items())
        return Goal([right - left], assume=[v[f"after{t}"] for t in range(1, T + 1)])

    return Problem((*_tasks("after", T), *_tasks("before", T)[1:]), goal)


def theorem4(T: int, weights: Weights, *, first: Number = Fraction(1)) -> Problem:
    """The corrected queue bound, times T delta; `first` multiplies the term V Phi_1(x_1) that the paper leaves out."""

    def goal(v: Values, maximum: Maximum) -> Goal:
        V, delta = v["V"], v["delta"]
        steps, variation = _path(T, v, maximum).steps(), _variation(T, v, maximum)
        descent = [V * (v[f"before{t}"] - v[f"after{t}"]) - _pull(s, weights, delta) for t, s in steps.items()]
        if weights == "mean":
            losses = first * v["after1"] - v[f"after{T}"] + total(variation.values())
            slack = V * losses + _queue_terms(steps, "mean", delta)
        else:
            losses = first * v["after1"] + total(x / Fraction(t - 1) for t, x in variation.items())
            slack = V * losses + total(s.Delta - delta * s.Qbar for s in steps.values())
        values = [v[n] for n in (*_tasks("after", T), *_tasks("before", T)[1:])]
        return Goal([slack], [*descent, *values, delta], [V])

    return Problem(("V", "delta", *_tasks("after", T), *_tasks("before", T)[1:], *_pairs("d", T)), goal)


@claim(
    "thm4.mean", "thm:avg_queue_bound_case2",
    "delta sum_t Qbar[t-1] <= V (Phi_1(x_1) - Phi_T(x_T) + T D) + sum_t Delta_t - Lyap[T] (Case 1, mean weights)",
    unit="T", small=(2, 3), full=(2, 3, 4),
)  # fmt: skip
def theorem4_mean(T: int) -> Problem:
    """The average queue under gradient descent, Case 1, with the term the paper leaves out.

    Problem    the printed bound has Phi_1(x_1) only if its D is read with Phi_0 = 0, as sup Phi_1/T.
    Method     the one-task inequality of every task at once, queues started at zero.
    Guarantee  D along the trajectory; any update that does not increase DPP_t.
    Paper      `thm:avg_queue_bound_case2`, corrected
    Example

    >>> theorem4_mean(2).at(V=1, delta=1, after1=2, after2=0, before2=2, d1_2=-1)
    [Fraction(5, 2)]
    """
    return theorem4(T, "mean")


@claim(
    "thm4.sum", "thm:avg_queue_bound_case2",
    "delta sum_t Qbar[t-1] <= V Phi_1(x_1) + V sum_{t>=2} |Phi_t - Phi_{t-1}|(x_{t-1})/(t-1) + sum_t Delta_t "
    "(Case 1, sum weights)",
    unit="T", small=(2, 3),
)  # fmt: skip
def theorem4_sum(T: int) -> Problem:
    """The average queue for the printed update, Case 1.

    Problem    does the bound survive without the 1/(t-1) in the update?
    Method     the one-task inequality of every task at once, with Abel summation inside.
    Guarantee  it does, with D weighted by 1/(t-1).
    Paper      `thm:avg_queue_bound_case2` with `eq:batchCOLD`, corrected
    Example

    >>> theorem4_sum(2).at(V=1, delta=1, after1=2, after2=0, before2=2, d1_2=-1)
    [Fraction(5, 2)]
    """
    return theorem4(T, "sum")


@claim(
    "drift.mean", "lemm:drift",
    "sum_t DPP_t(x_{t-1}) - DPP_t(x_t) <= V Phi_1(x_0) + V T D + (l r^2/2) sum_t Qbar[t-1] (mean weights)",
    unit="T", small=(2, 3), full=(2, 3, 4),
)  # fmt: skip
def drift_mean(T: int) -> Problem:
    """The average DPP decrease, for any queues.

    Problem    how much DPP can fall in total.
    Method     0 <= hatPhi_k - min hatPhi_k <= reach = l r^2/2 along the path; the losses telescope.
    Guarantee  any queues, both reference models; r reaches from a stationary minimiser to all iterates.
    Paper      `lemm:drift`
    Example

    >>> drift_mean(2).at(V=1, reach=1, before1=1, after1=0, before2=0, after2=0, h1_1=1, h1_2=0, Q1_2=2)
    [Fraction(0, 1)]
    """
    at = [(k, s) for k in range(1, T) for s in range(k, T + 1)]
    names = ("V", "reach", *_tasks("before", T), *_tasks("after", T), *(f"h{k}_{s}" for k, s in at), *_pairs("Q", T))

    def goal(v: Values, maximum: Maximum) -> Goal:
        V, reach = v["V"], v["reach"]
        losses = [v[f"h{k}_{s}"] for k, s in at]
        assume = [*losses, *(reach - h for h in losses), *(v[n] for n in (*_pairs("Q", T), *_tasks("after", T)))]
        fall = V * total(v[f"before{t}"] - v[f"after{t}"] for t in range(1, T + 1))
        past = total(v[f"Q{k}_{t}"] / (t - 1) * (v[f"h{k}_{t - 1}"] - v[f"h{k}_{t}"]) for k, t in pairs(T))
        queues = total(v[f"Q{k}_{t}"] / (t - 1) for k, t in pairs(T))
        right = V * (v["before1"] + total(_variation(T, v, maximum).values())) + reach * queues
        return Goal([right - fall - past], assume, [V])

    return Problem(names, goal)
