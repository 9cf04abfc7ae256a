"""The algebra behind the theorems on controllers other than the queue."""

from __future__ import annotations

from .algebra import Problem, claim
from .terms import ZERO, Goal, Maximum, Values, total


@claim(
    "leaky_queue.drift", "new:leaky_queue",
    "Q_k[t]^2 <= (1-a)^2 Q_k[t-1]^2 + 2 (1-a) Q_k[t-1] g_k[t] + g_k[t]^2",
    unit="queues", small=(1,),
)  # fmt: skip
def leaky_drift(n: int) -> Problem:
    """One leaky queue at one task.

    Problem    how much the square of a queue that leaks can grow.
    Method     max(x, 0)^2 <= x^2, negated.
    Guarantee  summed over k < t it is the contracting recursion, for every t and every leak a.
    Paper      none; docs/theorems/leaky_queue.md, step 1
    Example

    >>> leaky_drift(1).at(a=1, Q=5, g=-2)      # the clipping loses 4
    [Fraction(4, 1)]
    """

    def goal(v: Values, maximum: Maximum) -> Goal:
        kept = (1 - v["a"]) * v["Q"]
        after = maximum(kept + v["g"], ZERO)
        whole = kept * kept + 2 * kept * v["g"] + v["g"] * v["g"]
        return Goal([whole - after * after], assume=[v["Q"], v["a"], 1 - v["a"]])

    return Problem(("a", "Q", "g"), goal)


@claim(
    "leaky_queue.violation", "new:leaky_queue",
    "sum_{s=k+1}^t g_k[s] <= Q_k[t] + a sum_{s=k+1}^t Q_k[s-1]",
    unit="t-k", small=(1, 2, 3), full=(1, 2, 3, 4),
)  # fmt: skip
def leaky_violation(m: int) -> Problem:
    """What leaks out of a queue enforces nothing.

    Problem    what a leaky queue says about its constraint.
    Method     Q_k[s] >= (1-a) Q_k[s-1] + g_k[s], summed.
    Guarantee  any models, references and weights.
    Paper      none; docs/theorems/leaky_queue.md, step 4
    Example

    >>> leaky_violation(2).at(a=1, g1=3, g2=1)
    [Fraction(0, 1)]
    """

    def goal(v: Values, maximum: Maximum) -> Goal:
        queues = [ZERO]
        for s in range(1, m + 1):
            queues.append(maximum((1 - v["a"]) * queues[-1] + v[f"g{s}"], ZERO))
        violated = total(v[f"g{s}"] for s in range(1, m + 1))
        return Goal([queues[-1] + v["a"] * total(queues[:-1]) - violated], assume=[v["a"], 1 - v["a"]])

    return Problem(("a", *(f"g{s}" for s in range(1, m + 1))), goal)


@claim(
    "yu_neely.drift", "new:yu_neely",
    "(Q[t]^2 - g[t]^2)/2 <= (Q[t-1]^2 - g[t-1]^2)/2 + (Q[t-1] + g[t-1]) g[t] + (g[t] - g[t-1])^2/2",
    unit="queues", small=(1,),
)  # fmt: skip
def yu_neely_drift(n: int) -> Problem:
    """One queue of Yu and Neely's at one task, and that it is never below |g|.

    Problem    the residual of the queue does not vanish where the model rests; this one's does.
    Method     Q[t] = max(Q[t-1] + g[t], -g[t]); the negation of each of three inequalities.
    Guarantee  the potential of docs/theorems/yu_neely.md drifts by the weighted constraints plus the movement.
    Paper      none; docs/theorems/yu_neely.md, steps 1 and 2
    Example

    >>> yu_neely_drift(1).at(Q=1, before=-1, g=0)
    [Fraction(0, 1), Fraction(1, 1), Fraction(1, 1)]
    """

    def goal(v: Values, maximum: Maximum) -> Goal:
        Q, p, g = v["Q"], v["before"], v["g"]
        after = maximum(Q + g, -g)
        room = Q * Q - p * p + 2 * (Q + p) * g + (g - p) * (g - p) - after * after + g * g
        return Goal([room, after - g, after + g], assume=[Q])

    return Problem(("Q", "before", "g"), goal)
