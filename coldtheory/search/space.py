"""The unit cube that is searched, and the instance that each of its points stands for.

Lengths have no natural unit: stretching all optima by c, and V, delta and delta' by c^2, and eta by 1/c^2, only
rescales a run, so steps between optima stay within [-1, 1] and V and delta range over decades. (Only the printed
Corollary 1 is not homogeneous; V is free, so it loses nothing.) Likewise the first optimum is the origin.

A task departs from the task before it by an increment, and an increment may be exactly 0: a stream that repeats
its task is a typical worst case, and no search by real numbers would ever hit it otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..quadratics import Array, Quadratics
from .comparators import comparators_of, lowest_tolerances
from .plans import Plan

_NOTHING = 0.25  # the share of an increment's range that stands for exactly 0
_CURVATURE = 4.0  # decades between two tasks
_STRIDE = 2.0  # decades of V between two tasks, where it moves
_FEASIBLE = 1e-9


@dataclass(frozen=True, eq=False)
class Candidates:
    """B instances at once; what the plan does not vary is None."""

    optima: Array  #: (B, T, d)
    hessians: Array | None  #: (B, T) or (B, T, d, d); None is the identity
    memory_optima: Array | None
    memory_hessians: Array | None
    w0: Array  #: (B, d)
    V: Array  #: (B,)
    delta: Array  #: (B,)
    share: Array  #: eta as a share of its limit, (B,)
    delta_prime: Array | None  #: (B,)
    w_star: Array | None  #: (B, T, d), where a closed form gives the comparators
    factors: Array | None = None  #: V_t / V, (B, T)
    noise: Array | None = None  #: standard deviation of the gradient noise per coordinate, (B,)


class _Reader:
    """Takes the coordinates of points (B, n) one after the other; with no points it counts them."""

    def __init__(self, points: Array) -> None:
        self._points, self._at = points, 0

    @property
    def used(self) -> int:
        return self._at

    def plain(self, *shape: int) -> Array:
        """Numbers of [0, 1], (B, *shape)."""
        count = int(np.prod(shape))
        taken = self._points[:, self._at : self._at + count]
        self._at += count
        return taken.reshape(len(self._points), *shape)

    def log(self, low: float, high: float, *shape: int) -> Array:
        """Numbers between 10^low and 10^high."""
        return np.asarray(10.0 ** (low + (high - low) * self.plain(*shape)))

    def signed(self, *shape: int) -> Array:
        """Increments of [-1, 1], a quarter of which are 0."""
        z = 2.0 * self.plain(*shape) - 1.0
        return np.sign(z) * np.maximum(np.abs(z) - _NOTHING, 0.0) / (1.0 - _NOTHING)


@dataclass(frozen=True)
class Space:
    """The cube of one plan at one number of tasks."""

    plan: Plan
    T: int

    @cached_property
    def size(self) -> int:
        """The number of coordinates."""
        reader = _Reader(np.full((1, 10_000), 0.4))
        self._read(reader)
        return reader.used

    def decode(self, points: Array) -> Candidates:
        """The instances that points (B, size) of the cube stand for."""
        return self._read(_Reader(points))

    def _read(self, reader: _Reader) -> Candidates:
        plan, T, d = self.plan, self.T, self.plan.d
        pieces = T if plan.blocks is None else plan.blocks
        places = None if plan.blocks is None else _places(reader.plain(pieces - 1), T)

        def spread(values: Array) -> Array:
            """From one entry per block to one per task."""
            if places is None:
                return values
            index = places.reshape(*places.shape, *(1,) * (values.ndim - 2))
            return np.take_along_axis(values, index, axis=1)

        optima = np.cumsum(_after_zero(reader.signed(pieces - 1, d)), axis=1)
        shapes = self._shapes(reader, pieces - 1)
        shapes = None if shapes is None else np.cumsum(_after_zero(shapes), axis=1)
        memory_optima = memory_hessians = None
        if plan.memory:
            memory_optima = spread(optima + reader.signed(pieces, d))
            bent = self._shapes(reader, pieces)
            if bent is not None and shapes is not None:
                memory_hessians = spread(_hessians(shapes + bent, plan.hessians, d))
        optima, hessians = spread(optima), None if shapes is None else spread(_hessians(shapes, plan.hessians, d))
        w0 = optima[:, 0] if plan.solver == "exact" else optima[:, 0] + reader.signed(d)
        V = reader.log(-8.0, 6.0)
        share = np.ones(len(V)) if plan.solver == "exact" else reader.log(-4.0, 0.0)
        factors = None if plan.V_moves == "no" else self._factors(reader)
        noise = reader.log(-3.0, 1.0) if plan.noise_seeds else None
        own = (optima, hessians, memory_optima, memory_hessians, w0, V)
        if not plan.ideal:
            delta = reader.log(-8.0, 1.0)
            return Candidates(*own, delta, share, None, None, factors, noise)
        seen = Quadratics.of(
            optima if memory_optima is None else memory_optima, hessians if memory_hessians is None else memory_hessians
        )
        lowest = np.maximum(lowest_tolerances(seen), 1e-9)
        delta = lowest * (1.0 + reader.log(-4.0, 2.0))
        delta_prime = lowest * (1.0 + _FEASIBLE * 10) + (1.0 - reader.log(-4.0, 0.0)) * (delta - lowest)
        w_star = comparators_of(optima, seen, delta_prime)
        return Candidates(*own, delta, share, delta_prime, w_star, factors, noise)

    def _factors(self, reader: _Reader) -> Array:
        """V_t / V, 1 at first; a step of V may be exactly 0, like any other increment, (B, T)."""
        steps = reader.signed(self.T - 1, 1)
        if self.plan.V_moves != "any":
            steps = np.abs(steps) if self.plan.V_moves == "up" else -np.abs(steps)
        return np.asarray(10.0 ** (_STRIDE * np.cumsum(_after_zero(steps), axis=1)[..., 0]))

    def _shapes(self, reader: _Reader, count: int) -> Array | None:
        """Increments of (log10 of eigenvalues, turns) for `count` Hessians, (B, count, m); None for identity."""
        if self.plan.hessians == "identity":
            return None
        d = self.plan.d
        return reader.signed(count, 1 if self.plan.hessians == "scalar" else d + d * (d - 1) // 2)


def _after_zero(increments: Array) -> Array:
    """(B, n, m) -> (B, n + 1, m), the first entry 0."""
    B, _, m = increments.shape
    return np.concatenate([np.zeros((B, 1, m)), increments], axis=1)


def _places(cuts: Array, T: int) -> np.ndarray:
    """The block of every task, (B, T), from the cuts between blocks as shares of T, (B, blocks - 1)."""
    ends = np.ceil(np.sort(cuts, axis=1) * T)
    return np.asarray((np.arange(T) >= ends[:, :, None]).sum(axis=1))


def _hessians(shapes: Array, kind: str, d: int) -> Array:
    """Curvatures of at most 1 from their logarithms (and turns, for matrices)."""
    if kind == "scalar":
        logs = _CURVATURE * shapes[..., 0]
        return np.asarray(10.0 ** np.maximum(logs - logs.max(axis=1, keepdims=True), -12.0))
    logs = _CURVATURE * shapes[..., :d]
    eigenvalues = 10.0 ** np.maximum(logs - logs.max(axis=(1, 2), keepdims=True), -12.0)
    basis = np.broadcast_to(np.eye(d), (*shapes.shape[:-1], d, d)).copy()
    for turn, (i, j) in enumerate(zip(*np.tril_indices(d, k=-1), strict=True)):
        c, s = np.cos(np.pi * shapes[..., d + turn]), np.sin(np.pi * shapes[..., d + turn])
        left, right = basis[..., i].copy(), basis[..., j].copy()
        basis[..., i], basis[..., j] = (
            c[..., None] * left - s[..., None] * right,
            s[..., None] * left + c[..., None] * right,
        )
    matrices = (basis * eigenvalues[..., None, :]) @ basis.swapaxes(-1, -2)
    return np.asarray(0.5 * (matrices + matrices.swapaxes(-1, -2)))
