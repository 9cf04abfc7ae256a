"""The tables behind the theory figures that no sweep stores: series over t, queues, and closed forms.

Every function takes plain values and returns a tidy `Table`; the same values give the same table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import measures
from ..bounds import Bound, evaluate, facts_of
from ..ideal import ideal_points, smallest_feasible_delta
from ..paper import TOY
from ..prediction import predicted_grad_sq_before
from ..settings import Reference
from ..simulation import simulate
from ..tasks import REGIMES, from_optima, make_tasks
from .table import Table

_QUANTILES = {"low": 0.1, "high": 0.9}
_SEEDS_AT_ONCE = 5


def trajectory(*, regimes: Sequence[str], V: Sequence[float], seeds: int, T: int) -> Table:
    """|grad Phi_t|^2 before and after each task: mean and the 10 % and 90 % quantiles over seeds."""
    rows: list[dict[str, Any]] = []
    for regime in regimes:
        run = simulate(make_tasks(regime, range(seeds), T=T), V=V)
        series = {"grad_sq_before": run.grad_sq_before, "grad_sq_after": run.grad_sq_after}
        for v, value in enumerate(V):
            here = {name: array[:, v] for name, array in series.items()}
            rows += [
                {"regime": regime, "V": value, "t": t + 1, **_spread({n: a[:, t] for n, a in here.items()})}
                for t in range(T)
            ]
    return Table.of(rows)


def queue_maps(
    *, regime: str, references: Sequence[Reference], V: Sequence[float], delta: Sequence[float], eta: float, seed: int,
    T: int, stride: int,
) -> Table:  # fmt: skip
    """Q_k[t] for every `stride`-th t and k < t, of one seed, for pairs (V, delta): a picture has no more pixels."""
    tasks = make_tasks(regime, seed, T=T)
    rows: list[dict[str, Any]] = []
    for reference in references:
        run = simulate(tasks, V=V, delta=delta, eta=eta, reference=reference)
        Q = run.Q
        for s, (v, d) in enumerate(zip(V, delta, strict=True)):
            here = {"regime": regime, "reference": reference, "V": v, "delta": d}
            for t in range(stride, T + 1, stride):
                rows += [{**here, "t": t, "k": k, "Q": Q[s, t, k - 1]} for k in range(1, t, stride)]
    return Table.of(rows)


def queue_caps(*, eta: Mapping[str, float], V: Sequence[float], seeds: int, T: int) -> Table:
    """The largest queue max_{t,k} Q_k[t] of each run of COLD, and l r^2/2, which it cannot pass; eta a regime."""
    rows = []
    for regime, step in eta.items():
        run = simulate(make_tasks(regime, range(seeds), T=T), V=V, eta=step)
        largest = run.Q.max(axis=(-1, -2))
        cap = 0.5 * run.tasks.phi_hat.smoothness[:, None] * measures.r_constant(run) ** 2
        rows += [
            {"regime": regime, "V": v, "seed": s, "Q_max": largest[s, i], "cap": cap[s, i]}
            for s in range(seeds)
            for i, v in enumerate(V)
        ]
    return Table.of(rows)


def prediction(*, regimes: Sequence[str], V: Sequence[float], seeds: int, T: Sequence[int]) -> Table:
    """The closed form of the average gradient before a task (no queue), for the base and drift of each seed."""
    rows = []
    for regime in regimes:
        for length in T:
            for seed in range(seeds):
                base, way, c2 = _centre(regime, seed, length)
                curve = predicted_grad_sq_before(
                    V, w_base=base, drift_vector=way, c2=c2, T=length, eta=TOY.eta, steps=TOY.steps
                ).mean(axis=-1)
                rows += [
                    {"regime": regime, "T": length, "seed": seed, "V": v, "avg_grad_sq_before": g}
                    for v, g in zip(V, curve, strict=True)
                ]
    return Table.of(rows)


def variation(*, noise: Sequence[float], drift: Sequence[float], seeds: int, T: int, V: float) -> Table:
    """D_Phi, rho_bar and Delta_bar of HIGH when its noise c2 or its drift changes, the other as in the paper."""
    settings = [("noise", "c2", value) for value in noise] + [("drift", "drift", value) for value in drift]
    rows = []
    for axis, constant, value in settings:
        given: dict[str, Any] = {"T": T, constant: value}
        run = simulate(make_tasks("high", range(seeds), **given), V=V)
        ball = measures.enclosing_ball(run)
        found = {
            "D_phi": measures.loss_variation(run, ball=ball),
            "D_phi_trajectory": measures.loss_variation(run, "trajectory"),
            "rho_bar": measures.rho_bar(run, ball=ball),
            "Delta_bar": run.Delta_bar,
            "avg_grad_sq_before": run.avg_grad_sq_before,
            "avg_Qbar": run.avg_Qbar,
        }
        rows += [
            {"axis": axis, "value": value, "seed": s, **{name: array[s] for name, array in found.items()}}
            for s in range(seeds)
        ]
    return Table.of(rows)


def picture(*, rounds: int, V: Sequence[float], slack: float) -> Table:
    """COLD-ORACLE in the plane: three kinds of task take turns, at the corners of a triangle.

    delta = delta' is `slack` times the smallest one for which eq. ideal_cl has a solution. The minimiser of
    DPP_t is taken exactly. The path named "off" has the queue switched off. `loss` is that of task 1, `average`
    its mean over all tasks after the first, which the method is to keep below delta.
    """
    angle = np.deg2rad([90.0, 210.0, 330.0])
    corners = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    tasks = from_optima(corners[np.arange(3 * rounds) % 3])
    delta = slack * smallest_feasible_delta(tasks.phi_hat)
    rows: list[dict[str, Any]] = [
        {"what": "optimum", "t": k + 1, "x": x, "y": y, "loss": 0.0, "average": 0.0, "queue": 0.0, "delta": delta}
        for k, (x, y) in enumerate(corners)
    ]
    ideal = ideal_points(from_optima(np.tile(corners, (2, 1))), delta).w_star[3:]  # all three kinds are past ones
    rows += list(_path("ideal", None, ideal, corners[0], delta, np.zeros(len(ideal))))
    for value in (*V, None):
        off = value is None
        run = simulate(
            tasks, V=1.0 if value is None else value, delta=delta, reference="best", solver="exact",
            weights="none" if off else "mean", w0=corners[0],
        )  # fmt: skip
        queue = np.zeros(tasks.T) if off else run.Q[1:, 0]
        rows += list(_path("off" if off else "model", value, run.w[1:], corners[0], delta, queue))
    return Table.of(rows)


def _path(
    what: str, V: float | None, w: np.ndarray, first: np.ndarray, delta: float, queue: np.ndarray
) -> Iterator[dict[str, Any]]:
    loss = 0.5 * np.square(w - first).sum(axis=-1)
    average = np.concatenate([[0.0], loss[1:].cumsum() / np.arange(1, len(loss))])
    for t, point in enumerate(w):
        place = {"what": what, "V": V, "t": t + 1, "x": point[0], "y": point[1]}
        yield {**place, "loss": loss[t], "average": average[t], "queue": queue[t], "delta": delta}


def bound_terms(*, regimes: Sequence[str], V: Sequence[float], seeds: int, T: int) -> Table:
    """Each statement's left side, right side, terms and their ratio, in the forms that hold, over a V-sweep.

    Mean and quantiles over seeds; empty where a premise fails or the measured side is 0 for some seed.
    """
    rows: list[dict[str, Any]] = []
    for regime in regimes:
        parts: dict[tuple[str, str], list[dict[str, np.ndarray]]] = {name: [] for name in BOUNDS}
        for first in range(0, seeds, _SEEDS_AT_ONCE):  # every queue of every run is kept while its bounds are evaluated
            some = range(first, min(first + _SEEDS_AT_ONCE, seeds))
            run = simulate(make_tasks(regime, some, T=T), V=V)
            facts = facts_of(run)
            for name in BOUNDS:
                parts[name].append(_parts(evaluate(*name, facts)))
        for (id_, form), pieces in parts.items():
            for part in pieces[0]:
                array = np.concatenate([piece[part] for piece in pieces])
                here = {"regime": regime, "statement": id_, "form": form, "part": part}
                rows += [{**here, "V": v, **_mean(array[:, i])} for i, v in enumerate(V)]
    return Table.of(rows)


def _parts(bound: Bound) -> dict[str, np.ndarray]:
    """(streams, V) arrays by name, NaN where the statement does not apply."""
    use = bound.applicable
    sides = {"measured": bound.lhs, "bound": bound.rhs, "ratio": bound.rhs / np.where(bound.lhs > 0, bound.lhs, np.nan)}
    return {
        n: np.where(use, a, np.nan) for n, a in {**sides, **{f"term: {t}": v for t, v in bound.terms.items()}}.items()
    }


#: (statement, form) whose tightness is drawn.
BOUNDS = (
    ("thm3", "corrected"),
    ("thm3", "trajectory"),
    ("thm3_sharp", "corrected"),
    ("thm3_sharp", "sharp"),
    ("cor1", "corrected"),
    ("thm4", "corrected"),
    ("thm4", "progress"),
    ("thm4", "by_lindley"),
    ("thm4", "a_priori"),
)


def _centre(regime: str, seed: int, T: int) -> tuple[np.ndarray, np.ndarray | None, float]:
    """w_base, drift vector and c2 of a stream, read off the regime itself with its noise set to 0."""
    make = REGIMES[regime]
    constants = make.__kwdefaults__ or {}
    still = make(seed, T=2, c2=0.0)
    if regime == "low":
        return still[0], None, float(constants["c2"])
    step = still[1] - still[0]  # half of the way: drift * v / 2
    return still[0] - step, 2.0 * step, float(constants["c2"])


def _spread(arrays: dict[str, np.ndarray]) -> dict[str, float]:
    found = {}
    for name, values in arrays.items():
        found[name] = float(values.mean())
        found |= {f"{name}_{side}": float(np.quantile(values, q)) for side, q in _QUANTILES.items()}
    return found


def _mean(values: np.ndarray) -> dict[str, float]:
    return {
        "mean": float(values.mean()),
        "low": float(np.quantile(values, 0.1)),
        "high": float(np.quantile(values, 0.9)),
    }
