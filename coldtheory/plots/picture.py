"""The method in the plane: balls of the ideal problem, the models' path with and without queues."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from ..figures.table import Table
from . import style as s

_KIND = (s.PALETTE[4], s.PALETTE[9], s.PALETTE[5])
_LENS = "#d9d9d9"


def draw(tables: Mapping[str, Table]) -> Figure:
    """(a) the ideal problem, (b) what COLD-ORACLE does, (c) the loss on task 1 and (d) its queue."""
    table = tables["picture"]
    figure = s.new_figure(s.PAGE, 2.9)
    left, right = figure.subfigures(1, 2, width_ratios=[4.4, 2.35])
    plane = left.subplots(1, 2, sharex=True, sharey=True)
    time = right.subplots(2, 1, sharex=True)
    for ax in plane:
        _scene(ax, table)
    _ideal(plane[0], table)
    _paths(plane[1], table)
    _series(time, table)
    s.letter([*plane, *time])
    return s.finish(figure)


def _scene(ax: Axes, table: Table) -> None:
    """Three optima, their balls of radius sqrt(2 delta'), and where all three overlap."""
    corners = table.where(what="optimum")
    radius = float(np.sqrt(2.0 * corners["delta"][0]))
    points = np.stack([corners["x"], corners["y"]], axis=-1)
    for number, (point, color) in enumerate(zip(points, _KIND, strict=True), start=1):
        ax.add_patch(Circle(tuple(point), radius, facecolor="none", edgecolor=color, linewidth=0.8, alpha=0.8))
        ax.plot(*point, marker="*", color=color, markersize=8, linestyle="none", zorder=4)
        ax.annotate(
            rf"$w^\ast_{number}$", point, xytext=1.22 * point, ha="center", va="center", color=color, fontsize=7
        )
    lens = Circle(tuple(points[0]), radius, facecolor=_LENS, edgecolor="none", zorder=0)
    ax.add_patch(lens)
    for point in points[1:]:  # the overlap: what lies outside of any ball is painted over
        _outside(ax, point, radius)
    ax.set_aspect("equal")
    ax.set(xlim=(-1.65, 1.65), ylim=(-1.35, 1.65), xticks=[-1, 0, 1], yticks=[-1, 0, 1])


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
        start = (corners["x"][k], corners["y"][k])
        end = (ideal["x"][k - 3], ideal["y"][k - 3])  # the last round: all three tasks are past ones
        ax.annotate("", end, xytext=start, arrowprops={"arrowstyle": "->", "color": color, "linewidth": 1.0})
        ax.plot(*end, marker="D", color=color, markersize=4, markeredgecolor="white", linestyle="none", zorder=5)
    ax.set_title("the ideal problem")


def _paths(ax: Axes, table: Table) -> None:
    off = table.where(what="off")
    ax.plot(off["x"][:4], off["y"][:4], color="0.6", linewidth=0.9, linestyle="--", zorder=2, label="queue off")
    model = table.where(what="model")
    for V, color in zip(model.values("V"), _path_colors(), strict=False):
        one = model.where(V=V)
        ax.plot(one["x"], one["y"], color=color, linewidth=0.7, alpha=0.7, zorder=3)
        shade = np.linspace(0.25, 1.0, len(one))
        ax.scatter(one["x"], one["y"], color=color, alpha=shade, s=6, zorder=4, linewidths=0, label=f"V = {V:g}")
    ax.set_title("COLD-ORACLE")
    ax.legend(loc="lower center", ncols=3, handlelength=1.2, columnspacing=0.8, bbox_to_anchor=(0.5, -0.33))


def _series(axes: list[Axes], table: Table) -> None:
    loss_ax, queue_ax = axes
    off, model = table.where(what="off"), table.where(what="model")
    loss_ax.plot(off["t"], off["loss"], color="0.6", linewidth=0.8, linestyle="--")
    for V, color in zip(model.values("V"), _path_colors(), strict=False):
        one = model.where(V=V)
        loss_ax.plot(one["t"], one["loss"], color=color, linewidth=0.9)
        queue_ax.plot(one["t"], one["queue"], color=color, linewidth=0.9)
    loss_ax.axhline(float(table["delta"][0]), color="black", linewidth=0.7)
    loss_ax.set_title("loss on task 1")
    loss_ax.set_ylabel(r"$\Phi_1(x_t)$")
    queue_ax.set(xlabel="task t", ylabel=r"$Q_1[t]$")
    queue_ax.set_title("queue of task 1")


def _path_colors() -> tuple[str, str]:
    return s.PALETTE[0], s.PALETTE[3]
