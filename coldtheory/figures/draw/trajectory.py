"""Squared gradient against t, for several V."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..table import Table
from . import style as s

V_STYLES: tuple[dict[str, Any], ...] = (
    {"linestyle": ":"},
    {"linestyle": "--"},
    {"linestyle": "-"},
    {"linestyle": "-."},
)
_V_COLORS = ("#9ecae1", "#4292c6", "#08306b", "black")  # light to dark: small to large V


def draw(tables: Mapping[str, Table]) -> Figure:
    """Before a task (top) and after it (bottom), one column a regime."""
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
