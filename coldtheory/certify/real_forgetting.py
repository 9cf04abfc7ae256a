"""The algebra of theorems on real forgetting, which the paper lacks; queues, increments and losses are free reals."""

from __future__ import annotations

from fractions import Fraction

from .algebra import Problem, claim
from .terms import ZERO, Goal, Maximum, Number, Step, Values, pairs, squares, total
from .theorems import _pairs, _path, _pull


@claim(
    "forgetting.step", "new:forgetting",
    "(t-1) Lyap[t] <= (t-2) Lyap[t-1] + (t-1) [Delta_t + eps_t + V (Phi_t(w*_t) - Phi_t(x_t)) - (delta - delta') "
    "Qbar[t-1]] (mean weights)",
    unit="past tasks", small=(1, 2, 3, 4), full=(1, 2, 3, 4, 5, 6),
)  # fmt: skip
def forgetting_step(K: int) -> Problem:
    """One task of the bound on real forgetting, for any queues.

    Problem    what one task may add to the Lyapunov function, no matter how well DPP_t was minimised.
    Method     DPP_t(x_t) <= DPP_t(w*_t) + eps_t and d_k(w*_t) <= delta' - delta, with the drift lemma.
    Guarantee  any models; margin = delta - delta' of either sign.
    Paper      none: a theorem that it lacks, step 3 of docs/theorems/forgetting.md
    Example

    >>> forgetting_step(2).at(V=1, gap=0, eps=0, margin=1, Q1=2, d1=-1, d2=0)
    [Fraction(0, 1)]
    """

    def goal(v: Values, maximum: Maximum) -> Goal:
        queues = [*(v[f"Q{k}"] for k in range(1, K)), Fraction(0)]
        s = Step(queues, [v[f"d{k}"] for k in range(1, K + 1)], maximum)
        budget = s.Delta + v["eps"] + v["V"] * v["gap"] - v["margin"] * s.Qbar
        nearly = v["V"] * v["gap"] + v["eps"] - _pull(s, "mean", v["margin"])
        claimed = (K - 1) * s.lyapunov_before + K * budget - K * s.lyapunov_after
        return Goal([claimed], [*queues, nearly], [v["V"]])

    names = (*(f"Q{k}" for k in range(1, K)), *(f"d{k}" for k in range(1, K + 1)))
    return Problem(("V", "gap", "eps", "margin", *names), goal)


@claim(
    "forgetting.pairs", "new:forgetting",
    "sum_{k<t<=T} F_k[t] <= (T(T-1)/2) delta + sum_{k<T} Q_k[T], if no reference is worse than x_k",
    unit="T", small=(2, 3, 4), full=(2, 3, 4, 5),
)  # fmt: skip
def forgetting_pairs(T: int) -> Problem:
    """Queues hold the forgetting of all pairs.

    Problem    what the last queues say about all that was forgotten.
    Method     a queue is at least the sum of its increments, F_k[t] - delta plus what the reference is better.
    Guarantee  Cases 2 and 3, any models.
    Paper      none: a theorem that it lacks, steps 6 and 7 of docs/theorems/forgetting.md
    Example

    >>> forgetting_pairs(2).at(delta=1, F1_2=3, better1_2=0)
    [Fraction(0, 1)]
    """

    def goal(v: Values, maximum: Maximum) -> Goal:
        d = {f"d{k}_{t}": v[f"F{k}_{t}"] + v[f"better{k}_{t}"] - v["delta"] for k, t in pairs(T)}
        Q = _path(T, d, maximum).Q
        forgotten = total(v[f"F{k}_{t}"] for k, t in pairs(T))
        held = Fraction(T * (T - 1), 2) * v["delta"] + total(Q[k, T] for k in range(1, T))
        return Goal([held - forgotten], [v[f"better{k}_{t}"] for k, t in pairs(T)])

    return Problem(("delta", *_pairs("F", T), *_pairs("better", T)), goal)


@claim(
    "forgetting.mean", "new:forgetting",
    "(mean of the T-1 last queues)^2 <= 2 Lyap[T]",
    unit="queues", small=(1, 2, 3, 4), full=(1, 2, 3, 4, 5, 6),
)  # fmt: skip
def forgetting_mean(K: int) -> Problem:
    """From the mean to the mean square.

    Problem    the Lyapunov function bounds squares of queues, forgetting is about their mean.
    Method     Cauchy and Schwarz.
    Guarantee  any queues.
    Paper      none: a theorem that it lacks, step 8 of docs/theorems/forgetting.md
    Example

    >>> forgetting_mean(2).at(Q1=1, Q2=3)
    [Fraction(1, 1)]
    """

    def goal(v: Values, maximum: Maximum) -> Goal:
        queues = [v[f"Q{k}"] for k in range(1, K + 1)]
        mean = total(queues) / K
        return Goal([2 * squares(queues) / (2 * K) - mean * mean])

    return Problem(tuple(f"Q{k}" for k in range(1, K + 1)), goal)


def _creep(n: int, allowance: int) -> Problem:
    """hatPhi_k from task k (h0) to n tasks later (hn) in Case 1: F <= Q + allowance delta."""

    def goal(v: Values, maximum: Maximum) -> Goal:
        queue: Number = ZERO
        for s in range(1, n + 1):
            queue = maximum(queue + v[f"h{s}"] - v[f"h{s - 1}"] - v["delta"], ZERO)
        return Goal([queue + allowance * v["delta"] - (v[f"h{n}"] - v["h0"])], positive=[v["delta"]])

    return Problem(("delta", *(f"h{s}" for s in range(n + 1))), goal)


@claim(
    "creeping.case1", "new:creeping",
    "hatPhi_k(x_t) - hatPhi_k(x_k) <= Q_k[t] + (t-k) delta in Case 1",
    unit="t-k", small=(1, 2, 3, 4), full=(1, 2, 3, 4, 5, 6, 7, 8),
)  # fmt: skip
def creeping_case1(n: int) -> Problem:
    """What an empty queue allows in Case 1.

    Problem    a queue that compares with the previous model does not see a slow loss.
    Method     the increments telescope.
    Guarantee  any models.
    Paper      none: a theorem that it lacks, docs/theorems/creeping.md
    Example

    >>> creeping_case1(2).at(delta=1, h0=0, h1=1, h2=2)
    [Fraction(0, 1)]
    """
    return _creep(n, n)


@claim(
    "creeping.less", "new:creeping",
    "hatPhi_k(x_t) - hatPhi_k(x_k) <= Q_k[t] + (t-k-1) delta in Case 1",
    unit="t-k", small=(2, 3), refute=True,
)  # fmt: skip
def creeping_less(n: int) -> Problem:
    """One delta less is too little.

    Problem    is (t-k) delta needed?
    Method     a model that loses delta per task, found by the solver.
    Guarantee  an instance in fractions.
    Paper      none: a theorem that it lacks, docs/theorems/creeping.md
    Example

    >>> creeping_less(2).violated({"delta": 1, "h0": 0, "h1": 1, "h2": 2})
    True
    """
    return _creep(n, n - 1)


@claim(
    "no_tradeoff.queue", "new:no_tradeoff",
    "Q_k[t] <= sum_{s=k+1}^t max(hatPhi_k(x_s) - inf hatPhi_k - delta, 0) for every reference",
    unit="t-k", small=(1, 2, 3, 4), full=(1, 2, 3, 4, 5, 6, 7, 8),
)  # fmt: skip
def no_tradeoff_queue(n: int) -> Problem:
    """What a queue can hold at most.

    Problem    models near all past optima must leave every queue empty.
    Method     no reference is below the infimum, and max(Q + d, 0) <= Q + max(d, 0).
    Guarantee  any models, every reference.
    Paper      none: a theorem that it lacks, docs/theorems/no_tradeoff.md
    Example

    >>> no_tradeoff_queue(1).at(delta=1, above1=3, ref1=0)
    [Fraction(0, 1)]
    """

    def goal(v: Values, maximum: Maximum) -> Goal:
        queue: Number = ZERO
        limit: Number = ZERO
        for s in range(1, n + 1):
            queue = maximum(queue + v[f"above{s}"] - v[f"ref{s}"] - v["delta"], ZERO)
            limit = limit + maximum(v[f"above{s}"] - v["delta"], ZERO)
        return Goal([limit - queue], [v[f"ref{s}"] for s in range(1, n + 1)])

    return Problem(("delta", *(f"{name}{s}" for s in range(1, n + 1) for name in ("above", "ref"))), goal)
