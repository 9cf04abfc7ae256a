"""What COLD does: one pure step a task, batched over streams and settings.

Conventions (the paper mixes two; these are used everywhere here):

    x_0            initial model;  x_t, t = 1..T, the model after task t
    Q_k[t] = 0 for t <= k;  Q_k[t] = max(Q_k[t-1] + d_k[t], 0) for t > k          (eq. queue_update)
    d_k[t] = hatPhi_k(x_t) - hatPhi_k(ref_{t,k}) - delta
    ref_{t,k} = x_{t-1} ("previous", Case 1) or the best of x_1..x_{t-1} on hatPhi_k ("best", Case 2)
    DPP_t(w) = V Phi_t(w) + sum_{k<t} beta_k (hatPhi_k(w) - hatPhi_k(ref) - delta)
    beta_k = Q_k[t-1] / (t-1) ("mean", the appendix), Q_k[t-1] ("sum", the main text), 0 ("none")
    x_t = J gradient steps of size eta on DPP_t from x_{t-1} (eq. batchCOLD), or its minimiser

Arrays over states have T+1 entries (t = 0..T), arrays over tasks T entries (t = 1..T).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import ThreadpoolController

from ._dynamics import General, Isotropic, Move, family
from .errors import ColdError, DivergenceWarning, unknown_name
from .geometry import Ball
from .quadratics import Array, Quadratics
from .tasks import Tasks, as_tasks

Reference = Literal["previous", "best"]
Weights = Literal["mean", "sum", "none"]
Solver = Literal["gd", "exact"]

# Settings run in blocks of this fixed size (the last one padded), so that every matrix product has the
# same shape and a run's bits do not depend on what else is in the batch.
_BLOCK = 8
_CHUNK = 1 << 21  # streams are split so that one queue array holds at most about this many numbers
_FAR = 10.0  # an expansive run this many data radii away has diverged
_BLAS = ThreadpoolController()


@dataclass(frozen=True, eq=False)
class Run:
    """What happened. Leading axes `...` are the tasks' streams, then the settings' shape.

    >>> run = simulate([[0.0], [1.0], [0.0]], V=1.0, solver="exact")
    >>> run.w[:, 0].round(3)
    array([0.   , 0.   , 1.   , 0.8  ])
    """

    tasks: Tasks
    V: Array  #: the settings, broadcast to one shape
    eta: Array | Literal["auto"]
    delta: Array
    steps: np.ndarray
    reference: Reference
    weights: Weights
    solver: Solver
    window: int | None
    noise: float
    noise_seed: int
    ball: Ball | None
    w: Array  #: x_0 .. x_T, (..., T+1, d)
    grad_sq_before: Array  #: |grad Phi_t(x_{t-1})|^2, (..., T), the quantity of `thm:gradient_norm_bound`
    grad_sq_after: Array  #: |grad Phi_t(x_t)|^2, (..., T)
    Qbar: Array  #: Qbar[t-1] = 1/(t-1) sum_{k<t} Q_k[t-1], (..., T); 0 at t = 1
    Delta: Array  #: Delta_t = 1/(2(t-1)) sum_{k<t} d_k[t]^2, (..., T); 0 at t = 1
    alpha: Array  #: alpha_t = V L + l sum_k beta_k, (..., T), smoothness of DPP_t
    lyapunov: Array  #: Lyap[t] = 1/(2(t-1)) sum_{k<t} Q_k[t]^2, (..., T+1)
    cross: Array  #: S_t = sum_{k<t} Q_k[t-1] d_k[t], (..., T)
    diverged: np.ndarray  #: whether the run left every bounded set, (...)

    @property
    def drift(self) -> Array:
        """Lyap[t] - Lyap[t-1], (..., T)."""
        return np.diff(self.lyapunov, axis=-1)

    @property
    def avg_grad_before(self) -> Array:
        """(1/T) sum_t |grad Phi_t(x_{t-1})|^2, (...)."""
        return np.asarray(self.grad_sq_before.mean(axis=-1))

    @property
    def avg_grad_after(self) -> Array:
        """(1/T) sum_t |grad Phi_t(x_t)|^2, (...)."""
        return np.asarray(self.grad_sq_after.mean(axis=-1))

    @property
    def avg_Qbar(self) -> Array:
        """(1/T) sum_{t=1}^T Qbar[t-1], (...)."""
        return np.asarray(self.Qbar.mean(axis=-1))

    @property
    def Delta_bar(self) -> Array:
        """(1/T) sum_t Delta_t, (...)."""
        return np.asarray(self.Delta.mean(axis=-1))

    @property
    def step_sizes(self) -> Array:
        """The step size of each task, (..., T): eta, or 1/(2 alpha_t)."""
        if isinstance(self.eta, str):
            return np.asarray(0.5 / self.alpha)
        return np.broadcast_to(self.eta[..., None], self.alpha.shape)

    @cached_property
    def Q(self) -> Array:
        """Every queue, Q[..., t, k-1] = Q_k[t], (..., T+1, T): simulated again, with history, when asked."""
        return _simulate(self.tasks, self, self.w[..., 0, :], history=True)[1]


def simulate(
    tasks: Tasks | ArrayLike,
    *,
    V: ArrayLike,
    eta: ArrayLike | Literal["auto"] = 4e-4,
    delta: ArrayLike = 4e-7,
    steps: ArrayLike = 3,
    reference: Reference = "previous",
    weights: Weights = "mean",
    w0: ArrayLike | None = None,
    solver: Solver = "gd",
    window: int | None = None,
    noise: float = 0.0,
    noise_seed: int = 0,
    ball: Ball | None = None,
) -> Run:
    """Run COLD (`reference="previous"`) or COLD-ORACLE (`"best"`) on quadratic tasks.

    tasks      : `Tasks`, or an array of optima (T, d) or (S, T, d)
    V, eta, delta, steps : numbers, or arrays that broadcast to one shape; each entry is one setting.
                 eta="auto" takes 1/(2 alpha_t).
    weights    : "mean" beta_k = Q_k/(t-1), "sum" beta_k = Q_k, "none" the queue only watches
    w0         : x_0, (d,) or one a stream (S, d); None is the origin
    solver     : "gd", or "exact" for the minimiser of DPP_t
    window     : with "best", only the last `window` models are candidates
    noise      : s.d. of Gaussian noise on each coordinate of grad Phi_t at every step (a mini-batch);
                 `noise_seed` keys it, and all settings see the same noise
    ball       : project every step on this ball (the theorems assume there is none)

    >>> import numpy as np
    >>> from coldtheory import make_tasks
    >>> run = simulate(make_tasks("high", seeds=range(4)), V=np.array([50.0, 200.0]))
    >>> run.w.shape, run.avg_grad_before.shape
    ((4, 2, 151, 25), (4, 2))
    """
    run = _run(as_tasks(tasks), V, eta, delta, steps, reference, weights, w0, solver, window, noise, noise_seed, ball)
    if run.diverged.any():
        warnings.warn(_divergence_message(run), DivergenceWarning, stacklevel=2)
    return run


def _run(tasks, V, eta, delta, steps, reference, weights, w0, solver, window, noise, noise_seed, ball) -> Run:  # type: ignore[no-untyped-def]
    settings = _settings(V, eta, delta, steps, reference, weights, solver, window, noise, noise_seed)
    start = _start(tasks, w0, settings["V"].ndim)
    if ball is not None and ball.center.shape[-1:] != (tasks.d,):
        raise ColdError(f"the ball's centre must have {tasks.d} coordinates, got shape {ball.center.shape}")
    spec = _Spec(**settings, ball=ball)
    measured, _ = _simulate(tasks, spec, start, history=False)
    return Run(tasks=tasks, **settings, ball=ball, **measured)


def largest_stable_eta(run: Run, index: tuple[int, ...] = ()) -> float:
    """The largest eta with eta * alpha_t <= 2 at every task, for one setting of `run` (to 0.1 %).

    alpha_t holds the queues, which depend on eta: found by simulating 2/(V L) times a shrinking grid.
    """
    lead = len(run.tasks.streams)
    tasks = run.tasks[index[:lead]] if lead else run.tasks
    at = index[lead:]
    V, delta, steps = float(run.V[at]), float(run.delta[at]), int(run.steps[at])
    low, high = 1e-6, 1.0
    for _ in range(6):
        grid = np.geomspace(low, high, 16)
        eta = grid * 2.0 / (V * float(tasks.phi.smoothness))
        probe = _run(
            tasks, V, eta, delta, steps, run.reference, run.weights, run.w[(*index, 0)],
            run.solver, run.window, run.noise, run.noise_seed, run.ball,
        )  # fmt: skip
        with np.errstate(invalid="ignore"):
            stable = (eta[:, None] * probe.alpha <= 2.0).all(axis=-1)
        if not stable.any():
            return 0.0
        best = int(np.flatnonzero(stable)[-1])
        low, high = grid[best], grid[min(best + 1, len(grid) - 1)]
    return float(low * 2.0 / (V * float(tasks.phi.smoothness)))


# ---------------------------------------------------------------------------------------------------
# The batched loop


@dataclass(frozen=True, eq=False)
class _Spec:
    """The settings of a run, as `Run` holds them too."""

    V: Array
    eta: Array | Literal["auto"]
    delta: Array
    steps: np.ndarray
    reference: Reference
    weights: Weights
    solver: Solver
    window: int | None
    noise: float
    noise_seed: int
    ball: Ball | None


@dataclass(frozen=True)
class State:
    """After task t: the model, the queues k = 1..t-1 (Q_t[t] = 0 is left out), and, for Case 2, how much
    worse the model is on each loss than the best candidate so far."""

    x: Array  # (S, N, B, d)
    Q: Array  # (S, N, B, t-1)
    excess: Array | None  # (S, N, B, T)
    rise: Array | None  # (window, S, N, B, T): hatPhi_k(x_t) - hatPhi_k(x_s) for the models in the window


@dataclass(frozen=True)
class _World:
    """One chunk of streams with its settings in blocks (1, N, B)."""

    dynamics: Isotropic | General
    rows: Array  # (S, 1, T, K)
    V: Array
    eta: Array | None  # None: 1/(2 alpha_t)
    delta: Array
    steps: np.ndarray
    L: Array  # (S, 1, 1)
    l: Array  # noqa: E741  (the paper's letter)
    weights: Weights
    exact: bool
    window: int | None
    noise: Array | None  # (S, T, J, d), unit normals times sigma
    ball: tuple[Array, float] | None


def step(state: State, t: int, world: _World) -> tuple[State, tuple[Array, ...]]:
    """Task t (counted from 0): the next state, and (before, after, Qbar, Delta, alpha, Lyapunov, S)."""
    x, Q = state.x, state.Q
    past = Q @ world.rows[:, :, : Q.shape[-1]] if Q.shape[-1] else np.zeros((*x.shape[:-1], world.rows.shape[-1]))
    Qbar = past[..., -1] / max(t, 1)
    past *= {"mean": 1.0 / max(t, 1), "sum": 1.0, "none": 0.0}[world.weights]
    alpha = world.V * world.L + world.l * past[..., -1]
    eta = 0.5 / alpha if world.eta is None else world.eta
    push = None
    if world.noise is not None:
        push = world.V[..., None, None] * world.noise[:, None, None, t]
    move = Move(eta, world.steps, world.exact, push, world.ball)
    dx = world.dynamics.advance(t, x, world.V, past, move)
    ahead = x + dx
    before, after = world.dynamics.grad_sq(t, x), world.dynamics.grad_sq(t, ahead)

    if state.excess is None:
        excess = rise = None
        change = world.dynamics.change(x, dx, world.delta)
        d = change @ world.rows[:, :, :t].swapaxes(-1, -2)
    else:  # all losses, also of tasks still to come: their best model may be an old one
        grow = world.dynamics.change(x, dx, np.zeros_like(world.delta)) @ world.rows.swapaxes(-1, -2)
        d = (state.excess + grow)[..., :t] - world.delta[..., None]
        excess, rise = _next_excess(state, grow, first=t == 0)
    Delta = np.vecdot(d, d) / (2 * max(t, 1))
    cross = np.vecdot(Q, d[..., : Q.shape[-1]])
    d[..., : Q.shape[-1]] += Q
    Q = np.maximum(d, 0.0, out=d)
    lyapunov = np.vecdot(Q, Q) / (2 * max(t, 1))
    return State(ahead, Q, excess, rise), (before, after, Qbar, Delta, alpha, lyapunov, cross)


def _next_excess(state: State, grow: Array, *, first: bool) -> tuple[Array, Array | None]:
    """hatPhi_k(x_t) - min over the candidates, x_t now among them. x_0 is no candidate."""
    assert state.excess is not None
    if state.rise is None:
        return (np.zeros_like(grow) if first else np.maximum(state.excess + grow, 0.0)), None
    rise = np.concatenate([state.rise[1:] + grow, np.zeros_like(grow)[None]])
    return rise.max(axis=0), rise


def _simulate(
    tasks: Tasks, spec: _Spec | Run, start: Array, *, history: bool
) -> tuple[dict[str, np.ndarray], Array]:
    """All runs: measured arrays by name, and the queue history (empty unless asked)."""
    streams, shape = tasks.streams, spec.V.shape
    if not streams:
        tasks = tasks[None]
    S, T, d = tasks.phi.optima.shape
    P = max(1, spec.V.size)
    start = np.broadcast_to(start, (*streams, *shape, d)).reshape(S, P, d)
    per_chunk = max(1, _CHUNK // (T * (P + _BLOCK)))
    parts = []
    with _BLAS.limit(limits=1), np.errstate(over="ignore", invalid="ignore"):
        for at in range(0, S, per_chunk):
            chunk = slice(at, at + per_chunk)
            parts.append(_run_chunk(tasks[chunk], spec, start[chunk], range(at, min(at + per_chunk, S)), history))

    def joined(arrays: list[np.ndarray]) -> np.ndarray:
        whole = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
        return whole.reshape((*streams, *shape, *whole.shape[2:]))

    measured = {name: joined([part[0][name] for part in parts]) for name in parts[0][0]}
    return measured, joined([part[1] for part in parts])


def _run_chunk(
    tasks: Tasks, spec: _Spec | Run, start: Array, streams: range, history: bool
) -> tuple[dict[str, np.ndarray], Array]:
    # Coordinates around the mean optimum: differences of losses then lose no digits to a far origin.
    centre = tasks.phi_hat.optima.mean(axis=1, keepdims=True)  # (S, 1, d)
    phi, hat = (replace(q, optima=q.optima - centre) for q in (tasks.phi, tasks.phi_hat))
    S, P, d = start.shape
    T, N = tasks.T, -(-P // _BLOCK)
    world = _world(phi, hat, spec, N, streams, centre)
    x = _in_blocks(start - centre, N)
    oracle = spec.reference == "best"
    excess = np.zeros((S, N, _BLOCK, T)) if oracle else None
    rise = np.full((world.window, S, N, _BLOCK, T), -np.inf) if oracle and world.window else None
    state = State(x, np.zeros((S, N, _BLOCK, 0)), excess, rise)
    w = np.empty((S, N * _BLOCK, T + 1, d))
    per_task = np.empty((7, T, S, N * _BLOCK))
    Q = np.zeros((T + 1 if history else 0, S, N * _BLOCK, T))
    for t in range(T):
        state, measured = step(state, t, world)
        w[:, :, t + 1] = state.x.reshape(S, -1, d)
        for target, values in zip(per_task[:, t], measured, strict=True):
            target[...] = values.reshape(S, -1)
        if history:
            Q[t + 1, ..., :t] = state.Q.reshape(S, N * _BLOCK, t)
    w = w[:, :P]
    w += centre[:, None]
    w[:, :, 0] = start
    before, after, Qbar, Delta, alpha, lyapunov, cross = np.moveaxis(per_task, 1, 3)[:, :, :P]
    eta = 0.5 / alpha if isinstance(spec.eta, str) else np.broadcast_to(spec.eta.reshape(1, -1, 1), alpha.shape)
    diverged = ~((eta * alpha).max(axis=-1) <= 2.0)  # ~(<=): NaN counts
    radius = np.sqrt(max((phi.optima**2).sum(-1).max(), ((start - centre) ** 2).sum(-1).max()))
    away = np.abs((w - centre[:, None])[diverged]).max(axis=(1, 2)) if diverged.any() else np.zeros(0)
    diverged[diverged] = ~(away <= _FAR * radius)
    lyapunov = np.concatenate([np.zeros_like(lyapunov[..., :1]), lyapunov], axis=-1)
    return {
        "w": w, "grad_sq_before": before, "grad_sq_after": after, "Qbar": Qbar, "Delta": Delta,
        "alpha": alpha, "lyapunov": lyapunov, "cross": cross, "diverged": diverged,
    }, np.moveaxis(Q, 0, 2)[:, :P]  # fmt: skip


def _world(phi: Quadratics, hat: Quadratics, spec: _Spec | Run, N: int, streams: range, centre: Array) -> _World:
    def blocks(values: np.ndarray) -> np.ndarray:
        return _in_blocks(values.reshape(1, -1), N)

    dynamics = family(phi, hat)
    noise = None
    if spec.noise > 0:
        draws = (phi.T, int(spec.steps.max()), phi.d)
        keys = [np.random.SeedSequence(spec.noise_seed, spawn_key=(s,)) for s in streams]
        noise = spec.noise * np.stack([np.random.default_rng(key).standard_normal(draws) for key in keys])
    ball = None
    if spec.ball is not None:
        ball = ((spec.ball.center - centre)[:, :, None, :], float(spec.ball.radius))
    return _World(
        dynamics=dynamics,
        rows=dynamics.rows(),
        V=blocks(spec.V),
        eta=None if isinstance(spec.eta, str) else blocks(spec.eta),
        delta=blocks(spec.delta),
        steps=blocks(spec.steps),
        L=phi.smoothness[:, None, None],
        l=hat.smoothness[:, None, None],
        weights=spec.weights,
        exact=spec.solver == "exact",
        window=None if spec.window is None else min(spec.window, phi.T),
        noise=noise,
        ball=ball,
    )


def _in_blocks(values: np.ndarray, N: int) -> np.ndarray:
    """(S, P, ...) -> (S, N, B, ...), the last block filled up with copies of the last setting."""
    pad = [(0, 0)] * values.ndim
    pad[1] = (0, N * _BLOCK - values.shape[1])
    return np.pad(values, pad, mode="edge").reshape(values.shape[0], N, _BLOCK, *values.shape[2:])


# ---------------------------------------------------------------------------------------------------
# Arguments


def _settings(V, eta, delta, steps, reference, weights, solver, window, noise, noise_seed) -> dict:  # type: ignore[no-untyped-def,type-arg]
    for kind, name, known in (("reference", reference, Reference), ("weights", weights, Weights), ("solver", solver, Solver)):
        if name not in get_args(known):
            raise unknown_name(kind, name, get_args(known))
    if isinstance(eta, str) and eta != "auto":
        raise ColdError(f"eta must be a number > 0 or 'auto', got {eta!r}")
    numbers = {"V": V, "delta": delta, "steps": steps} | ({} if isinstance(eta, str) else {"eta": eta})
    try:
        arrays = {name: np.asarray(value, dtype=np.float64) for name, value in numbers.items()}
        arrays = dict(zip(arrays, np.broadcast_arrays(*arrays.values()), strict=True))
    except (TypeError, ValueError):
        raise ColdError("V, eta, delta and steps must be numbers, or arrays of one shape") from None
    if arrays["V"].size == 0:
        raise ColdError("V is empty: give at least one value")
    for name, array in arrays.items():
        bad = ~np.isfinite(array) | ((array < 0) if name == "delta" else (array <= 0))
        if bad.any():
            raise ColdError(f"{name} must be finite and {'>= 0' if name == 'delta' else '> 0'}, got {array[bad].flat[0]}")
    if (arrays["steps"] != np.floor(arrays["steps"])).any():
        raise ColdError("steps must be whole numbers")
    if window is not None and (reference != "best" or window != int(window) or window < 1):
        raise ColdError("window must be a whole number >= 1 and goes with reference='best'")
    if not np.isfinite(noise) or noise < 0:
        raise ColdError(f"noise must be finite and >= 0, got {noise}")
    if noise > 0 and solver == "exact":
        raise ColdError("gradient noise goes with solver='gd': the exact minimiser takes no gradient steps")
    return {
        "V": arrays["V"].copy(), "eta": "auto" if isinstance(eta, str) else arrays["eta"].copy(),
        "delta": arrays["delta"].copy(), "steps": arrays["steps"].astype(np.int64),
        "reference": reference, "weights": weights, "solver": solver,
        "window": window, "noise": float(noise), "noise_seed": int(noise_seed),
    }  # fmt: skip


def _start(tasks: Tasks, w0: ArrayLike | None, setting_axes: int) -> Array:
    """x_0 with axes for the settings between streams and coordinates."""
    if w0 is None:
        return np.zeros(tasks.d)
    try:
        start = np.asarray(w0, dtype=np.float64)
        wanted = np.broadcast_to(start, (*tasks.streams, tasks.d))
    except (TypeError, ValueError):
        raise ColdError(f"w0 must have shape ({tasks.d},) or {(*tasks.streams, tasks.d)}") from None
    if not np.isfinite(wanted).all():
        raise ColdError("w0 must be finite")
    return np.asarray(wanted.reshape(*tasks.streams, *(1,) * setting_axes, tasks.d))


def _divergence_message(run: Run) -> str:
    first = tuple(int(i) for i in np.argwhere(run.diverged)[0]) if run.diverged.ndim else ()
    at = first[len(run.tasks.streams) :]
    eta = "auto" if isinstance(run.eta, str) else f"{float(run.eta[at]):.3g}"
    return (
        f"{int(run.diverged.sum())} of {run.diverged.size} runs diverged, the first at V={float(run.V[at]):g} with "
        f"eta={eta}; the largest stable eta there is {largest_stable_eta(run, first):.3g}"
    )
