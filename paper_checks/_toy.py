"""The runs behind the claims on the toy section: the paper's settings, 20 seeds, made once."""

from __future__ import annotations

from functools import cache

import numpy as np

from coldtheory import Run, Tasks, make_tasks, simulate
from coldtheory.figures.catalogue import Scale
from coldtheory.ground.statistics import Slope, Spread, minimum_of, slope_of
from coldtheory.paper import TOY
from coldtheory.prediction import predicted_grad_sq_before
from coldtheory.quadratics import Array
from coldtheory.settings import Reference, Weights
from coldtheory.tasks import base_and_drift

ETA, DELTA, STEPS, T = TOY.eta, TOY.delta, TOY.steps, TOY.T
SEEDS = range(20)
V = np.geomspace(5.0, 2400.0, 60)  # up to eta V = 0.96
FIT = (50.0, 200.0)  # the range in which the printed figures are read
SWEEP = Scale()


@cache
def tasks(regime: str) -> Tasks:
    """The 20 streams of a regime at the settings of the paper."""
    return make_tasks(regime, SEEDS)


def runs(regime: str, weights: Weights = "mean", steps: int = STEPS, reference: Reference = "previous") -> Run:
    """20 seeds x 60 V of a regime."""
    return _runs(regime, weights, steps, reference)


@cache  # by value, however a caller names the arguments
def _runs(regime: str, weights: Weights, steps: int, reference: Reference) -> Run:
    return simulate(tasks(regime), V=V, eta=ETA, delta=DELTA, steps=steps, weights=weights, reference=reference)


def slope(regime: str, name: str, between: tuple[float, float] = FIT, steps: int = STEPS) -> Slope:
    """Log-log slope over V of avg_grad_sq_before, avg_grad_sq_after or avg_Qbar."""
    found = slope_of(V, getattr(runs(regime, steps=steps), name), between)
    assert found is not None
    return found


@cache
def turning_point(regime: str, tasks_seen: int = T) -> Spread:
    """Where the average gradient before a task is smallest: each seed's own V, then the mean and its error.

    The values of V are those of `coldtheory sweep-V` and of `coldtheory plot turning`, which print the same numbers.
    """
    V = SWEEP.V if tasks_seen == T else SWEEP.V_lengths[4:18]
    run = simulate(make_tasks(regime, SEEDS, T=tasks_seen), V=V, eta=ETA, delta=DELTA)
    found = minimum_of(np.array(V), run.avg_grad_sq_before)
    assert found is not None
    return found


def predicted_turning_point(regime: str, tasks_seen: int, *, start_at_base: bool = False) -> float:
    """The same of the closed-form gradient, which knows no queue."""
    grid = np.geomspace(20.0, 2000.0, 60)
    curves: list[Array] = []
    for seed in SEEDS:
        base, drift = base_and_drift(regime, seed)
        c2 = {"low": 0.0004, "high": 0.0064}[regime]
        start = base if start_at_base else None
        each_task = predicted_grad_sq_before(
            grid, w_base=base, drift_vector=drift, w0=start, c2=c2, T=tasks_seen, eta=ETA, steps=STEPS
        )
        curves.append(each_task.mean(axis=1))
    found = minimum_of(grid, np.stack(curves))
    assert found is not None
    return found.mean
