"""What the world does: streams of quadratic tasks.

LOW and HIGH are the two regimes of the paper's section "Theoretical Validation"
(`subsec:exp_theoryvalidation`); CONFLICT is ours, since in the paper's two the queue has next to no
effect. A stream depends on (seed, regime) alone: every V, delta and eta sees the same tasks, and a
longer stream begins with the noise of a shorter one.

No linear algebra takes part in making the stream of a regime, sampled or not, and all its sums run in a fixed order. So
with one version of numpy its bits are the same on every machine, whatever kernels the machine has; only the last bit of
the one normal number in 4,000 that comes from beyond 3.65 standard deviations is the C library's (log1p). Least-squares
tasks (`from_regression`), and whatever is computed from tasks, are the same up to rounding.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .ground.checks import LARGEST_WHOLE, choice, number, numbers, shown, whole
from .ground.errors import ColdError, unknown_name
from .ground.limits import array_bytes, demand_memory
from .memory import Samples, samples_of, stacked
from .paper import TOY
from .quadratics import Array, Quadratics

_COPIES = 4  # of a stream are in memory while it is made: parts, sums, the stack of all seeds
_LARGEST_SPREAD = 1e100  # the squares of such points, and their sums, are still numbers


@dataclass(frozen=True, eq=False)
class Tasks:
    """A stream of tasks, or a batch of streams.

    `phi` holds the losses Phi_t, `phi_hat` those that the memory sees, hatPhi_t; both have the same
    leading axes. Where tasks are means over points, `samples` says what the memory bounds need of these.
    """

    phi: Quadratics
    phi_hat: Quadratics
    name: str = "own"
    samples: Samples | None = None

    @property
    def T(self) -> int:
        """The number of tasks."""
        return self.phi.T

    @property
    def d(self) -> int:
        """The number of parameters."""
        return self.phi.d

    @property
    def streams(self) -> tuple[int, ...]:
        """The shape of the leading axes: () for one stream, (S,) for S seeds."""
        return self.phi.optima.shape[:-2]

    def __getitem__(self, index: Any) -> Tasks:
        phi = self.phi[index]
        hat = phi if self.phi_hat is self.phi else self.phi_hat[index]
        return Tasks(phi, hat, self.name, None if self.samples is None else self.samples[index])


def from_optima(
    optima: ArrayLike,
    hessians: ArrayLike | None = None,
    *,
    memory_optima: ArrayLike | None = None,
    memory_hessians: ArrayLike | None = None,
    name: str = "own",
) -> Tasks:
    """Tasks with given optima (T, d) or (S, T, d); the memory sees the same losses unless told.

    >>> from_optima([[0.0], [1.0], [0.0]]).T
    3
    """
    phi = Quadratics.of(optima, hessians)
    if memory_optima is None and memory_hessians is None:
        return Tasks(phi, phi, name)
    kept = phi.optima if memory_optima is None else memory_optima
    kept = numbers("memory_optima", kept)
    if kept.shape != phi.optima.shape:
        raise ColdError(
            f"memory optima must have the shape of the optima, {phi.optima.shape}, got {kept.shape}; give one per task"
        )
    own = phi.hessians if memory_hessians is None else memory_hessians
    hat = Quadratics.of(kept, own, called="memory Hessians")
    if hat.isotropic != phi.isotropic:  # one representation for both keeps every formula single
        phi = Quadratics(phi.optima, phi.matrices(), phi.offsets)
        hat = Quadratics(hat.optima, hat.matrices(), hat.offsets)
    return Tasks(phi, hat, name)


def as_tasks(tasks: Tasks | ArrayLike) -> Tasks:
    """Whatever a user may hand over as tasks: `Tasks`, or a plain array of optima."""
    return tasks if isinstance(tasks, Tasks) else from_optima(numbers("tasks", tasks))


# ---------------------------------------------------------------------------------------------------
# Regimes


def low(seed: int, *, T: int = TOY.T, d: int = TOY.d, c1: float = 0.09, c2: float = 0.0004) -> Array:
    """LOW, near-IID: w*_t = w_base + eps_t, w_base ~ N(0, c1 I), eps_t ~ N(0, c2 I). Shape (T, d)."""
    return _base(seed, "low", d, c1) + _noise(seed, "low", T, d, c2)


def high(
    seed: int, *, T: int = TOY.T, d: int = TOY.d, c1: float = 0.09, c2: float = 0.0064, drift: float = 0.8
) -> Array:
    """HIGH, drifting: w*_t = w_base + (t/T) * drift * v + xi_t with v a random unit vector. Shape (T, d)."""
    t = np.arange(1, T + 1)[:, None]
    way = t / T * drift * _direction(seed, "high", d)
    return _base(seed, "high", d, c1) + way + _noise(seed, "high", T, d, c2)


def conflict(
    seed: int,
    *,
    T: int = TOY.T,
    d: int = TOY.d,
    c1: float = 0.09,
    c2: float = 0.0064,
    separation: float = 40.0,
    block: int = 25,
) -> Array:
    """CONFLICT: two kinds of task, `separation` apart, that take turns in blocks of `block` tasks.

    w*_t = w_base +- (separation/2) * v + xi_t, the sign switching every `block` tasks: each kind keeps
    returning, and whatever is learnt for one undoes the other. Here the queue matters. Shape (T, d).
    """
    if block < 1:
        raise ColdError(f"block must be at least 1, got {block}")
    side = 1.0 - 2.0 * ((np.arange(T) // block) % 2)
    way = side[:, None] * (0.5 * separation) * _direction(seed, "conflict", d)
    return _base(seed, "conflict", d, c1) + way + _noise(seed, "conflict", T, d, c2)


def base_and_drift(regime: str, seed: int, **constants: Any) -> tuple[Array, Array | None]:
    """What a LOW or HIGH stream is made of besides noise: w_base (d,), and drift * v (d,) or None for LOW."""
    if regime not in ("low", "high"):
        raise unknown_name("regime with a closed form", regime, ("low", "high"))
    given = {**(REGIMES[regime].__kwdefaults__ or {}), **_checked_constants(regime, constants)}
    base = _base(seed, regime, given["d"], given["c1"])
    return base, (given["drift"] * _direction(seed, regime, given["d"]) if regime == "high" else None)


REGIMES: dict[str, Callable[..., Array]] = {"low": low, "high": high, "conflict": conflict}


def make_tasks(
    regime: str,
    seeds: int | Iterable[int] = 0,
    *,
    n: int | None = None,
    m: int | None = None,
    spread: float = 0.3,
    **constants: Any,
) -> Tasks:
    """Tasks of a regime: one stream for a seed, a batch (S, T, d) for several.

    With `n`, the tasks are *sampled*: task t has n points around its centre w*_t (s.d. `spread` per coordinate), Phi_t
    is their mean quadratic loss, and hatPhi_t that of `m` of them, drawn uniformly without replacement (all of them if
    `m` is None). The m points of a smaller memory are among those of a larger one, so memory sizes are compared on
    nested memories.

    >>> make_tasks("high", seeds=range(3), T=10).phi.optima.shape
    (3, 10, 25)
    """
    constants = _checked_constants(choice("regime", regime, REGIMES), constants)
    one = isinstance(seeds, (int, np.integer))
    seed_list = _seed_list([seeds] if one else seeds)
    full = {**(REGIMES[regime].__kwdefaults__ or {}), **constants}
    shape = (len(seed_list), full["T"], full["d"])
    demand_memory(_COPIES * array_bytes(shape), f"{shape[0]} streams of T = {shape[1]} tasks with d = {shape[2]}")
    centres = np.stack([REGIMES[regime](s, **constants) for s in seed_list])
    if n is not None:
        tasks = with_sampled_points(regime, seed_list, centres, n=n, m=m, spread=spread)
    elif m is not None:
        raise ColdError("a memory size m needs sampled tasks: give the number of points n too")
    else:
        tasks = from_optima(centres, name=regime)
    return tasks[0] if one else tasks


def with_sampled_points(
    name: str, seeds: Iterable[int], centres: Array, *, n: int, m: int | None = None, spread: float = 0.3
) -> Tasks:
    """Sampled tasks (see `make_tasks`) around given centres (S, T, d), keyed by (seed, name)."""
    n, spread = whole("n", n, least=1), number("spread", spread, least=0, most=_LARGEST_SPREAD)
    T, d = centres.shape[1:]
    kept = n if m is None else _memory_size(m, n)
    demand_memory(_COPIES * array_bytes((T, n, d)), f"{n} points for each of {T} tasks")
    pairs, samples = [], []
    for seed, centre in zip(seeds, centres, strict=True):
        points = centre[:, None, :] + spread * _rng(seed, name, "points").standard_normal((T, n, d))
        pairs.append(_means(points, kept, _rng(seed, name, "memory")))
        samples.append(samples_of(points, None, kept))
    phi = _stack(pair[0] for pair in pairs)
    return Tasks(phi, phi if kept == n else _stack(pair[1] for pair in pairs), name, stacked(samples))


def from_points(
    points: ArrayLike,
    hessians: ArrayLike | None = None,
    *,
    m: int | None = None,
    seed: int = 0,
    name: str = "points",
) -> Tasks:
    """Tasks whose losses are the mean of 1/2 (w - p)' A (w - p) over n points each: points (T, n, d).

    A is the identity, or one number (T,) or matrix (T, d, d) per task. The memory keeps `m` points per task, uniformly
    without replacement; `seed` keys the draw.
    """
    p = numbers("points", points)
    if p.ndim != 3 or 0 in p.shape:
        raise ColdError(f"points must have shape (T, n, d) with T, n, d >= 1, got {p.shape}")
    if not isinstance(name, str):
        raise ColdError(f"name must be a text, got {shown(name)}")
    kept = p.shape[1] if m is None else _memory_size(m, p.shape[1])
    A = None if hessians is None else Quadratics.of(p[:, 0], hessians).hessians
    phi, hat = _means(p, kept, _rng(whole("seed", seed, least=0), name, "memory"), A)
    return Tasks(phi, hat, name, samples_of(p, A, kept))


def from_regression(X: ArrayLike, y: ArrayLike, *, m: int | None = None, seed: int = 0) -> Tasks:
    """Least-squares tasks: Phi_t(w) = mean_i 1/2 (x_i'w - y_i)^2, X (T, n, d), y (T, n).

    Their Hessians X'X/n are general PSD matrices. The memory keeps `m` samples per task.
    """
    X, y = numbers("X", X), numbers("y", y)
    if X.ndim != 3 or 0 in X.shape or y.shape != X.shape[:2]:
        raise ColdError(f"X must have shape (T, n, d) with T, n, d >= 1 and y (T, n), got {X.shape} and {y.shape}")
    n = X.shape[1]
    rng = _rng(whole("seed", seed, least=0), "regression", "memory")
    pick = _memory_pick(n, n if m is None else _memory_size(m, n), X.shape[0], rng)
    rows = np.arange(X.shape[0])[:, None]
    phi = _least_squares(X, y)
    hat = phi if pick.shape[1] == n else _least_squares(X[rows, pick], y[rows, pick])
    return Tasks(phi, hat, "regression")


# ---------------------------------------------------------------------------------------------------
# How streams are drawn


def _rng(seed: int, regime: str, part: str) -> np.random.Generator:
    """The generator of one part of a stream, keyed by (seed, regime, part) and nothing else."""
    key = (zlib.crc32(regime.encode()), zlib.crc32(part.encode()))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def _base(seed: int, regime: str, d: int, c1: float) -> Array:
    return math.sqrt(c1) * _rng(seed, regime, "base").standard_normal(d)


def _noise(seed: int, regime: str, T: int, d: int, c2: float) -> Array:
    return math.sqrt(c2) * _rng(seed, regime, "noise").standard_normal((T, d))


def _direction(seed: int, regime: str, d: int) -> Array:
    v = _rng(seed, regime, "direction").standard_normal(d)
    return np.asarray(v / math.sqrt(math.fsum(v * v)))  # fsum: no order of summation


def _means(
    points: Array, m: int, rng: np.random.Generator, hessians: Array | None = None
) -> tuple[Quadratics, Quadratics]:
    """Mean quadratic loss of all points (T, n, d), and of m of them per task."""
    T, n, _ = points.shape
    pick = _memory_pick(n, m, T, rng)
    phi = _mean_loss(points, hessians)
    return phi, (phi if m == n else _mean_loss(points[np.arange(T)[:, None], pick], hessians))


def _memory_pick(n: int, m: int, T: int, rng: np.random.Generator) -> np.ndarray:
    return rng.permuted(np.tile(np.arange(n), (T, 1)), axis=1)[:, :m]


def _memory_size(m: int, n: int) -> int:
    size = whole("m", m)
    if not 1 <= size <= n:
        raise ColdError(f"the memory must hold between 1 and n={n} points per task, got m={m}")
    return size


def _mean_loss(points: Array, hessians: Array | None = None) -> Quadratics:
    """mean_i 1/2 |w - p_i|^2 = 1/2 |w - pbar|^2 + 1/2 mean_i |p_i - pbar|^2, and the same with A between."""
    centre = points.mean(axis=1)
    away = points - centre[:, None, :]
    if hessians is None:
        return Quadratics.of(centre, offsets=0.5 * (away**2).mean(axis=1).sum(axis=1))
    bent = hessians[:, None, None] * away if hessians.ndim == 1 else np.matvec(hessians[:, None], away)
    offsets = np.maximum(0.5 * (away * bent).mean(axis=1).sum(axis=1), 0.0)  # rounding of a matrix that is nearly flat
    return Quadratics(centre, hessians, offsets)


def _least_squares(X: Array, y: Array) -> Quadratics:
    n = X.shape[1]
    optima = np.stack([np.linalg.lstsq(x, target, rcond=None)[0] for x, target in zip(X, y, strict=True)])
    residual = np.matvec(X, optima) - y
    gram = X.swapaxes(1, 2) @ X / n
    return Quadratics.of(optima, 0.5 * (gram + gram.swapaxes(1, 2)), 0.5 * (residual**2).mean(axis=1))


def _stack(parts: Iterable[Quadratics]) -> Quadratics:
    parts = list(parts)
    return Quadratics(
        np.stack([p.optima for p in parts]),
        np.stack([p.hessians for p in parts]),
        np.stack([p.offsets for p in parts]),
    )


def _seed_list(seeds: object) -> list[int]:
    try:
        count = len(seeds) if isinstance(seeds, Sized) else 0
        demand_memory(_COPIES * array_bytes((count,)), f"a list of {count} seeds")
        found = [whole("seeds", seed, least=0) for seed in seeds]  # type: ignore[attr-defined]
    except (TypeError, OverflowError):
        raise ColdError(f"seeds must be one or more non-negative whole numbers, got {shown(seeds)}") from None
    if not found:
        raise ColdError("seeds must be one or more non-negative whole numbers")
    return found


def _checked_constants(regime: str, constants: Mapping[str, Any]) -> dict[str, Any]:
    """The constants, whole numbers as such; raises if one is unknown or out of its range."""
    known = REGIMES[regime].__kwdefaults__ or {}
    checked: dict[str, Any] = {}
    for name, value in constants.items():
        if name not in known:
            raise unknown_name(f"constant of regime {regime}", name, known)
        if name in ("T", "d", "block"):
            checked[name] = whole(name, value, least=1, most=LARGEST_WHOLE)
        elif name in ("c1", "c2"):
            checked[name] = number(f"{name}, a variance,", value, least=0)
        else:
            checked[name] = number(name, value)
    return checked
