"""`Facts` of trajectories on sums of cosines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ..bounds.comparators import Comparators
from ..bounds.facts import Facts, Reading
from ..bounds.run_facts import reference_values
from ..ground.errors import ColdError
from ..quadratics import Array
from .cosines import Cosines
from .sets import Points, Region


@dataclass(frozen=True, eq=False)
class CosineTrace:
    """Models and queues of R runs."""

    w: Array  #: x_0 .. x_T, (R, T+1, d)
    inner: Array  #: y_{t,0} .. y_{t,J-1}, (R, T, J, d)
    Q: Array  #: (R, T+1, T)
    increments: Array  #: hatPhi_k(x_t) - hatPhi_k(ref_{t,k}), 0 for k >= t, (R, T, T)
    V: Array
    delta: Array
    reference: str
    weights: str


class CosineFacts(Facts):
    """Everything a statement may ask; leading axes (R,)."""

    def __init__(
        self, phi: Cosines, hat: Cosines, trace: CosineTrace, W: Region, *, eta: Array, steps: int, solver: str
    ) -> None:
        self.phi, self.phi_hat, self.trace, self.W = phi, hat, trace, W
        self.T, self.lead = phi.T, (phi.R,)
        self.reference, self.weights, self.solver = trace.reference, trace.weights, solver
        self.projected, self.noisy, self.convex = False, False, False
        self.V, self.delta, self.steps = trace.V, trace.delta, np.asarray(steps)
        self.L, self.l = phi.smoothness, hat.smoothness
        self.eta = np.broadcast_to(eta[:, None], (phi.R, phi.T))
        self.bounded = np.asarray(np.isfinite(trace.w).all(axis=(-2, -1)))
        self.Q = trace.Q
        d = np.where(np.tri(self.T, k=-1, dtype=bool), trace.increments - self.delta[:, None, None], 0.0)
        self.Qbar = trace.Q[:, :-1].sum(axis=-1) / self.past
        self.Delta = np.vecdot(d, d) / (2.0 * self.past)
        self.cross = np.vecdot(trace.Q[:, :-1], d)
        squares = np.vecdot(trace.Q, trace.Q)
        self.lyapunov = np.concatenate([squares[:, :1], squares[:, 1:] / (2.0 * self.past)], axis=-1)
        self.alpha = (self.V * self.L)[:, None] + self.l[:, None] * self.gain * self.Qbar

    @cached_property
    def _before(self) -> Array:
        """grad Phi_t(x_{t-1}), (R, T, d)."""
        return _own(self.phi.gradients(self.trace.w[:, :-1]))

    @cached_property
    def grad_sq_before(self) -> Array:  # type: ignore[override]
        return np.asarray(np.vecdot(self._before, self._before))

    @cached_property
    def grad_sq_after(self) -> Array:  # type: ignore[override]
        g = _own(self.phi.gradients(self.trace.w[:, 1:]))
        return np.asarray(np.vecdot(g, g))

    @cached_property
    def grad_inner(self) -> Array:  # type: ignore[override]
        inner = np.moveaxis(self.trace.inner, 2, 0)
        squares = [np.square(_own(self.phi.gradients(y))).sum(axis=-1) for y in inner]
        return np.asarray(np.mean(squares, axis=0))

    @cached_property
    def phi_before(self) -> Array:  # type: ignore[override]
        return _own(self.phi.values(self.trace.w[:, :-1])[..., None])[..., 0]

    @cached_property
    def phi_after(self) -> Array:  # type: ignore[override]
        return _own(self.phi.values(self.trace.w[:, 1:])[..., None])[..., 0]

    @cached_property
    def hat(self) -> Array:  # type: ignore[override]
        return self.phi_hat.values(self.trace.w)

    @cached_property
    def hat_above(self) -> Array:  # type: ignore[override]
        return np.asarray(self.hat - self.W.extremes(self.phi_hat)[0][:, None])

    @cached_property
    def hat_ref(self) -> Array:  # type: ignore[override]
        return reference_values(self.hat, self.reference, None)

    @cached_property
    def _inner_products(self) -> Array:
        """<grad Phi_t, grad hatPhi_k> at x_{t-1}, (R, T, T)."""
        return np.asarray(np.matvec(self.phi_hat.gradients(self.trace.w[:, :-1]), self._before))

    @cached_property
    def conflict(self) -> Array:  # type: ignore[override]
        return np.asarray(np.vecdot(self.beta, np.maximum(-self._inner_products, 0.0)))

    @cached_property
    def curvature(self) -> Array:  # type: ignore[override]
        """DPP_t'' is one cosine per coordinate; its height is the largest |curvature| on all of R^d."""
        together = self.V[:, None, None] * self.phi.phasors + self.beta @ self.phi_hat.phasors
        return np.asarray((np.abs(together) * self.phi.frequencies**2).max(axis=-1))

    @cached_property
    def r(self) -> Array:  # type: ignore[override]
        return np.asarray(self.W.reach(self.phi_hat.centres).max(axis=-1))

    @cached_property
    def radius(self) -> Array:  # type: ignore[override]
        return self.W.radius

    @cached_property
    def r_models(self) -> Array:  # type: ignore[override]
        gap = self.trace.w[:, :, None] - self.phi_hat.centres[:, None]
        return np.asarray(np.sqrt(np.square(gap).sum(axis=-1)).max(axis=(-2, -1)))

    @cached_property
    def sup_first(self) -> Array:  # type: ignore[override]
        return self.W.extremes(self.phi)[1][:, 0]

    @cached_property
    def gaps(self) -> Array:  # type: ignore[override]
        lowest, highest = self.W.extremes(self.phi_hat)
        return np.asarray(highest - lowest)

    @cached_property
    def eps(self) -> Array:  # type: ignore[override]
        """0 where DPP_t was minimised over a finite W; unknown under gradient descent."""
        return np.full((*self.lead, self.T), 0.0 if self.solver == "exact" else np.nan)

    @cached_property
    def models_inside(self) -> np.ndarray:  # type: ignore[override]
        return np.asarray(self.W.contains(self.trace.w).all(axis=-1))

    @cached_property
    def inner_inside(self) -> np.ndarray:  # type: ignore[override]
        return np.asarray(self.W.contains(self.trace.inner.reshape(*self.lead, -1, self.phi.d)).all(axis=-1))

    def variation(self, reading: Reading) -> Array:
        return self._change(self.phi, self.trace.w[:, 1:-1], reading)

    def memory_variation(self, reading: Reading) -> Array:
        return self._change(self.phi_hat, self.trace.w[:, 2:], reading)

    def rho(self, reading: Reading) -> Array:
        products = self.W.inf_products(self.phi, self.phi_hat) if reading == "ball" else self._inner_products
        return np.asarray(np.where(np.tri(self.T, k=-1, dtype=bool), np.maximum(-products, 0.0), 0.0).sum(axis=-1))

    def inside(self, points: Array) -> np.ndarray:
        return self.W.contains(points)

    def comparators(self, delta_prime: ArrayLike | None, w_star: ArrayLike | None) -> Comparators:
        """Found by looking at all points of a finite W."""
        if not isinstance(self.W, Points) or w_star is not None:
            raise ColdError("comparators of non-convex losses are looked up: W must be finite, w_star not given")
        points = self.W.points
        values, hat = self.phi.values(points), self.phi_hat.values(points)
        above = hat - hat.min(axis=1, keepdims=True)  # (R, n, T)
        worst = np.maximum.accumulate(above, axis=-1)  # over k <= t
        worst = np.concatenate([np.zeros_like(worst[..., :1]), worst[..., :-1]], axis=-1)  # over k < t
        lowest = worst[..., -1].min(axis=1)
        middle = np.where(self.delta > lowest, 0.5 * (lowest + self.delta), np.nan)
        limit = middle if delta_prime is None else np.broadcast_to(np.asarray(delta_prime, np.float64), self.lead)
        allowed = worst <= limit[:, None, None]
        chosen = np.where(allowed, values, np.inf).argmin(axis=1)  # (R, T)
        loss = np.take_along_axis(values, chosen[:, None], axis=1)[:, 0]
        memory = np.take_along_axis(hat[..., :-1], chosen[:, None, 1:], axis=1)[:, 0]
        gap = np.concatenate([np.zeros_like(loss[:, :1]), np.abs(loss[:, 1:] - memory)], axis=-1)
        w = np.take_along_axis(points, chosen[..., None], axis=1)
        return Comparators(w, loss, gap, limit, np.asarray(allowed.any(axis=1).all(axis=-1)))

    def _change(self, previous: Cosines, models: Array, reading: Reading) -> Array:
        terms = np.zeros((*self.lead, self.T))
        later = Cosines(self.phi.heights[:, 1:], self.phi.centres[:, 1:], self.phi.frequencies)
        earlier = Cosines(previous.heights[:, :-1], previous.centres[:, :-1], previous.frequencies)
        if self.T > 1 and reading == "ball":
            terms[:, 1:] = self.W.sup_difference(later, earlier)
        elif self.T > 1:
            gap = later.values(models) - earlier.values(models)
            terms[:, 1:] = np.abs(np.diagonal(gap, axis1=-2, axis2=-1))
        return terms


def _own(pairs: Array) -> Array:
    """The entries in which point t meets loss t: (R, T, T, m) -> (R, T, m)."""
    return np.asarray(np.moveaxis(np.diagonal(pairs, axis1=1, axis2=2), -1, 1))
