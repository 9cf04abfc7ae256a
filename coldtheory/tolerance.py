"""The one place that defines how far rounding may affect an inequality: lhs <= rhs + RTOL * scale."""

from __future__ import annotations

import numpy as np

from .quadratics import Array

# Both sides are sums of at most T terms, each an inner product of d numbers along a trajectory of T tasks whose
# steps do not expand (eta alpha <= 2). Such a sum is off by at most about T d eps of its largest term: 8e-13 for
# the paper's toy (T = 150, d = 25), 2e-11 for T = 1000, d = 100. 1e-9 is fifty times the latter.
RTOL = 1e-9

# A coordinate of a model goes through a few roundings and is off by e = 4 eps |x|. A loss of curvature L is then off by
# sqrt(2 L phi) e + L e^2/2, at most RTOL (phi + 2 L (e/RTOL)^2). So a loss that should be 0 counts as one of this
# share of L |x|^2; it matters only where every number that enters is as small (a model at its optimum).
_EPS = float(np.finfo(np.float64).eps)
MODEL_ROUNDING = 4.0 * _EPS
LOSS_FLOOR = 2.0 * (MODEL_ROUNDING / RTOL) ** 2


def loss_rounding(loss: Array, curvature: Array | float = 0.0, size: Array | float = 0.0, terms: int = 32) -> Array:
    """How far a loss is off that is evaluated at a rounded model of norm `size`, as a sum of that many terms.

    Far from the origin (optima at 1e8) or at an optimum (a loss of 1e-52 that should be 0) this is what a difference
    of two losses is off, however small it is itself. As a scale of `within` it counts as itself divided by RTOL.
    """
    off = MODEL_ROUNDING * size
    return np.asarray(np.sqrt(2.0 * curvature * loss) * off + 0.5 * curvature * off**2 + (terms + 4) * _EPS * loss)


def within(lhs: Array, rhs: Array, scale: Array) -> np.ndarray:
    """Whether lhs <= rhs up to rounding; `scale` is the largest magnitude among the numbers that enter.

    NaN is never within.

    >>> within(np.array([1.0, 1.0]), np.array([1.0 - 1e-12, 0.9]), np.array(1.0))
    array([ True, False])
    """
    return np.asarray(lhs <= rhs + RTOL * scale)
