"""The trade-off curve: gradient against queue, with V along it."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..table import Table
from . import style as s

_MARKED = (50.0, 1000.0)
_SMALLEST = 1e-6  # average queue; below it most runs of LOW have none


def draw(tables: Mapping[str, Table]) -> Figure:
    table = tables["sweep_V"]
    figure, axes = s.panels(3, height=2.6)
    colors = mpl.colormaps["viridis"]
    V_all = np.unique(table["V"])
    norm = mpl.colors.LogNorm(V_all.min(), V_all.max())
    for ax, regime in zip(axes[0], s.REGIME_COLOR, strict=True):
        here = table.where(regime=regime)
        V, queue = here.grid("V", "avg_Qbar")
        queue = np.where(queue.mean(axis=0) > _SMALLEST, queue, np.nan)
        for name, style, marker in (("avg_grad_sq_before", s.BEFORE, "o"), ("avg_grad_sq_after", s.AFTER, "s")):
            y, x = here.grid("V", name)[1].mean(axis=0), queue.mean(axis=0)
            ax.plot(x, y, color=s.REGIME_COLOR[regime], linewidth=0.9, zorder=1, **style)
            ax.scatter(x, y, c=V, cmap=colors, norm=norm, s=11, marker=marker, zorder=2, linewidths=0)
            for value in _MARKED if name == "avg_grad_sq_before" else ():
                at = int(np.abs(np.log(V / value)).argmin())
                words = f"V = {V[at]:.0f}"
                note = ax.annotate(words, (x[at], y[at]), xytext=(3, 4), textcoords="offset points", fontsize=6)
                note.set_in_layout(False)
        ends = np.nanmin(x), np.nanmax(x)
        room = (ends[1] / ends[0]) ** 0.4  # for the last note, inside the panel
        s.loglog(ax, s.QUEUE, s.GRADIENT)
        ax.set_xlim(ends[0] / room**0.15, ends[1] * room)
        ax.set_title(s.REGIME_NAME[regime])
    for ax in axes[0, 1:]:
        ax.set_ylabel("")
    s.letter(list(axes[0]))
    handles = [Line2D([], [], color=s.GREY, marker="o", label="before a task", **s.BEFORE)]
    handles += [Line2D([], [], color=s.GREY, marker="s", label="after it", **s.AFTER)]
    axes[0, 0].legend(handles=handles, loc="lower left")
    bar = figure.colorbar(mpl.cm.ScalarMappable(norm, colors), ax=list(axes[0]), pad=0.01, aspect=25)
    bar.set_label("V")
    return s.finish(figure)
