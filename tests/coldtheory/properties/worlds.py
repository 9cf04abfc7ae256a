"""What hypothesis draws: a few numbers that stand for a whole batch of trajectories, small enough to shrink.

A `World` is a plain record. Optima come in patterns (alternating, switching, drifting, constant, repeated, random)
plus noise from a seed; V spans six decades; every world gives its runs as one batch over several V or step sizes.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from coldtheory import simulate
from coldtheory.bounds import Facts, facts_of, follow
from coldtheory.geometry import Ball, ideal_points
from coldtheory.ground.errors import DivergenceWarning
from coldtheory.nonconvex import Cosines, descend, minimise_on_grid
from coldtheory.simulation import Run
from coldtheory.tasks import Tasks, from_optima

PATTERNS = ("alternating", "switch", "drift", "constant", "repeated", "random")
HESSIANS = ("identity", "scalar", "matrix")
REFERENCES = ("previous", "best", "stored")
WEIGHTS = ("mean", "sum")
ANY_MODELS = ("lemma1", "lemma2", "lemma_gap", "lemma_dpp", "constraint", "lindley")  # true for prescribed models too
EXACT = ("thm1", "thm2")
DESCENT = ("thm3", "thm3_sharp", "cor1", "cor2_gradient")
CASE_ONE = ("thm3_sharp", "thm4", "cor1", "cor2_gradient", "cor2_queue")
STEPS = np.array([1.98, 1.0, 0.5])  # of 1/alpha_t
V_SPREAD = np.array([1.0, 10.0])  # every world runs at V and at 10 V


@dataclass(frozen=True)
class World:
    """One example; its repr is what a falsifying example prints and what `@example` keeps."""

    T: int = 3
    d: int = 1
    pattern: str = "alternating"
    hessians: str = "identity"
    memory: float = 0.0  #: how far memory losses are from task losses
    noise: float = 0.0
    seed: int = 0
    start: float = 0.0
    log_V: float = 0.0
    log_delta: float = -2.0
    share: float = 1.0  #: of the step sizes in STEPS
    steps: int = 1
    auto: bool = False  #: eta = 1/(2 alpha_t) in place of one step size for all tasks
    reference: str = "previous"
    weights: str = "mean"
    solver: str = "gd"


@st.composite
def worlds(draw: st.DrawFn, statement: str = "", **fixed: object) -> World:
    """Worlds in which the statement's premises can be met, with some values fixed."""
    solver = "exact" if statement in EXACT else "gd"
    if statement in ANY_MODELS:
        solver = draw(st.sampled_from(("gd", "exact", "prescribed")))
    elif statement and statement not in DESCENT + EXACT:
        solver = draw(st.sampled_from(("gd", "exact")))
    values: dict[str, object] = {
        "T": draw(st.integers(1, 12)),
        "d": draw(st.integers(1, 4)),
        "pattern": draw(st.sampled_from(PATTERNS)),
        "hessians": draw(st.sampled_from(HESSIANS)),
        "memory": draw(st.sampled_from((0.0, 0.3, 3.0))),
        "noise": draw(st.sampled_from((0.0, 0.1, 1.0))),
        "seed": draw(st.integers(0, 9999)),
        "start": draw(st.sampled_from((0.0, 0.5, -2.0, 10.0))),
        "log_V": draw(st.floats(-3.0, 2.0)),
        "log_delta": draw(st.floats(-8.0, 1.0)),
        "share": draw(st.sampled_from((1.0, 0.9, 0.1, 0.01))),
        "steps": draw(st.sampled_from((1, 2, 3, 5))),
        "auto": draw(st.booleans()),
        "reference": "previous" if statement in CASE_ONE else draw(st.sampled_from(REFERENCES)),
        "weights": draw(st.sampled_from(WEIGHTS)),
        "solver": solver,
    }
    return World(**(values | fixed))  # type: ignore[arg-type]


def batch(world: World) -> tuple[Facts, dict[str, np.ndarray]]:
    """The quadratic runs of a world, and the options that `evaluate` needs for them.

    A batch holds step sizes below 2/alpha_t and below 1/alpha_t, so that every form applies to some of its runs.
    """
    tasks = tasks_of(world)
    V = 10.0**world.log_V * V_SPREAD
    w0 = np.full(world.d, world.start)
    common = {"V": V, "delta": 10.0**world.log_delta, "reference": world.reference, "weights": world.weights}
    if world.solver == "prescribed":
        models = w0 + np.cumsum(_rng(world, 1).standard_normal((world.T + 1, world.d)), axis=0)
        return _on_a_ball(follow(tasks, models, eta=0.1, **common)), {}
    common |= {"w0": w0, "steps": world.steps, "solver": world.solver}
    if world.solver == "exact":
        delta_prime = _feasible(tasks)
        common["delta"] = delta_prime * (1.0 + _margin(world))
        facts = _on_a_ball(simulate(tasks, eta="auto", **common))
        return facts, {"delta_prime": delta_prime, "w_star": ideal_points(tasks, delta_prime).w_star}
    if world.auto:
        return _on_a_ball(simulate(tasks, eta="auto", **common)), {}
    alpha = simulate(tasks, eta="auto", **common).alpha.max(axis=-1)  # queues depend on eta: a first guess of alpha_t
    ladder = STEPS[:, None] * world.share / alpha
    common["V"] = np.broadcast_to(V, ladder.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)  # a run that diverges is not applicable, which is no news
        return _on_a_ball(simulate(tasks, eta=ladder, **common)), {}


def _on_a_ball(run: Run) -> Facts:
    """W a ball around all models and optima; the smallest one in one dimension, near it in others."""
    optima = np.concatenate([run.tasks.phi.optima, run.tasks.phi_hat.optima])
    points = np.concatenate([run.w, np.broadcast_to(optima, (*run.w.shape[:-2], *optima.shape))], axis=-2)
    points = np.where(run.diverged[..., None, None], 0.0, points)
    center = 0.5 * (points.min(axis=-2) + points.max(axis=-2))
    radius = np.sqrt(np.square(points - center[..., None, :]).sum(axis=-1).max(axis=-1))
    room = 1.0 + 1e-12 if run.tasks.phi.isotropic else 1.25  # inner steps may swing out
    return facts_of(run, Ball(center, room * radius))


def _feasible(tasks: Tasks) -> float:
    """A tolerance delta' that a point between the optima meets."""
    middle = tasks.phi_hat.optima.mean(axis=0, keepdims=True)
    excess = tasks.phi_hat.values(middle) - tasks.phi_hat.offsets
    return 1.001 * float(excess.max()) + 1e-3


def tasks_of(world: World) -> Tasks:
    rng = _rng(world, 0)
    T, d = world.T, world.d
    a = _pattern(world.pattern, T)[:, None] * rng.standard_normal(d) + world.noise * rng.standard_normal((T, d))
    own, seen = _curvatures(world, rng), _curvatures(world, rng)
    if world.memory == 0.0:
        return from_optima(a, own)
    return from_optima(a, own, memory_optima=a + world.memory * rng.standard_normal((T, d)), memory_hessians=seen)


def cosine_batch(world: World) -> tuple[Facts, dict[str, np.ndarray]]:
    """Non-convex runs of the same world: gradient descent, or exact minimisation over a grid."""
    rng = _rng(world, 2)
    R, T, d = len(V_SPREAD), world.T, min(world.d, 2 if world.solver == "exact" else world.d)
    b = _pattern(world.pattern, T)[:, None] * rng.standard_normal((R, 1, d)) + world.noise * rng.standard_normal(
        (R, T, d)
    )
    heights = np.ones((R, T, d)) if world.hessians == "identity" else 10.0 ** rng.uniform(-1.5, 1.0, (R, T, d))
    f = 10.0 ** rng.uniform(-0.7, 0.7, (R, d))
    phi = hat = Cosines.of(heights, b, f)
    if world.memory > 0.0:
        hat = Cosines.of(
            heights * 10.0 ** rng.uniform(-0.5, 0.5, (R, T, d)), b + world.memory * rng.standard_normal(b.shape), f
        )
    V = 10.0**world.log_V * V_SPREAD
    common = {"V": V, "reference": world.reference, "weights": world.weights}
    if world.solver == "exact":
        side = {"low": -3.0, "high": 3.0, "count": 41 if d == 1 else 9}
        delta = (1.0 + _margin(world)) * _lowest_on_grid(hat, **side) + 1e-6
        return minimise_on_grid(phi, hat, delta=delta, **side, **common), {}
    common |= {"delta": 10.0**world.log_delta, "w0": np.full(d, world.start), "steps": world.steps}
    largest = V * phi.smoothness
    alpha = descend(phi, hat, eta=world.share / largest, **common).alpha.max(axis=-1)
    ladder = STEPS[:, None] * world.share / alpha  # (steps, V): V varies fastest, as in the losses below
    wide = [
        Cosines(*(np.tile(part, (len(STEPS), 1, 1)) for part in (q.heights, q.centres, q.frequencies)))
        for q in (phi, hat)
    ]
    common["V"] = np.tile(V, len(STEPS))
    return descend(*wide, eta=ladder.reshape(-1), **common), {}


def _margin(world: World) -> float:
    """delta/delta' - 1, between 3e-4 and 3: close to 0 queues fill, far from it the bounds are not swamped."""
    return 10.0 ** (world.log_delta / 2.25)


def _lowest_on_grid(hat: Cosines, *, low: float, high: float, count: int) -> np.ndarray:
    """The smallest delta' for which some point of the grid forgets no past task by more, (R,)."""
    grid = np.stack(np.meshgrid(*[np.linspace(low, high, count)] * hat.d), axis=-1).reshape(1, -1, hat.d)
    values = hat.values(np.broadcast_to(grid, (hat.R, *grid.shape[1:])))[..., :-1]
    return (values - values.min(axis=1, keepdims=True)).max(axis=-1, initial=0.0).min(axis=1)


def _pattern(name: str, T: int) -> np.ndarray:
    t = np.arange(T)
    return {
        "alternating": (t % 2).astype(float),
        "switch": (t >= (T + 1) // 2).astype(float),
        "drift": t / 2.0,
        "constant": np.ones(T),
        "repeated": (t // 2 % 3).astype(float),
        "random": np.zeros(T),  # noise alone
    }[name]


def _curvatures(world: World, rng: np.random.Generator) -> np.ndarray:
    T, d = world.T, world.d
    if world.hessians == "identity":
        return np.ones(T)
    if world.hessians == "scalar":
        return 10.0 ** rng.uniform(-2.0, 1.0, T)
    roots = rng.standard_normal((T, d, d)) * 10.0 ** rng.uniform(-1.0, 0.5, (T, d, 1))
    squares = roots.swapaxes(-1, -2) @ roots
    return 0.5 * (squares + squares.swapaxes(-1, -2))


def _rng(world: World, part: int) -> np.random.Generator:
    return np.random.default_rng([world.seed, part])
