"""A family of smooth non-convex losses with closed forms for all that the theorems ask.

    phi_t(w) = sum_i a_{t,i} (1 - cos(f_i (w_i - b_{t,i}))),   a >= 0,   t = 1..T

Each is non-negative with the value 0 at its centre b_t (and at its translates by periods), smooth with the constant
max_i a_{t,i} f_i^2 on all of R^d, and has flat tops, saddles and false directions. Since all tasks share the
frequencies f_i, a difference of two losses is again a constant minus one cosine per coordinate, and so is a product of
two slopes: their extreme values over an interval are known, and those over a box are sums of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ..ground.errors import ColdError
from ..quadratics import Array


@dataclass(frozen=True, eq=False)
class Cosines:
    """Losses of R runs: `heights` and `centres` (R, T, d), `frequencies` (R, 1, d)."""

    heights: Array
    centres: Array
    frequencies: Array

    @staticmethod
    def of(heights: ArrayLike, centres: ArrayLike, frequencies: ArrayLike) -> Cosines:
        """Validated losses: heights and centres (T, d) or (R, T, d), frequencies (d,) or (R, d)."""
        b = np.asarray(centres, dtype=np.float64)
        if b.ndim not in (2, 3) or 0 in b.shape:
            raise ColdError(f"centres must have shape (T, d) or (R, T, d) with T, d >= 1, got {b.shape}")
        b = b if b.ndim == 3 else b[None]
        try:
            a = np.broadcast_to(np.asarray(heights, dtype=np.float64), b.shape)
            f = np.asarray(frequencies, dtype=np.float64)
            f = np.broadcast_to(f if f.ndim == 1 else f[:, None, :], (b.shape[0], 1, b.shape[2]))
        except (ValueError, IndexError):
            raise ColdError(f"heights and frequencies do not fit centres of shape {b.shape}") from None
        if not (np.isfinite(a).all() and np.isfinite(b).all() and np.isfinite(f).all()):
            raise ColdError("heights, centres and frequencies must be finite")
        if (a < 0).any() or (f <= 0).any():
            raise ColdError("heights must be >= 0 and frequencies > 0")
        return Cosines(a, b, f)

    @property
    def R(self) -> int:
        """The number of runs."""
        return int(self.centres.shape[0])

    @property
    def T(self) -> int:
        """The number of tasks."""
        return int(self.centres.shape[1])

    @property
    def d(self) -> int:
        """The number of coordinates."""
        return int(self.centres.shape[2])

    @cached_property
    def smoothness(self) -> Array:
        """The constant L (or l): the largest second derivative anywhere, (R,)."""
        return np.asarray((self.heights * self.frequencies**2).max(axis=(-2, -1)))

    @cached_property
    def phasors(self) -> np.ndarray:
        """a e^{i f b}: cosines of one frequency add like these complex numbers, (R, T, d)."""
        return np.asarray(self.heights * np.exp(1j * self.frequencies * self.centres))

    def values(self, w: Array) -> Array:
        """phi_k(w_s) for every pair, w (R, n, d) -> (R, n, T); 1 - cos u = 2 sin^2(u/2) loses no digits near 0."""
        half = np.sin(0.5 * self._phase(w))
        return np.asarray((2.0 * self.heights[:, None] * half**2).sum(axis=-1))

    def gradients(self, w: Array) -> Array:
        """grad phi_k(w_s) for every pair: (R, n, d) -> (R, n, T, d)."""
        return np.asarray((self.heights * self.frequencies)[:, None] * np.sin(self._phase(w)))

    def gradients_at(self, w: Array) -> Array:
        """grad phi_t(w_t), each loss at its own point: (R, T, d) -> (R, T, d)."""
        return np.asarray(self.heights * self.frequencies * np.sin(self.frequencies * (w - self.centres)))

    def pull(self, w: Array, weights: Array) -> Array:
        """sum_k weights_k grad phi_k(w): w (R, d) and weights (R, T) -> (R, d)."""
        return np.asarray(np.vecmat(weights, self.gradients(w[:, None])[:, 0]))

    def rises(self, w: Array, dw: Array) -> Array:
        """phi_k(w + dw) - phi_k(w) for every k, without cancellation: w and dw (R, d) -> (R, T)."""
        middle = np.sin(self.frequencies * ((w + 0.5 * dw)[:, None] - self.centres))
        return np.asarray((2.0 * self.heights * middle * np.sin(0.5 * self.frequencies * dw[:, None])).sum(axis=-1))

    def _phase(self, w: Array) -> Array:
        return np.asarray(self.frequencies[:, None] * (w[:, :, None, :] - self.centres[:, None]))
