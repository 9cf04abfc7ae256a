"""The paper's three panels: gradient against V, queue against V, gradient against t."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..table import Table
from . import style as s
from .numbers import slope
from .trajectory import V_STYLES

_REGIMES = ("low", "high")


def draw(tables: Mapping[str, Table]) -> Figure:
    sweep, series = tables["sweep_V"], tables["trajectory"]
    figure, axes = s.panels(3, height=2.5)
    left, centre, right = axes[0]
    for regime in _REGIMES:
        color, here = s.REGIME_COLOR[regime], sweep.where(regime=regime)
        V, after = here.grid("V", "avg_grad_sq_after")
        fit = slope(V, after, (50.0, 200.0))
        words = s.REGIME_NAME[regime] + (s.minus(f", slope {fit.slope:.2f}") if fit else "")
        s.band(left, V, after, color=color, label=words, **s.AFTER)
        _, before = here.grid("V", "avg_grad_sq_before")
        s.band(left, V, before, color=color, **s.BEFORE)
        _, queue = here.grid("V", "avg_Qbar")
        factor = 20.0 if regime == "low" else 1.0
        s.band(centre, V, factor * queue, color=color, label=s.REGIME_NAME[regime] + (" (× 20)" if factor > 1 else ""))
        for value, line in zip(series.values("V"), V_STYLES, strict=False):
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
        for v, line in zip(series.values("V"), V_STYLES, strict=False)
    ]
    right.legend(handles=handles, loc="upper right")
    for ax, title in zip((left, centre, right), ("gradient and V", "queue and V", "gradient over tasks"), strict=True):
        ax.set_title(title)
    s.letter([left, centre, right])
    return s.finish(figure)
