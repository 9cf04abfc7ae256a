"""The loop over tasks: one pure step, on arrays over (stream, setting)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import ThreadpoolController

from ._dynamics import General, Isotropic, Move, family
from .quadratics import Array, Quadratics
from .settings import Settings
from .tasks import Tasks

# The settings are padded to a multiple of this: BLAS treats left-over columns by other kernels, whose
# last bits differ, and a run's bits should not depend on how many others are in the batch.
_PAD = 4
_CHUNK = 1 << 21  # streams are split so that one queue array holds at most about this many numbers
_FAR = 10.0  # an expansive run this many data radii away has diverged
_BLAS = ThreadpoolController()


@dataclass(frozen=True)
class State:
    """After task t: the model, the queues k = 1..t-1 (Q_t[t] = 0 is left out), and, for Case 2, how much
    worse the model is on each loss than the best candidate so far."""

    x: Array  # (S, P, d)
    Q: Array  # (S, P, t-1)
    excess: Array | None  # (S, P, T)
    rise: Array | None  # (window, S, P, T): hatPhi_k(x_t) - hatPhi_k(x_s) for the models x_s in the window


@dataclass(frozen=True)
class World:
    """One chunk of streams; each setting has shape (1, P)."""

    dynamics: Isotropic | General
    rows: Array  # (S, T, K)
    V: Array
    eta: Array | None  # None: 1/(2 alpha_t)
    delta: Array
    steps: np.ndarray
    L: Array  # (S, 1)
    l: Array  # noqa: E741  (the paper's letter)
    settings: Settings
    noise: Array | None  # (S, J, T, d): the noise of grad Phi_t at each step
    ball: tuple[Array, Array | float] | None


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
    x, Q = state.x, state.Q
    queued = Q.shape[-1]
    past = Q @ world.rows[:, :queued] if queued else np.zeros((*x.shape[:-1], world.rows.shape[-1]))
    Qbar = past[..., -1] / max(t, 1)
    past *= {"mean": 1.0 / max(t, 1), "sum": 1.0, "none": 0.0}[world.settings.weights]
    alpha = world.V * world.L + world.l * past[..., -1]
    eta = 0.5 / alpha if world.eta is None else world.eta
    push = None if world.noise is None else world.V[..., None, None] * world.noise[:, None, :, t]
    move = Move(eta, world.steps, world.settings.solver == "exact", push, world.ball)
    dx = world.dynamics.advance(t, x, world.V, past, move)
    ahead = x + dx

    if state.excess is None:
        excess = rise = None
        d = world.dynamics.change(x, dx, world.delta) @ world.rows[:, :t].swapaxes(-1, -2)
    else:  # all losses, also of tasks still to come: their best model may be an old one
        grow = world.dynamics.change(x, dx, np.zeros_like(world.delta)) @ world.rows.swapaxes(-1, -2)
        d = (state.excess + grow)[..., :t] - world.delta[..., None]
        excess, rise = _next_excess(state.excess, state.rise, grow, first=t == 0)
    Delta = np.vecdot(d, d) / (2 * max(t, 1))
    cross = np.vecdot(Q, d[..., :queued])
    d[..., :queued] += Q  # d was made in this step: it becomes the next Q in place
    Q = np.maximum(d, 0.0, out=d)
    lyapunov = np.vecdot(Q, Q) / (2 * max(t, 1))
    before, after = world.dynamics.grad_sq(t, x), world.dynamics.grad_sq(t, ahead)
    return State(ahead, Q, excess, rise), Measured(before, after, Qbar, Delta, alpha, lyapunov, cross)


def _next_excess(excess: Array, rise: Array | None, grow: Array, *, first: bool) -> tuple[Array, Array | None]:
    """hatPhi_k(x_t) - min over the candidates, x_t now among them. x_0 is no candidate."""
    if rise is None:
        return (np.zeros_like(grow) if first else np.maximum(excess + grow, 0.0)), None
    rise = np.concatenate([rise[1:] + grow, np.zeros_like(grow)[None]])
    return np.asarray(rise.max(axis=0)), rise


def run_batch(
    tasks: Tasks, settings: Settings, start: Array, *, history: bool = False
) -> tuple[dict[str, np.ndarray], Array]:
    """All runs: measured arrays by name, and the queue history (no entries unless asked).

    `start` is x_0 and broadcasts to (streams..., settings..., d).
    """
    streams, shape = tasks.streams, settings.shape
    if not streams:
        tasks = tasks[None]
        if isinstance(settings.noise_seed, int):  # the key is the stream's own, as in a sweep
            settings = replace(settings, noise_seed=(settings.noise_seed,))
    S, T, d = tasks.phi.optima.shape
    P = settings.V.size
    start = np.broadcast_to(start, (*streams, *shape, d)).reshape(S, P, d)
    per_chunk = max(1, _CHUNK // (T * P))
    with _BLAS.limit(limits=1), np.errstate(over="ignore", invalid="ignore"):
        parts = [
            _run_chunk(tasks[at : at + per_chunk], settings, start[at : at + per_chunk], at, history)
            for at in range(0, S, per_chunk)
        ]

    def joined(arrays: list[np.ndarray]) -> np.ndarray:
        whole = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
        return whole.reshape((*streams, *shape, *whole.shape[2:]))

    measured = {name: joined([part[0][name] for part in parts]) for name in parts[0][0]}
    return measured, joined([part[1] for part in parts])


def _run_chunk(
    tasks: Tasks, settings: Settings, start: Array, first_stream: int, history: bool
) -> tuple[dict[str, np.ndarray], Array]:
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
    Q = np.zeros((S, padded, T + 1 if history else 0, T))
    for t in range(T):
        state, measured = step(state, t, world)
        w[:, :, t + 1] = state.x
        for name in MEASURED:
            series[name][t] = getattr(measured, name)
        if history:
            Q[:, :, t + 1, :t] = state.Q
    w = w[:, :P]
    w += centre[:, None]
    w[:, :, 0] = start
    series = {name: np.moveaxis(values, 0, 2)[:, :P] for name, values in series.items()}
    alpha = series["alpha"]
    if settings.solver == "exact" or isinstance(settings.eta, str):  # no step can expand
        series["diverged"] = np.zeros((S, P), dtype=bool)
    else:
        data, own = (phi.optima**2).sum(-1).max(-1)[:, None], ((start - centre) ** 2).sum(-1)
        radius = np.sqrt(np.maximum(data, own))  # of each run: what else is in the batch must not matter
        series["diverged"] = _diverged(w, centre, settings.eta.reshape(1, -1, 1) * alpha, radius)
    return {"w": w, **series}, Q[:, :P]


def _diverged(w: Array, centre: Array, eta_alpha: Array, radius: Array) -> np.ndarray:
    """An expansive step somewhere, and a model far outside the data (or not a number)."""
    diverged = np.asarray(~(eta_alpha.max(axis=-1) <= 2.0))  # ~(<=): NaN counts
    if diverged.any():
        away = np.abs((w - centre[:, None])[diverged]).max(axis=(1, 2))
        diverged[diverged] = ~(away <= _FAR * radius[diverged])
    return diverged


def _first_state(x: Array, T: int, settings: Settings) -> State:
    lead = x.shape[:-1]
    oracle = settings.reference == "best"
    excess = np.zeros((*lead, T)) if oracle else None
    rise = None
    if oracle and settings.window is not None:
        rise = np.full((min(settings.window, T), *lead, T), -np.inf)
    return State(x, np.zeros((*lead, 0)), excess, rise)


def _world(phi: Quadratics, hat: Quadratics, settings: Settings, first_stream: int, centre: Array) -> World:
    def row(values: np.ndarray) -> np.ndarray:
        return _padded(values.reshape(1, -1))

    dynamics = family(phi, hat)
    noise = ball = None
    if settings.noise > 0:
        streams = range(first_stream, first_stream + len(phi.optima))
        noise = settings.noise * np.stack([_draws(settings, s, phi.T, phi.d) for s in streams])
    if settings.ball is not None:
        ball = (settings.ball.center - centre, settings.ball.radius)
    return World(
        dynamics=dynamics,
        rows=dynamics.rows(),
        V=row(settings.V),
        eta=None if isinstance(settings.eta, str) else row(settings.eta),
        delta=row(settings.delta),
        steps=row(settings.steps),
        L=phi.smoothness[:, None],
        l=hat.smoothness[:, None],
        settings=settings,
        noise=noise,
        ball=ball,
    )


def _draws(settings: Settings, stream: int, T: int, d: int) -> Array:
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
