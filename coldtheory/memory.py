"""How many samples a memory needs: the loss on M samples against the loss on all n, with explicit constants.

Task k has n samples z_i, its loss Phi_k is the mean over all of them of f_i(w) = 1/2 (w - z_i)' A (w - z_i), and the
memory's loss hatPhi_k is the mean over M of them, drawn uniformly without replacement. Write zbar for the mean of the
samples, q_i = (z_i - zbar)' A (z_i - zbar), and r for the largest distance from zbar to a point of W. Then

    E sup_W |Phi_k - hatPhi_k| <= standard_error(M, n) (r scatter + unevenness)
    sup_W |Phi_k - hatPhi_k|   <= the same + deviation(M, n) sqrt(log(1/p)/2) (r width + span)   with probability 1 - p
    sup_W |Phi_k - hatPhi_k|   <= (1 - M/n) (r width + span)                                     always

with scatter = the root mean square of |A (z_i - zbar)|, unevenness = the standard deviation of q_i/2, width = the
largest |A (z_i - z_j)| and span = the range of q_i/2. The proof is in docs/theorems/memory_size.md.

>>> memory_needed(0.1, sample_radius=1.0, model_radius=2.0, n=1000, tasks=10)
615
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .ground.checks import number, whole
from .ground.errors import ColdError
from .quadratics import Array

Values = Any  # a number, or an array of them


@dataclass(frozen=True, eq=False)
class Samples:
    """What the bounds need of sampled tasks; all arrays have the streams' leading axes `...`."""

    n: int  #: samples per task
    m: int  #: of them in the memory
    scatter: Array  #: (..., T)
    unevenness: Array  #: (..., T)
    width: Array  #: (..., T); an upper bound of the largest |A (z_i - z_j)|, exact on a line
    span: Array  #: (..., T)
    reach: Array  #: the largest |z_i - zbar|, (..., T)
    center: Array  #: mean over the tasks of the means of their samples, (..., d)
    radius: Array  #: all samples are within this distance of the center, (...)

    def __getitem__(self, index: Any) -> Samples:
        """The samples along the first axis (a stream, or a slice of streams)."""
        return Samples(self.n, self.m, *(getattr(self, name)[index] for name in _ARRAYS))


_ARRAYS = ("scatter", "unevenness", "width", "span", "reach", "center", "radius")


def samples_of(points: Array, hessians: Array | None, m: int) -> Samples:
    """The summary of points (T, n, d) under Hessians (T,) or (T, d, d); None is the identity."""
    means = points.mean(axis=1)
    away = points - means[:, None, :]
    if hessians is None:
        bent = away
    elif hessians.ndim == 1:
        bent = hessians[:, None, None] * away
    else:
        bent = np.matvec(hessians[:, None], away)
    half = 0.5 * (away * bent).sum(axis=-1)
    lengths = np.sqrt((bent**2).sum(axis=-1))
    box = np.sqrt(((bent.max(axis=1) - bent.min(axis=1)) ** 2).sum(axis=-1))
    center = means.mean(axis=0)
    return Samples(
        n=points.shape[1],
        m=m,
        scatter=np.sqrt((lengths**2).mean(axis=1)),
        unevenness=half.std(axis=1),
        width=np.minimum(2.0 * lengths.max(axis=1), box),  # two bounds of a diameter, both without the n^2 pairs
        span=half.max(axis=1) - half.min(axis=1),
        reach=np.sqrt((away**2).sum(axis=-1).max(axis=-1)),
        center=center,
        radius=np.asarray(np.sqrt(((points - center) ** 2).sum(axis=-1).max())),
    )


def stacked(parts: list[Samples]) -> Samples:
    """One axis of streams from the samples of each."""
    return Samples(parts[0].n, parts[0].m, *(np.stack([getattr(part, name) for part in parts]) for name in _ARRAYS))


def standard_error(M: int, n: int | None) -> float:
    """sqrt((n - M) / (M (n - 1))): the standard deviation of a mean of M out of n, in units of the samples' own.

    n = None is an endless supply.
    """
    if n is None:
        return 1.0 / math.sqrt(M)
    return math.sqrt((n - M) / (M * (n - 1))) if n > 1 else 0.0


def deviation(M: int, n: int | None) -> float:
    """The factor of Hoeffding and Serfling: how far swapping one sample at a time moves a mean, relative to their
    width.

    The square is the smaller of (n - M + 1)/(M n) and (n - M)(M + 1)/(M^2 n), and 0 if M = n.

    >>> deviation(100, None), deviation(100, 100)
    (0.1, 0.0)
    """
    if n is None:
        return 1.0 / math.sqrt(M)
    if n == M:
        return 0.0
    return math.sqrt(min((n - M + 1) / (M * n), (n - M) * (M + 1) / (M * M * n)))


def memory_error(
    M: int,
    *,
    sample_radius: float,
    model_radius: float,
    n: int | None = None,
    tasks: int = 1,
    p: float = 0.05,
    curvature: float = 1.0,
    every: bool = False,
) -> float:
    """The memory's part of D_{Phi,hatPhi} with probability 1 - p, from what is known before anything is sampled.

    M             : samples per task in the memory
    sample_radius : s, every sample is within this distance of the mean of its task
    model_radius  : r, every model of W is within this distance of the mean of every task
    n             : samples per task; None is an endless supply
    tasks         : K, the number of past tasks, whose memories are drawn independently of each other
    curvature     : the largest eigenvalue of A
    every         : the largest error over the tasks in place of their mean

    The mean error is at most  c s standard_error (r + s/4) + c s (2 r + s/2) deviation sqrt(log(1/p) / (2 K)), the
    largest one has log(K/p)/2 under the root; both are at most (1 - M/n) c s (2 r + s/2).
    """
    s, r = number("sample_radius", sample_radius, least=0), number("model_radius", model_radius, least=0)
    c, K = number("curvature", curvature, least=0), whole("tasks", tasks, least=1)
    n = None if n is None else whole("n", n, least=1)
    M = whole("M", M, least=1)
    if n is not None and n < M:
        raise ColdError(f"the memory must hold between 1 and n={n} samples per task, got M={M}")
    p = probability(p)
    likely = sum(a_priori_terms(M, n, s, r, c, math.log(K / p) if every else math.log(1.0 / p) / K))
    return min(likely, c * s * (2.0 * r + 0.5 * s) * (1.0 if n is None else 1.0 - M / n))


def a_priori_terms(M: int, n: int | None, s: Values, r: Values, c: Values, log: float) -> tuple[Values, Values]:
    """The two terms of `memory_error`, for numbers or arrays: the expected error, and what chance adds to it."""
    chance = deviation(M, n) * math.sqrt(0.5 * log)
    return c * s * (r + 0.25 * s) * standard_error(M, n), c * s * (2.0 * r + 0.5 * s) * chance


def memory_needed(
    error: float,
    *,
    sample_radius: float,
    model_radius: float,
    n: int | None = None,
    tasks: int = 1,
    p: float = 0.05,
    curvature: float = 1.0,
    every: bool = False,
) -> int:
    """The smallest M whose `memory_error` is at most `error`; see there for the arguments.

    With n samples per task there always is one: a memory of all of them makes no error.
    """
    wanted = number("error", error, least=0)
    known = {"sample_radius": sample_radius, "model_radius": model_radius, "n": n, "tasks": tasks, "p": p}

    def enough(M: int) -> bool:
        return memory_error(M, curvature=curvature, every=every, **known) <= wanted  # type: ignore[arg-type]

    high = 1
    while not enough(high):
        if high == n:  # only rounding can cause this: at M = n the error is 0
            break
        if high > _LARGEST:
            raise ColdError(f"an endless supply needs more than {_LARGEST:.0e} samples for an error of {wanted:g}")
        high = 2 * high if n is None else min(2 * high, n)
    low = high // 2  # not enough, or 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


_LARGEST = 10**15


def probability(p: float) -> float:
    """A probability of failure: above 0, and at most 1."""
    return number("p, a probability,", p, above=0, most=1)
