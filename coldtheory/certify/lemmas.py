"""The drift lemma and the queue identities, as statements for small numbers of past tasks."""

from __future__ import annotations

from fractions import Fraction

from .algebra import Problem, claim
from .terms import ZERO, Goal, Maximum, Number, QueuePath, Step, Values, largest, pairs, total


def _free_step(K: int) -> tuple[str, ...]:
    return tuple(f"Q{k}" for k in range(1, K)) + tuple(f"d{k}" for k in range(1, K + 1))


def _step(K: int, v: Values, maximum: Maximum) -> Step:
    """K past tasks with any queues, the newest one's zero."""
    return Step([*(v[f"Q{k}"] for k in range(1, K)), ZERO], [v[f"d{k}"] for k in range(1, K + 1)], maximum)


def drift_problem(K: int, *, cross: Number, kept: Number) -> Problem:
    """Lyap[t] - Lyap[t-1] <= Delta_t + cross * S_t - kept * Lyap[t-1] for K = t-1 past tasks and any queues."""

    def goal(v: Values, maximum: Maximum) -> Goal:
        s = _step(K, v, maximum)
        drift = s.lyapunov_after - s.lyapunov_before
        return Goal([s.Delta + cross * s.cross - kept * s.lyapunov_before - drift], assume=s.queues)

    return Problem(_free_step(K), goal)


@claim(
    "lemma1.queue", "lem:upperBoundLem", "Q_k[t]^2 <= Q_k[t-1]^2 + 2 Q_k[t-1] d_k[t] + d_k[t]^2",
    unit="queues", small=(1,),
)  # fmt: skip
def lemma1_queue(n: int) -> Problem:
    """One queue of the drift lemma, whatever t is.

    Problem    how much the square of one queue can grow at one task.
    Method     max(x, 0)^2 <= x^2, negated.
    Guarantee  summed over k < t it is the drift lemma for every t, not only for small ones.
    Paper      `lem:upperBoundLem`
    Example

    >>> lemma1_queue(1).at(Q=1, d=-3)      # the clipping loses 4
    [Fraction(4, 1)]
    """

    def goal(v: Values, maximum: Maximum) -> Goal:
        after = maximum(v["Q"] + v["d"], ZERO)
        return Goal([v["Q"] * v["Q"] + 2 * v["Q"] * v["d"] + v["d"] * v["d"] - after * after], assume=[v["Q"]])

    return Problem(("Q", "d"), goal)


@claim(
    "lemma1.mean", "lem:upperBoundLem", "Lyap[t] - Lyap[t-1] <= Delta_t + S_t/(t-1)",
    unit="past tasks", small=(1, 2, 3, 4), full=(1, 2, 3, 4, 5, 6, 7, 8),
)  # fmt: skip
def lemma1_mean(K: int) -> Problem:
    """The drift lemma with the appendix's 1/(t-1).

    Problem    bound the Lyapunov drift by what the DPP objective contains.
    Method     any queues, any increments, the newest queue zero; z3 on the negation.
    Guarantee  true for every trajectory, both reference models.
    Paper      `lem:upperBoundLem`, the form its proof arrives at
    Example

    >>> lemma1_mean(2).at(Q1=1, d1=-1, d2=0)
    [Fraction(1, 4)]
    """
    return drift_problem(K, cross=Fraction(1, K), kept=ZERO)


@claim(
    "lemma1.strong", "lem:upperBoundLem", "Lyap[t] - Lyap[t-1] <= Delta_t + S_t/(t-1) - Lyap[t-1]/(t-1)",
    unit="past tasks", small=(1, 2, 3, 4), full=(1, 2, 3, 4, 5, 6, 7, 8),
)  # fmt: skip
def lemma1_strong(K: int) -> Problem:
    """The drift lemma without its slack.

    Problem    the average over t-1 queues ignores that one of them is always zero.
    Method     as the mean form, with -Lyap[t-1]/(t-1) kept.
    Guarantee  an identity where no queue is clipped, so no larger multiple can be kept.
    Paper      `lem:upperBoundLem`, sharpened
    Example

    >>> lemma1_strong(2).at(Q1=1, d1=-1, d2=0)
    [Fraction(0, 1)]
    """
    return drift_problem(K, cross=Fraction(1, K), kept=Fraction(1, K))


@claim(
    "lemma1.sum.sufficient", "lem:upperBoundLem", "(t-2) S_t >= -Lyap[t-1] implies the main text's form",
    unit="past tasks", small=(1, 2, 3, 4),
)  # fmt: skip
def lemma1_sum_sufficient(K: int) -> Problem:
    """When the main text's form, with S_t in place of S_t/(t-1), can be used.

    Problem    that form fails when S_t is very negative.
    Method     its negation together with the condition.
    Guarantee  always usable at t = 2, where the two forms are one.
    Paper      `lem:upperBoundLem`, main text
    Example

    >>> lemma1_sum_sufficient(1).at(d1=-2)
    [Fraction(2, 1)]
    """
    plain = drift_problem(K, cross=Fraction(1), kept=ZERO)

    def goal(v: Values, maximum: Maximum) -> Goal:
        s, inner = _step(K, v, maximum), plain.goal(v, maximum)
        return Goal(inner.claim, assume=[*inner.assume, (K - 1) * s.cross + s.lyapunov_before])

    return Problem(plain.names, goal)


def _one_queue(m: int, v: Values, maximum: Maximum) -> list[Number]:
    """Q_k[k], ..., Q_k[k+m] of Case 1 from the losses h0..hm of task k along the path."""
    queues: list[Number] = [ZERO]
    for s in range(1, m + 1):
        queues.append(maximum(queues[-1] + v[f"h{s}"] - v[f"h{s - 1}"] - v["delta"], ZERO))
    return queues


def _losses(m: int) -> tuple[str, ...]:
    return ("delta", *(f"h{s}" for s in range(m + 1)))


@claim(
    "lindley.identity", "eq:queue_update",
    "Q_k[t] = max_{k<=s<=t} hatPhi_k(x_t) - hatPhi_k(x_s) - (t-s) delta (Case 1)",
    unit="t-k", small=(1, 2, 3), full=(1, 2, 3, 4, 5, 6),
)  # fmt: skip
def lindley_identity(m: int) -> Problem:
    """A Case 1 queue, solved.

    Problem    the recursion hides how large a queue can get.
    Method     unroll it over t-k tasks and compare with a maximum over starting points.
    Guarantee  an identity for any losses, any delta.
    Paper      `eq:queue_update` with the reference x_{t-1}
    Example

    >>> lindley_identity(1).at(delta=1, h0=0, h1=3)
    [Fraction(0, 1), Fraction(0, 1)]
    """

    def goal(v: Values, maximum: Maximum) -> Goal:
        closed = largest([v[f"h{m}"] - v[f"h{s}"] - (m - s) * v["delta"] for s in range(m + 1)], maximum)
        gap = _one_queue(m, v, maximum)[-1] - closed
        return Goal([gap, -gap])

    return Problem(_losses(m), goal)


@claim(
    "lindley.bound", "eq:queue_update", "Q_k[t] <= hatPhi_k(x_t) - min_{k<=s<=t} hatPhi_k(x_s) (Case 1)",
    unit="t-k", small=(1, 2, 3), full=(1, 2, 3, 4, 5, 6),
)  # fmt: skip
def lindley_bound(m: int) -> Problem:
    """A Case 1 queue never exceeds the rise of its own loss, for every V.

    Problem    is the queue O(V)?
    Method     the identity with delta >= 0 dropped.
    Guarantee  hence Q_k[t] <= l r^2/2 in a domain of reach r.
    Paper      `thm:avg_queue_bound_case2`, its O(V)
    Example

    >>> lindley_bound(2).at(delta=0, h0=1, h1=0, h2=3)
    [Fraction(0, 1)]
    """

    def goal(v: Values, maximum: Maximum) -> Goal:
        rise = largest([v[f"h{m}"] - v[f"h{s}"] for s in range(m + 1)], maximum)
        return Goal([rise - _one_queue(m, v, maximum)[-1]], assume=[v["delta"]])

    return Problem(_losses(m), goal)


@claim(
    "constraint.task", "cor:case1_final_result",
    "sum_{s=k+1}^t hatPhi_k(x_s) - hatPhi_k(ref_{s,k}) <= (t-k) delta + Q_k[t]",
    unit="t-k", small=(1, 2, 3), full=(1, 2, 3, 4, 5, 6),
)  # fmt: skip
def constraint_task(m: int) -> Problem:
    """One past task's constraint, averaged over time.

    Problem    what a bounded queue says about forgetting.
    Method     Q_k[s] - Q_k[s-1] >= d_k[s], telescoped.
    Guarantee  any reference, any algorithm; the excess over delta is Q_k[t]/(t-k).
    Paper      the paragraph "Bounded average queue" after `cor:case1_final_result`, corrected
    Example

    >>> constraint_task(2).at(delta=1, g1=3, g2=0)
    [Fraction(0, 1)]
    """

    def goal(v: Values, maximum: Maximum) -> Goal:
        queue: Number = ZERO
        for s in range(1, m + 1):
            queue = maximum(queue + v[f"g{s}"] - v["delta"], ZERO)
        return Goal([m * v["delta"] + queue - total(v[f"g{s}"] for s in range(1, m + 1))])

    return Problem(("delta", *(f"g{s}" for s in range(1, m + 1))), goal)


@claim(
    "constraint.double", "cor:case1_final_result",
    "2/(T(T-1)) sum_{k<t<=T} hatPhi_k(x_t) - hatPhi_k(ref_{t,k}) <= delta + (2/T) mean_{k<T} Q_k[T]",
    unit="T", small=(2, 3, 4), full=(2, 3, 4, 5),
)  # fmt: skip
def constraint_double(T: int) -> Problem:
    """All constraints, averaged over past tasks and over time.

    Problem    the averaged constraint that the queues do bound.
    Method     the single-task form summed over k < T.
    Guarantee  O(1/T) above delta in Case 1, for every V.
    Paper      the paragraph "Bounded average queue" after `cor:case1_final_result`, corrected
    Example

    >>> constraint_double(2).at(delta=1, g1_2=4)
    [Fraction(0, 1)]
    """

    def goal(v: Values, maximum: Maximum) -> Goal:
        path = QueuePath(T, {(k, t): v[f"g{k}_{t}"] - v["delta"] for k, t in pairs(T)}, maximum)
        left = total(v[f"g{k}_{t}"] for k, t in pairs(T)) * 2 / (T * (T - 1))
        last = total(path.Q[k, T] for k in range(1, T)) / (T - 1)
        return Goal([v["delta"] + 2 * last / T - left])

    return Problem(("delta", *(f"g{k}_{t}" for k, t in pairs(T))), goal)
