"""The loop over tasks: one pure step, on arrays over (stream, setting)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import ThreadpoolController

from ._dynamics import General, Isotropic, Move, descent, family
from ._reference import MemoryLosses, OwnReference
from .controllers import Queue
from .controllers import State as Kept
from .ground.errors import ColdError
from .quadratics import Array, Quadratics
from .settings import Known, Settings, Weights
from .tasks import Tasks

# The settings are padded to a multiple of this: BLAS treats left-over columns by other kernels, whose
# last bits differ, and a run's bits should not depend on how many others are in the batch.
_PAD = 4
_CHUNK = 1 << 21  # streams are split so that one queue array holds at most about this many numbers
_FAR = 10.0  # an expansive run this many data radii away has diverged
_BLAS = ThreadpoolController()


@dataclass(frozen=True)
class State:
    """After task t: the model, what the controller keeps of the tasks k = 1..t-1 (task t joins at the next step),
    and how much worse the model is on each loss than its reference: None in Case 1, where that is always 0. A user's
    own rule is asked before each step."""

    x: Array  # (S, P, d)
    kept: Kept  # each (S, P, t-1)
    excess: Array | None  # Case 2: (S, P, T), also of tasks still to come; else (S, P, t)
    rise: Array | None = None  # (window, S, P, T): hatPhi_k(x_t) - hatPhi_k(x_s) for the models x_s in the window
    weight: Array | None = None  # (S, P, t-1) or, for the queue, (S, P, t-2): what the step just made used

    @property
    def Q(self) -> Array:
        """The queues, or what takes their place, (S, P, t-1)."""
        return np.asarray(self.kept[0])


@dataclass(frozen=True)
class World:
    """One chunk of streams; each setting has shape (1, P)."""

    dynamics: Isotropic | General
    rows: Array  # (S, T, K)
    V: Array
    eta: Array | None  # None: eta_factor / alpha_t
    eta_factor: Array
    delta: Array
    steps: np.ndarray
    L: Array  # (S, 1)
    l: Array  # noqa: E741  (the paper's letter)
    settings: Settings
    noise: Array | None  # (S, J, T, d): the noise of grad Phi_t at each step
    ball: tuple[Array, Array | float] | None

    def share(self, t: int) -> float:
        """beta_k / weight_k in the objective of a task with t past tasks."""
        return share_of(self.settings.weights, t)


def share_of(weights: Weights, t: int) -> float:
    """beta_k / weight_k with t past tasks."""
    return {"mean": 1.0 / max(t, 1), "sum": 1.0, "none": 0.0}[weights]


@dataclass(frozen=True)
class Measured:
    """What one step measures, each (S, P)."""

    grad_sq_before: Array
    grad_sq_after: Array
    Qbar: Array
    Delta: Array
    alpha: Array
    lyapunov: Array
    cross: Array


MEASURED = tuple(Measured.__dataclass_fields__)


def step(state: State, t: int, world: World) -> tuple[State, Measured]:
    """One task (t counted from 0, so that t is also the number of past tasks)."""
    x, controller, share = state.x, world.settings.controller, world.share(t)
    kept, weight = _weights(state, t, world)
    queued = weight.shape[-1]
    past = weight @ world.rows[:, :queued] if queued else np.zeros((*x.shape[:-1], world.rows.shape[-1]))
    Qbar = past[..., -1] / max(t, 1)
    past *= share
    alpha = world.V * world.L + world.l * past[..., -1]
    eta = world.eta_factor / alpha if world.eta is None else world.eta
    push = None if world.noise is None else world.V[..., None, None] * world.noise[:, None, :, t]
    move = Move(eta, world.steps, world.settings.solver == "exact", push, world.ball)
    if controller.looks == "always":
        dx = descent(x, lambda y: world.dynamics.slope(t, y, world.V, _past_at(y, state, kept, t, world)), move) - x
    else:
        dx = world.dynamics.advance(t, x, world.V, past, move)
    ahead = x + dx

    excess = rise = None
    if state.excess is None:
        d = world.dynamics.change(x, dx, world.delta) @ world.rows[:, :t].swapaxes(-1, -2)
    elif world.settings.reference != "best":
        grow = world.dynamics.change(x, dx, np.zeros_like(world.delta)) @ world.rows[:, :t].swapaxes(-1, -2)
        grow += state.excess
        d = grow - world.delta[..., None]
        excess = np.concatenate([grow, np.zeros_like(grow, shape=(*x.shape[:-1], 1))], axis=-1)
    else:  # all losses, also of tasks still to come: their best model may be an old one
        grow = world.dynamics.change(x, dx, np.zeros_like(world.delta)) @ world.rows.swapaxes(-1, -2)
        d = (state.excess + grow)[..., :t] - world.delta[..., None]
        excess, rise = _next_excess(state.excess, state.rise, grow, first=t == 0)
    Delta = np.vecdot(d, d) / (2 * max(t, 1))
    cross = np.vecdot(kept[0], d[..., : kept[0].shape[-1]])
    if isinstance(controller, Queue):
        d[..., :queued] += weight  # d was made in this step: it becomes the next Q in place
        kept = (np.maximum(d, 0.0, out=d),)
    else:
        kept = controller.update(kept, d, np.maximum)
    lyapunov = np.vecdot(kept[0], kept[0]) / (2 * max(t, 1))
    before, after = world.dynamics.grad_sq(t, x), world.dynamics.grad_sq(t, ahead)
    return State(ahead, kept, excess, rise, weight), Measured(before, after, Qbar, Delta, alpha, lyapunov, cross)


def _weights(state: State, t: int, world: World) -> tuple[Kept, Array]:
    """What the controller keeps of the t past tasks, and their weights before the step, (S, P, t).

    A queue starts at 0, so it needs no entry for the task that joins: (S, P, t-1).
    """
    controller = world.settings.controller
    if isinstance(controller, Queue):
        return state.kept, state.Q
    g = np.broadcast_to(-world.delta[..., None], (*state.x.shape[:-1], t))
    if state.excess is not None:
        g = g + state.excess[..., :t]
    joins = controller.start(g[..., state.Q.shape[-1] :], np.maximum)
    kept = tuple(np.concatenate(pair, axis=-1) for pair in zip(state.kept, joins, strict=True))
    return kept, np.asarray(controller.weight(kept, g, np.maximum))


def _past_at(y: Array, state: State, kept: Kept, t: int, world: World) -> Array:
    """The queue part of the objective with the weights that belong to the iterate y."""
    g = world.dynamics.change(state.x, y - state.x, world.delta) @ world.rows[:, :t].swapaxes(-1, -2)
    if state.excess is not None:
        g += state.excess[..., :t]
    weight = world.settings.controller.weight(kept, g, np.maximum)
    return np.asarray(world.share(t) * weight @ world.rows[:, :t])


def _next_excess(excess: Array, rise: Array | None, grow: Array, *, first: bool) -> tuple[Array, Array | None]:
    """hatPhi_k(x_t) - min over the candidates, x_t now among them. x_0 is not a candidate."""
    if rise is None:
        return (np.zeros_like(grow) if first else np.maximum(excess + grow, 0.0)), None
    rise = np.concatenate([rise[1:] + grow, np.zeros_like(grow)[None]])
    return np.asarray(rise.max(axis=0)), rise


def run_batch(
    tasks: Tasks, settings: Settings, start: Array, *, history: bool = False, answers: Array | None = None
) -> dict[str, np.ndarray]:
    """All runs: measured arrays by name. With `history` also every queue Q (..., T+1, T) and weight (..., T, T).

    `start` is x_0 and broadcasts to (streams..., settings..., d). A reference that is a function is called, and its
    answers are `reference_loss` (..., T, T), unless these are given.
    """
    streams, shape = tasks.streams, settings.shape
    if not streams:
        tasks = tasks[None]
        if isinstance(settings.noise_seed, int):  # the key is the stream's own, as in a sweep
            settings = replace(settings, noise_seed=(settings.noise_seed,))
    S, T, d = tasks.phi.optima.shape
    P = settings.V.size
    start = np.broadcast_to(start, (*streams, *shape, d)).reshape(S, P, d)
    if isinstance(settings.V_schedule, np.ndarray):
        settings = replace(
            settings, V_schedule=_all_factors(settings.V_schedule, (*streams, *shape, T)).reshape(S, P, T)
        )
    if answers is not None:
        answers = answers.reshape(S, P, T, T)
    per_chunk = max(1, _CHUNK // (T * P))
    with _BLAS.limit(limits=1), np.errstate(over="ignore", invalid="ignore"):
        parts = [
            _run_chunk(
                tasks[at : at + per_chunk],
                settings,
                start[at : at + per_chunk],
                at,
                history,
                None if answers is None else answers[at : at + per_chunk],
            )
            for at in range(0, S, per_chunk)
        ]

    def joined(arrays: list[np.ndarray]) -> np.ndarray:
        whole = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
        return whole.reshape((*streams, *shape, *whole.shape[2:]))

    return {name: joined([part[name] for part in parts]) for name in parts[0]}


def _run_chunk(
    tasks: Tasks, settings: Settings, start: Array, first_stream: int, history: bool, answers: Array | None
) -> dict[str, np.ndarray]:
    # Coordinates around the mean optimum: differences of losses then lose no digits to a far origin.
    centre = tasks.phi_hat.optima.mean(axis=1, keepdims=True)  # (S, 1, d)
    phi, hat = (replace(q, optima=q.optima - centre) for q in (tasks.phi, tasks.phi_hat))
    S, P, d = start.shape
    T = tasks.T
    world = _world(phi, hat, settings, first_stream, centre)
    state = _first_state(_padded(start - centre), T, settings)
    padded = state.x.shape[1]
    w = np.empty((S, padded, T + 1, d))
    series = {name: np.empty((T, S, padded)) for name in MEASURED}
    if history:
        series |= {"Q": np.zeros((T + 1, S, padded, T)), "weight": np.zeros((T, S, padded, T))}
    if settings.V_schedule is not None:
        series["factor"] = np.empty((T, S, padded))
    own = None
    if callable(settings.reference):
        losses = MemoryLosses(world.dynamics, world.rows, hat.values(np.zeros((S, 1, d)))[:, 0], centre)
        own = OwnReference(settings.reference, losses, state.x[:, :P], answers)
        series["reference_loss"] = np.zeros((T, S, padded, T))
    for t in range(T):
        here = world
        if own is not None:
            now, reference = own.losses_now(t), own.losses_of_reference(t)
            series["reference_loss"][t, :, :, :t] = _padded(reference)
            state = replace(state, excess=_padded(now - reference))
        if settings.V_schedule is not None:
            series["factor"][t] = _factor(state, t, world, series, (first_stream, P), centre)
            here = replace(world, V=world.V * series["factor"][t])
        state, measured = step(state, t, here)
        w[:, :, t + 1] = state.x
        if own is not None:
            own.add(t + 1, state.x[:, :P])
        for name in MEASURED:
            series[name][t] = getattr(measured, name)
        if history:
            assert state.weight is not None
            series["Q"][t + 1, :, :, :t] = state.Q
            series["weight"][t, :, :, : state.weight.shape[-1]] = state.weight
    w = w[:, :P]
    w += centre[:, None]
    w[:, :, 0] = start
    series = {name: np.moveaxis(values, 0, 2)[:, :P] for name, values in series.items()}
    series["diverged"] = _diverged(w, phi, start, centre, series["alpha"], settings)
    return {"w": w, **series}


def _diverged(w: Array, phi: Quadratics, start: Array, centre: Array, alpha: Array, settings: Settings) -> np.ndarray:
    """An expansive step somewhere, and a model far outside the data (or not a number), (S, P).

    Where the weights change with every iterate, alpha_t says nothing about the later ones: the models alone decide.
    """
    if settings.solver == "exact":
        return np.zeros(alpha.shape[:2], dtype=bool)
    if settings.controller.looks == "always":
        diverged = np.ones(alpha.shape[:2], dtype=bool)
    elif isinstance(settings.eta, str):
        diverged = np.broadcast_to(settings.eta_factor.reshape(1, -1) > 2.0, alpha.shape[:2]).copy()
    else:
        steepest = (settings.eta.reshape(1, -1, 1) * alpha).max(axis=-1)
        diverged = np.asarray(~(steepest <= 2.0))  # ~(<=): NaN counts
    if diverged.any():
        # The run's own extent: what else is in the batch must not matter.
        radius = np.sqrt(np.maximum((phi.optima**2).sum(-1).max(-1)[:, None], ((start - centre) ** 2).sum(-1)))
        away = np.abs((w - centre[:, None])[diverged]).max(axis=(1, 2))
        diverged[diverged] = ~(away <= _FAR * radius[diverged])
    return diverged


def _all_factors(factors: Array, shape: tuple[int, ...]) -> Array:
    try:
        return np.broadcast_to(factors, shape)
    except ValueError:
        raise ColdError(
            f"V_schedule must have one factor per task, so a shape that broadcasts to {shape}, got {factors.shape}"
        ) from None


def _factor(
    state: State, t: int, world: World, series: dict[str, np.ndarray], place: tuple[int, int], centre: Array
) -> Array:
    """V_t / V of one task, (S, P) with the padding; `place` is the first stream and the number of settings."""
    schedule, (first_stream, P) = world.settings.V_schedule, place
    S = len(world.rows)
    if not callable(schedule):
        assert schedule is not None
        return _padded(schedule[first_stream : first_stream + S, :, t])
    Q = state.Q[:, :P]
    known = Known(
        t=t + 1, T=world.rows.shape[1], V=world.V[:, :P], delta=world.delta[:, :P], x=state.x[:, :P] + centre, Q=Q,
        Qbar=Q.sum(axis=-1) / max(t, 1), lyapunov=series["lyapunov"][t - 1][:, :P] if t else np.zeros((S, P)),
        factor=series["factor"][t - 1][:, :P] if t else np.ones((S, P)),
    )  # fmt: skip
    try:
        factor = np.broadcast_to(np.asarray(schedule(known), dtype=np.float64), (S, P))
    except (TypeError, ValueError) as error:
        raise ColdError(f"V_schedule must return numbers that broadcast to {(S, P)}: {error}") from None
    if not (factor > 0).all() or not np.isfinite(factor).all():
        raise ColdError(f"V_schedule must return finite factors > 0; for task {t + 1} it returned {factor.min()}")
    return _padded(factor)


def _first_state(x: Array, T: int, settings: Settings) -> State:
    lead = x.shape[:-1]
    excess = rise = None
    if settings.reference != "previous":
        excess = np.zeros((*lead, T if settings.reference == "best" else 0))
    if settings.reference == "best" and settings.window is not None:
        rise = np.full((min(settings.window, T), *lead, T), -np.inf)
    nothing = np.zeros((*lead, 0))
    return State(x, settings.controller.start(nothing, np.maximum), excess, rise)


def _world(phi: Quadratics, hat: Quadratics, settings: Settings, first_stream: int, centre: Array) -> World:
    def row(values: np.ndarray) -> np.ndarray:
        return _padded(values.reshape(1, -1))

    dynamics = family(phi, hat)
    noise = ball = None
    if settings.noise > 0:
        streams = range(first_stream, first_stream + len(phi.optima))
        noise = settings.noise * np.stack([noise_of(settings, s, phi.T, phi.d) for s in streams])
    if settings.ball is not None:
        ball = (settings.ball.center - centre, settings.ball.radius)
    return World(
        dynamics=dynamics,
        rows=dynamics.rows(),
        V=row(settings.V),
        eta=None if isinstance(settings.eta, str) else row(settings.eta),
        eta_factor=row(settings.eta_factor),
        delta=row(settings.delta),
        steps=row(settings.steps),
        L=phi.smoothness[:, None],
        l=hat.smoothness[:, None],
        settings=settings,
        noise=noise,
        ball=ball,
    )


# ---------------------------------------------------------------------------------------------------
# What is measured on finished runs, when asked for


def shortfalls(tasks: Tasks, settings: Settings, w: Array, weight: Array, V_t: Array) -> Array:
    """eps_t = DPP_t(x_t) - min DPP_t over R^d, (..., T), from models (..., T+1, d), weights (..., T, T) and V_t."""
    flat, centre, dynamics = _finished(tasks)
    rows, (S, T, d) = dynamics.rows(), flat.phi.optima.shape
    x = w.reshape(S, -1, T + 1, d) - centre[:, None]
    weight, V = weight.reshape(S, -1, T, T), np.broadcast_to(V_t, (*w.shape[:-2], T)).reshape(S, -1, T)
    eps = np.empty((*x.shape[:2], T))
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(T):
            past = share_of(settings.weights, t) * weight[:, :, t, :t] @ rows[:, :t]
            eps[..., t] = dynamics.shortfall(t, x[:, :, t + 1], V[..., t], past)
    return eps.reshape(V_t.shape)


def forgetting_after(tasks: Tasks, w: Array) -> Iterator[Array]:
    """hatPhi_k(x_t) - hatPhi_k(x_k) for k = 1..t-1, each (..., t-1), for t = 1, 2, .., T."""
    flat, centre, dynamics = _finished(tasks)
    rows, (S, T, d) = dynamics.rows(), flat.phi.optima.shape
    lead = w.shape[:-2]
    x = w.reshape(S, -1, T + 1, d) - centre[:, None]
    lost = np.zeros((*x.shape[:2], 0))
    still = np.zeros((1, 1))
    for t in range(T):
        with np.errstate(over="ignore", invalid="ignore"):
            change = dynamics.change(x[:, :, t], x[:, :, t + 1] - x[:, :, t], still)
            lost = lost + change @ rows[:, :t].swapaxes(-1, -2)
        yield lost.reshape(*lead, t)
        lost = np.concatenate([lost, np.zeros((*x.shape[:2], 1))], axis=-1)


def _finished(tasks: Tasks) -> tuple[Tasks, Array, Isotropic | General]:
    """Tasks with one axis of streams, their centre (S, 1, d), and their losses around it."""
    flat = tasks if tasks.streams else tasks[None]
    centre = flat.phi_hat.optima.mean(axis=1, keepdims=True)
    return flat, centre, family(*(replace(q, optima=q.optima - centre) for q in (flat.phi, flat.phi_hat)))


def noise_of(settings: Settings, stream: int, T: int, d: int) -> Array:
    """Standard normal numbers (J, T, d). More steps or tasks only add to them: a run's noise is its own."""
    given = settings.noise_seed
    key = (given, stream) if isinstance(given, int) else (given[stream],)
    parts = [np.random.SeedSequence(key, spawn_key=(j,)) for j in range(int(settings.steps.max()))]
    return np.stack([np.random.default_rng(part).standard_normal((T, d)) for part in parts])


def _padded(values: np.ndarray) -> np.ndarray:
    """(S, P, ...) with P rounded up to a multiple of _PAD by copies of the last setting."""
    width = [(0, 0)] * values.ndim
    width[1] = (0, -values.shape[1] % _PAD)
    return np.pad(values, width, mode="edge")
