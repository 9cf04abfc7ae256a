"""Convex programmes with quadratic constraints, many at once, by one interior-point method.

Axis B holds independent programmes over R^d with n constraints each, of which a mask leaves out some.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .quadratics import Array, Quadratics

_MAX_ITERATIONS = 80
_STOP = 1e-12  # complementarity and residuals, in scaled units, at which a programme is solved
_PATIENCE = 5  # iterations without progress after which rounding has won
_SHORT = 0.995  # share of the way to the boundary that a step may go
_RIDGE = 1e-15  # keeps a Newton matrix invertible when all losses are flat in one direction


@dataclass(frozen=True, eq=False)
class Losses:
    """q_k(w) = 1/2 (w - a_k)' H_k (w - a_k), k = 1..n: optima (B or 1, n, d), Hessians (B or 1, n), or
    matrices (n, d, d) that all programmes share."""

    optima: Array
    hessians: Array

    @staticmethod
    def of(losses: Quadratics) -> Losses:
        return Losses(losses.optima[None], losses.hessians[None] if losses.isotropic else losses.hessians)

    @property
    def isotropic(self) -> bool:
        return self.hessians.ndim == 2

    def gradients(self, w: Array) -> Array:
        """(B, d) -> (B, n, d)."""
        return self.times(w[:, None, :] - self.optima)

    def times(self, gap: Array) -> Array:
        """H_k gap_k: (B, n, d) -> (B, n, d)."""
        if self.isotropic:
            return np.asarray(self.hessians[..., None] * gap)
        return np.asarray(np.swapaxes(np.swapaxes(gap, 0, 1) @ self.hessians, 0, 1))

    def values(self, w: Array) -> Array:
        """(B, d) -> (B, n)."""
        return np.asarray(0.5 * np.vecdot(w[:, None, :] - self.optima, self.gradients(w)))

    def bends(self, dw: Array) -> Array:
        """The second-order part 1/2 dw' H_k dw: (B, d) -> (B, n)."""
        if self.isotropic:
            return np.asarray(0.5 * self.hessians * np.vecdot(dw, dw)[:, None])
        steps = np.broadcast_to(dw[:, None, :], (len(dw), *self.optima.shape[1:]))
        return np.asarray(0.5 * np.vecdot(steps, self.times(steps)))

    def curvature(self, weights: Array) -> Array:
        """sum_k weights_k H_k: (B, n) -> (B, d, d)."""
        d = self.optima.shape[-1]
        if self.isotropic:
            return np.asarray(np.vecdot(weights, self.hessians)[:, None, None] * np.eye(d))
        return (weights @ self.hessians.reshape(-1, d * d)).reshape(-1, d, d)

    def highest(self, mask: np.ndarray, w: Array) -> Array:
        """max_k q_k(w) over the losses in `mask` (B, n), (B,); 0 if there is none."""
        return np.asarray(np.where(mask, self.values(w), 0.0).max(axis=-1, initial=0.0))

    def stiffness(self) -> Array:
        """A curvature that no H_k exceeds, and that some H_k has within a factor d, (B or 1,)."""
        if self.isotropic:
            return np.asarray(self.hessians.max(axis=-1))
        return np.asarray(np.trace(self.hessians, axis1=-2, axis2=-1).max(keepdims=True))


@dataclass(frozen=True, eq=False)
class Programme:
    """min f(z) subject to c_k(z) <= 0, for z = w with f = 1/2 w'Mw + b'w and c_k = q_k - 1, or, with
    `lifted`, for z = (w, tau) with f = tau and c_k = q_k - tau."""

    losses: Losses
    mask: np.ndarray  # (B, n): the constraints that count
    M: Array  # (B, d, d); zero if lifted
    b: Array  # (B, d); zero if lifted
    lifted: bool

    def evaluate(self, z: Array, weights: Array) -> tuple[Array, Array, Array, Array]:
        """grad f (B, D), c (B, n), its gradients (B, n, D), and the Lagrangian's Hessian (B, D, D)."""
        d = self.b.shape[-1]
        w = z[:, :d]
        slope = self.losses.gradients(w)
        q = 0.5 * np.vecdot(w[:, None, :] - self.losses.optima, slope)
        H = self.M + self.losses.curvature(weights)
        f = np.matvec(self.M, w) + self.b
        if self.lifted:
            f = np.pad(f, ((0, 0), (0, 1)), constant_values=1.0)
            H = np.pad(H, ((0, 0), (0, 1), (0, 1)))
            slope = np.pad(slope, ((0, 0), (0, 0), (0, 1)), constant_values=-1.0)
        c = q - (z[:, d:] if self.lifted else 1.0)
        return f, np.where(self.mask, c, -1.0), slope * self.mask[..., None], H


def interior_point(programme: Programme, z: Array, s: Array) -> tuple[Array, Array]:
    """Minimisers z (B, D) and multipliers (B, n) by Mehrotra's predictor-corrector steps.

    The constraints are c(z) + s = 0 with slacks s > 0, and complementarity lambda_k s_k -> 0. As they are
    quadratic, the corrector takes their second-order part along the predictor into account as well.
    A programme stops at its best iterate when it is solved or when rounding lets it improve no more.
    """
    mask, d = programme.mask, programme.b.shape[-1]
    count = np.maximum(mask.sum(axis=-1), 1)
    lam = np.where(mask, 1.0 / (s * count[:, None]), 0.0)
    active, unit = mask.any(axis=-1), np.eye(z.shape[-1])
    best, stalled = np.full(len(z), np.inf), np.zeros(len(z), int)
    kept = z, lam
    for _ in range(_MAX_ITERATIONS):
        f, c, G, H = programme.evaluate(z, lam)
        r_dual = f + np.vecmat(lam, G)
        r_primal = np.where(mask, c + s, 0.0)
        mu = np.vecdot(lam, np.where(mask, s, 0.0)) / count
        # The dual residual enters the duality gap squared: it needs fewer digits than the other two.
        worst = np.maximum.reduce([mu * count, 1e-3 * np.abs(r_dual).max(-1), np.abs(r_primal).max(-1, initial=0.0)])
        better = worst < best
        kept = np.where(better[:, None], z, kept[0]), np.where(better[:, None], lam, kept[1])
        stalled = np.where(better, 0, stalled + 1)
        best = np.where(better, worst, best)
        active &= (worst > _STOP) & (stalled < _PATIENCE)
        if not active.any():
            break
        K = np.where(active[:, None, None], H + (G * (lam / s)[..., None]).swapaxes(-1, -2) @ G, unit)
        newton = _Newton.of(K, G, lam, s, mask)
        dz, ds, dlam = newton.direction(r_dual, r_primal, lam * s)
        reach = np.minimum(1.0, np.minimum(_reach(s, ds), _reach(lam, dlam)))[:, None]
        ahead = np.vecdot(lam + reach * dlam, np.where(mask, s + reach * ds, 0.0)) / count
        sigma_mu = ahead**3 / np.maximum(mu, 1e-300) ** 2
        bend = reach**2 * np.where(mask, programme.losses.bends(dz[:, :d]), 0.0)
        target = np.where(mask, lam * s + reach**2 * ds * dlam - sigma_mu[:, None], 0.0)
        dz, ds, dlam = newton.direction(r_dual, r_primal + bend, target)
        step = np.minimum(1.0, _SHORT * np.minimum(_reach(s, ds), _reach(lam, dlam)))
        step = np.where(active, step, 0.0)[:, None]
        z, s, lam = z + step * dz, s + step * ds, lam + step * dlam
    return kept


@dataclass(frozen=True, eq=False)
class _Newton:
    """The linear system of one iteration, scaled to a unit diagonal."""

    K: Array
    scale: Array
    G: Array
    lam: Array
    s: Array
    mask: np.ndarray

    @staticmethod
    def of(K: Array, G: Array, lam: Array, s: Array, mask: np.ndarray) -> _Newton:
        diagonal = np.diagonal(K, axis1=-2, axis2=-1)
        scale = 1.0 / np.sqrt(np.maximum(diagonal, 1e-12))  # 1e-12: a direction in which everything is flat
        return _Newton(K * scale[:, :, None] * scale[:, None, :] + _RIDGE * np.eye(K.shape[-1]), scale, G, lam, s, mask)

    def direction(self, r_dual: Array, r_primal: Array, r_mu: Array) -> tuple[Array, Array, Array]:
        """(dz, ds, dlambda) that removes the three residuals to first order."""
        right = -r_dual - np.vecmat((self.lam * r_primal - r_mu) / self.s, self.G)
        dz = self.scale * np.linalg.solve(self.K, (self.scale * right)[..., None])[..., 0]
        change = r_primal + np.matvec(self.G, dz)
        return (
            dz,
            np.where(self.mask, -change, 0.0),
            np.where(self.mask, (self.lam * change - r_mu) / self.s, 0.0),
        )


def _reach(x: Array, dx: Array) -> Array:
    """The largest step that keeps x >= 0, (B,); infinite if nothing shrinks."""
    shrinking = dx < 0
    ratio = np.where(shrinking, x / np.where(shrinking, -dx, 1.0), np.inf)
    return np.asarray(ratio.min(axis=-1, initial=np.inf))
