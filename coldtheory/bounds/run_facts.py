"""`Facts` of runs on quadratics, and of models that someone prescribes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from .. import measures
from .._dynamics import flat_below
from ..geometry import Ball, minimise_on_ball, sup_abs_difference
from ..ground.checks import kind_of, numbers
from ..ground.errors import ColdError
from ..quadratics import Array, Quadratics
from ..settings import Reference, Settings, Weights
from ..simulation import Run
from ..tasks import Tasks, as_tasks
from ..tolerance import LOSS_FLOOR, loss_rounding
from .comparators import Comparators, solve
from .facts import Facts, Reading


@dataclass(frozen=True, eq=False)
class PrescribedRun(Run):
    """Models that follow no rule, with the queues and measures they would have had."""

    queues: Array

    @cached_property
    def Q(self) -> Array:
        """The queues that the prescribed models would have had, (..., T+1, T)."""
        return self.queues


class RunFacts(Facts):
    """Everything a statement may ask of a run; W is `ball`, or the smallest one around optima and models."""

    def __init__(self, run: Run, ball: Ball | None = None) -> None:
        settings = run.settings
        self.run, self._given_ball = run, ball
        self._kept: dict[tuple[str, str], Array] = {}
        self.T, self.lead = run.tasks.T, run.diverged.shape
        self.reference, self.weights = settings.case, settings.weights
        self.solver = "prescribed" if isinstance(run, PrescribedRun) else settings.solver
        self.projected, self.noisy, self.convex = settings.ball is not None, bool(np.any(settings.noise > 0)), True
        self.controller, self.leak = settings.controller.name, getattr(settings.controller, "a", 0.0)
        self.noise_sq, self.streams = run.tasks.d * settings.noise**2, run.tasks.streams
        self.samples = run.tasks.samples
        spread = (*run.tasks.streams, *(1,) * len(settings.shape))
        self.L, self.l = (q.smoothness.reshape(spread) for q in (run.tasks.phi, run.tasks.phi_hat))
        self.V, self.delta, self.steps, self.eta = run.V, run.delta, settings.steps, run.eta
        self.bounded = ~run.diverged & np.isfinite(run.w).all(axis=(-2, -1))
        self.Qbar, self.Delta, self.cross, self.alpha = run.Qbar, run.Delta, run.cross, run.alpha
        self.lyapunov, self.grad_sq_before, self.grad_sq_after = run.lyapunov, run.grad_sq_before, run.grad_sq_after

    @cached_property
    def phi(self) -> Quadratics:
        """The losses of the tasks, with axes for the settings."""
        return _widened(self.run.tasks.phi, len(self.run.settings.shape))

    @cached_property
    def phi_hat(self) -> Quadratics:
        """The losses that the memory sees, with axes for the settings."""
        return _widened(self.run.tasks.phi_hat, len(self.run.settings.shape))

    @cached_property
    def ball(self) -> Ball:
        """W: the given ball, or the smallest one around optima and models."""
        return measures.enclosing_ball(self.run) if self._given_ball is None else self._given_ball

    @cached_property
    def Q(self) -> Array:  # type: ignore[override]
        return self.run.Q

    @cached_property
    def V_t(self) -> Array:
        return self.run.V_t

    @cached_property
    def weight(self) -> Array:
        return self.run.weight

    @cached_property
    def eps(self) -> Array:  # type: ignore[override]
        return self.run.eps

    @cached_property
    def forgetting(self) -> Array:
        return self.run.forgetting

    @cached_property
    def avg_forgetting(self) -> Array:
        return self.run.avg_forgetting

    @cached_property
    def phi_before(self) -> Array:  # type: ignore[override]
        return self.phi.at(self.run.w[..., :-1, :])

    @cached_property
    def phi_after(self) -> Array:  # type: ignore[override]
        return self.phi.at(self.run.w[..., 1:, :])

    @cached_property
    def hat(self) -> Array:  # type: ignore[override]
        models = np.moveaxis(self.run.w, -2, 0)[..., None, :]
        return np.stack([self.phi_hat.at(x) for x in models], axis=-2)  # one model at a time: T d numbers per run

    @cached_property
    def hat_above(self) -> Array:  # type: ignore[override]
        from_zero = replace(self.phi_hat, offsets=np.zeros_like(self.phi_hat.offsets))
        models = np.moveaxis(self.run.w, -2, 0)[..., None, :]
        return np.stack([from_zero.at(x) for x in models], axis=-2)

    @cached_property
    def hat_ref(self) -> Array:  # type: ignore[override]
        if self.run.reference_loss is not None:  # the answers of a user's own rule
            return self.run.reference_loss
        return reference_values(self.hat, self.reference, self.run.settings.window)

    @cached_property
    def conflict(self) -> Array:  # type: ignore[override]
        models = np.moveaxis(self.run.w[..., :-1, :], -2, 0)
        gradients = np.moveaxis(self.phi.gradients_at(self.run.w[..., :-1, :]), -2, 0)
        weights = np.moveaxis(self.beta, -2, 0)
        parts = []
        for x, g, beta in zip(models, gradients, weights, strict=True):
            inner = np.vecdot(self.phi_hat.gradients_at(x[..., None, :]), g[..., None, :])
            parts.append(np.vecdot(beta, np.maximum(-inner, 0.0)))
        return np.stack(parts, axis=-1)

    @cached_property
    def curvature(self) -> Array:  # type: ignore[override]
        whole = self._dpp_hessians
        if self.phi.isotropic:
            return whole
        finite = np.isfinite(whole).all(axis=(-2, -1))  # LAPACK refuses the numbers of a diverged run
        return np.where(finite, np.linalg.eigvalsh(_finite(whole))[..., -1], np.nan)

    @cached_property
    def _dpp_hessians(self) -> Array:
        V = self.V_t
        if self.phi.isotropic:
            return np.asarray(V * self.phi.hessians + np.matvec(self.beta, self.phi_hat.hessians))
        past = np.einsum("...tk,...kij->...tij", self.beta, self.phi_hat.hessians)
        return np.asarray(V[..., None, None] * self.phi.hessians + past)

    @cached_property
    def _dpp_pulls(self) -> Array:
        """sum of curvature times optimum over the losses in DPP_t: its gradient is Hessian w - pull."""
        if self.phi.isotropic:
            now, past = (q.hessians[..., None] * q.optima for q in (self.phi, self.phi_hat))
        else:
            now, past = (np.matvec(q.hessians, q.optima) for q in (self.phi, self.phi_hat))
        return np.asarray(self.V_t[..., None] * now + self.beta @ past)

    @cached_property
    def _inner(self) -> tuple[Array, np.ndarray]:
        """Mean of |grad Phi_t|^2 over the inner iterates y_{t,0} .. y_{t,J-1}, and whether all of them are in W."""
        y = self.run.w[..., :-1, :]
        J = np.broadcast_to(self.steps, self.lead)[..., None]
        total, inside = np.zeros(y.shape[:-1]), np.ones(self.lead, bool)
        for j in range(int(self.steps.max())):
            now = np.where(j < J, 1.0, 0.0)
            g = self.phi.gradients_at(y)
            total += now * np.vecdot(g, g)
            inside &= (contains(self.ball, y) | (now == 0.0)).all(axis=-1)
            pull = self._dpp_hessians[..., None] * y if self.phi.isotropic else np.matvec(self._dpp_hessians, y)
            y = y - self.eta[..., None] * (pull - self._dpp_pulls)
        return total / J, inside

    @property
    def grad_inner(self) -> Array:  # type: ignore[override]
        return self._inner[0]

    @property
    def inner_inside(self) -> np.ndarray:  # type: ignore[override]
        return self._inner[1]

    @cached_property
    def models_inside(self) -> np.ndarray:  # type: ignore[override]
        return np.asarray(contains(self.ball, self.run.w).all(axis=-1))

    @cached_property
    def r(self) -> Array:  # type: ignore[override]
        return measures.r_constant(self.run, self.ball)

    @cached_property
    def radius(self) -> Array:  # type: ignore[override]
        return np.broadcast_to(self.ball.radius, self.lead)

    @cached_property
    def r_models(self) -> Array:  # type: ignore[override]
        models = np.moveaxis(self.run.w, -2, 0)[..., None, :]
        squares = [np.square(x - self.phi_hat.optima).sum(axis=-1).max(axis=-1) for x in models]
        return np.asarray(np.sqrt(np.max(squares, axis=0)))

    @cached_property
    def size(self) -> Array:
        """The largest squared norm of a model or an optimum, (...)."""
        points = self.run.w, self.phi.optima, self.phi_hat.optima  # memory optima too: the simulator's origin is there
        squares = [np.broadcast_to(np.square(p).sum(axis=-1).max(axis=-1), self.lead) for p in points]
        return np.asarray(np.max(squares, axis=0))

    @cached_property
    def loss_floor(self) -> Array:
        return np.asarray(LOSS_FLOOR * self.L * self.size)

    @cached_property
    def hat_rounding(self) -> Array:
        return loss_rounding(self.largest_loss, self.l, np.sqrt(self.size), self.phi.d)

    @cached_property
    def phi_rounding(self) -> Array:
        largest = np.maximum(self.phi_before, self.phi_after).max(axis=-1)
        return loss_rounding(largest, self.L, np.sqrt(self.size), self.phi.d)

    @cached_property
    def curvature_kept(self) -> np.ndarray:
        """The exact solver takes a direction of DPP_t as flat if its curvature is below its rounding. A matrix that is
        diagonal has none, and in any other one only what exceeds the error of eigenvalues is known to be there."""
        if self.solver != "exact" or self.phi.isotropic or self.projected:
            return np.ones(self.lead, bool)
        whole = _finite(self._dpp_hessians)
        found: Array = np.linalg.eigvalsh(whole).astype(np.float64)
        limit, eps = flat_below(found), np.finfo(np.float64).eps
        diagonal = (whole == whole * np.eye(self.phi.d)).all(axis=(-2, -1))[..., None]
        known = np.where(diagonal, 0.0, self.phi.d * eps * found[..., -1:])
        return np.asarray(~((found > known) & (found <= limit)).any(axis=(-2, -1)))

    @cached_property
    def gaps(self) -> Array:  # type: ignore[override]
        hat, center, R = self.phi_hat, self.ball.center[..., None, :], self.ball.radius[..., None]
        away = np.sqrt(np.square(hat.optima - center).sum(axis=-1))
        if hat.isotropic:
            gaps = 0.5 * hat.hessians * ((R + away) ** 2 - np.maximum(away - R, 0.0) ** 2)
        else:
            shape = (*np.broadcast_shapes(hat.optima.shape[:-1], center.shape[:-1]), hat.d)
            middle, pull = np.broadcast_to(center, shape), np.matvec(hat.hessians, hat.optima)
            highest = hat.at(minimise_on_ball(-hat.hessians, -pull, middle, R))
            gaps = highest - hat.at(minimise_on_ball(hat.hessians, pull, middle, R))
        return np.broadcast_to(gaps, (*self.lead, self.T))

    @cached_property
    def sup_first(self) -> Array:  # type: ignore[override]
        first = Quadratics(self.phi.optima[..., :1, :], self.phi.hessians[..., :1] if self.phi.isotropic
                           else self.phi.hessians[..., :1, :, :], self.phi.offsets[..., :1])  # fmt: skip
        nothing = Quadratics(first.optima, 0.0 * first.hessians, 0.0 * first.offsets)
        return np.broadcast_to(sup_abs_difference(first, nothing, self.ball)[..., 0], self.lead)

    @cached_property
    def memory_error(self) -> Array:  # type: ignore[override]
        return np.broadcast_to(sup_abs_difference(self.phi, self.phi_hat, self.ball), (*self.lead, self.T))

    @cached_property
    def memory_rounding(self) -> Array:  # type: ignore[override]
        largest = 0.5 * self.L * np.square(self.mean_distance.max(axis=-1))
        return loss_rounding(largest, self.L, np.sqrt(self.size), self.phi.d)

    @cached_property
    def mean_distance(self) -> Array:  # type: ignore[override]
        away = np.sqrt(np.square(self.phi.optima - self.ball.center[..., None, :]).sum(axis=-1))
        return np.broadcast_to(away + self.ball.radius[..., None], (*self.lead, self.T))

    def before_sampling(self) -> RunFacts:
        """W is the given ball, or one around all samples and x_0: a ball around the models would depend on the draw."""
        if self._given_ball is not None or self.samples is None:
            return self
        spread = (*self.run.tasks.streams, *(1,) * len(self.run.settings.shape))
        center = np.broadcast_to(self.samples.center.reshape(*spread, -1), (*self.lead, self.phi.d))
        start = np.sqrt(np.square(self.run.w[..., 0, :] - center).sum(axis=-1))
        return RunFacts(self.run, Ball(center, np.maximum(self.samples.radius.reshape(spread), start)))

    def variation(self, reading: Reading) -> Array:
        return self._once(measures.loss_variation_terms, reading)

    def memory_variation(self, reading: Reading) -> Array:
        return self._once(measures.memory_variation_terms, reading)

    def rho(self, reading: Reading) -> Array:
        return self._once(measures.rho_minus, reading)

    def comparators(self, delta_prime: ArrayLike | None, w_star: ArrayLike | None) -> Comparators:
        if delta_prime is not None or w_star is not None:
            return solve(self, delta_prime, w_star)
        return self._ideal

    @cached_property
    def _ideal(self) -> Comparators:
        """Solutions of eq. ideal_cl: a convex programme per task, which many statements share."""
        return solve(self, None, None)

    def inside(self, points: Array) -> np.ndarray:
        return contains(self.ball, points)

    def _once(self, measure: Callable[[Run, Reading, Ball | None], Array], reading: Reading) -> Array:
        key = (measure.__name__, reading)
        if key not in self._kept:
            self._kept[key] = measure(self.run, reading, self.ball if reading == "ball" else None)
        return self._kept[key]


def facts_of(run: Run | Facts, ball: Ball | None = None) -> Facts:
    """Facts of a run; give the result to `evaluate` in place of the run to share the work of several statements."""
    if isinstance(run, Facts):
        return run
    kind_of("run", run, Run, "make one with simulate(tasks, V=...)")
    if ball is not None:
        kind_of("ball", ball, Ball, "make one with Ball(center, radius)")
    return RunFacts(run, ball)


def follow(
    tasks: Tasks | ArrayLike,
    models: ArrayLike,
    *,
    V: ArrayLike,
    delta: ArrayLike,
    eta: ArrayLike = 1.0,
    reference: Reference = "previous",
    weights: Weights = "mean",
) -> PrescribedRun:
    """The record of models x_0..x_T (..., T+1, d) that someone else chose, for lemmas about any trajectory.

    >>> run = follow([[0.0], [0.0]], [[0.0], [0.0], [1.0]], V=1.0, delta=0.125)
    >>> run.Q[2, 0]
    np.float64(0.375)
    """
    tasks = as_tasks(tasks)
    settings = Settings.of(
        V=V, eta=eta, delta=delta, steps=1, reference=reference, weights=weights, solver="gd",
        window=None, noise=0.0, noise_seed=0, ball=None,
    )  # fmt: skip
    T, lead = tasks.T, (*tasks.streams, *settings.shape)
    given = numbers("models", models)
    try:
        w = np.broadcast_to(given, (*lead, T + 1, tasks.d))
    except ValueError:
        raise ColdError(f"models must have shape {(*lead, T + 1, tasks.d)}, x_0 to x_T, got {given.shape}") from None
    phi, hat = (_widened(q, len(settings.shape)) for q in (tasks.phi, tasks.phi_hat))
    values = np.stack([hat.at(x) for x in np.moveaxis(w, -2, 0)[..., None, :]], axis=-2)
    steps = values[..., 1:, :] - reference_values(values, reference, None) - settings.delta[..., None, None]
    d = np.where(np.tri(T, k=-1, dtype=bool), steps, 0.0)
    Q = np.zeros((*lead, T + 1, T))
    for t in range(1, T + 1):
        Q[..., t, :] = np.maximum(Q[..., t - 1, :] + d[..., t - 1, :], 0.0)
    past = np.maximum(np.arange(T), 1)
    Qbar = Q[..., :-1, :].sum(axis=-1) / past
    gain = {"mean": np.ones(T), "sum": past, "none": np.zeros(T)}[weights]
    spread = (*tasks.streams, *(1,) * (len(settings.shape) + 1))
    L, l = (q.smoothness.reshape(spread) for q in (tasks.phi, tasks.phi_hat))  # noqa: E741
    lyapunov = np.concatenate([np.zeros((*lead, 1)), np.vecdot(Q, Q)[..., 1:] / (2 * past)], axis=-1)
    before, after = phi.gradients_at(w[..., :-1, :]), phi.gradients_at(w[..., 1:, :])
    return PrescribedRun(
        tasks=tasks, settings=settings, w=w, grad_sq_before=np.vecdot(before, before),
        grad_sq_after=np.vecdot(after, after), Qbar=Qbar, Delta=np.vecdot(d, d) / (2 * past),
        alpha=np.asarray(settings.V[..., None] * L + l * gain * Qbar), lyapunov=lyapunov,
        cross=np.vecdot(Q[..., :-1, :], d), diverged=np.zeros(lead, bool), queues=Q,
    )  # fmt: skip


def reference_values(hat: Array, reference: str, window: int | None) -> Array:
    """hatPhi_k(ref_{t,k}), (..., T, T), from the values hatPhi_k(x_t), (..., T+1, T)."""
    if reference == "previous":
        return hat[..., :-1, :]
    T = hat.shape[-1]
    if reference == "stored":  # x_k, also where it is still to come
        own = np.diagonal(hat[..., 1:, :], axis1=-2, axis2=-1)
        return np.broadcast_to(own[..., None, :], (*hat.shape[:-2], T, T))
    models = hat[..., 1:-1, :]  # x_1 .. x_{T-1}; x_0 is not a candidate
    if window is None or T == 1:
        best = np.minimum.accumulate(models, axis=-2)
    else:
        best = np.stack([models[..., max(0, t - window) : t, :].min(axis=-2) for t in range(1, T)], axis=-2)
    return np.concatenate([hat[..., :1, :], best], axis=-2)


def contains(ball: Ball, w: Array) -> np.ndarray:
    """Whether models w (..., n, d) are in their run's ball, (..., n)."""
    lead, d = w.shape[:-2], w.shape[-1]
    whole = Ball.unchecked(np.broadcast_to(ball.center, (*lead, d)), np.broadcast_to(ball.radius, lead))
    return whole.contains(w)


def _finite(matrices: Array) -> Array:
    """The matrices, with zeros in place of those that are not all numbers."""
    return np.where(np.isfinite(matrices).all(axis=(-2, -1), keepdims=True), matrices, 0.0)


def _widened(q: Quadratics, count: int) -> Quadratics:
    """The same losses with `count` axes of length 1 after the streams, for the settings."""
    lead = q.optima.shape[:-2]
    ones = (1,) * count

    def wide(values: Array) -> Array:
        return values.reshape(*lead, *ones, *values.shape[len(lead) :])

    return Quadratics(wide(q.optima), wide(q.hessians), wide(q.offsets))
