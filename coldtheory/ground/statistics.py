"""Statistics over seeds: mean and spread, Student's interval, paired differences, log-log slopes, places of minima.

Every table, comparison, claim and figure takes its statistics from here, so that all use the same kind of interval.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """Mean of n values and their standard deviation (n - 1 in the denominator; None for one value)."""

    mean: float
    sd: float | None = None
    n: int = 1
    shown: str = ""  #: the digits of a number that the paper prints

    @property
    def se(self) -> float:
        """The standard error of the mean; 0 for one value."""
        return 0.0 if self.sd is None else self.sd / math.sqrt(self.n)


@dataclass(frozen=True)
class Difference:
    """Mean of paired differences and its t-interval; one pair has no interval."""

    mean: float
    low: float | None
    high: float | None
    each: tuple[float, ...]


@dataclass(frozen=True)
class Slope:
    """A log-log slope with a 95 % interval over seeds, or that of the regression if there is only one seed.

    The fitted line is log y = level + slope log x.
    """

    slope: float
    low: float
    high: float
    seeds: int
    points: int
    level: float

    @property
    def half(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2


def mean_of(values: Sequence[float]) -> float:
    """Return the mean, correctly rounded; NaN if the sum is undefined, as with infinities of both signs.

    >>> mean_of([1.0, 2.0]), mean_of([math.inf, -math.inf])
    (1.5, nan)
    """
    try:
        return statistics.fmean(values)
    except statistics.StatisticsError:  # there are no values
        raise
    except (OverflowError, ValueError):
        return math.nan


def standard_deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of at least two values; NaN if one of them is not finite, as in a damaged file.

    >>> standard_deviation([1.0, 3.0]), standard_deviation([1.0, math.inf])
    (1.4142135623730951, nan)
    """
    try:
        return statistics.stdev(values) if all(map(math.isfinite, values)) else math.nan
    except OverflowError:
        return math.inf


def spread(values: Iterable[float]) -> Spread | None:
    """
    >>> spread([1.0, 2.0, 6.0])
    Spread(mean=3.0, sd=2.6457513110645907, n=3, shown='')
    """
    found = list(values)
    if not found:
        return None
    return Spread(mean_of(found), standard_deviation(found) if len(found) > 1 else None, len(found))


def t_interval(values: Sequence[float], level: float = LEVEL) -> tuple[float, float]:
    """Return Student's interval for the mean at this level; it needs at least two values.

    >>> low, high = t_interval([1.0, 2.0, 3.0])
    >>> round(low, 3), round(high, 3)
    (-0.484, 4.484)
    """
    mean, n = mean_of(values), len(values)
    half = student_quantile(n - 1, level) * standard_deviation(values) / math.sqrt(n)
    return mean - half, mean + half


def student_quantile(freedom: int, level: float = LEVEL) -> float:
    """Return half the width of a two-sided interval in standard errors."""
    from scipy.special import stdtrit  # noqa: PLC0415  (slow to load, and scipy.stats even more so)

    return float(stdtrit(freedom, (1 + level) / 2))


def paired(left: Mapping[int, float], right: Mapping[int, float]) -> Difference | None:
    """Compare left - right over the seeds that both have.

    >>> paired({0: 2.0, 1: 4.0}, {0: 1.0, 1: 2.0, 2: 9.0}).each
    (1.0, 2.0)
    """
    each = tuple(left[seed] - right[seed] for seed in sorted(left.keys() & right.keys()))
    if not each:
        return None
    low, high = t_interval(each) if len(each) > 1 else (None, None)
    return Difference(mean_of(each), low, high, each)


def paired_p_value(each: Sequence[float]) -> float:
    """Of the two-sided t-test that paired differences have mean 0; 1 where there is no test to make.

    >>> round(paired_p_value([0.3, 0.1, 0.2, 0.4]), 4)
    0.0305
    """
    sd = standard_deviation(each) if len(each) > 1 else math.nan
    if not sd > 0:
        return 1.0 if math.isnan(sd) or mean_of(each) == 0 else 0.0
    from scipy.special import stdtr  # noqa: PLC0415  (slow to load)

    t = mean_of(each) / (sd / math.sqrt(len(each)))
    return float(2 * stdtr(len(each) - 1, -abs(t)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values: below a level, each says so for the whole family at once.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, so_far = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        so_far = max(so_far, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = so_far
    return adjusted


def slope_of(x: Array, table: Array, between: tuple[float, float] | None = None) -> Slope | None:
    """Fit the log-log slope of curves (seeds, n) over x (n,) by least squares for each seed.

    Points where a curve is not positive are left out; the result is None if fewer than three points remain.
    """
    use = np.isfinite(table).all(axis=0) & (table > 0).all(axis=0) & (x > 0)
    if between is not None:
        use &= (x >= between[0]) & (x <= between[1])
    points = int(use.sum())
    if points < 3:
        return None
    log_x, log_y = np.log(x[use]), np.log(table[:, use])
    slopes, levels = np.polyfit(log_x, log_y.T, 1)
    if len(slopes) == 1:
        error, freedom = _slope_error(log_x, log_y[0]), points - 2
    else:
        error, freedom = float(slopes.std(ddof=1) / np.sqrt(len(slopes))), len(slopes) - 1
    middle, half = float(slopes.mean()), student_quantile(freedom) * error
    return Slope(middle, middle - half, middle + half, len(slopes), points, float(levels.mean()))


def minimum_of(x: Array, table: Array) -> Spread | None:
    """Find where curves (seeds, n) are smallest: the vertex of a log-log parabola through the best three points.

    The result is None unless the mean curve has its minimum inside the grid.
    """
    use = np.isfinite(table).all(axis=0) & (x > 0)
    x, table = x[use], table[:, use]
    if len(x) < 5 or (table <= 0).any() or not 0 < int(table.mean(axis=0).argmin()) < len(x) - 1:
        return None
    return spread(_vertex(np.log(x), np.log(curve)) for curve in table)


def _slope_error(x: Array, y: Array) -> float:
    """The standard error of a least-squares slope."""
    slope, offset = np.polyfit(x, y, 1)
    residual = y - slope * x - offset
    centred = x - x.mean()
    return float(np.sqrt((residual @ residual) / (len(x) - 2) / (centred @ centred)))


def _vertex(log_x: Array, log_y: Array) -> float:
    """x at the lowest point of a parabola through the best three points; never outside of the grid."""
    at = int(np.clip(log_y.argmin(), 1, len(log_x) - 2))
    a, b, _ = np.polyfit(log_x[at - 1 : at + 2], log_y[at - 1 : at + 2], 2)
    inside = -b / (2 * a) if a > 0 else log_x[log_y.argmin()]
    return float(np.exp(np.clip(inside, log_x[0], log_x[-1])))
