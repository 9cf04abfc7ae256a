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
    """Gradient against V, queue against V (each regime on an axis of its own), and gradient against t."""
    sweep, series = tables["sweep_V"], tables["trajectory"]
    figure = s.new_figure(s.PAGE, 2.9)
    grid = figure.add_gridspec(2, 3)
    left, right = figure.add_subplot(grid[:, 0]), figure.add_subplot(grid[:, 2])
    upper = figure.add_subplot(grid[0, 1])
    lower = figure.add_subplot(grid[1, 1], sharex=upper)
    upper.tick_params(labelbottom=False)
    queues = {"high": upper, "low": lower}
    slopes = {}
    for regime in ("low", "high"):
        color, here = s.REGIME_COLOR[regime], sweep.where(regime=regime)
        V, after = here.grid("V", "avg_grad_sq_after")
        fit = slope_of(V, after, s.FIT)
        slopes[regime] = s.minus(f", slope after {fit.slope:.2f}") if fit else ""
        s.band(left, V, after, color=color, **s.AFTER)
        s.band(left, V, here.grid("V", "avg_grad_sq_before")[1], color=color, **s.BEFORE)
        s.band(queues[regime], V, here.grid("V", "avg_Qbar")[1], color=color)
        queues[regime].set_ylabel(r"average $\bar{Q}$")
        for value, line in zip(series.values("V"), _V_LINES, strict=False):
            one = series.where(regime=regime, V=value)
            right.plot(one["t"], one["grad_sq_after"], color=color, linewidth=0.9, **line)
    s.loglog(left, "V", s.GRADIENT)
    lower.set_xlabel("V")
    lower.ticklabel_format(axis="y", scilimits=(-2, 3), useMathText=True)
    right.set_yscale("log")
    right.set(xlabel="task t", ylabel=r"$\|\nabla\Phi_t(x_t)\|^2$, mean over seeds")
    titles = ("gradient and V", "queue and V, HIGH", "queue and V, LOW", "gradient over tasks")
    for ax, title in zip((left, upper, lower, right), titles, strict=True):
        ax.set_title(title)
    s.letter([left, upper, lower, right])
    handles = [Line2D([], [], color=s.REGIME_COLOR[r], label=s.REGIME_NAME[r] + slopes[r]) for r in ("low", "high")]
    handles += [Line2D([], [], color="black", label="(a) before a task", **s.BEFORE)]
    handles += [Line2D([], [], color="black", label="(a) after it", **s.AFTER)]
    handles += [
        Line2D([], [], color=s.GREY, label=f"(d) V = {v:g}", linewidth=0.9, **line)
        for v, line in zip(series.values("V"), _V_LINES, strict=False)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return s.finish(figure)
