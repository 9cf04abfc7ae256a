"""Rows: the keys of what a sweep stores per run, how they are measured, and what rows say over seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .controllers import controller_of
from .ground.statistics import Slope, Spread, minimum_of, slope_of, spread
from .ideal import smallest_feasible_delta
from .measures import conditions, enclosing_ball, eta_alpha_max, loss_variation, memory_variation, rho_bar
from .quadratics import Array
from .settings import ETA_FACTOR
from .simulation import Run
from .store import Row

#: The measured keys of a row, in the order of the columns, with their meaning.
MEASURED_KEYS = {
    "avg_grad_sq_before": "(1/T) sum_t |grad Phi_t(x_{t-1})|^2, the left side of thm:gradient_norm_bound",
    "avg_grad_sq_after": "(1/T) sum_t |grad Phi_t(x_t)|^2",
    "avg_Qbar": "(1/T) sum_t Qbar[t-1], the average queue",
    "Delta_bar": "(1/T) sum_t Delta_t",
    "rho_bar": "(1/T) sum_t rho_{t,-} over the smallest ball W around optima and models",
    "D_phi": "D_Phi[T] over W (def:Dphi)",
    "D_phi_trajectory": "D_Phi[T] along the models x_{t-1}",
    "D_phi_hull": "D_Phi[T] over the convex hull of the models",
    "D_phi_hat": "D_{Phi,hatPhi}[T] over W",
    "eta_alpha_max": "max_t eta alpha_t",
    "step_half": "whether eta <= 1/(2 alpha_t) at every task, the premise of thm:gradient_norm_bound",
    "step_one": "whether eta <= 1/alpha_t at every task, which is enough for it",
    "delta_min": "smallest delta' for which eq:ideal_cl has a solution; Theorems 1 and 2 ask for delta > delta'",
    "diverged": "whether the models left every bounded set",
    "avg_forgetting": "mean of F_k[t] = hatPhi_k(x_t) - hatPhi_k(x_k) over all pairs k < t, whatever the reference",
    "max_forgetting": "largest F_k[t] over all pairs k < t",
}

_UNSET = {"controller": "queue", "V_schedule": "constant", "window": "all"}  # what null means, in a word

#: The keys that say which run it was.
CONFIG_KEYS = {
    "source": "the tasks: regime with all its constants, or file with its digest",
    "regime": "short name of the source",
    "T": "number of tasks",
    "d": "dimension",
    "memory": "points per task that the memory keeps, for sampled tasks; else null",
    "seed": "seed of the task stream",
    "V": "weight of the present task's loss",
    "eta": "step size, or 'auto' for eta_factor / alpha_t",
    "eta_factor": "factor of 'auto'; null for 1/2",
    "delta": "tolerance of the queues",
    "steps": "gradient steps per task",
    "reference": "'previous' (COLD), 'best' (COLD-ORACLE) or 'stored' (the model at the end of the past task)",
    "weights": "'mean', 'sum' or 'none'",
    "solver": "'gd' or 'exact'",
    "window": "number of latest models among which 'best' chooses; null for all",
    "noise": "standard deviation of the gradient noise per coordinate",
    "controller": "rule that makes the weights of past tasks, with its parameters; null for the queue",
    "V_schedule": "how V moves over the tasks; null for a constant V",
    "key": "hash of the configuration",
}


def measured(run: Run) -> dict[str, np.ndarray]:
    """`MEASURED_KEYS` as arrays over the runs of a batch."""
    ball = enclosing_ball(run)
    held = conditions(run, ball)
    return {
        "avg_grad_sq_before": run.avg_grad_sq_before,
        "avg_grad_sq_after": run.avg_grad_sq_after,
        "avg_Qbar": run.avg_Qbar,
        "Delta_bar": run.Delta_bar,
        "rho_bar": rho_bar(run, ball=ball),
        "D_phi": loss_variation(run, ball=ball),
        "D_phi_trajectory": loss_variation(run, "trajectory"),
        "D_phi_hull": loss_variation(run, "hull"),
        "D_phi_hat": memory_variation(run, ball=ball),
        "eta_alpha_max": eta_alpha_max(run),
        "step_half": held.step_half,
        "step_one": held.step_one,
        "delta_min": _delta_min(run),
        "diverged": run.diverged,
        "avg_forgetting": run.avg_forgetting,
        "max_forgetting": run.max_forgetting,
    }


def _delta_min(run: Run) -> np.ndarray:
    """One number per stream, the same for all its settings: (...)."""
    hat = run.tasks.phi_hat
    streams = [hat] if not run.tasks.streams else [hat[s] for s in range(run.tasks.streams[0])]
    smallest = np.array([smallest_feasible_delta(stream) for stream in streams]).reshape(run.tasks.streams)
    axes = (1,) * (run.diverged.ndim - smallest.ndim)
    return np.broadcast_to(smallest.reshape((*smallest.shape, *axes)), run.diverged.shape)


def axis_value(row: Row, axis: str) -> Any:
    """A row's value of a swept setting; `controller.a` is the parameter a of its controller."""
    if axis.startswith("controller."):
        return getattr(controller_of(row.get("controller")), axis.removeprefix("controller."))
    if axis == "eta_factor":
        return row.get(axis) or ETA_FACTOR
    if axis in _UNSET and row.get(axis) is None:
        return _UNSET[axis]
    return row[axis]


def plain(value: Any) -> Any:
    """A JSON value: numpy types become Python's, and what is not finite becomes None."""
    value = value.item() if isinstance(value, np.generic | np.ndarray) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


# ---------------------------------------------------------------------------------------------------
# Over seeds. Rows of runs that diverged do not count.


def mean_over_seeds(rows: Sequence[Row], name: str) -> Spread:
    """Mean and spread of one column; n = 0 and NaN where every run diverged, or was stored without this column."""
    found = spread(float(row[name]) for row in rows if not row["diverged"] and row.get(name) is not None)
    return Spread(float("nan"), None, 0) if found is None else found


def table_of(rows: Sequence[Row], axis: str, name: str) -> tuple[Array, Array]:
    """Values of the axis (n,) and of `name` (seeds, n); NaN where a run diverged."""
    x = sorted({axis_value(row, axis) for row in rows})
    seeds = sorted({row["seed"] for row in rows})
    table = np.full((len(seeds), len(x)), np.nan)
    for row in rows:
        if not row["diverged"] and row.get(name) is not None:
            table[seeds.index(row["seed"]), x.index(axis_value(row, axis))] = row[name]
    return np.array(x, dtype=float), table


def loglog_slope(rows: Sequence[Row], axis: str, name: str, between: tuple[float, float] | None = None) -> Slope | None:
    """d log(name) / d log(axis), with its interval over seeds; None if fewer than three points serve."""
    return slope_of(*table_of(rows, axis, name), between)


def smallest_at(rows: Sequence[Row], axis: str, name: str) -> Spread | None:
    """Where `name` is smallest along the axis, over seeds; None unless that lies inside the grid."""
    return minimum_of(*table_of(rows, axis, name))
