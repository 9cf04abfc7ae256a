"""All candidates of a population in one batch: their runs, the statement on them, and a score each."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._batch import MEASURED, _first_state, _world, noise_of, step
from ..bounds import Bound, Statement, evaluate
from ..controllers import controller_of
from ..quadratics import Array
from ..settings import Settings
from ..simulation import Run
from ..tasks import Tasks, from_optima
from .plans import Plan
from .space import Candidates

REFUSED = -10.0  # score of a candidate that misses a premise, less one for each
_SHY = 1.0 - 1e-9  # a step size at its limit must not be over it by rounding
_PASSES = 3  # of shrinking eta until it fits the queues that it makes
_FAR = 10.0  # a run with an expansive step that ends this many data radii away has diverged
_VISIBLE = 1e-4  # sides smaller than this share of what they were computed from say nothing


@dataclass(frozen=True, eq=False)
class PerCandidate(Settings):
    """V, eta (or its factor) and delta are (B, 1): one setting, with numbers of its own for every stream."""

    @property
    def shape(self) -> tuple[int, ...]:
        return (1,)


@dataclass(frozen=True, eq=False)
class OnePerStream(PerCandidate):
    """The same with the candidates as an axis of the streams, (seeds, B): V, eta, delta and noise are (B,)."""

    @property
    def shape(self) -> tuple[int, ...]:
        return ()


@dataclass(frozen=True, eq=False)
class CandidateRun(Run):
    """Runs whose settings differ from stream to stream; leading axes (B, 1)."""

    queues: Array
    used: Array  #: the weights of the past tasks before each step, (B, 1, T, T)

    @cached_property
    def Q(self) -> Array:
        return self.queues

    @cached_property
    def weight(self) -> Array:
        return self.used


def tasks_of(candidates: Candidates) -> Tasks:
    """The tasks of all candidates, one stream each."""
    return from_optima(
        candidates.optima,
        candidates.hessians,
        memory_optima=candidates.memory_optima,
        memory_hessians=candidates.memory_hessians,
    )


def step_sizes(tasks: Tasks, candidates: Candidates, plan: Plan) -> Array:
    """eta such that the largest eta alpha_t is the candidate's share of the plan's limit, or a bit less, (B,).

    alpha_t holds queues, which depend on eta: starting from the limit without queues, eta only ever shrinks. Where
    eta_t = c/alpha_t this share is c itself.
    """
    goal = candidates.share * plan.step_limit * _SHY
    if plan.eta_rule == "auto" and plan.solver == "gd":
        return np.asarray(goal)
    V = candidates.V[:, None] * (1.0 if candidates.factors is None else candidates.factors)
    eta = goal / (V.max(axis=-1) * tasks.phi.smoothness)
    if plan.solver == "exact":
        return np.asarray(eta)
    for _ in range(_PASSES):
        run = run_candidates(tasks, candidates, eta, plan)
        alpha = run.alpha[:, 0]
        if plan.printed_alpha:
            alpha = V * tasks.phi.smoothness[:, None] + tasks.phi_hat.smoothness[:, None] * run.Qbar[:, 0]
        steepest = np.nan_to_num(alpha, nan=np.inf).max(axis=-1)
        eta = np.where(np.isfinite(steepest), np.minimum(eta, goal / steepest), 0.1 * eta)
    return np.asarray(eta)


def run_noisy(tasks: Tasks, candidates: Candidates, eta: Array, plan: Plan) -> CandidateRun:
    """Every candidate once per noise seed, with the noise that `simulate` draws for noise_seed = 0: (seeds, B)."""
    assert candidates.noise is not None
    R, (B, T, d) = plan.noise_seeds, candidates.optima.shape
    again = np.tile(np.arange(B), R)
    given: dict[str, Any] = {field.name: getattr(candidates, field.name) for field in fields(candidates)}
    tiled: dict[str, Any] = {name: None if values is None else values[again] for name, values in given.items()}
    many = Candidates(**tiled)
    key = PerCandidate(
        V=many.V, eta=eta, delta=many.delta, steps=np.array([plan.steps]), reference=plan.reference,
        weights=plan.weights, solver=plan.solver, window=None, noise=1.0, noise_seed=0, ball=None,
    )  # fmt: skip
    draws = np.stack([noise_of(key, seed, T, d) for seed in range(R)])  # (R, J, T, d)
    noise = candidates.noise[:, None, None, None] * draws[:, None]
    flat = run_candidates(tasks[again], many, eta[again], plan, noise.reshape(R * B, -1, T, d))

    def spread(values: Array) -> Array:
        return values.reshape(R, B, *values.shape[2:])

    arrays = {f.name: getattr(flat, f.name) for f in fields(flat) if isinstance(getattr(flat, f.name), np.ndarray)}
    one = tasks[np.arange(B)[None].repeat(R, axis=0)]
    rate: Any = flat.settings.eta if isinstance(flat.settings.eta, str) else eta
    settings = OnePerStream(
        **{f.name: getattr(flat.settings, f.name) for f in fields(Settings)}
        | {"V": candidates.V, "delta": candidates.delta, "eta": rate, "eta_factor": eta, "noise": candidates.noise}
    )
    return replace(flat, tasks=one, settings=settings, **{name: spread(values) for name, values in arrays.items()})


def run_candidates(
    tasks: Tasks, candidates: Candidates, eta: Array, plan: Plan, noise: Array | None = None
) -> CandidateRun:
    """What `simulate` does, with V, delta and eta (or its factor) of its own for every stream. noise: (B, J, T, d)."""
    V, delta, rate, J = candidates.V[:, None], candidates.delta[:, None], eta[:, None], np.array([[plan.steps]])
    auto = plan.eta_rule == "auto" and plan.solver == "gd"
    settings = PerCandidate(
        V=V, eta="auto" if auto else rate, delta=delta, steps=J[0], reference=plan.reference, weights=plan.weights,
        solver=plan.solver, window=None, noise=0.0, noise_seed=0, ball=None, eta_factor=rate,
        controller=controller_of(plan.controller),
    )  # fmt: skip
    B, T, d = tasks.phi.optima.shape
    centre = tasks.phi_hat.optima.mean(axis=1, keepdims=True)
    phi, hat = (replace(q, optima=q.optima - centre) for q in (tasks.phi, tasks.phi_hat))
    world = replace(
        _world(phi, hat, settings, 0, centre), V=V, eta=None if auto else rate, eta_factor=rate, delta=delta, steps=J,
        noise=noise,
    )  # fmt: skip
    start = candidates.w0[:, None, :] - centre
    state = _first_state(start, T, settings)
    w, Q, used = np.empty((B, 1, T + 1, d)), np.zeros((B, 1, T + 1, T)), np.zeros((B, 1, T, T))
    series = {name: np.empty((B, 1, T)) for name in MEASURED}
    w[:, :, 0] = start
    factors = None if candidates.factors is None else candidates.factors[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(T):
            state, measured = step(state, t, world if factors is None else replace(world, V=V * factors[..., t]))
            assert state.weight is not None
            w[:, :, t + 1], Q[:, :, t + 1, :t] = state.x, state.Q
            used[:, :, t, : state.weight.shape[-1]] = state.weight
            for name in MEASURED:
                series[name][..., t] = getattr(measured, name)
    return CandidateRun(
        tasks=tasks, settings=settings, w=w + centre[:, None], grad_sq_before=series["grad_sq_before"],
        grad_sq_after=series["grad_sq_after"], Qbar=series["Qbar"], Delta=series["Delta"], alpha=series["alpha"],
        lyapunov=np.concatenate([np.zeros((B, 1, 1)), series["lyapunov"]], axis=-1), cross=series["cross"],
        diverged=_diverged(w, phi.optima, series["alpha"], settings), queues=Q, used=used, factor=factors,
    )  # fmt: skip


def _diverged(w: Array, optima: Array, alpha: Array, settings: PerCandidate) -> np.ndarray:
    """`simulate`'s rule, with each candidate's own extent: an expansive step, and a model far away, (B, 1)."""
    if settings.solver == "exact":
        return np.zeros(alpha.shape[:-1], bool)
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(settings.eta, str):
            expands = settings.eta_factor > 2.0
        else:
            expands = ~((settings.eta[..., None] * alpha).max(axis=-1) <= 2.0)  # ~(<=): NaN counts
        if settings.controller.looks == "always":
            expands = np.ones(alpha.shape[:-1], bool)
        radius = np.sqrt(np.maximum((optima**2).sum(-1).max(axis=-1), (w[:, 0, 0] ** 2).sum(-1)))
        return np.asarray(expands & ~(np.abs(w).max(axis=(-2, -1)) <= _FAR * radius[:, None]))


def assess(
    statement: str | Statement, form: str, candidates: Candidates, plan: Plan, waived: Collection[str] = ()
) -> Array:
    """A score for every candidate, (B,): see `scores`."""
    tasks = tasks_of(candidates)
    eta = step_sizes(tasks, candidates, plan)
    if candidates.noise is not None:
        with np.errstate(all="ignore"):
            noisy = run_noisy(tasks, candidates, eta, plan)
            return np.asarray(scores(evaluate(statement, form, noisy), waived)[0])  # all seeds' entries hold the mean
    run = run_candidates(tasks, candidates, eta, plan)
    options: dict[str, Any] = {}
    if candidates.delta_prime is not None:
        options["delta_prime"] = candidates.delta_prime[:, None]
        if candidates.w_star is not None:
            options["w_star"] = candidates.w_star[:, None]
    with np.errstate(all="ignore"):
        return scores(evaluate(statement, form, run, **options), waived).reshape(-1)


def settings_of(candidates: Candidates, plan: Plan, row: int, eta: float) -> dict[str, Any]:
    """The settings of `simulate` of one candidate, as plain values; `eta` is its entry of `step_sizes`."""
    auto = plan.eta_rule == "auto" and plan.solver == "gd"
    settings: dict[str, Any] = {
        "V": float(candidates.V[row]),
        "delta": float(candidates.delta[row]),
        "eta": "auto" if auto else float(eta),
        "steps": plan.steps,
        "w0": candidates.w0[row].tolist(),
        "solver": plan.solver,
        "reference": plan.reference,
        "weights": plan.weights,
    }
    if auto:
        settings["eta_factor"] = float(eta)
    if candidates.factors is not None:
        settings["V_schedule"] = candidates.factors[row].tolist()
    if plan.controller != "queue":
        settings["controller"] = plan.controller
    if candidates.noise is not None:
        settings |= {"noise": float(candidates.noise[row]), "noise_seed": 0}
    return settings


def scores(bound: Bound, waived: Collection[str] = ()) -> Array:
    """The tightness of each run where all premises but the waived ones hold, else a refusal, graded by how many.

    Where the right side is not positive the quotient lhs/rhs says nothing: unless such a run breaks the statement, it
    counts less by 1. Otherwise a run at equality with no quotient and one with the quotient 1 would be equally good,
    and rounding would choose between them.
    """
    one = bound.worst()
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(one.lhs), np.abs(one.rhs))
        value = tightness(one.lhs, one.rhs) - np.where((one.rhs > 0) | ~one.holds, 0.0, 1.0)
        value = np.where(size > _VISIBLE * one.scale, value, -1.0)
    missed = sum((~met).astype(int) for name, met in bound.assumptions.items() if name not in waived)
    value = np.where(missed > 0, REFUSED - missed, value)
    return np.asarray(np.where(np.isfinite(one.lhs) & np.isfinite(one.rhs), value, 3 * REFUSED))


def tightness(lhs: Array, rhs: Array) -> Array:
    """1 + (lhs - rhs)/max(|lhs|, |rhs|): lhs/rhs when 0 <= lhs <= rhs, above 1 when broken, for sides of any sign.

    It grows with lhs/rhs and never exceeds 3, so a right side near 0 cannot outweigh everything else.
    """
    size = np.maximum(np.abs(lhs), np.abs(rhs))
    return np.asarray(1.0 + (lhs - rhs) / np.where(size > 0, size, np.inf))
