"""The ideal problem in closed form for whole populations: on a line, and in the plane with identity Hessians.

In general a programme has to be solved for every candidate, which is a thousand times slower than its run.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ..ideal import minimax_centre, smallest_feasible_delta
from ..quadratics import Array, Quadratics

_HAIR = 1.0 - 1e-12  # inside by more than rounding: sums in another order must find a point feasible too
_TOUCHING = 1.0 + 1e-12  # a point made on two circles is on them up to rounding


def lowest_tolerances(seen: Quadratics) -> Array:
    """The smallest delta' for which eq. ideal_cl is feasible, (B,).

    On a line the constraints are intervals, which meet as soon as every two of them do.
    """
    if seen.T == 1:
        return np.zeros(len(seen.optima))
    if seen.isotropic and seen.d == 1:
        a, root = seen.optima[:, :-1, 0], np.sqrt(seen.hessians[:, :-1])
        width = root[:, :, None] * root[:, None, :] / (root[:, :, None] + root[:, None, :])
        return np.asarray((0.5 * (width * (a[:, :, None] - a[:, None, :])) ** 2).max(axis=(1, 2)))
    if _identity(seen):
        return minimax_centre(seen.optima[:, :-1])[1]
    return np.array([smallest_feasible_delta(seen[i]) for i in range(len(seen.optima))])


def comparators_of(optima: Array, seen: Quadratics, delta_prime: Array) -> Array | None:
    """w*_t of every candidate, (B, T, d): the point nearest to a_t that forgets no past task by more than delta'.

    None where no closed form is known.
    """
    if seen.isotropic and seen.d == 1:
        return _on_the_line(optima, seen, delta_prime)
    if _identity(seen) and seen.d == 2:
        return _in_the_plane(optima, seen.optima, np.sqrt(2.0 * delta_prime) * _HAIR)
    return None


def _identity(seen: Quadratics) -> bool:
    return seen.isotropic and bool((seen.hessians == 1.0).all())


def _on_the_line(optima: Array, seen: Quadratics, delta_prime: Array) -> Array:
    """a_t moved into the interval that all past tasks allow."""
    reach = np.sqrt(2.0 * delta_prime[:, None] / seen.hessians) * _HAIR
    low = np.maximum.accumulate(seen.optima[..., 0] - reach, axis=1)
    high = np.minimum.accumulate(seen.optima[..., 0] + reach, axis=1)
    w = optima[..., 0].copy()
    w[:, 1:] = np.clip(w[:, 1:], low[:, :-1], high[:, :-1])
    return w[..., None]


def _in_the_plane(optima: Array, centres: Array, radius: Array) -> Array:
    """The nearest point of discs of one size is a_t itself, or the nearest of one disc, or where two circles cross."""
    w = optima.copy()
    for t in range(1, optima.shape[1]):
        target, past = optima[:, t], centres[:, :t]
        away = target[:, None] - past
        reach = np.maximum(np.sqrt(np.vecdot(away, away)), 1e-300)[..., None]
        spots = [target[:, None], past + away * (radius[:, None, None] / reach)]
        spots += [_crossings(past[:, i], past[:, j], radius) for i, j in combinations(range(t), 2)]
        points = np.concatenate(spots, axis=1)
        gaps = points[:, :, None] - past[:, None]
        allowed = np.vecdot(gaps, gaps).max(axis=-1) <= (radius[:, None] * _TOUCHING) ** 2
        path = points - target[:, None]
        distance = np.where(allowed, np.vecdot(path, path), np.inf)
        w[:, t] = np.take_along_axis(points, distance.argmin(axis=1)[:, None, None], axis=1)[:, 0]
    return w


def _crossings(left: Array, right: Array, radius: Array) -> Array:
    """The two points (B, 2, 2) at distance `radius` from both; NaN where the circles do not meet or coincide."""
    line = right - left
    length = np.sqrt(np.vecdot(line, line))
    with np.errstate(invalid="ignore", divide="ignore"):
        height = np.sqrt(radius**2 - 0.25 * length**2) / length
        across = np.stack([-line[:, 1], line[:, 0]], axis=-1) * height[:, None]
    middle = 0.5 * (left + right)
    return np.stack([middle + across, middle - across], axis=1)
