"""The comparators w*_t of Theorems 1 and 2: points that satisfy eq. ideal_cl's constraints with tolerance delta'."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..ground.checks import numbers
from ..ground.errors import ColdError
from ..ideal import ideal_points, smallest_feasible_delta
from ..quadratics import Array, Quadratics
from ..tasks import Tasks

if TYPE_CHECKING:
    from .facts import Facts
    from .run_facts import RunFacts

_INTERIOR = 2e-9  # the solver needs a delta' that exceeds the smallest feasible one by this share
_KEPT = 32  # solutions that are cached: statements ask for those of the same streams repeatedly
_ROUNDING = 1e-9  # share of delta' by which a constraint may seem broken; it is then counted into delta'


@dataclass(frozen=True, eq=False)
class Comparators:
    """w*_t with what the theorems need of them. NaN where eq. ideal_cl is infeasible."""

    w: Array  #: (..., T, d)
    loss: Array  #: Phi_t(w*_t), (..., T)
    memory_gap: Array  #: |Phi_t - hatPhi_{t-1}|(w*_t), 0 at t = 1, (..., T)
    delta_prime: Array  #: (...)
    feasible: np.ndarray  #: (...)


def comparators(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Comparators:
    """w*_t for every run: solutions of eq. ideal_cl, or the given points w_star (..., T, d), checked.

    delta_prime defaults to the middle between the smallest feasible value and delta. Any feasible points are valid
    comparators; optimal ones give the strongest statement.
    """
    return facts.comparators(delta_prime, w_star)


def solve(facts: RunFacts, delta_prime: ArrayLike | None, w_star: ArrayLike | None) -> Comparators:
    """Comparators of runs on quadratics; one convex programme for each stream and value of delta'."""
    run, lead = facts.run, facts.lead
    streams = run.tasks.streams
    if len(streams) > 1:
        raise ColdError("comparators need tasks with at most one axis of streams")
    count = streams[0] if streams else 1
    flat = run.tasks if streams else run.tasks[None]
    delta = np.broadcast_to(run.delta, lead).reshape(count, -1)
    each = [_Stream(flat[i]) for i in range(count)]
    lowest = np.zeros((count, 1))
    if delta_prime is None or w_star is None:
        lowest = np.array([_lowest(stream) for stream in each])[:, None]
    if delta_prime is None:
        wanted = np.where(delta > lowest, 0.5 * (lowest + delta), np.nan)
    else:
        wanted = _shaped("delta_prime", delta_prime, lead).reshape(count, -1)
        if (wanted < 0).any():
            raise ColdError(f"delta_prime must be >= 0, got {wanted.min():g}")
    if w_star is None:
        w = np.full((*delta.shape, run.tasks.T, run.tasks.d), np.nan)
        possible = wanted > lowest * (1.0 + _INTERIOR)
        for i in range(count):
            for value in np.unique(wanted[i][possible[i]]):
                w[i, wanted[i] == value] = _solution(each[i], float(value))
        points = w.reshape(*lead, run.tasks.T, run.tasks.d)
    else:
        points = _shaped("w_star", w_star, (*lead, run.tasks.T, run.tasks.d))
    limit, excess = np.asarray(wanted.reshape(lead)), _excess(facts, points)
    feasible = np.asarray(excess <= limit * (1.0 + _ROUNDING))
    # A constraint that rounding breaks is no reason to refuse w*, but the theorems then hold with the larger delta'.
    used = np.where(feasible, np.maximum(limit, excess), limit)
    loss = facts.phi.at(points)
    return Comparators(points, loss, _memory_gap(facts.phi_hat, loss, points), used, feasible)


class _Stream:
    """One stream of tasks that equals every other one with the same numbers."""

    def __init__(self, tasks: Tasks) -> None:
        self.tasks = tasks
        losses = (tasks.phi, tasks.phi_hat)
        arrays = [array for q in losses for array in (q.optima, q.hessians, q.offsets)]
        self._content = tuple((array.shape, array.tobytes()) for array in arrays)

    def __hash__(self) -> int:
        return hash(self._content)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Stream) and self._content == other._content


@lru_cache(maxsize=_KEPT)
def _lowest(stream: _Stream) -> float:
    return smallest_feasible_delta(stream.tasks.phi_hat)


@lru_cache(maxsize=_KEPT)
def _solution(stream: _Stream, delta_prime: float) -> Array:
    return ideal_points(stream.tasks, delta_prime).w_star


def _shaped(name: str, values: ArrayLike, shape: tuple[int, ...]) -> Array:
    given = numbers(name, values)
    try:
        return np.broadcast_to(given, shape)
    except ValueError:
        raise ColdError(f"{name} must be numbers that broadcast to the shape {shape}, got {given.shape}") from None


def _memory_gap(hat: Quadratics, loss: Array, points: Array) -> Array:
    hessians = hat.hessians[..., :-1] if hat.isotropic else hat.hessians[..., :-1, :, :]
    previous = Quadratics(hat.optima[..., :-1, :], hessians, hat.offsets[..., :-1])
    gap = np.zeros_like(loss)
    gap[..., 1:] = np.abs(loss[..., 1:] - previous.at(points[..., 1:, :]))
    return gap


def _excess(facts: RunFacts, points: Array) -> Array:
    """The largest hatPhi_k(w*_t) - inf hatPhi_k over k < t, (...)."""
    worst = np.zeros(facts.lead)
    for t in range(1, facts.T):
        above = facts.phi_hat.at(points[..., t : t + 1, :])[..., :t] - facts.phi_hat.offsets[..., :t]
        worst = np.maximum(worst, above.max(axis=-1))
    return worst
