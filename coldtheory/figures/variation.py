"""Task variation, conflict and residual against the noise and the drift of the tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from .. import measures
from ..simulation import simulate
from ..tasks import make_tasks
from . import style as s
from .table import Table, Tell, counted, quiet

_SHOWN = {
    "D_phi": (r"$D_\Phi$ over the ball", s.PALETTE[0], "-"),
    "D_phi_trajectory": (r"$D_\Phi$ at the models", s.PALETTE[0], "--"),
    "rho_bar": (r"conflict $\bar\rho$", s.PALETTE[3], "-"),
    "Delta_bar": (r"residual $\bar\Delta$", s.PALETTE[2], "-"),
    "avg_grad_sq_before": (r"gradient, before", "black", ":"),
}


def variation(
    *, noise: Sequence[float], drift: Sequence[float], seeds: int, T: int, V: float, tell: Tell = quiet
) -> Table:
    """D_Phi, rho_bar and Delta_bar of HIGH when its noise c2 or its drift changes, the other as in the paper."""
    settings = [("noise", "c2", value) for value in noise] + [("drift", "drift", value) for value in drift]
    rows = []
    for axis, constant, value in counted(settings, tell):
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


def draw_variation(tables: Mapping[str, Table]) -> Figure:
    """Left: against the noise c2. Right: against the drift. A dotted line marks the paper's own value."""
    table = tables["variation"]
    figure, axes = s.panels(2, height=2.8, sharey=True)
    axis_words = {"noise": r"noise $c_2$ (variance per coordinate)", "drift": "drift of the centre over the stream"}
    for ax, axis in zip(axes[0], axis_words, strict=True):
        here = table.where(axis=axis)
        for name, (words, color, line) in _SHOWN.items():
            x, values = here.grid("value", name)
            s.band(ax, x, values, color=color, linestyle=line, label=words)
        ax.set_yscale("log")
        ax.set_xlabel(axis_words[axis])
    axes[0, 0].set_xscale("log")
    axes[0, 1].set_xscale("symlog", linthresh=0.2, linscale=0.5)
    axes[0, 1].set_xlim(-0.06, None)
    s.few_ticks(axes[0, 1], "x", [0.0, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4])
    for ax, paper in zip(axes[0], (0.0064, 0.8), strict=True):
        ax.axvline(paper, color="0.6", linewidth=0.7, linestyle=(0, (1, 2)), zorder=0)
    axes[0, 0].set_ylabel("average over the tasks")
    axes[0, 0].set_title("HIGH, drift 0.8")
    axes[0, 1].set_title(r"HIGH, $c_2$ = 0.0064")
    s.letter(list(axes[0]))
    own = Line2D([], [], color="0.6", linewidth=0.7, linestyle=(0, (1, 2)), label="the paper's value")
    handles = [*axes[0, 0].get_legend_handles_labels()[0], own]
    figure.legend(handles=handles, loc="outside lower center", ncols=6)
    return s.finish(figure)
