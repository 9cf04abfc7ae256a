"""The method in the plane: balls of the ideal problem, the models' path with and without queues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Patch

from ..ideal import ideal_points, smallest_feasible_delta
from ..simulation import simulate
from ..tasks import from_optima
from . import style as s
from .table import Table, Tell, counted, quiet

_KIND = (s.PALETTE[4], s.PALETTE[9], s.PALETTE[5])
_V_COLOR = (s.PALETTE[0], s.PALETTE[3])
_LENS = "#d9d9d9"


def picture(*, rounds: int, V: Sequence[float], slack: float, tell: Tell = quiet) -> Table:
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
    for value in counted((*V, None), tell):
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


def draw_picture(tables: Mapping[str, Table]) -> Figure:
    """(a) the ideal problem, (b) what COLD-ORACLE does, (c) the loss on task 1 over time and (d) its queue."""
    table = tables["picture"]
    figure = s.new_figure(s.PAGE, 2.9)
    grid = figure.add_gridspec(2, 3, width_ratios=[2.1, 2.1, 1.9])
    ideal, paths = figure.add_subplot(grid[:, 0]), figure.add_subplot(grid[:, 1])
    mean = figure.add_subplot(grid[0, 2])
    queue = figure.add_subplot(grid[1, 2], sharex=mean)
    mean.tick_params(labelbottom=False)
    for ax in (ideal, paths):
        _scene(ax, table)
        ax.set_xlabel("first coordinate of the model")
    ideal.set_ylabel("second coordinate")
    _ideal(ideal, table)
    _paths(paths, table)
    _series((mean, queue), table)
    s.letter([ideal, paths, mean, queue])
    figure.legend(handles=[*_signs(), *mean.get_legend_handles_labels()[0]], loc="outside lower center", ncols=4)
    return s.finish(figure)


def _signs() -> list[Artist]:
    """What the marks of the plane mean."""
    return [
        Line2D([], [], color=s.GREY, marker="*", markersize=7, linestyle="none", label="optimum"),
        Line2D([], [], color=s.GREY, linewidth=0.8, label=r"$\Phi_k = \delta$"),
        Patch(color=_LENS, label=r"all $\Phi_k \leq \delta$"),
        Line2D([], [], color=s.GREY, marker="D", markersize=4, linestyle="none", label="ideal model"),
        Line2D([], [], color=s.GREY, linewidth=0.4, label="(b) first four rounds"),
    ]


def _scene(ax: Axes, table: Table) -> None:
    """Three optima, their balls of radius sqrt(2 delta'), and where all three overlap."""
    corners = table.where(what="optimum")
    radius = float(np.sqrt(2.0 * corners["delta"][0]))
    points = np.stack([corners["x"], corners["y"]], axis=-1)
    for number, (point, color) in enumerate(zip(points, _KIND, strict=True), start=1):
        ax.add_patch(Circle(tuple(point), radius, facecolor="none", edgecolor=color, linewidth=0.8, alpha=0.8))
        ax.plot(*point, marker="*", color=color, markersize=8, linestyle="none", zorder=4)
        ax.annotate(
            rf"$w^\ast_{number}$",
            point,
            xytext=13.0 * point,
            textcoords="offset points",
            ha="center",
            va="center",
            color=color,
            fontsize=7,
        )
    lens = Circle(tuple(points[0]), radius, facecolor=_LENS, edgecolor="none", zorder=0)
    ax.add_patch(lens)
    for point in points[1:]:  # the overlap: what lies outside of any ball is painted over
        _outside(ax, point, radius)
    ax.set_aspect("equal")
    low, high = points.min(axis=0) - 1.04 * radius, points.max(axis=0) + 1.04 * radius
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xticks=[-1, 0, 1], yticks=[-1, 0, 1, 2])


def _outside(ax: Axes, point: np.ndarray, radius: float) -> None:
    angle = np.linspace(0.0, 2.0 * np.pi, 200)
    ring = np.stack([point[0] + radius * np.cos(angle), point[1] + radius * np.sin(angle)], axis=-1)
    frame = np.array([[-9.0, -9.0], [-9.0, 9.0], [9.0, 9.0], [9.0, -9.0], [-9.0, -9.0]])
    codes = [1, *[2] * (len(frame) - 1), 1, *[2] * (len(ring) - 1)]
    path = mpl.path.Path(np.concatenate([frame, ring]), codes)
    ax.add_patch(mpl.patches.PathPatch(path, facecolor="white", edgecolor="none", zorder=0.5))


def _ideal(ax: Axes, table: Table) -> None:
    """From each optimum to the nearest point that forgets no other task by more than delta'."""
    corners, ideal = table.where(what="optimum"), table.where(what="ideal")
    for k, color in enumerate(_KIND):
        start, end = (corners["x"][k], corners["y"][k]), (ideal["x"][k], ideal["y"][k])
        ax.annotate("", end, xytext=start, arrowprops={"arrowstyle": "->", "color": color, "linewidth": 1.0})
        ax.plot(*end, marker="D", color=color, markersize=4, markeredgecolor="white", linestyle="none", zorder=5)
    ax.set_title("ideal: stay in every ball")


def _paths(ax: Axes, table: Table) -> None:
    """The first rounds faintly, the last one with its models."""
    for words, one, color, line in _runs(table):
        x, y = one["x"], one["y"]
        ax.plot(x[:12], y[:12], color=color, linewidth=0.4, alpha=0.5, zorder=2)
        last = [*range(len(x) - 3, len(x)), len(x) - 3]
        ax.plot(x[last], y[last], color=color, linewidth=1.2, linestyle=line, zorder=3)
        ax.plot(x[last], y[last], color=color, marker="o", linestyle="none", markersize=3.5, zorder=4, label=words)
    ax.set_title("COLD-ORACLE: last round")


def _series(axes: Sequence[Axes], table: Table) -> None:
    mean_ax, queue_ax = axes
    for words, one, color, line in _runs(table):
        mean_ax.plot(one["t"][1:], one["average"][1:], color=color, linestyle=line, linewidth=1.1, label=words)
        if words != "queue off":
            queue_ax.plot(one["t"], one["queue"], color=color, linewidth=0.9)
    delta = float(table["delta"][0])
    mean_ax.axhline(delta, color="black", linewidth=0.7)
    end = float(table.where(what="off")["t"].max())
    mean_ax.annotate(r"$\delta$", (end, delta), xytext=(0, -2), textcoords="offset points", va="top", fontsize=7)
    mean_ax.set_ylim(0.5, None)
    mean_ax.set_title("running loss on task 1")
    mean_ax.set_ylabel(r"mean of $\Phi_1$")
    queue_ax.set(xlabel="task t", ylabel=r"$Q_1[t]$")
    queue_ax.set_title("queue of task 1")


def _runs(table: Table) -> list[tuple[str, Table, str, str]]:
    """(name, rows, colour, line) of each run: without queues, then by V."""
    model = table.where(what="model")
    runs = [(f"V = {V:g}", model.where(V=V), color, "-") for V, color in zip(model.values("V"), _V_COLOR, strict=False)]
    return [("queue off", table.where(what="off"), "0.5", "--"), *runs]
