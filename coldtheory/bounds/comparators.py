"""The comparators w*_t of Theorems 1 and 2: points that satisfy eq. ideal_cl's constraints with tolerance delta'."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ColdError
from ..ideal import ideal_points, smallest_feasible_delta
from ..quadratics import Array
from .facts import Facts
from .run_facts import RunFacts

_FEASIBLE = 1e-9  # delta' must exceed the smallest feasible one by this share; a constraint may be off by it


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
    if not isinstance(facts, RunFacts):
        raise ColdError("comparators are solved for runs on quadratics only: the losses must be known")
    run, lead = facts.run, facts.lead
    streams = run.tasks.streams
    count = int(np.prod(streams, dtype=int))
    flat = run.tasks if streams else run.tasks[None]
    if len(streams) > 1:
        raise ColdError("comparators need tasks with at most one axis of streams")
    delta = np.broadcast_to(run.delta, lead).reshape(count, -1)
    lowest = np.array([smallest_feasible_delta(flat.phi_hat[i]) for i in range(count)])[:, None]
    if delta_prime is None:
        wanted = 0.5 * (lowest + delta)
        wanted = np.where(delta > lowest, wanted, np.nan)
    else:
        wanted = np.broadcast_to(np.asarray(delta_prime, dtype=np.float64), lead).reshape(count, -1)
    if w_star is None:
        w = np.full((*delta.shape, run.tasks.T, run.tasks.d), np.nan)
        possible = wanted > lowest * (1.0 + 2 * _FEASIBLE)
        for i in range(count):
            for value in np.unique(wanted[i][possible[i]]):
                w[i, wanted[i] == value] = ideal_points(flat[i], float(value)).w_star
        points = w.reshape(*lead, run.tasks.T, run.tasks.d)
    else:
        points = np.broadcast_to(np.asarray(w_star, dtype=np.float64), (*lead, run.tasks.T, run.tasks.d))
    limit = np.asarray(wanted.reshape(lead))
    return Comparators(points, *_measured(facts, points), limit, _feasible(facts, points, limit))


def _measured(facts: RunFacts, points: Array) -> tuple[Array, Array]:
    loss = facts.phi.at(points)
    hat = facts.phi_hat
    later = hat.optima[..., :-1, :], hat.hessians[..., :-1] if hat.isotropic else hat.hessians[..., :-1, :, :]
    previous = type(hat)(*later, hat.offsets[..., :-1]).at(points[..., 1:, :])
    gap = np.zeros(np.broadcast_shapes(loss.shape))
    gap[..., 1:] = np.abs(loss[..., 1:] - previous)
    return loss, gap


def _feasible(facts: RunFacts, points: Array, limit: Array) -> np.ndarray:
    """hatPhi_k(w*_t) - inf hatPhi_k <= delta' for all k < t."""
    worst = np.zeros(facts.lead)
    for t in range(1, facts.T):
        excess = facts.phi_hat.at(points[..., t : t + 1, :])[..., :t] - facts.phi_hat.offsets[..., :t]
        worst = np.maximum(worst, excess.max(axis=-1))
    return np.asarray(worst <= limit * (1.0 + _FEASIBLE))
