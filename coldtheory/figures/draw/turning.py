"""Where the gradient before a task is smallest: V* against the length of the stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..table import Table
from . import style as s
from .numbers import turning_point

_SHADES = ("0.75", "0.55", "0.35", "black")


def draw(tables: Mapping[str, Table]) -> Figure:
    """Left: gradient against V for several T on HIGH, with the closed form. Right: the minima against T."""
    closed, sweep = tables["turning_points"], tables["sweep_T"]
    figure, axes = s.panels(2, height=2.6)
    left, right = axes[0]
    lengths = sorted(closed.values("T"))
    for T, shade in zip(lengths, _SHADES, strict=False):
        x, curve = closed.where(regime="high", T=T).grid("V", "avg_grad_sq_before")
        left.plot(x, curve.mean(axis=0), color=shade, linewidth=0.9, linestyle=":")
        V, measured = sweep.where(regime="high", T=T).grid("V", "avg_grad_sq_before")
        left.plot(
            V, measured.mean(axis=0), color=shade, marker="o", markersize=2.5, linestyle="none", label=f"T = {T:g}"
        )
        least = turning_point(x, curve.mean(axis=0))
        if least is not None:
            left.plot(*least, marker="v", color=s.REGIME_COLOR["high"], markersize=5, linestyle="none")
    s.loglog(left, "V", s.GRADIENT_BEFORE)
    left.set_title("HIGH")
    left.legend(loc="upper right", title="dots: simulated\ndotted: closed form")
    for regime in ("low", "high"):
        points = {"closed": closed.where(regime=regime), "simulated": sweep.where(regime=regime)}
        for kind, table in points.items():
            least_V = [_minimum(table.where(T=T)) for T in lengths]
            style: dict[str, Any] = {"linestyle": ":"} if kind == "closed" else {"linestyle": "none", "marker": "o"}
            right.plot(lengths, least_V, color=s.REGIME_COLOR[regime], **style)
            if kind == "closed" and regime == "high":
                for T, value in zip(lengths, least_V, strict=True):
                    right.annotate(f"{value:.0f}", (T, value), xytext=(3, 4), textcoords="offset points", fontsize=6)
    s.loglog(right, "number of tasks T", r"turning point $V^*$")
    s.few_ticks(right, "x", lengths)
    right.set_title("minimum of the gradient")
    handles = [Line2D([], [], color=s.REGIME_COLOR[r], label=s.REGIME_NAME[r]) for r in ("low", "high")]
    handles += [Line2D([], [], color="black", marker="o", linestyle="none", label="simulated")]
    handles += [Line2D([], [], color="black", linestyle=":", label="closed form")]
    right.legend(handles=handles, loc="best")
    s.letter([left, right])
    return s.finish(figure)


def _minimum(table: Table) -> float:
    V, curves = table.grid("V", "avg_grad_sq_before")
    least = turning_point(V, curves.mean(axis=0))
    return float("nan") if least is None else least[0]
