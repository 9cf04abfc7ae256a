"""Rows of a sweep to numbers over seeds; rows of runs that diverged do not count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .ground.statistics import Slope, Spread, minimum_of, slope_of, spread
from .quadratics import Array
from .store import Row


def mean_over_seeds(rows: Sequence[Row], name: str) -> Spread:
    """Mean and spread of one column; n = 0 and NaN where every run diverged."""
    found = spread(float(row[name]) for row in rows if not row["diverged"] and row[name] is not None)
    return Spread(float("nan"), None, 0) if found is None else found


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
    """d log(name) / d log(axis), with its interval over seeds; None if fewer than three points serve."""
    return slope_of(*table_of(rows, axis, name), between)


def smallest_at(rows: Sequence[Row], axis: str, name: str) -> Spread | None:
    """Where `name` is smallest along the axis, over seeds; None unless that lies inside the grid."""
    return minimum_of(*table_of(rows, axis, name))
