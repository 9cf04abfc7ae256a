"""The set W for sums of cosines, with the extreme values of losses on it.

`Box` has closed forms. `Points` is a finite set, on which every extreme value, and the exact minimiser of any
function, is found by looking: Theorems 1 and 2 hold for any W, and on this one they can be checked without convexity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..quadratics import Array
from .cosines import Cosines

_RTOL = 1e-12  # rounding that does not count as outside


class Region(Protocol):
    """What the theorems ask of W."""

    @property
    def radius(self) -> Array:
        """Half the diameter, (R,)."""

    def reach(self, centres: Array) -> Array:
        """sup_W |w - b_k| for every centre: (R, T, d) -> (R, T)."""

    def contains(self, points: Array) -> np.ndarray:
        """(R, n, d) -> (R, n)."""

    def extremes(self, phi: Cosines) -> tuple[Array, Array]:
        """inf and sup over W of every loss, (R, T) each."""

    def sup_difference(self, phi_1: Cosines, phi_2: Cosines) -> Array:
        """sup over W of |phi_1 - phi_2|, task by task, (R, T)."""

    def inf_products(self, phi: Cosines, hat: Cosines) -> Array:
        """inf over W of <grad phi_t, grad hatphi_k> for every pair, (R, T, T)."""


@dataclass(frozen=True, eq=False)
class Box:
    """low_i <= w_i <= high_i, each (R, d)."""

    low: Array
    high: Array

    @staticmethod
    def around(points: Array) -> Box:
        """The smallest box around points (R, n, d)."""
        return Box(points.min(axis=1), points.max(axis=1))

    @property
    def radius(self) -> Array:
        return np.asarray(0.5 * np.sqrt(np.square(self.high - self.low).sum(axis=-1)))

    def reach(self, centres: Array) -> Array:
        far = np.maximum(np.abs(centres - self.low[:, None]), np.abs(self.high[:, None] - centres))
        return np.asarray(np.sqrt(np.square(far).sum(axis=-1)))

    def contains(self, points: Array) -> np.ndarray:
        room = _RTOL * (np.abs(self.low) + np.abs(self.high))[:, None]
        inside = (points >= self.low[:, None] - room) & (points <= self.high[:, None] + room)
        return np.asarray(inside.all(axis=-1))

    def extremes(self, phi: Cosines) -> tuple[Array, Array]:
        low, high = self._cosine(phi.frequencies, phi.frequencies * phi.centres)
        return (phi.heights * (1.0 - high)).sum(axis=-1), (phi.heights * (1.0 - low)).sum(axis=-1)

    def sup_difference(self, phi_1: Cosines, phi_2: Cosines) -> Array:
        both = phi_1.phasors - phi_2.phasors
        low, high = self._cosine(phi_1.frequencies, np.angle(both))
        lift, size = phi_1.heights - phi_2.heights, np.abs(both)
        lowest, highest = ((lift - size * end).sum(axis=-1) for end in (high, low))
        return np.asarray(np.maximum(np.abs(lowest), np.abs(highest)))

    def inf_products(self, phi: Cosines, hat: Cosines) -> Array:
        f = phi.frequencies
        b, c = (f * phi.centres)[:, :, None], (f * hat.centres)[:, None]
        T, d = phi.T, phi.d
        _, high = self._cosine(2.0 * f, (b + c).reshape(phi.R, T * T, d))
        size = 0.5 * f[:, None] ** 2 * phi.heights[:, :, None] * hat.heights[:, None]
        return np.asarray((size * (np.cos(b - c) - high.reshape(phi.R, T, T, d))).sum(axis=-1))

    def _cosine(self, f: Array, shift: Array) -> tuple[Array, Array]:
        """The least and the largest value of cos(f w - shift) on each side of the box: shift (R, m, d)."""
        start, end = f * self.low[:, None] - shift, f * self.high[:, None] - shift
        ends = np.cos(start), np.cos(end)
        top = np.ceil(start / (2 * np.pi)) * 2 * np.pi <= end
        bottom = (np.ceil(start / (2 * np.pi) - 0.5) + 0.5) * 2 * np.pi <= end
        return np.where(bottom, -1.0, np.minimum(*ends)), np.where(top, 1.0, np.maximum(*ends))


@dataclass(frozen=True, eq=False)
class Points:
    """A finite W: n points per run, (R, n, d)."""

    points: Array

    @property
    def radius(self) -> Array:
        gap = self.points[:, :, None] - self.points[:, None]
        return np.asarray(0.5 * np.sqrt(np.square(gap).sum(axis=-1)).max(axis=(-2, -1)))

    def reach(self, centres: Array) -> Array:
        gap = self.points[:, :, None] - centres[:, None]
        return np.asarray(np.sqrt(np.square(gap).sum(axis=-1)).max(axis=1))

    def contains(self, points: Array) -> np.ndarray:
        return np.asarray((points[:, :, None] == self.points[:, None]).all(axis=-1).any(axis=-1))

    def extremes(self, phi: Cosines) -> tuple[Array, Array]:
        values = phi.values(self.points)
        return values.min(axis=1), values.max(axis=1)

    def sup_difference(self, phi_1: Cosines, phi_2: Cosines) -> Array:
        return np.asarray(np.abs(phi_1.values(self.points) - phi_2.values(self.points)).max(axis=1))

    def inf_products(self, phi: Cosines, hat: Cosines) -> Array:
        return np.asarray((phi.gradients(self.points) @ hat.gradients(self.points).swapaxes(-1, -2)).min(axis=1))
