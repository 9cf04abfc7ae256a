"""How tight the bounds are: right side over left side, against V."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from ..figures.table import Table
from . import style as s

_GRADIENT = {
    ("cor1", "corrected"): ("Corollary 1", s.PALETTE[3], "-"),
    ("thm3", "corrected"): ("Theorem 3", s.PALETTE[0], "-"),
    ("thm3", "trajectory"): ("Theorem 3, at the models", s.PALETTE[0], "--"),
    ("thm3_sharp", "corrected"): ("Theorem 3'", s.PALETTE[4], "-"),
    ("thm3_sharp", "sharp"): ("Theorem 3', sharpest", s.PALETTE[4], "--"),
}
_QUEUE = {
    ("thm4", "corrected"): ("Theorem 4", s.PALETTE[1], "-"),
    ("thm4", "progress"): ("Theorem 4, sharpest of its kind", s.PALETTE[1], "--"),
    ("thm4", "a_priori"): (r"$\ell r^2/2$", s.PALETTE[7], "-"),
    ("thm4", "by_lindley"): ("Lindley's identity", s.PALETTE[2], "-"),
}


def draw(tables: Mapping[str, Table]) -> Figure:
    """Top: bounds of the gradient. Bottom: bounds of the queue. 1 is equality."""
    table = tables["bound_terms"]
    figure, axes = s.panels(3, 2, height=4.6, sharex=True, sharey="row")
    for row, forms in enumerate((_GRADIENT, _QUEUE)):
        for column, regime in enumerate(s.REGIME_COLOR):
            ax = axes[row, column]
            for (statement, form), (words, color, line) in forms.items():
                here = table.where(regime=regime, statement=statement, form=form)
                measured, bound = here.where(part="measured"), here.where(part="bound")
                ratio = bound["mean"] / np.where(measured["mean"] > 0, measured["mean"], np.nan)
                ax.plot(measured["V"], ratio, color=color, linestyle=line, label=words)
            ax.axhline(1.0, color="black", linewidth=0.7)
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.set_title(s.REGIME_NAME[regime])
            if row == 1:
                ax.set_xlabel("V")
    axes[0, 0].set_ylabel("gradient: bound / measured")
    axes[1, 0].set_ylabel("queue: bound / measured")
    s.letter(list(axes.flat))
    handles = [handle for ax in axes[:, 0] for handle in ax.get_legend_handles_labels()[0]]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return s.finish(figure)
