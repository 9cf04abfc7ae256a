"""Numbers that are written into figures: slopes and turning points of curves over seeds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Fit:
    """log y = level + slope log x, with half the 95 % interval of the slope over seeds (0 for one seed)."""

    slope: float
    half: float
    level: float


def slope(x: np.ndarray, by_seed: np.ndarray, between: tuple[float, float]) -> Fit | None:
    """The mean log-log slope of the seeds' curves; None if fewer than three points serve."""
    use = (x >= between[0]) & (x <= between[1]) & np.isfinite(by_seed).all(axis=0) & (by_seed > 0).all(axis=0)
    if use.sum() < 3:
        return None
    slopes, levels = np.polyfit(np.log(x[use]), np.log(by_seed[:, use]).T, 1)
    n = len(slopes)
    half = stats.t.ppf(0.975, n - 1) * slopes.std(ddof=1) / np.sqrt(n) if n > 1 else 0.0
    return Fit(float(slopes.mean()), float(half), float(levels.mean()))


def turning_point(x: np.ndarray, y: np.ndarray) -> tuple[float, float] | None:
    """Where a curve is smallest, by a parabola in log-log through its three lowest points; None at an end."""
    use = np.isfinite(y) & (y > 0)
    x, y = x[use], y[use]
    if len(x) < 3 or not 0 < int(y.argmin()) < len(x) - 1:
        return None
    at = int(y.argmin())
    log_x = np.log(x[at - 1 : at + 2])
    a, b, c = np.polyfit(log_x - log_x[1], np.log(y[at - 1 : at + 2]), 2)
    step = -b / (2 * a)
    return float(np.exp(log_x[1] + step)), float(np.exp(c - b * b / (4 * a)))
