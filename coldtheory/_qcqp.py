"""Convex programmes with quadratic constraints, many at once, by one interior-point method.

Axis B holds independent programmes over R^d with n constraints each, of which a mask leaves out some.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .quadratics import Array, Quadratics

_MAX_ITERATIONS = 80
_STOP = 1e-13  # complementarity and residuals, in scaled units, at which a programme is solved
_LATE = 1e-8  # below this accuracy a lack of progress is due to rounding; above it, to a bad start
_PATIENCE = 5  # iterations without progress after which rounding is taken to be the limit
_SHORT = 0.995  # share of the way to the boundary that a step may go
_FLAT = 1e-12  # curvature, in scaled units, below which a direction counts as flat
_FIRST_SLACK = 0.1  # slacks start no smaller: a start next to the boundary would crawl along it
_OVERSHOOT = 4.0  # slacks by which the curvature of a constraint may carry a step too far
_SHORT_CAUTIOUS = 0.7  # the same for cautious steps
_OVERSHOOT_CAUTIOUS = 0.5
_CENTRING = 0.3  # share of the complementarity at which cautious steps aim
_ROUNDOFF = 0.5 * float(np.finfo(np.float64).eps)  # relative error of one operation
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

    def ceiling(self, mask: np.ndarray, w: Array) -> Array:
        """A bound of max_k q_k(w) over `mask` that holds for any order of summation, fused or not, (B,); 0 if none.

        Let g = w - a_k and y = H_k g. Rounding g moves q_k by at most u |g|'|y|. A product of d terms, summed in any
        order, is off by at most d u times the sum of its terms' sizes (Higham, Accuracy and Stability, section 3.1):
        y by d u |H_k||g|, and so 1/2 g'y by d u 1/2 (|g|'|H_k||g| + |g|'|y|). Each way to compute q_k is thus off by
        at most e = u 1/2 ((d + 1) |g|'|H_k||g| + (d + 3) |g|'|y|), one more each for what is of second order; two ways
        differ by at most 2 e, and any other one finds no more than ours plus 2 e.
        """
        gap = w[:, None, :] - self.optima
        y = self.times(gap)
        size = np.abs(gap)
        sizes = Losses(self.optima, np.abs(self.hessians)).times(size)
        d = gap.shape[-1]
        off = _ROUNDOFF * 0.5 * ((d + 1) * np.vecdot(size, sizes) + (d + 3) * np.vecdot(size, np.abs(y)))
        highest = 0.5 * np.vecdot(gap, y) + 2.0 * off
        return np.asarray(np.where(mask, highest, 0.0).max(axis=-1, initial=0.0))

    def stiffness(self) -> Array:
        """A curvature that no H_k exceeds, and that some H_k has within a factor d, (B or 1,)."""
        if self.isotropic:
            return np.asarray(self.hessians.max(axis=-1, initial=0.0))
        return np.asarray(np.trace(self.hessians, axis1=-2, axis2=-1).max(keepdims=True, initial=0.0))


@dataclass(frozen=True, eq=False)
class Programme:
    """min f(z) subject to c_k(z) <= 0, for z = w with f = 1/2 w'Mw + b'w and c_k = q_k - level, or, with
    `lifted`, for z = (w, tau) with f = tau and c_k = q_k - tau."""

    losses: Losses
    mask: np.ndarray  # (B, n): the constraints that count
    M: Array  # (B, d, d); zero if lifted
    b: Array  # (B, d); zero if lifted
    level: Array | None = None  # (B,): how high the losses may be; None if lifted

    @property
    def lifted(self) -> bool:
        return self.level is None

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
        c = q - (z[:, d:] if self.level is None else self.level[:, None])
        return f, np.where(self.mask, c, -1.0), slope * self.mask[..., None], H

    def rows(self, picked: np.ndarray) -> Programme:
        """Some programmes of the batch."""
        a, h = self.losses.optima, self.losses.hessians
        a = a if len(a) == 1 else a[picked]
        h = h if not self.losses.isotropic or len(h) == 1 else h[picked]
        level = None if self.level is None else self.level[picked]
        return Programme(Losses(a, h), self.mask[picked], self.M[picked], self.b[picked], level)

    def bends(self, dw: Array) -> Array:
        """The second-order part of c along dw, (B, n)."""
        return np.where(self.mask, self.losses.bends(dw), 0.0)


def interior_point(programme: Programme, z: Array) -> tuple[Array, Array]:
    """Minimisers z (B, D) and multipliers (B, n) of programmes for which z is strictly feasible.

    Bold steps solve nearly all in about 15 iterations; the few on which they fail are solved again with cautious
    ones.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # a bold step may run away; its best iterate is kept
        found, lam, accuracy = _iterate(programme, z, cautious=False)
    failed = np.flatnonzero(accuracy > _LATE)
    if failed.size:
        again, lam_again, accuracy_again = _iterate(programme.rows(failed), z[failed], cautious=True)
        better = accuracy_again < accuracy[failed]
        found[failed[better]], lam[failed[better]] = again[better], lam_again[better]
    return found, lam


def _iterate(programme: Programme, z: Array, *, cautious: bool) -> tuple[Array, Array, Array]:
    """Primal-dual steps: the best z (B, D), its multipliers (B, n), and its accuracy (B,), 0 if unconstrained.

    The constraints are c(z) + s = 0 with slacks s > 0, and complementarity lambda_k s_k -> 0. Along a step c is
    quadratic: the corrector takes its second-order part along the predictor into account, and no step may
    overshoot by more than a few slacks. A programme stops at its best iterate, when it is solved or when rounding
    prevents further improvement. Bold steps are Mehrotra's predictor-corrector ones; cautious steps are shorter and aim
    at a fixed fraction of the complementarity, which keeps them near the central path.
    """
    mask, d = programme.mask, programme.b.shape[-1]
    count = np.maximum(mask.sum(axis=-1), 1)
    s = np.maximum(-programme.evaluate(z, np.zeros(mask.shape))[1], _FIRST_SLACK)
    lam = np.where(mask, 1.0 / (s * count[:, None]), 0.0)
    active = mask.any(axis=-1)
    best, stalled = np.full(len(z), np.inf), np.zeros(len(z), int)
    kept = z, lam
    short, overshoot = (_SHORT_CAUTIOUS, _OVERSHOOT_CAUTIOUS) if cautious else (_SHORT, _OVERSHOOT)
    for _ in range(_MAX_ITERATIONS * (5 if cautious else 1)):
        f, c, G, H = programme.evaluate(z, lam)
        r_dual = f + np.vecmat(lam, G)
        r_primal = np.where(mask, c + s, 0.0)
        mu = np.vecdot(lam, np.where(mask, s, 0.0)) / count
        # The dual residual enters the duality gap squared: it needs fewer digits than the other two.
        worst = np.maximum.reduce([mu * count, 1e-3 * np.abs(r_dual).max(-1), np.abs(r_primal).max(-1, initial=0.0)])
        better = worst < best
        kept = np.where(better[:, None], z, kept[0]), np.where(better[:, None], lam, kept[1])
        best = np.where(better, worst, best)
        stalled = np.where(better | (best > _LATE), 0, stalled + 1)
        active &= (worst > _STOP) & (stalled < _PATIENCE)
        if not active.any():
            break
        system = _Newton.of(np.where(active[:, None, None], H, np.eye(z.shape[-1])), G, lam, s)
        if cautious:
            dz, ds, dlam = system.direction(r_dual, r_primal, np.where(mask, lam * s - _CENTRING * mu[:, None], 0.0))
        else:
            dz, ds, dlam = system.direction(r_dual, r_primal, lam * s)
            reach = np.minimum(1.0, np.minimum(_reach(s, ds), _reach(lam, dlam)))[:, None]
            ahead = np.vecdot(lam + reach * dlam, np.where(mask, s + reach * ds, 0.0)) / count
            centring = (ahead / np.maximum(mu, 1e-300)) ** 3 * mu
            bend = reach**2 * programme.bends(dz[:, :d])
            r_mu = np.where(mask, lam * s + reach**2 * ds * dlam - centring[:, None], 0.0)
            dz, ds, dlam = system.direction(r_dual, r_primal + bend, r_mu)
        bend = programme.bends(dz[:, :d])
        room = np.sqrt(overshoot * (s + np.abs(r_primal)) / np.maximum(bend, 1e-300)).min(axis=-1, initial=np.inf)
        step = np.minimum.reduce(
            [
                np.ones(len(z)),
                short * _reach(s, ds),
                short * _reach(lam, dlam),
                room,
            ]
        )
        step = np.where(active, step, 0.0)[:, None]
        z, s, lam = z + step * dz, s + step * ds, lam + step * dlam
    return *kept, np.where(mask.any(axis=-1), best, 0.0)


@dataclass(frozen=True, eq=False)
class _Newton:
    """One iteration's linear system: H dz + G' dlambda = -r_dual, lambda G dz - s dlambda = r_mu - lambda r_primal.

    Cold constraints (small lambda/s) are eliminated. The hot ones, at most D, stay as unknowns of their own:
    eliminated as well, their huge lambda/s would drown H and with it all accuracy along flat directions.
    """

    matrix: Array  # (B, D + m, D + m)
    scale: Array  # (B, D)
    hot: np.ndarray  # (B, m)
    G: Array
    lam: Array
    s: Array

    @staticmethod
    def of(H: Array, G: Array, lam: Array, s: Array) -> _Newton:
        D, n = H.shape[-1], lam.shape[-1]
        m = min(D, n)
        ratio = lam / s
        hot = np.argpartition(ratio, n - m, axis=-1)[:, n - m :]
        cold = ratio.copy()
        np.put_along_axis(cold, hot, 0.0, axis=-1)
        K = H + (G * cold[..., None]).swapaxes(-1, -2) @ G
        scale = 1.0 / np.sqrt(np.maximum(np.diagonal(K, axis1=-2, axis2=-1), _FLAT))
        K = K * scale[:, :, None] * scale[:, None, :] + _RIDGE * np.eye(D)
        rows = np.take_along_axis(G, hot[..., None], axis=1) * scale[:, None, :]
        lam_hot, s_hot = np.take_along_axis(lam, hot, axis=-1), np.take_along_axis(s, hot, axis=-1)
        large = np.maximum(lam_hot, s_hot)
        lower = np.concatenate([rows * (lam_hot / large)[..., None], -np.eye(m) * (s_hot / large)[..., None]], axis=-1)
        matrix = np.concatenate([np.concatenate([K, rows.swapaxes(-1, -2)], axis=-1), lower], axis=-2)
        return _Newton(matrix, scale, hot, G, lam, s)

    def direction(self, r_dual: Array, r_primal: Array, r_mu: Array) -> tuple[Array, Array, Array]:
        """(dz, ds, dlambda) that removes the residuals to first order."""
        push = r_mu - self.lam * r_primal
        cold = push / self.s
        np.put_along_axis(cold, self.hot, 0.0, axis=-1)
        lam_hot, s_hot, push_hot = (np.take_along_axis(x, self.hot, axis=-1) for x in (self.lam, self.s, push))
        upper = self.scale * (-r_dual + np.vecmat(cold, self.G))
        right = np.concatenate([upper, push_hot / np.maximum(lam_hot, s_hot)], axis=-1)
        solution = np.linalg.solve(self.matrix, right[..., None])[..., 0]
        dz = self.scale * solution[:, : self.scale.shape[-1]]
        along = np.matvec(self.G, dz)
        dlam = (self.lam * along - push) / self.s
        np.put_along_axis(dlam, self.hot, solution[:, self.scale.shape[-1] :], axis=-1)
        return dz, -r_primal - along, dlam


def _reach(x: Array, dx: Array) -> Array:
    """The largest step a that keeps x + a dx >= 0, (B,); infinite if nothing shrinks."""
    shrinking = dx < 0
    ratio = np.where(shrinking, x / np.where(shrinking, -dx, 1.0), np.inf)
    return np.asarray(ratio.min(axis=-1, initial=np.inf))
