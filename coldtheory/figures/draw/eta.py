"""The effect of the step size: gradient against V for several eta."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..table import Table
from . import style as s
from .numbers import turning_point

_ETA_COLORS = (s.PALETTE[0], s.PALETTE[3], s.PALETTE[2])


def draw(tables: Mapping[str, Table]) -> Figure:
    """One panel a regime. A tick on the curve is its minimum, the vertical line the premise eta <= 1/(2 alpha_t)."""
    table = tables["sweep_eta"]
    figure, axes = s.panels(2, height=2.7, sharey=True)
    values = table.values("eta")
    for ax, regime in zip(axes[0], ("low", "high"), strict=True):
        for eta, color in zip(values, _ETA_COLORS, strict=False):
            here = table.where(regime=regime, eta=eta)
            V, before = here.grid("V", "avg_grad_sq_before")
            mean = s.band(ax, V, before, color=color, **s.BEFORE)
            s.band(ax, V, here.grid("V", "avg_grad_sq_after")[1], color=color, **s.AFTER)
            least = turning_point(V[: len(mean)], mean)
            if least is not None:
                ax.plot(*least, marker="v", color=color, markersize=5, markeredgecolor="white", linestyle="none")
            ax.axvline(1.0 / (2.0 * eta), color=color, linewidth=0.7, linestyle=(0, (1, 2)), zorder=0)
        s.loglog(ax, "V", s.GRADIENT)
        ax.set_title(s.REGIME_NAME[regime])
    axes[0, 1].set_ylabel("")
    low = min(float(table["avg_grad_sq_after"][table["avg_grad_sq_after"] > 0].min()), 1.0)
    axes[0, 0].set_ylim(max(low, 1e-5), None)
    s.letter(list(axes[0]))
    handles = [
        Line2D([], [], color=c, label=rf"$\eta$ = {s.power(v)}") for v, c in zip(values, _ETA_COLORS, strict=False)
    ]
    handles += [
        Line2D([], [], color="black", label="before", **s.BEFORE),
        Line2D([], [], color="black", label="after", **s.AFTER),
    ]
    handles += [Line2D([], [], color="black", marker="v", linestyle="none", label="smallest before")]
    handles += [Line2D([], [], color="black", linewidth=0.7, linestyle=(0, (1, 2)), label=r"$V = 1/(2\eta)$")]
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return s.finish(figure)
