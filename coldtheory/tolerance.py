"""The one place that says how far rounding may push an inequality: lhs <= rhs + RTOL * scale."""

from __future__ import annotations

import numpy as np

from .quadratics import Array

# Both sides are sums of at most T terms, each an inner product of d numbers along a trajectory of T tasks whose
# steps do not expand (eta alpha <= 2). Such a sum is off by at most about T d eps of its largest term: 8e-13 for
# the paper's toy (T = 150, d = 25), 2e-11 for T = 1000, d = 100. 1e-9 is fifty times the latter.
RTOL = 1e-9


def within(lhs: Array, rhs: Array, scale: Array) -> np.ndarray:
    """Whether lhs <= rhs up to rounding; `scale` is the largest magnitude among the numbers that enter.

    NaN is never within.

    >>> within(np.array([1.0, 1.0]), np.array([1.0 - 1e-12, 0.9]), np.array(1.0))
    array([ True, False])
    """
    return np.asarray(lhs <= rhs + RTOL * scale)
