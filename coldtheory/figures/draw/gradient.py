"""Average squared gradient against V: measured, fitted, bounded, predicted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..table import Table
from . import style as s
from .numbers import slope, turning_point

_FIT = (50.0, 200.0)
_TERMS = {"variation": "variation of the tasks", "first loss": "first loss", "conflict": "conflict", "queues": "queues"}


def draw(tables: Mapping[str, Table]) -> Figure:
    """Top: gradient before and after a task. Bottom: the same, below Theorem 3 and the terms of its right side."""
    sweep, off, forms, terms = (tables[n] for n in ("sweep_V", "sweep_V_off", "prediction", "bound_terms"))
    figure, axes = s.panels(3, 2, height=4.4, sharex=True)
    for column, regime in enumerate(s.REGIME_COLOR):
        _measured(axes[0, column], regime, sweep.where(regime=regime), off.where(regime=regime), forms)
        _bounded(axes[1, column], regime, terms.where(regime=regime))
    for ax in axes[:, 1:].flat:
        ax.set_ylabel("")
    for ax in axes[0]:
        ax.set_xlabel("")
    s.letter(list(axes.flat))
    handles = [Line2D([], [], color="black", label="measured, before")]
    handles += [Line2D([], [], color="black", linewidth=1.8, label="Theorem 3 (corrected)", alpha=0.45)]
    handles += [
        Line2D([], [], color=s.TERM_COLOR[n], linestyle=":", label=f"its term: {words}") for n, words in _TERMS.items()
    ]
    handles += [Line2D([], [], color="black", linestyle="-.", label="Theorem 3 sharpened")]
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return s.finish(figure)


def _measured(ax: Axes, regime: str, sweep: Table, off: Table, forms: Table) -> None:
    color = s.REGIME_COLOR[regime]
    V, before = sweep.grid("V", "avg_grad_sq_before")
    _, after = sweep.grid("V", "avg_grad_sq_after")
    s.band(ax, V, before, color=color, label="before", **s.BEFORE)
    s.band(ax, V, after, color=color, label="after", **s.AFTER)
    _fitted(ax, V, after)
    if regime in forms.values("regime"):
        x, closed = forms.where(regime=regime).grid("V", "avg_grad_sq_before")
        ax.plot(x, closed.mean(axis=0), color="black", linewidth=0.7, linestyle=":", label="closed form")
        _turning(ax, V, before, x, closed)
    else:
        _, without = off.grid("V", "avg_grad_sq_before")
        s.band(ax, V, without, color=s.GREY, label="before, queue off", linewidth=0.9)
        change = 100.0 * (without.mean(axis=0) / before.mean(axis=0) - 1.0)
        worst = int(np.abs(change).argmax())
        words = s.minus(f"without queues\n{change[worst]:+.0f} % at V = {V[worst]:.0f}")
        ax.annotate(words, (0.98, 0.97), xycoords="axes fraction", ha="right", va="top", fontsize=6, color=s.GREY)
    s.loglog(ax, "V", s.GRADIENT)
    ax.set_title(s.REGIME_NAME[regime])
    ax.legend(loc="lower left")


def _fitted(ax: Axes, V: np.ndarray, after: np.ndarray) -> None:
    """The log-log slope of the gradient after a task, on the range that the paper's text looks at."""
    fit = slope(V, after, _FIT)
    if fit is None:
        return
    ends = np.array(_FIT)
    line = 0.62 * np.exp(fit.level) * ends**fit.slope
    ax.plot(ends, line, color="black", linewidth=0.8)
    middle = np.sqrt(ends.prod())
    words = s.minus(f"slope {fit.slope:.2f} ± {fit.half:.2f}")
    ax.annotate(
        words, (middle, 0.62 * np.exp(fit.level) * middle**fit.slope), xytext=(-2, -2), textcoords="offset points",
        ha="right", va="top", fontsize=6,
    )  # fmt: skip


def _turning(ax: Axes, V: np.ndarray, before: np.ndarray, x: np.ndarray, closed: np.ndarray) -> None:
    measured, predicted = turning_point(V, before.mean(axis=0)), turning_point(x, closed.mean(axis=0))
    if measured is None or predicted is None:
        return
    ax.plot(*measured, marker="v", color="black", markersize=4, linestyle="none", clip_on=False)
    words = f"$V^*$ = {measured[0]:.0f}\n(closed form {predicted[0]:.0f})"
    ax.annotate(words, measured, xytext=(0, 5), textcoords="offset points", ha="center", va="bottom", fontsize=6)


def _bounded(ax: Axes, regime: str, terms: Table) -> None:
    color = s.REGIME_COLOR[regime]
    theorem, sharp = terms.where(statement="thm3", form="corrected"), terms.where(statement="thm3_sharp", form="sharp")
    measured = theorem.where(part="measured")
    ax.plot(measured["V"], measured["mean"], color=color)
    whole = theorem.where(part="bound")
    ax.plot(whole["V"], whole["mean"], color=color, linewidth=1.8, alpha=0.45)
    for name in _TERMS:
        one = theorem.where(part=f"term: {name}")
        ax.plot(
            one["V"],
            np.where(one["mean"] > 0, one["mean"], np.nan),
            color=s.TERM_COLOR[name],
            linestyle=":",
            linewidth=1.0,
        )
    tight = sharp.where(part="bound")
    ax.plot(tight["V"], tight["mean"], color=color, linestyle="-.", linewidth=1.0)
    s.loglog(ax, "V", "bound and its terms")
    low = measured["mean"].min()
    ax.set_ylim(low / 30.0, None)
    ax.set_title(s.REGIME_NAME[regime])
