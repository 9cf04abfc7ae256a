"""`Facts` of trajectories on sums of cosines."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ..bounds.comparators import Comparators
from ..bounds.facts import Reading
from ..ground.errors import ColdError
from ..quadratics import Array
from .cosines import Cosines
from .sets import Points, Region
from .trace import Trace, TraceFacts


class CosineFacts(TraceFacts):
    """Everything a statement may ask; leading axes (R,)."""

    def __init__(
        self, phi: Cosines, hat: Cosines, trace: Trace, W: Region, *, eta: Array, steps: int, solver: str
    ) -> None:
        super().__init__(phi, hat, trace, eta=eta, steps=steps, solver=solver)
        self.phi, self.phi_hat, self.W = phi, hat, W

    @cached_property
    def hat_above(self) -> Array:  # type: ignore[override]
        return np.asarray(self.hat - self.W.extremes(self.phi_hat)[0][:, None])

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
        return self._over_W(self.phi) if reading == "ball" else super().variation(reading)

    def memory_variation(self, reading: Reading) -> Array:
        return self._over_W(self.phi_hat) if reading == "ball" else super().memory_variation(reading)

    def rho(self, reading: Reading) -> Array:
        if reading == "ball":
            return self._conflicting(self.W.inf_products(self.phi, self.phi_hat))
        return super().rho(reading)

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

    def _over_W(self, previous: Cosines) -> Array:
        """sup_W |Phi_t - previous_{t-1}|, 0 at t = 1: (R, T)."""
        terms = np.zeros((*self.lead, self.T))
        if self.T > 1:
            later = Cosines(self.phi.heights[:, 1:], self.phi.centres[:, 1:], self.phi.frequencies)
            earlier = Cosines(previous.heights[:, :-1], previous.centres[:, :-1], previous.frequencies)
            terms[:, 1:] = self.W.sup_difference(later, earlier)
        return terms
