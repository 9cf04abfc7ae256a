"""Mean and spread over seeds; differences paired over seeds, with an interval."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scipy.special import stdtrit  # Student quantile; scipy.stats takes seconds to load

LEVEL = 0.95


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation (n - 1 in the denominator; None for one value)."""

    mean: float
    sd: float | None = None
    shown: str = ""  #: digits as they were printed, where they were


@dataclass(frozen=True)
class Difference:
    """Mean of paired differences and its t-interval; no interval from one pair."""

    mean: float
    low: float | None
    high: float | None
    each: tuple[float, ...]


def spread(values: Iterable[float]) -> Spread | None:
    """
    >>> spread([1.0, 2.0, 6.0])
    Spread(mean=3.0, sd=2.6457513110645907, shown='')
    """
    found = list(values)
    if not found:
        return None
    return Spread(statistics.fmean(found), statistics.stdev(found) if len(found) > 1 else None)


def paired(left: Mapping[int, float], right: Mapping[int, float]) -> Difference | None:
    """left - right over the seeds that both have.

    >>> paired({0: 2.0, 1: 4.0}, {0: 1.0, 1: 2.0, 2: 9.0}).each
    (1.0, 2.0)
    """
    each = tuple(left[seed] - right[seed] for seed in sorted(left.keys() & right.keys()))
    if not each:
        return None
    mean = statistics.fmean(each)
    if len(each) == 1:
        return Difference(mean, None, None, each)
    half = float(stdtrit(len(each) - 1, (1 + LEVEL) / 2)) * statistics.stdev(each) / math.sqrt(len(each))
    return Difference(mean, mean - half, mean + half, each)
