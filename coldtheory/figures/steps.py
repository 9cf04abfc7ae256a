"""Steps that follow the queues, V that moves, and noisy gradients: both sides of their theorems over T."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..bounds import Bound, evaluate, facts_of
from ..settings import Reference
from ..simulation import simulate
from . import style as s
from .table import Table, Tell, counted, quiet

#: statement -> title, axis, and the form per reference that has one
_PANELS: dict[str, tuple[str, str, dict[Reference, str]]] = {
    "adaptive_step": (r"$\eta_t=c/\alpha_t$", s.GRADIENT_BEFORE, {"previous": "any_case", "stored": "any_case"}),
    "moving_gradient": (r"$V_t=V\,t^{1/3}$", s.GRADIENT_BEFORE, {"previous": "any_case", "stored": "any_case"}),
    "noise_gradient": ("noisy gradients", s.GRADIENT_BEFORE, {"previous": "proved"}),
    "moving_gap": (r"$V_t=V\,t^{1/3}$, minimiser", "gap to the ideal loss", {"previous": "proved", "stored": "proved"}),
    "moving_queue": (r"$V_t=V\,t^{1/3}$, minimiser", s.QUEUE, {"previous": "exact", "stored": "exact"}),
    "noise_queue": ("noisy gradients", s.QUEUE, {"previous": "proved"}),
}
_CASES: tuple[Reference, ...] = ("previous", "stored")
_CASE = {"previous": "Case 1", "stored": "Case 3"}
_MEASURED: dict[str, Any] = {"linestyle": "-"}
_BOUND: dict[str, Any] = {"linestyle": (0, (4, 1.5))}
_POWER = 1.0 / 3.0
_ROOM, _FEASIBLE = 0.55, 0.5  # delta and delta' of the minimisers


def steps_over_T(
    *, lengths: Sequence[int], factor: float, delta: float, noise: float, eta: float, noise_seeds: int,
    tell: Tell = quiet,
) -> Table:  # fmt: skip
    """Both sides of each statement on two streams in one dimension: tasks at -1 and 1 in turn, and, for the noise, a
    task that stays at 0 and is met from 1, averaged over the noise seeds."""
    rows: list[dict[str, Any]] = []
    for T in counted(list(lengths), tell):
        moving = np.arange(1.0, T + 1.0) ** _POWER
        turns = np.where(np.arange(T) % 2 == 0, -1.0, 1.0)[:, None]
        star = np.where(np.arange(T)[:, None] == 0, turns, 0.0)  # 0 is within delta' of every optimum
        bounds: dict[tuple[str, str], Bound] = {}
        for case in _CASES:
            adaptive: dict[str, Any] = {"eta": "auto", "eta_factor": factor, "delta": delta, "steps": 1}
            run = simulate(turns, V=1.0, reference=case, **adaptive)
            bounds["adaptive_step", case] = evaluate("adaptive_step", "any_case", run)
            run = simulate(turns, V=1.0, reference=case, V_schedule=moving, **adaptive)
            bounds["moving_gradient", case] = evaluate("moving_gradient", "any_case", run)
            minimised: dict[str, Any] = {"delta": _ROOM, "solver": "exact", "w0": turns[0]}
            exact = facts_of(simulate(turns, V=1.0, reference=case, V_schedule=moving, **minimised))
            for id_, form in (("moving_gap", "proved"), ("moving_queue", "exact")):
                bounds[id_, case] = evaluate(id_, form, exact, w_star=star, delta_prime=_FEASIBLE)
        still: dict[str, Any] = {"eta": eta, "delta": delta, "steps": 1, "noise": noise, "w0": [1.0]}
        noisy = facts_of(simulate(np.zeros((noise_seeds, T, 1)), V=1.0, **still))
        for id_ in ("noise_gradient", "noise_queue"):
            bounds[id_, "previous"] = evaluate(id_, "proved", noisy)
        for (id_, name), bound in bounds.items():
            sides = {"measured": bound.lhs, "bound": bound.rhs, "without_noise": bound.rhs}
            if "noise" in bound.terms:
                sides["without_noise"] = bound.rhs - bound.terms["noise"]
            met = bool(bound.applicable.all())
            rows.append(
                {"statement": id_, "reference": name, "T": T}
                | {side: float(np.mean(values)) if met else float("nan") for side, values in sides.items()}
            )
    return Table.of(rows)


def draw_moving(tables: Mapping[str, Table]) -> Figure:
    """One panel per statement: the measured side and the bound over T, Case 1 beside Case 3."""
    table = tables["steps_over_T"]
    figure, axes = s.panels(3, 2, height=4.3)
    for ax, (id_, (title, label, forms)) in zip(axes.flat, _PANELS.items(), strict=True):
        for reference in forms:
            rows = table.where(statement=id_, reference=reference)
            _curves(ax, rows, s.CASE_COLOR[reference], noisy=id_.startswith("noise"))
        ax.set_xscale("log")
        if id_ == "moving_gap":
            ax.axhline(0.0, color="0.5", linewidth=0.5)
        else:
            ax.set_yscale("log")
        ax.set(xlabel="number of tasks T", ylabel=label, title=title)
    handles = [Line2D([], [], color=s.CASE_COLOR[case], label=words) for case, words in _CASE.items()]
    handles += [Line2D([], [], color="black", marker="o", markersize=2.5, label="measured", **_MEASURED)]
    handles += [Line2D([], [], color="black", label="bound", **_BOUND)]
    handles += [Line2D([], [], color="black", linestyle=":", label="bound without its noise term")]
    figure.legend(handles=handles, loc="outside lower center", ncols=5)
    s.letter(list(axes.flat))
    return s.finish(figure)


def _curves(ax: Axes, rows: Table, color: str, *, noisy: bool) -> None:
    T = rows["T"]
    ax.plot(T, rows["measured"], color=color, marker="o", markersize=2.5, **_MEASURED)
    ax.plot(T, rows["bound"], color=color, **_BOUND)
    if noisy:
        ax.plot(T, rows["without_noise"], color=color, linestyle=":")
