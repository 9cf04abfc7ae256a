"""The numbers of the theory for given tasks, at the models of one run: what the bounds are made of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import measures
from ..bounds.base import quiet
from ..bounds.comparators import Comparators, solve
from ..bounds.facts import Reading
from ..bounds.run_facts import RunFacts
from ..ideal import smallest_feasible_delta
from ..quadratics import Array
from ..simulation import Run
from ..tasks import Tasks

_MOST_WORK = 2e10  # of the conflict over W for matrix Hessians, one trust-region problem per pair of tasks

Shared = dict[float, tuple[Array, Array]]


class TaskFacts(RunFacts):
    """Facts of a run with one setting; runs on the same tasks share the solutions of the ideal problem, by delta."""

    def __init__(self, run: Run, shared: Shared) -> None:
        super().__init__(run)
        self._shared = shared

    @cached_property
    def _ideal(self) -> Comparators:
        delta = float(self.delta)
        if delta in self._shared:
            points, delta_prime = self._shared[delta]
            return solve(self, delta_prime, points)
        found = solve(self, None, None)
        if found.feasible.all():
            self._shared[delta] = (found.w, found.delta_prime)
        return found

    def rho(self, reading: Reading) -> Array:
        if reading == "ball" and self.too_large:
            return np.full((*self.lead, self.T), np.nan)
        return super().rho(reading)

    @property
    def too_large(self) -> bool:
        """Whether the infimum over W of <grad Phi_t, grad hatPhi_k> would take minutes; statements that need it are
        then left out."""
        pairs = math.prod(self.lead) * self.T**2 / 2
        return not self.phi.isotropic and pairs * self.phi.d**3 > _MOST_WORK


@dataclass(frozen=True)
class Conflict:
    """How gradients of different tasks agree: <grad Phi_t, grad hatPhi_k> at x_{t-1}, over all pairs k < t."""

    share: float  #: of the pairs whose gradients point against each other
    cosine: float  #: the mean cosine of the angle between them
    worst: tuple[int, int] | None  #: t and k of the pair with the most negative product; None if no product is negative


def smallest_tolerance(tasks: Tasks) -> float:
    """delta': the smallest tolerance with which the ideal problem has a solution, in every stream."""
    streams = tasks.phi_hat if tasks.streams else tasks.phi_hat[None]
    return max(smallest_feasible_delta(streams[s]) for s in range(len(streams.optima)))


def conflict_of(run: Run) -> Conflict:
    """Over all streams of a run with one setting."""
    facts = RunFacts(run)
    T = run.tasks.T
    if T == 1:
        return Conflict(0.0, 1.0, None)
    before = run.w[..., :-1, :]
    gradients = facts.phi.gradients_at(before)
    negative, cosines, least, worst = 0, 0.0, 0.0, None
    with quiet():
        for t in range(1, T):
            past = facts.phi_hat.gradients(before[..., t : t + 1, :])[..., 0, :t, :]
            g = gradients[..., t, None, :]
            products = np.vecdot(past, g)
            sizes = np.sqrt(np.vecdot(past, past) * np.vecdot(g, g))
            negative += int((products < 0).sum())
            cosines += float(np.divide(products, sizes, out=np.zeros_like(products), where=sizes > 0).sum())
            if products.min() < least:
                least = float(products.min())
                worst = (t + 1, int(np.unravel_index(products.argmin(), products.shape)[-1]) + 1)
    pairs = math.prod(run.tasks.streams) * T * (T - 1) // 2
    return Conflict(negative / pairs, cosines / pairs, worst)


#: The quantities of a portrait, in the order of the page, with their meaning.
QUANTITIES = {
    "L": "the largest curvature of a task's loss Phi_t",
    "l": "the largest curvature of a memory loss hatPhi_k",
    "r": "the largest distance in W from a memory optimum",
    "delta_min": "delta', below which no model suits all past tasks",
    "D_phi": "change of the loss from task to task, at most on W",
    "D_phi_trajectory": "the same at the models",
    "D_phi_hat": "change from a task's memory to the next task, on W",
    "rho_bar": "conflict with the gradients of past tasks, on W",
    "rho_bar_trajectory": "the same at the models",
    "Delta_bar": "half the mean square of the queues' increments",
}


def quantities_of(facts: TaskFacts, tasks: Tasks, delta_min: float) -> Mapping[str, float]:
    """`QUANTITIES`, means over the streams; W is the smallest ball around optima and models."""
    run = facts.run
    with quiet():
        found = {
            "L": tasks.phi.smoothness,
            "l": tasks.phi_hat.smoothness,
            "r": facts.r,
            "delta_min": delta_min,
            "D_phi": facts.variation("ball").mean(axis=-1),
            "D_phi_trajectory": facts.variation("trajectory").mean(axis=-1),
            "D_phi_hat": measures.memory_variation(run, ball=facts.ball),
            "rho_bar": facts.rho("ball").mean(axis=-1),
            "rho_bar_trajectory": facts.rho("trajectory").mean(axis=-1),
            "Delta_bar": run.Delta_bar,
        }
        return {name: float(np.mean(values)) for name, values in found.items()}
