"""One small instance: where the tasks are and the models go, the queues, and both sides of a statement."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..bounds import Bound
from ..quadratics import Array
from ..simulation import Run
from . import style as s

_MANY = 10  # tasks; more of them share one colour map and have no names
_MODEL = "black"
_WIDTH = 110  # characters of a title on one line
_OFF = 2.5  # times the main bound's largest term: taller bars are cut


def draw_instance(run: Run, bounds: Sequence[Bound], title: str, w_star: Array | None = None) -> Figure:
    """(a) optima and models, (b) queues, (c) the sides of each bound (at its worst entry) with its terms stacked.

    `title` says what the statement is. `run` has one stream and one setting; more than two dimensions are shown in
    the two widest directions. `w_star` are the comparators w*_t, (T, d), of the statements that have them.
    """
    figure = s.new_figure(s.PAGE, 2.75)
    axes = figure.subplots(1, 3, width_ratios=[1.25, 1.0, 0.75 + 0.35 * len(bounds)])
    colors = _colors(run.tasks.T)
    (_on_a_line if run.tasks.d == 1 else _in_the_plane)(axes[0], run, colors, w_star)
    _queues(axes[1], run, colors)
    _sides(axes[2], bounds)
    s.letter(list(axes))
    figure.suptitle(_title(run, title), fontsize=7.5)
    return s.finish(figure)


def _title(run: Run, title: str) -> str:
    settings = run.settings
    eta = "" if settings.solver == "exact" else rf", $\eta$ = {float(run.eta[0]):.4g}, J = {int(settings.steps)}"
    how = "minimiser" if settings.solver == "exact" else "gradient steps"
    words = textwrap.fill(title, _WIDTH).replace("$", r"\$")
    return (
        f"{words}\n{s.METHOD_NAME[settings.case]}, {settings.weights} weights, {how}: "
        rf"V = {float(run.V):.4g}, $\delta$ = {float(run.delta):.4g}{eta}"
    )


def _colors(T: int) -> list[str]:
    if len(s.PALETTE) >= T:
        return list(s.PALETTE[:T])
    shades = sns.color_palette("viridis", T)
    return [str(shade) for shade in shades.as_hex()]


def _on_a_line(ax: Axes, run: Run, colors: list[str], w_star: Array | None) -> None:
    """Time to the right, the model's one coordinate upwards."""
    T = run.tasks.T
    t = np.arange(1, T + 1)

    def timed(values: Array) -> Array:
        return np.stack([t, values[:, 0]], axis=-1)

    path = np.stack([np.arange(T + 1), run.w[:, 0]], axis=-1)
    marks = (timed(run.tasks.phi.optima), timed(run.tasks.phi_hat.optima), None if w_star is None else timed(w_star))
    _scene(ax, path, *marks, colors=colors, sizes=_sizes(run.tasks.phi.hessians.reshape(T), 20.0, 70.0))
    ax.set(xlabel="task t", ylabel="w")
    _whole_numbers(ax, T)


def _in_the_plane(ax: Axes, run: Run, colors: list[str], w_star: Array | None) -> None:
    """The two coordinates, or the two directions in which optima and models spread most."""
    tasks = run.tasks
    points = np.concatenate([tasks.phi.optima, tasks.phi_hat.optima, run.w])
    view = np.eye(2) if tasks.d == 2 else np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2][:2].T
    marks = (tasks.phi.optima @ view, tasks.phi_hat.optima @ view, None if w_star is None else w_star @ view)
    path = run.w @ view
    _scene(ax, path, *marks, colors=colors, sizes=np.full(tasks.T, 50.0))
    ax.annotate("$x_0$", (path[0, 0], path[0, 1]), xytext=(3, 3), textcoords="offset points", fontsize=6.5)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xlabel="$w_1$" if tasks.d == 2 else "widest direction", ylabel="$w_2$" if tasks.d == 2 else "second widest")


def _scene(
    ax: Axes, path: Array, optima: Array, memory: Array, w_star: Array | None, *, colors: list[str], sizes: Array
) -> None:
    """The models' path and the marks of every task, all as points (n, 2)."""
    ax.plot(
        path[:, 0],
        path[:, 1],
        color=_MODEL,
        linewidth=0.9,
        marker="o",
        markersize=2.5,
        zorder=3,
        label=r"$x_0,\ldots,x_T$",
    )
    ax.scatter(optima[:, 0], optima[:, 1], c=colors, marker="*", s=sizes, zorder=4, linewidths=0, label="optimum")
    if not np.array_equal(optima, memory):
        ax.scatter(memory[:, 0], memory[:, 1], facecolors="none", edgecolors=colors, marker="D", s=16, zorder=2,
                   linewidths=0.8, label="optimum in memory")  # fmt: skip
    if w_star is not None:
        ax.scatter(w_star[:, 0], w_star[:, 1], c=colors, marker="x", s=16, zorder=5, linewidths=0.9, label="$w^*_t$")
    ax.margins(0.12)
    ax.set_title("tasks and models")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, columnspacing=0.8, handletextpad=0.3)


def _sizes(curvature: Array, smallest: float, largest: float) -> Array:
    """Areas of marks by the logarithm of the curvature: the steeper a loss, the larger its star."""
    logs = np.log10(np.maximum(curvature, 1e-12))
    span = np.ptp(logs)
    share = (logs - logs.min()) / span if span > 0 else np.full(len(logs), 0.6)
    return np.asarray(smallest + (largest - smallest) * share)


def _queues(ax: Axes, run: Run, colors: list[str]) -> None:
    """Q_k[t] from its task on. A later queue would hide an equal earlier one, so later ones are drawn thinner."""
    T = run.tasks.T
    shown = range(T - 1)
    for k in shown:
        width = 2.4 - 1.4 * k / max(T - 2, 1)
        line: dict[str, Any] = {"linewidth": width, "marker": "o", "markersize": 2.5, "label": f"$Q_{{{k + 1}}}$"}
        ax.plot(np.arange(k + 1, T + 1), run.Q[k + 1 :, k], color=colors[k], **line)
    ax.set(xlabel="task t")
    ax.set_title("queues $Q_k[t]$")
    ax.ticklabel_format(axis="y", scilimits=(-2, 3))
    _whole_numbers(ax, T)
    ax.set_xlim(0.8, T + 0.2)
    if 1 < T <= _MANY:
        ax.legend(loc="best", handlelength=1.2)
    elif T > _MANY:
        ax.text(0.03, 0.97, "dark: first task, light: last", transform=ax.transAxes, va="top", fontsize=6, color=s.GREY)


def _sides(ax: Axes, bounds: Sequence[Bound]) -> None:
    """Left side, then the right side of each form: its terms stacked, the negative ones below 0, their sum a line."""
    terms = list(dict.fromkeys(name for bound in bounds for name in bound.terms))
    paint = {name: s.PALETTE[i % len(s.PALETTE)] for i, name in enumerate(terms)}
    ax.bar(0, float(bounds[0].lhs), color="0.25", width=0.7)
    for place, bound in enumerate(bounds, start=1):
        above = below = 0.0
        for name, term in bound.terms.items():
            value = float(term)
            ax.bar(place, value, bottom=above if value >= 0 else below, color=paint[name], width=0.7)
            above, below = (above + value, below) if value >= 0 else (above, below + value)
        ax.plot([place - 0.4, place + 0.4], [float(bound.rhs)] * 2, color="black", linewidth=1.5)
    ax.axhline(float(bounds[0].lhs), color="0.25", linewidth=0.7, linestyle=":", zorder=0)
    _cut(ax, bounds)
    ax.axhline(0.0, color="0.5", linewidth=0.5)
    names = [f"right,\n{bound.form.replace('_', ' ')}" for bound in bounds]
    ax.set_xticks(range(len(bounds) + 1), ["left", *names])
    ax.tick_params(axis="x", length=0)
    ax.ticklabel_format(axis="y", scilimits=(-2, 3))
    ax.set_title(_verdict(bounds[0]))
    handles = [Line2D([], [], color=paint[name], linewidth=4, label=name) for name in terms]
    ax.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, handlelength=0.8, columnspacing=0.8
    )


def _cut(ax: Axes, bounds: Sequence[Bound]) -> None:
    """A bound that would dwarf the others leaves the picture, with its value written where it does."""
    main = bounds[0]
    reach = max(abs(float(value)) for value in (main.lhs, main.rhs, *main.terms.values()))
    top = _OFF * reach
    far = [(place, bound) for place, bound in enumerate(bounds, start=1) if float(bound.rhs) > top]
    if not far or reach == 0.0:
        return
    ax.set_ylim(top=top)
    for place, bound in far:
        value = f"{float(bound.rhs):.3g} \u2191"
        ax.text(place, 0.98 * top, value, ha="center", va="top", fontsize=6.5, color="white", weight="bold")


def _verdict(bound: Bound) -> str:
    if bound.rhs > 0:
        return f"left/right = {float(bound.ratio):.4g}"
    return "left > right" if bound.lhs > bound.rhs else "both sides"


def _whole_numbers(ax: Axes, T: int) -> None:
    if T <= _MANY:
        ax.set_xticks(range(T + 1))
