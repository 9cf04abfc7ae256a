"""Rows to numbers a person reads: means with standard errors, and log-log slopes with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from .quadratics import Array
from .store import Row


@dataclass(frozen=True)
class Mean:
    """A mean over seeds and its standard error (0 for one seed), over the runs that did not diverge."""

    mean: float
    se: float
    n: int


@dataclass(frozen=True)
class Slope:
    """A log-log slope with a 95 % interval: over seeds, or of the regression if there is one seed only."""

    slope: float
    low: float
    high: float
    seeds: int
    points: int


def mean_over_seeds(rows: Sequence[Row], name: str) -> Mean:
    values = np.array([row[name] for row in rows if not row["diverged"] and row[name] is not None], dtype=float)
    if values.size == 0:
        return Mean(float("nan"), float("nan"), 0)
    se = float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else 0.0
    return Mean(float(values.mean()), se, values.size)


def table_of(rows: Sequence[Row], axis: str, name: str) -> tuple[Array, Array]:
    """Values of the axis (n,) and of `name` (seeds, n); NaN where a run diverged."""
    x = sorted({row[axis] for row in rows})
    seeds = sorted({row["seed"] for row in rows})
    table = np.full((len(seeds), len(x)), np.nan)
    for row in rows:
        if not row["diverged"] and row[name] is not None:
            table[seeds.index(row["seed"]), x.index(row[axis])] = row[name]
    return np.array(x, dtype=float), table


def loglog_slope(rows: Sequence[Row], axis: str, name: str, between: tuple[float, float] | None = None) -> Slope | None:
    """d log(name) / d log(axis), fitted by least squares for each seed; None if fewer than 3 points serve."""
    return slope_of(*table_of(rows, axis, name), between)


def slope_of(x: Array, table: Array, between: tuple[float, float] | None = None) -> Slope | None:
    """The log-log slope of curves (seeds, n) over x (n,); points where a curve is not positive do not serve."""
    use = np.isfinite(table).all(axis=0) & (table > 0).all(axis=0) & (x > 0)
    if between is not None:
        use &= (x >= between[0]) & (x <= between[1])
    if use.sum() < 3:
        return None
    log_x, log_y = np.log(x[use]), np.log(table[:, use])
    if len(log_y) == 1:
        fit = stats.linregress(log_x, log_y[0])
        half = stats.t.ppf(0.975, use.sum() - 2) * fit.stderr
        return Slope(float(fit.slope), float(fit.slope - half), float(fit.slope + half), 1, int(use.sum()))
    slopes = np.polyfit(log_x, log_y.T, 1)[0]
    half = stats.t.ppf(0.975, len(slopes) - 1) * slopes.std(ddof=1) / np.sqrt(len(slopes))
    middle = slopes.mean()
    return Slope(float(middle), float(middle - half), float(middle + half), len(slopes), int(use.sum()))


def smallest_at(rows: Sequence[Row], axis: str, name: str) -> Mean | None:
    """Where `name` is smallest along the axis, over seeds; None unless that lies inside the grid."""
    return minimum_of(*table_of(rows, axis, name))


def minimum_of(x: Array, table: Array) -> Mean | None:
    """Where curves (seeds, n) are smallest: the vertex of a log-log parabola through the best three points.

    None unless the mean curve has its minimum inside the grid.
    """
    use = np.isfinite(table).all(axis=0) & (x > 0)
    x, table = x[use], table[:, use]
    if len(x) < 5 or (table <= 0).any() or not 0 < int(table.mean(axis=0).argmin()) < len(x) - 1:
        return None
    places = np.array([_vertex(np.log(x), np.log(curve)) for curve in table])
    se = float(places.std(ddof=1) / np.sqrt(len(places))) if len(places) > 1 else 0.0
    return Mean(float(places.mean()), se, len(places))


def _vertex(log_x: Array, log_y: Array) -> float:
    at = int(np.clip(log_y.argmin(), 1, len(log_x) - 2))
    a, b, _ = np.polyfit(log_x[at - 1 : at + 2], log_y[at - 1 : at + 2], 2)
    inside = -b / (2 * a) if a > 0 else log_x[log_y.argmin()]
    return float(np.exp(np.clip(inside, log_x[0], log_x[-1])))
