"""A run's batch as one axis of runs, for measures that work on many runs and many balls at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .geometry import Ball
from .ground.checks import kind_of
from .ground.errors import ColdError
from .quadratics import Array, Quadratics
from .simulation import Run

_BLOCK = 1 << 22  # work is cut so that no temporary array holds many more numbers than this


@dataclass(frozen=True, eq=False)
class FlatRuns:
    """A run's batch as one axis of R runs; run i belongs to stream `stream[i]` of the S streams."""

    phi: Quadratics
    phi_hat: Quadratics
    stream: np.ndarray
    w: Array
    lost: np.ndarray
    lead: tuple[int, ...]

    @staticmethod
    def of(run: Run) -> FlatRuns:
        kind_of("run", run, Run, "make one with simulate(tasks, V=...)")
        phi, hat = _row(run.tasks.phi), _row(run.tasks.phi_hat)
        w = run.w.reshape(-1, *run.w.shape[-2:])
        S = len(phi.optima)
        stream = np.repeat(np.arange(S), len(w) // S)
        lost = run.diverged.reshape(-1) | ~np.isfinite(w).all(axis=(-2, -1))
        shared = run.tasks.phi is run.tasks.phi_hat
        return FlatRuns(phi, phi if shared else hat, stream, w, lost, run.diverged.shape)

    @property
    def S(self) -> int:
        return len(self.phi.optima)

    @property
    def R(self) -> int:
        return len(self.w)

    @property
    def size(self) -> int:
        """How many numbers are stored per loss."""
        return self.phi.d if self.phi.isotropic else self.phi.d**2

    def optima(self, streams: np.ndarray | slice) -> Array:
        """Optima of Phi, and of hatPhi if it differs: (n, T or 2T, d)."""
        if self.phi_hat is self.phi:
            return self.phi.optima[streams]
        return np.concatenate([self.phi.optima[streams], self.phi_hat.optima[streams]], axis=1)


def per_ball(flat: FlatRuns, ball: Ball, compute: Callable[[np.ndarray, Ball], Array], shape: tuple[int, ...]) -> Array:
    """`compute(streams, balls)` for every run, (R, *shape), once for all runs of a stream that share their ball."""
    center, radius = balls_of(ball, flat)
    result = np.full((flat.R, *shape), np.nan)
    fine = np.flatnonzero(np.isfinite(center).all(axis=-1) & np.isfinite(radius))
    keys = np.column_stack([flat.stream[fine], radius[fine], center[fine]])
    _, first, back = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    values = np.empty((len(first), *shape))
    for at in blocks(len(first), flat.phi.T * flat.size):
        runs = fine[first[at]]
        values[at] = compute(flat.stream[runs], Ball.unchecked(center[runs], radius[runs]))
    result[fine] = values[back.reshape(-1)]
    return result


def balls_of(ball: Ball, flat: FlatRuns) -> tuple[Array, Array]:
    kind_of("ball", ball, Ball, "make one with Ball(center, radius)")
    try:
        center = np.broadcast_to(ball.center, (*flat.lead, flat.phi.d)).reshape(-1, flat.phi.d)
        return center, np.broadcast_to(ball.radius, flat.lead).reshape(-1)
    except ValueError:
        wanted = (*flat.lead, flat.phi.d)
        raise ColdError(f"the ball's center must broadcast to {wanted}, got shape {ball.center.shape}") from None


def _row(q: Quadratics) -> Quadratics:
    tail = q.hessians.shape[q.offsets.ndim - 1 :]
    return Quadratics(q.optima.reshape(-1, q.T, q.d), q.hessians.reshape(-1, *tail), q.offsets.reshape(-1, q.T))


def part(q: Quadratics, streams: np.ndarray, tasks: slice = slice(None)) -> Quadratics:
    return Quadratics(q.optima[streams, tasks], q.hessians[streams, tasks], q.offsets[streams, tasks])


def blocks(count: int, each: int) -> list[slice]:
    """Slices of range(count) whose items, of `each` numbers, fit in a block."""
    step = max(1, _BLOCK // max(1, each))
    return [slice(at, min(at + step, count)) for at in range(0, count, step)]
