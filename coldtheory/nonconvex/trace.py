"""`Facts` that need the models and the losses alone, whatever the losses are; and losses of which no more is known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..bounds.comparators import Comparators
from ..bounds.facts import Facts, Reading
from ..bounds.run_facts import reference_values
from ..quadratics import Array
from .smooth import Smooth


class Losses(Protocol):
    """T smooth losses for each of R runs."""

    @property
    def R(self) -> int:
        """The number of runs."""

    @property
    def T(self) -> int:
        """The number of tasks."""

    @property
    def d(self) -> int:
        """The number of coordinates."""

    @property
    def smoothness(self) -> Array:
        """(R,)."""

    def values(self, w: Array) -> Array:
        """(R, n, d) -> (R, n, T)."""

    def gradients(self, w: Array) -> Array:
        """(R, n, d) -> (R, n, T, d)."""

    def gradients_at(self, w: Array) -> Array:
        """Each loss at its own point, (R, T, d) -> (R, T, d)."""

    def rises(self, w: Array, dw: Array) -> Array:
        """(R, d), (R, d) -> (R, T)."""

    def pull(self, w: Array, weights: Array) -> Array:
        """(R, d), (R, T) -> (R, d)."""


@dataclass(frozen=True, eq=False)
class Trace:
    """Models and queues of R runs."""

    w: Array  #: x_0 .. x_T, (R, T+1, d)
    inner: Array  #: y_{t,0} .. y_{t,J-1}, (R, T, J, d)
    Q: Array  #: (R, T+1, T)
    increments: Array  #: hatPhi_k(x_t) - hatPhi_k(ref_{t,k}), 0 for k >= t, (R, T, T)
    V: Array
    delta: Array
    reference: str
    weights: str


class TraceFacts(Facts):
    """What follows from a trace; leading axes (R,)."""

    def __init__(self, phi: Losses, hat: Losses, trace: Trace, *, eta: Array, steps: int, solver: str) -> None:
        self.losses, self.memory, self.trace = phi, hat, trace
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
        return self.losses.gradients_at(self.trace.w[:, :-1])

    @cached_property
    def grad_sq_before(self) -> Array:  # type: ignore[override]
        return np.asarray(np.vecdot(self._before, self._before))

    @cached_property
    def grad_sq_after(self) -> Array:  # type: ignore[override]
        g = self.losses.gradients_at(self.trace.w[:, 1:])
        return np.asarray(np.vecdot(g, g))

    @cached_property
    def grad_inner(self) -> Array:  # type: ignore[override]
        inner = np.moveaxis(self.trace.inner, 2, 0)
        squares = [np.square(self.losses.gradients_at(y)).sum(axis=-1) for y in inner]
        return np.asarray(np.mean(squares, axis=0))

    @cached_property
    def _phi(self) -> Array:
        """Phi_k(x_t), (R, T+1, T)."""
        return self.losses.values(self.trace.w)

    @cached_property
    def phi_before(self) -> Array:  # type: ignore[override]
        return np.diagonal(self._phi[:, :-1], axis1=-2, axis2=-1)

    @cached_property
    def phi_after(self) -> Array:  # type: ignore[override]
        return np.diagonal(self._phi[:, 1:], axis1=-2, axis2=-1)

    @cached_property
    def hat(self) -> Array:  # type: ignore[override]
        return self._phi if self.memory is self.losses else self.memory.values(self.trace.w)

    @cached_property
    def hat_ref(self) -> Array:  # type: ignore[override]
        return reference_values(self.hat, self.reference, None)

    @cached_property
    def _inner_products(self) -> Array:
        """<grad Phi_t, grad hatPhi_k> at x_{t-1}, (R, T, T)."""
        return np.asarray(np.matvec(self.memory.gradients(self.trace.w[:, :-1]), self._before))

    @cached_property
    def conflict(self) -> Array:  # type: ignore[override]
        return np.asarray(np.vecdot(self.beta, np.maximum(-self._inner_products, 0.0)))

    def variation(self, reading: Reading) -> Array:
        return self._change(self._phi, 1)

    def memory_variation(self, reading: Reading) -> Array:
        return self._change(self.hat, 2)

    def rho(self, reading: Reading) -> Array:
        return self._conflicting(self._inner_products)

    def _conflicting(self, products: Array) -> Array:
        return np.asarray(np.where(np.tri(self.T, k=-1, dtype=bool), np.maximum(-products, 0.0), 0.0).sum(axis=-1))

    def _change(self, earlier: Array, first: int) -> Array:
        """|Phi_t - previous_{t-1}| at x_{first}, x_{first+1}, ... for t = 2..T, and 0 at t = 1: (R, T)."""
        terms = np.zeros((*self.lead, self.T))
        for t in range(1, self.T):
            x = first + t - 1
            terms[:, t] = np.abs(self._phi[:, x, t] - earlier[:, x, t - 1])
        return terms


class SmoothFacts(TraceFacts):
    """Facts of losses that are known by value and gradient only: there is no W, so what needs one does not apply.

    The proofs use r only through l r^2/2 >= hatPhi_k(x_s) - hatPhi_k(x_t), and since losses are >= 0 the largest memory
    loss of the run serves as l r^2/2.
    """

    def __init__(self, phi: Smooth, hat: Smooth, trace: Trace, *, eta: Array, steps: int) -> None:
        super().__init__(phi, hat, trace, eta=eta, steps=steps, solver="gd")
        self.convex = phi.convex and hat.convex
        unknown = np.full(self.lead, np.nan)
        self.r = self.radius = self.sup_first = self.memory_rounding = unknown
        self.eps = self.curvature = self.gaps = self.memory_error = self.mean_distance = np.full(
            (*self.lead, self.T), np.nan
        )
        self.models_inside = self.inner_inside = np.zeros(self.lead, bool)

    @cached_property
    def r_models(self) -> Array:  # type: ignore[override]
        return np.asarray(np.sqrt(2.0 * self.hat.max(axis=(-2, -1)) / self.l))

    @cached_property
    def hat_above(self) -> Array:  # type: ignore[override]
        """Above 0, which is not above the infimum."""
        return self.hat

    def variation(self, reading: Reading) -> Array:
        return super().variation(reading) if reading == "trajectory" else self.gaps

    def memory_variation(self, reading: Reading) -> Array:
        return super().memory_variation(reading) if reading == "trajectory" else self.gaps

    def rho(self, reading: Reading) -> Array:
        return super().rho(reading) if reading == "trajectory" else self.gaps

    def inside(self, points: Array) -> np.ndarray:
        return np.zeros(points.shape[:-1], bool)

    def comparators(self, delta_prime: ArrayLike | None, w_star: ArrayLike | None) -> Comparators:
        """None: the ideal problem cannot be solved without knowing more of the losses."""
        whole, one = np.full((*self.lead, self.T), np.nan), np.full(self.lead, np.nan)
        points = np.full((*self.lead, self.T, self.losses.d), np.nan)
        return Comparators(points, whole, whole, one, np.zeros(self.lead, bool))
