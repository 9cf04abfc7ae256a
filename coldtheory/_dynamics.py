"""How one task moves the model and the queues, for the two storages of a quadratic.

Both families write a past loss as a row of numbers, such that one matrix product with all rows gives
every increment of eq. `queue_update`, and one product with the queues gives the whole DPP function:

    hatPhi_k(x + dx) - hatPhi_k(x) - delta = row_k . change(x, dx, delta)
    sum_k beta_k row_k                     = the queue part of DPP_t (curvature, linear term, sum of beta)

Axes: S streams, P settings; x is (S, P, d), rows (S, T, K), per-run numbers (S, P) or (1, P).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .geometry import minimise_on_ball, project_on_ball
from .quadratics import Array, Quadratics


@dataclass(frozen=True)
class Move:
    """How x_t is found from DPP_t: step size, number of steps, or the exact minimiser."""

    eta: Array
    steps: np.ndarray
    exact: bool
    push: Array | None  # V * sigma * xi, (S, P, J, d): the noise of the gradient, or None
    ball: tuple[Array, Array | float] | None  # (centre (S, 1, d), radius) of the projection, or None


@dataclass(frozen=True)
class Isotropic:
    """H_t = h_t I: rows (-h a, h, 1), K = d + 2."""

    phi: Quadratics
    phi_hat: Quadratics

    def rows(self) -> Array:
        h = self.phi_hat.hessians[..., None]
        return _rows(-h * self.phi_hat.optima, h, np.ones_like(h))

    def change(self, x: Array, dx: Array, delta: Array) -> Array:
        z = np.empty((*x.shape[:-1], x.shape[-1] + 2))
        z[..., :-2] = dx
        z[..., -2] = np.vecdot(dx, x) + 0.5 * np.vecdot(dx, dx)
        z[..., -1] = -delta
        return z

    def grad_sq(self, t: int, x: Array) -> Array:
        gap = x - self._a(t)
        return np.asarray(self._h(t) ** 2 * np.vecdot(gap, gap))

    def advance(self, t: int, x: Array, V: Array, past: Array, move: Move) -> Array:
        """x_t - x_{t-1} for task t, with `past` the queue part of DPP_t."""
        Vh = V * self._h(t)
        curvature = Vh + past[..., -2]
        pull = Vh[..., None] * self._a(t)  # curvature * minimiser
        pull -= past[..., :-2]
        if move.ball is not None and not move.exact:
            return descent(x, lambda y: curvature[..., None] * y - pull, move) - x
        flat = curvature <= 0.0
        dx = pull  # from here on, in place: the arrays of this function are the widest of a step
        dx /= np.where(flat, 1.0, curvature)[..., None]
        dx -= x
        if move.exact:
            dx[flat] = 0.0
            return dx if move.ball is None else project_on_ball(x + dx, *move.ball) - x
        dx *= progress(curvature, move.eta, move.steps)[..., None]
        if move.push is not None:
            dx -= noise_gain(curvature, move.eta, move.steps)[..., None] * move.push[..., 0, :]
        return dx

    def slope(self, t: int, x: Array, V: Array, past: Array) -> Array:
        """The gradient of DPP_t at x."""
        now = (V * self._h(t))[..., None] * (x - self._a(t))
        return np.asarray(now + past[..., -2, None] * x + past[..., :-2])

    def shortfall(self, t: int, x: Array, V: Array, past: Array) -> Array:
        """DPP_t(x) - min DPP_t, without a difference of large numbers."""
        curvature, slope = V * self._h(t) + past[..., -2], self.slope(t, x, V, past)
        flat = curvature <= 0.0
        return np.where(flat, 0.0, 0.5 * np.vecdot(slope, slope) / np.where(flat, 1.0, curvature))

    def _a(self, t: int) -> Array:
        return self.phi.optima[:, None, t]

    def _h(self, t: int) -> Array:
        return self.phi.hessians[:, None, t]


@dataclass(frozen=True)
class General:
    """Any PSD H_t: rows (H, -H a, 1) with H written out, K = d^2 + d + 1."""

    phi: Quadratics
    phi_hat: Quadratics

    def rows(self) -> Array:
        H = self.phi_hat.hessians
        linear = -np.matvec(H, self.phi_hat.optima)
        return _rows(H.reshape(*linear.shape[:-1], -1), linear, np.ones_like(linear[..., :1]))

    def change(self, x: Array, dx: Array, delta: Array) -> Array:
        d = x.shape[-1]
        middle = x + 0.5 * dx
        z = np.empty((*x.shape[:-1], d * d + d + 1))
        z[..., : d * d] = (dx[..., :, None] * middle[..., None, :]).reshape(*x.shape[:-1], d * d)
        z[..., d * d : -1] = dx
        z[..., -1] = -delta
        return z

    def grad_sq(self, t: int, x: Array) -> Array:
        gradient = np.matvec(self._H(t), x - self.phi.optima[:, None, t])
        return np.asarray(np.vecdot(gradient, gradient))

    def advance(self, t: int, x: Array, V: Array, past: Array, move: Move) -> Array:
        d = x.shape[-1]
        H, a = self._H(t), self.phi.optima[:, None, t]
        M = V[..., None, None] * H + past[..., : d * d].reshape(*x.shape, d)
        pull = V[..., None] * np.matvec(H, a) - past[..., d * d : -1]
        if move.ball is not None:
            if move.exact:
                return minimise_on_ball(M, pull, *move.ball) - x
            return descent(x, lambda y: np.matvec(M, y) - pull, move) - x
        curvature, basis = np.linalg.eigh(_finite_or_zero(M))
        slope = np.vecmat(np.matvec(M, x) - pull, basis)  # gradient at x in the eigenbasis
        if move.exact:
            dx = -_inverse(curvature) * slope
        else:
            eta, steps = move.eta[..., None], move.steps[..., None]
            flat = curvature <= 0.0
            done = progress(curvature, eta, steps) / np.where(flat, 1.0, curvature)
            dx = -np.where(flat, eta * steps, done) * slope
            if move.push is not None:
                dx -= noise_gain(curvature, eta, steps) * np.vecmat(move.push[..., 0, :], basis)
        return np.asarray(np.matvec(basis, dx))

    def slope(self, t: int, x: Array, V: Array, past: Array) -> Array:
        d = x.shape[-1]
        now = V[..., None] * np.matvec(self._H(t), x - self.phi.optima[:, None, t])
        return np.asarray(now + np.matvec(past[..., : d * d].reshape(*x.shape, d), x) + past[..., d * d : -1])

    def shortfall(self, t: int, x: Array, V: Array, past: Array) -> Array:
        d = x.shape[-1]
        M = V[..., None, None] * self._H(t) + past[..., : d * d].reshape(*x.shape, d)
        curvature, basis = np.linalg.eigh(_finite_or_zero(M))
        slope = np.vecmat(self.slope(t, x, V, past), basis)
        return np.asarray(0.5 * np.vecdot(slope, _inverse(curvature) * slope))

    def _H(self, t: int) -> Array:
        return self.phi.hessians[:, None, t]


def family(phi: Quadratics, phi_hat: Quadratics) -> Isotropic | General:
    return Isotropic(phi, phi_hat) if phi.isotropic and phi_hat.isotropic else General(phi, phi_hat)


def progress(curvature: Array, eta: Array, steps: np.ndarray) -> Array:
    """f = 1 - (1 - eta c)^J, the share of the way to the minimiser that J gradient steps go.

    By log1p/expm1, so that a tiny eta c loses no digits.
    """
    z = eta * curvature
    small = z < 0.5
    accurate = -np.expm1(steps * np.log1p(-np.where(small, z, 0.0)))
    if small.all():
        return np.asarray(accurate)
    return np.asarray(np.where(small, accurate, 1.0 - (1.0 - z) ** steps))


def noise_gain(curvature: Array, eta: Array, steps: np.ndarray) -> Array:
    """s.d. of sum_j eta (1 - eta c)^j xi_j for unit xi_j: J noisy steps add one Gaussian of this size."""
    q2 = (1.0 - eta * curvature) ** 2
    same = np.abs(1.0 - q2) < 1e-12
    total = np.where(same, steps, (1.0 - q2**steps) / np.where(same, 1.0, 1.0 - q2))
    return np.asarray(eta * np.sqrt(total))


def descent(x: Array, gradient: Callable[[Array], Array], move: Move) -> Array:
    """Gradient steps one by one, projected if there is a ball: for those that have no closed form."""
    y = x
    for j in range(int(move.steps.max())):
        g = gradient(y)
        if move.push is not None:
            g = g + move.push[..., j, :]
        ahead = y - move.eta[..., None] * g
        if move.ball is not None:
            ahead = project_on_ball(ahead, *move.ball)
        y = np.where((j < move.steps)[..., None], ahead, y)
    return y


def _rows(*parts: Array) -> Array:
    return np.ascontiguousarray(np.concatenate(parts, axis=-1))


def _inverse(curvature: Array) -> Array:
    """Pseudo-inverse of PSD eigenvalues: among several minimisers the one nearest to x is taken."""
    kept = curvature > flat_below(curvature)
    return np.where(kept, 1.0 / np.where(kept, curvature, 1.0), 0.0)


def flat_below(curvature: Array) -> Array:
    """The curvature up to which a direction counts as flat, from ascending eigenvalues (..., d): (..., 1)."""
    return np.asarray(curvature[..., -1:] * curvature.shape[-1] * np.finfo(float).eps * 8)


def _finite_or_zero(M: Array) -> Array:
    """LAPACK refuses NaN; a diverged run's matrix is replaced, its model stays NaN."""
    return np.where(np.isfinite(M).all(axis=(-2, -1), keepdims=True), M, 0.0)
