"""Squared gradient against t for several V, alone and in the paper's three panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..ground.statistics import slope_of
from ..simulation import simulate
from ..tasks import make_tasks
from . import style as s
from .table import Table, Tell, counted, mean_and_quantiles, quiet

_V_LINES: tuple[dict[str, Any], ...] = (
    {"linestyle": ":"},
    {"linestyle": "--"},
    {"linestyle": "-"},
    {"linestyle": "-."},
)
_V_COLORS = ("#9ecae1", "#4292c6", "#08306b", "black")  # light to dark: small to large V


def trajectory(*, regimes: Sequence[str], V: Sequence[float], seeds: int, T: int, tell: Tell = quiet) -> Table:
    """|grad Phi_t|^2 before and after each task: mean and the 10 % and 90 % quantiles over seeds."""
    rows: list[dict[str, Any]] = []
    for regime in counted(regimes, tell):
        run = simulate(make_tasks(regime, range(seeds), T=T), V=V)
        for v, value in enumerate(V):
            for t in range(T):
                before = _spread("grad_sq_before", run.grad_sq_before[:, v, t])
                after = _spread("grad_sq_after", run.grad_sq_after[:, v, t])
                rows.append({"regime": regime, "V": value, "t": t + 1, **before, **after})
    return Table.of(rows)


def _spread(name: str, values: np.ndarray) -> dict[str, float]:
    found = mean_and_quantiles(values)
    return {name: found["mean"], f"{name}_low": found["low"], f"{name}_high": found["high"]}


def draw_trajectory(tables: Mapping[str, Table]) -> Figure:
    """Before a task (top) and after it (bottom), one column per regime."""
    table = tables["trajectory"]
    figure, axes = s.panels(3, 2, height=3.7, sharex=True)
    for column, regime in enumerate(s.REGIME_COLOR):
        for row, moment in enumerate(("grad_sq_before", "grad_sq_after")):
            ax = axes[row, column]
            for value, color in zip(table.values("V"), _V_COLORS, strict=False):
                one = table.where(regime=regime, V=value)
                ax.plot(one["t"], one[moment], color=color, linewidth=0.9)
                ax.fill_between(
                    one["t"], one[f"{moment}_low"], one[f"{moment}_high"], color=color, alpha=0.2, linewidth=0
                )
            ax.set_yscale("log")
            ax.set_title(s.REGIME_NAME[regime])
        axes[1, column].set_xlabel("task t")
    axes[0, 0].set_ylabel(r"before: $\|\nabla\Phi_t(x_{t-1})\|^2$")
    axes[1, 0].set_ylabel(r"after: $\|\nabla\Phi_t(x_t)\|^2$")
    s.letter(list(axes.flat))
    handles = [Line2D([], [], color=c, label=f"V = {v:g}") for v, c in zip(table.values("V"), _V_COLORS, strict=False)]
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return s.finish(figure)


def draw_theory_plots(tables: Mapping[str, Table]) -> Figure:
    """Gradient against V, queue against V, gradient against t, for the paper's two regimes."""
    sweep, series = tables["sweep_V"], tables["trajectory"]
    figure, axes = s.panels(3, height=2.5)
    left, centre, right = axes[0]
    for regime in ("low", "high"):
        color, here = s.REGIME_COLOR[regime], sweep.where(regime=regime)
        V, after = here.grid("V", "avg_grad_sq_after")
        fit = slope_of(V, after, s.FIT)
        words = s.REGIME_NAME[regime] + (s.minus(f", slope {fit.slope:.2f}") if fit else "")
        s.band(left, V, after, color=color, label=words, **s.AFTER)
        _, before = here.grid("V", "avg_grad_sq_before")
        s.band(left, V, before, color=color, **s.BEFORE)
        _, queue = here.grid("V", "avg_Qbar")
        factor = 20.0 if regime == "low" else 1.0
        s.band(centre, V, factor * queue, color=color, label=s.REGIME_NAME[regime] + (" (× 20)" if factor > 1 else ""))
        for value, line in zip(series.values("V"), _V_LINES, strict=False):
            one = series.where(regime=regime, V=value)
            right.plot(one["t"], one["grad_sq_after"], color=color, linewidth=0.9, **line)
    s.loglog(left, "V", s.GRADIENT)
    left.legend(loc="lower left", title="dashed: after, solid: before")
    centre.set(xlabel="V", ylabel=s.QUEUE)
    centre.legend(loc="upper left")
    right.set_yscale("log")
    right.set(xlabel="task t", ylabel=r"$\|\nabla\Phi_t(x_t)\|^2$, mean over seeds")
    handles = [
        Line2D([], [], color="black", label=f"V = {v:g}", **line)
        for v, line in zip(series.values("V"), _V_LINES, strict=False)
    ]
    right.legend(handles=handles, loc="upper right")
    for ax, title in zip((left, centre, right), ("gradient and V", "queue and V", "gradient over tasks"), strict=True):
        ax.set_title(title)
    s.letter([left, centre, right])
    return s.finish(figure)
