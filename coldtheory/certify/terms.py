"""The symbols of the theory over any numbers: z3 reals to prove with, fractions to check with.

Nothing here knows z3. A statement is written once with these terms; the prover puts free real
variables in, the checker puts `fractions.Fraction`s in, so that both speak of the same statement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

Number = Any  #: a Fraction, or a z3 real
Maximum = Callable[[Number, Number], Number]
Values = Mapping[str, Number]
Weights = Literal["mean", "sum"]
ZERO = Fraction(0)


@dataclass(frozen=True)
class Goal:
    """`assume >= 0` and `positive > 0` imply `claim >= 0`, entry by entry."""

    claim: Sequence[Number]
    assume: Sequence[Number] = ()
    positive: Sequence[Number] = ()


@dataclass(frozen=True)
class Step:
    """Queues before one task and their increments; what the drift lemma is about, for K = t-1 past tasks.

    `queues[-1]` is the newest task's, which is zero in every run of the algorithm: goals assume it.
    """

    queues: Sequence[Number]
    d: Sequence[Number]
    maximum: Maximum

    @property
    def K(self) -> int:
        """The number of past tasks, t-1."""
        return len(self.queues)

    @property
    def after(self) -> list[Number]:
        """The queues after the task."""
        return [self.maximum(q + d, ZERO) for q, d in zip(self.queues, self.d, strict=True)]

    @property
    def lyapunov_before(self) -> Number:
        """Lyap[t-1]: K-1 queues, hence the 1/(K-1)."""
        return ZERO if self.K == 1 else squares(self.queues[:-1]) / (2 * (self.K - 1))

    @property
    def lyapunov_after(self) -> Number:
        """Lyap[t], the mean of half the squared queues after the task."""
        return squares(self.after) / (2 * self.K)

    @property
    def Delta(self) -> Number:
        """Delta_t, the mean of half the squared increments."""
        return squares(self.d) / (2 * self.K)

    @property
    def cross(self) -> Number:
        """S_t, the sum of queue times increment."""
        return total(q * d for q, d in zip(self.queues, self.d, strict=True))

    @property
    def Qbar(self) -> Number:
        """Qbar[t-1], the mean queue before the task."""
        return total(self.queues) / self.K

    def betas(self, weights: Weights) -> list[Number]:
        """The weights of the past tasks in DPP_t."""
        return [q / self.K if weights == "mean" else q for q in self.queues]


@dataclass(frozen=True)
class QueuePath:
    """All queues of T tasks from their increments d[k, t], k < t <= T (eq. queue_update)."""

    T: int
    d: Mapping[tuple[int, int], Number]
    maximum: Maximum
    Q: dict[tuple[int, int], Number] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for k in range(1, self.T + 1):
            self.Q[k, k] = ZERO
            for t in range(k + 1, self.T + 1):
                self.Q[k, t] = self.maximum(self.Q[k, t - 1] + self.d[k, t], ZERO)

    def step(self, t: int) -> Step:
        """Task t >= 2."""
        past = range(1, t)
        return Step([self.Q[k, t - 1] for k in past], [self.d[k, t] for k in past], self.maximum)

    def steps(self) -> dict[int, Step]:
        """The step of every task t = 2..T, by t."""
        return {t: self.step(t) for t in range(2, self.T + 1)}


def pairs(T: int) -> list[tuple[int, int]]:
    """(k, t) with k < t <= T."""
    return [(k, t) for t in range(2, T + 1) for k in range(1, t)]


def total(numbers: Any) -> Number:
    """The sum of exact numbers or z3 terms; 0 if there are none."""
    return sum(numbers, ZERO)


def squares(numbers: Sequence[Number]) -> Number:
    """The sum of the squares."""
    return total(x * x for x in numbers)


def largest(numbers: Sequence[Number], maximum: Maximum) -> Number:
    """The largest of one or more numbers, by repeated use of `maximum`."""
    best = numbers[0]
    for x in numbers[1:]:
        best = maximum(best, x)
    return best


def absolute(x: Number, maximum: Maximum) -> Number:
    """|x|, as the maximum of x and -x."""
    return maximum(x, -x)
