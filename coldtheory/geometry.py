"""Balls, and the extreme values of quadratics on them: the suprema and infima that the theorems take over W.

A ball stands for the paper's compact set W. On it sup |phi_1 - phi_2| (Definition `def:Dphi`) and
rho_{t,k} = inf <grad phi_t, grad hatphi_k> (`thm:gradient_norm_bound`) are trust-region problems, with
closed forms where all Hessians are multiples of the identity.
The ideal problem of eq. `ideal_cl` is in `ideal`; its functions can be imported from here too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from .ground.checks import numbers
from .ground.errors import ColdError
from .ideal import IdealSolution, ideal_point, ideal_points, minimax_centre, smallest_feasible_delta
from .quadratics import Array, Quadratics

__all__ = [
    "Ball",
    "IdealSolution",
    "difference",
    "ideal_point",
    "ideal_points",
    "inf_inner_gradients",
    "minimise_on_ball",
    "project_on_ball",
    "smallest_enclosing_ball",
    "smallest_enclosing_balls",
    "smallest_feasible_delta",
    "sup_abs_difference",
]

_EPS = float(np.finfo(np.float64).eps)
_QUIET = partial(np.errstate, over="ignore", invalid="ignore")  # a diverged run needs no warning here
_NEWTON_STEPS = 60  # a cap: the secular equation takes about six


@dataclass(frozen=True, eq=False)
class Ball:
    """{w: |w - center| <= radius}, or one ball for each entry of the leading axes: center (..., d), radius (...).

    >>> Ball([0.0, 0.0], 1.0).contains([[0.6, 0.8], [1.0, 1.0]])
    array([ True, False])
    """

    center: Array
    radius: Array

    def __init__(self, center: ArrayLike, radius: ArrayLike) -> None:
        c, r = numbers("center", center), numbers("radius", radius)
        if c.ndim == 0 or c.shape[-1] == 0 or (r < 0).any():
            raise ColdError("a ball needs a center (..., d) with d >= 1 and a radius >= 0")
        try:
            r = np.broadcast_to(r, c.shape[:-1])
        except ValueError:
            raise ColdError(
                f"a ball's radius must be a number or an array {c.shape[:-1]}, one per center, got {r.shape}"
            ) from None
        object.__setattr__(self, "center", c)
        object.__setattr__(self, "radius", r)

    @classmethod
    def unchecked(cls, center: Array, radius: Array) -> Ball:
        """Balls from arrays that are known to fit: center (..., d), radius (...), with NaN where a run diverged."""
        ball = object.__new__(cls)
        object.__setattr__(ball, "center", center)
        object.__setattr__(ball, "radius", radius)
        return ball

    def contains(self, points: ArrayLike, rtol: float = 1e-12) -> np.ndarray:
        """Whether points are inside: (..., d), one per ball, gives (...); (..., n, d) gives (..., n).

        `rtol` is a share of the radius; NaN is never inside.
        """
        p = numbers("points", points, finite=False, copy=False)
        several = p.ndim > self.center.ndim
        center, radius = (self.center[..., None, :], self.radius[..., None]) if several else (self.center, self.radius)
        if p.ndim == 0 or p.shape[-1] != center.shape[-1]:
            raise ColdError(f"points must have {center.shape[-1]} coordinates, got shape {p.shape}")
        with _QUIET():
            return np.asarray(_norm(p - center) <= radius * (1.0 + rtol))


def project_on_ball(w: Array, center: Array, radius: Array | float) -> Array:
    """The point of the ball nearest to w; all of w (..., d), center (..., d) and radius (...) broadcast.

    A point inside stays as it is, bit for bit.
    """
    with _QUIET():
        gap = w - center
        length = _norm(gap)[..., None]
        outside = length > np.asarray(radius)[..., None]
        shrink = np.asarray(radius)[..., None] / np.where(outside, length, 1.0)
        return np.where(outside, center + gap * shrink, w)


def minimise_on_ball(A: Array, b: Array, center: Array, radius: Array | float) -> Array:
    """argmin of 1/2 w'Aw - b'w over |w - center| <= radius, for symmetric A (..., d, d), b (..., d): (..., d).

    A may be indefinite. In the eigenbasis of A, with p = w - center and g = A center - b, the minimiser is
    p = -(A + mu I)^{-1} g for the mu >= max(0, -lambda_1) with |p| = radius, or mu = 0 if that is inside.
    1/|p(mu)| is concave in mu, so Newton's method rises to 1/radius from any mu below the root. In the hard
    case g has no part along the lowest eigenvector, which then fills p up to the sphere (either sign).
    Where data are not finite the answer is NaN. Leading axes broadcast; A is factorised in its own shape.

    >>> minimise_on_ball(np.diag([-1.0, 1.0]), np.array([0.1, 0.0]), np.zeros(2), 2.0)    # saddle: to the rim
    array([2., 0.])
    """
    R = np.asarray(radius, dtype=np.float64)[..., None]
    with _QUIET():
        fine_A = np.asarray(np.isfinite(A).all(axis=(-2, -1)))
        curvature, basis = np.linalg.eigh(np.where(fine_A[..., None, None], A, 0.0))
        size = np.abs(curvature).max(axis=-1, keepdims=True)
        curvature = np.where(np.abs(curvature) <= 8 * A.shape[-1] * _EPS * size, 0.0, curvature)
        slope = np.vecmat(np.matvec(A, center) - b, basis)
        fine = fine_A[..., None] & np.isfinite(slope).all(axis=-1, keepdims=True) & np.isfinite(R)
        slope = np.where(fine, slope, 0.0)
        # Rounding errors along flat directions are not a slope: they would send p to the rim for no reason.
        rounding = 8 * A.shape[-1] * _EPS * (size * _norm(center)[..., None] + _norm(b)[..., None])
        convex = curvature[..., :1] >= 0.0
        slope = np.where(convex & (curvature == 0.0) & ~(np.abs(slope) > rounding), 0.0, slope)
        p = _secular(curvature, slope, np.where(fine, R, 1.0))
        return np.asarray(np.where(fine, center + np.matvec(basis, p), np.nan))


def _secular(curvature: Array, slope: Array, R: Array) -> Array:
    """The minimiser in the eigenbasis: curvature ascending (..., d), slope (..., d), radius (..., 1)."""
    lowest = curvature[..., :1]
    stiff = curvature + np.maximum(-lowest, 0.0)  # >= 0, and exactly 0 for the lowest if A is not convex
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # No component may exceed R: that bounds the root from below, within a factor sqrt(d) in |p|.
        shift = np.maximum((np.abs(slope) / R - stiff).max(axis=-1, keepdims=True), 0.0)
        for _ in range(_NEWTON_STEPS):
            p = _ratio(slope, stiff + shift)
            square = np.vecdot(p, p)[..., None]
            excess = np.sqrt(square) / R - 1.0
            bend = np.vecdot(p, _ratio(p, stiff + shift))[..., None]
            step = np.where((excess > 4 * _EPS) & (bend > 0), excess * square / bend, 0.0)
            if not (step > _EPS * shift).any():
                break
            shift = shift + step
    p = -_ratio(slope, stiff + shift)
    length = _norm(p)[..., None]
    p = np.where(length > R, p * (R / np.where(length > 0, length, 1.0)), p)
    missing = np.sqrt(np.maximum(R**2 - _norm(p)[..., None] ** 2, 0.0))
    hard = (lowest < 0.0) & (shift <= 0.0)
    fill = np.where(hard, np.copysign(missing, -slope[..., :1]), 0.0)
    p[..., :1] += fill
    return np.asarray(np.where(R > 0, p, 0.0))


def _ratio(over: Array, under: Array) -> Array:
    """over / under, with 0 where `over` is 0: a flat direction without slope stays put."""
    return np.where(over == 0.0, 0.0, over / np.where(over == 0.0, 1.0, under))


# ---------------------------------------------------------------------------------------------------
# Extreme values over a ball


def difference(phi_1: Quadratics, phi_2: Quadratics, w: Array) -> tuple[Array, Array]:
    """phi_1 - phi_2 and its gradient at w, each pair of losses at its own point: (..., n) and (..., n, d).

    Written with differences of optima and of Hessians, so that equal losses give exactly 0 and near ones
    lose no digits: with u_i = w - a_i, the two quadratic parts differ by
    1/2 (u_1 - u_2)' Hmean (u_1 + u_2) + 1/4 (u_1' (H_1 - H_2) u_1 + u_2' (H_1 - H_2) u_2).
    """
    mean, gap = 0.5 * (phi_1.hessians + phi_2.hessians), phi_1.hessians - phi_2.hessians
    u_1, u_2 = w - phi_1.optima, w - phi_2.optima
    shift = phi_2.optima - phi_1.optima  # u_1 - u_2
    if phi_1.isotropic:
        mean, gap = mean[..., None], gap[..., None]
        mean_shift, gap_1, gap_2 = mean * shift, gap * u_1, gap * u_2
    else:
        mean_shift, gap_1, gap_2 = np.matvec(mean, shift), np.matvec(gap, u_1), np.matvec(gap, u_2)
    value = 0.5 * np.vecdot(mean_shift, u_1 + u_2) + 0.25 * (np.vecdot(u_1, gap_1) + np.vecdot(u_2, gap_2))
    return value + (phi_1.offsets - phi_2.offsets), mean_shift + 0.5 * (gap_1 + gap_2)


def sup_abs_difference(phi_1: Quadratics, phi_2: Quadratics, ball: Ball) -> Array:
    """sup over the ball of |phi_1 - phi_2|, the terms of Definition `def:Dphi`: (..., n) for n pairs of losses.

    Both have optima (..., n, d) and one storage; the ball has center (..., d); leading axes broadcast.
    Isotropic: along the gradient g at the centre, the difference is D + s|g| + (h_1 - h_2) s^2/2 for
    -R <= s <= R, extreme at the two ends or where its slope vanishes. General: two trust-region problems.

    >>> phi = Quadratics.of([[0.0], [2.0]])
    >>> sup_abs_difference(phi[:1], phi[1:], Ball([0.0], 3.0))         # |2w - 2| on [-3, 3]
    array([8.])
    """
    _same_storage(phi_1, phi_2)
    R = ball.radius[..., None]
    middle, slope = difference(phi_1, phi_2, ball.center[..., None, :])
    gap = phi_1.hessians - phi_2.hessians
    if phi_1.isotropic:
        steep, bend = _norm(slope) * R, 0.5 * gap * R**2
        turns = (_norm(slope) < np.abs(gap) * R) & (gap != 0.0)
        inside = middle - np.vecdot(slope, slope) / np.where(turns, 2.0 * gap, 1.0)
        ends = np.maximum(np.abs(middle + bend + steep), np.abs(middle + bend - steep))
        return np.asarray(np.where(turns, np.maximum(ends, np.abs(inside)), ends))
    origin = np.zeros_like(slope)

    def change(p: Array) -> Array:
        return np.asarray(np.vecdot(p, slope + 0.5 * np.matvec(gap, p)))

    lowest = middle + change(minimise_on_ball(gap, -slope, origin, R))
    highest = middle + change(minimise_on_ball(-gap, slope, origin, R))
    return np.maximum(np.abs(lowest), np.abs(highest))


def inf_inner_gradients(phi: Quadratics, phi_hat: Quadratics, ball: Ball) -> Array:
    """rho_{t,k} = inf over the ball of <grad phi_t, grad hatphi_k> (`thm:gradient_norm_bound`), every pair.

    phi (..., n, d) and phi_hat (..., m, d), of one storage, give (..., n, m). Isotropic: with m the middle of
    a_t and a_k, the product is h_t h_k (|w - m|^2 - |a_t - a_k|^2/4), so the point of the ball nearest to m
    is the minimiser. General: a trust-region problem with the (often indefinite) matrix H_t H_k + H_k H_t.

    >>> phi = Quadratics.of([[0.0], [2.0]])
    >>> inf_inner_gradients(phi, phi, Ball([1.0], 1.0))
    array([[ 0., -1.],
           [-1.,  0.]])
    """
    _same_storage(phi, phi_hat)
    u = ball.center[..., None, None, :] - phi.optima[..., :, None, :]
    v = ball.center[..., None, None, :] - phi_hat.optima[..., None, :, :]
    R = ball.radius[..., None, None]
    if phi.isotropic:
        outside = np.maximum(0.5 * _norm(u + v) - R, 0.0)
        curvatures = phi.hessians[..., :, None] * phi_hat.hessians[..., None, :]
        return np.asarray(curvatures * (outside**2 - 0.25 * np.vecdot(u - v, u - v)))
    H, K = phi.hessians[..., :, None, :, :], phi_hat.hessians[..., None, :, :, :]
    HK = H @ K
    product = HK + HK.swapaxes(-1, -2)
    slope = np.matvec(HK, v) + np.vecmat(u, HK)
    p = minimise_on_ball(product, -slope, np.zeros_like(slope), R)
    return np.asarray(np.vecdot(np.matvec(H, u + p), np.matvec(K, v + p)))


# ---------------------------------------------------------------------------------------------------
# The smallest enclosing ball


def smallest_enclosing_ball(points: ArrayLike) -> Ball:
    """The smallest ball around points (n, d); its radius is at most 1e-10 of itself too large, never too small.

    >>> ball = smallest_enclosing_ball([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5]])
    >>> ball.center.round(9), float(ball.radius.round(9))
    (array([1., 0.]), 1.0)
    """
    p = numbers("points", points)
    if p.ndim != 2 or 0 in p.shape:
        raise ColdError(f"points must be finite, of shape (n, d) with n, d >= 1, got shape {p.shape}")
    balls = smallest_enclosing_balls(p[None])
    return Ball.unchecked(balls.center[0], balls.radius[0])


def smallest_enclosing_balls(points: Array) -> Ball:
    """The smallest ball around each set of points: (B, n, d) gives center (B, d), radius (B,).

    A distance, the root of d squares of rounded differences summed in any order, is off by at most (d/2 + 2) u, which
    is (d/4 + 1) eps, of itself. The radius makes up for that twice, so that a distance computed in another order is
    no larger.
    """
    center, _ = minimax_centre(points)
    radius = _norm(points - center[:, None, :]).max(axis=-1) * (1.0 + (0.5 * points.shape[-1] + 3.0) * _EPS)
    return Ball.unchecked(center, radius)


def _same_storage(phi_1: Quadratics, phi_2: Quadratics) -> None:
    if phi_1.isotropic != phi_2.isotropic:
        raise ColdError("both losses must store their Hessians alike: as numbers, or as matrices (see from_optima)")


def _norm(x: Array) -> Array:
    return np.asarray(np.sqrt(np.vecdot(x, x)))
