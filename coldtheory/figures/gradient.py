"""Average squared gradient against V: measured, fitted, bounded, predicted; for several step sizes and lengths of the
stream; and against the queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..ground.statistics import Spread, minimum_of, slope_of
from ..paper import TOY
from ..prediction import predicted_grad_sq_before
from ..tasks import REGIMES
from . import style as s
from .table import Table, Tell, counted, quiet

_TERMS = {"variation": "variation of the tasks", "first loss": "first loss", "conflict": "conflict", "queues": "queues"}
_ETA_COLORS = (s.PALETTE[0], s.PALETTE[3], s.PALETTE[2])
_T_SHADES = ("0.75", "0.55", "0.35", "black")
_MARKED = (50.0, 1000.0)
_SMALLEST = 1e-6  # average queue; below this value most runs of LOW have no queue
_TINY = 3e-4  # share of the smallest measured gradient; lower values are not drawn
_FLOOR = 1e-5  # of the gradient after a task, which is 0 at V = 1/eta


def prediction(
    *, regimes: Sequence[str], V: Sequence[float], seeds: int, T: Sequence[int], tell: Tell = quiet
) -> Table:
    """The closed form of the average gradient before a task (no queue), for the base and drift of each seed."""
    rows = []
    for regime in counted(regimes, tell):
        for length in T:
            for seed in range(seeds):
                base, way, c2 = _centre(regime, seed, length)
                curve = predicted_grad_sq_before(
                    V, w_base=base, drift_vector=way, c2=c2, T=length, eta=TOY.eta, steps=TOY.steps
                ).mean(axis=-1)
                rows += [
                    {"regime": regime, "T": length, "seed": seed, "V": v, "avg_grad_sq_before": g}
                    for v, g in zip(V, curve, strict=True)
                ]
    return Table.of(rows)


def _centre(regime: str, seed: int, T: int) -> tuple[np.ndarray, np.ndarray | None, float]:
    """w_base, drift vector and c2 of a stream, read off the regime itself with its noise set to 0."""
    make = REGIMES[regime]
    constants = make.__kwdefaults__ or {}
    still = make(seed, T=2, c2=0.0)
    if regime == "low":
        return still[0], None, float(constants["c2"])
    step = still[1] - still[0]  # half of the way: drift * v / 2
    return still[0] - step, 2.0 * step, float(constants["c2"])


def draw_gradient(tables: Mapping[str, Table]) -> Figure:
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
    handles = [Line2D([], [], color="black", label="before a task, measured")]
    handles += [Line2D([], [], color="black", linewidth=0.8, label="slope after, V from 50 to 200")]
    handles += [Line2D([], [], color="black", marker="v", linestyle="none", label="smallest before, $V^*$")]
    handles += [Line2D([], [], color="black", linewidth=1.8, label="Theorem 3 (corrected)", alpha=0.45)]
    handles += [
        Line2D([], [], color=s.TERM_COLOR[n], linestyle=":", label=f"its term: {words}") for n, words in _TERMS.items()
    ]
    handles += [Line2D([], [], color="black", linestyle="-.", label="Theorem 3 sharpened")]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
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
    fit = slope_of(V, after, s.FIT)
    if fit is None:
        return
    ends = np.array(s.FIT)
    line = 0.62 * np.exp(fit.level) * ends**fit.slope
    ax.plot(ends, line, color="black", linewidth=0.8)
    middle = np.sqrt(ends.prod())
    words = s.minus(f"slope {fit.slope:.2f} ± {fit.half:.2f}")
    ax.annotate(
        words, (middle, 0.62 * np.exp(fit.level) * middle**fit.slope), xytext=(-2, -2), textcoords="offset points",
        ha="right", va="top", fontsize=6,
    )  # fmt: skip


def _turning(ax: Axes, V: np.ndarray, before: np.ndarray, x: np.ndarray, closed: np.ndarray) -> None:
    measured, predicted = minimum_of(V, before), minimum_of(x, closed)
    if measured is None or predicted is None:
        return
    place = _on_mean(V, before, measured)
    ax.plot(*place, marker="v", color="black", markersize=4, linestyle="none")
    words = f"$V^*$ = {turning_words(measured)}\n(closed form {predicted.mean:.0f})"
    ax.annotate(words, place, xytext=(0, 5), textcoords="offset points", ha="center", va="bottom", fontsize=6)


def turning_words(found: Spread) -> str:
    """A turning point as every figure prints it: the mean over seeds of each seed's own, and its standard error."""
    return f"{found.mean:.0f} ± {found.se:.0f}"


def _on_mean(V: np.ndarray, curves: np.ndarray, found: Spread) -> tuple[float, float]:
    """Where on the mean curve a turning point lies."""
    return found.mean, float(np.exp(np.interp(np.log(found.mean), np.log(V), np.log(curves.mean(axis=0)))))


def _bounded(ax: Axes, regime: str, terms: Table) -> None:
    color = s.REGIME_COLOR[regime]
    theorem, sharp = terms.where(statement="thm3", form="corrected"), terms.where(statement="thm3_sharp", form="sharp")
    measured = theorem.where(part="measured")
    ax.plot(measured["V"], measured["mean"], color=color)
    whole = theorem.where(part="bound")
    ax.plot(whole["V"], whole["mean"], color=color, linewidth=1.8, alpha=0.45)
    floor = _TINY * float(measured["mean"].min())
    for name in _TERMS:
        one = theorem.where(part=f"term: {name}")
        s.cut_line(ax, one["V"], one["mean"], low=floor, color=s.TERM_COLOR[name], linestyle=":", linewidth=1.0)
    tight = sharp.where(part="bound")
    ax.plot(tight["V"], tight["mean"], color=color, linestyle="-.", linewidth=1.0)
    s.loglog(ax, "V", "bound and its terms")
    ax.set_title(s.REGIME_NAME[regime])


def draw_eta(tables: Mapping[str, Table]) -> Figure:
    """One panel per regime. A triangle marks where a curve is smallest, a vertical line where the premise
    eta <= 1/(2 alpha_t) breaks."""
    table = tables["sweep_eta"]
    figure, axes = s.panels(2, height=2.7, sharey=True)
    values = table.values("eta")
    for ax, regime in zip(axes[0], ("low", "high"), strict=True):
        for eta, color in zip(values, _ETA_COLORS, strict=False):
            here = table.where(regime=regime, eta=eta)
            V, before = here.grid("V", "avg_grad_sq_before")
            known = np.isfinite(before).all(axis=0)  # beyond, runs diverge
            V, before, after = V[known], before[:, known], here.grid("V", "avg_grad_sq_after")[1][:, known]
            s.band(ax, V, before, color=color, **s.BEFORE)
            s.cut_line(ax, V, after.mean(axis=0), low=_FLOOR, color=color, **s.AFTER)
            least = minimum_of(V, before)
            if least is not None:
                place = _on_mean(V, before, least)
                ax.plot(*place, marker="v", color=color, markersize=5, markeredgecolor="white", linestyle="none")
            ax.axvline(1.0 / (2.0 * eta), color=color, linewidth=0.7, linestyle=(0, (1, 2)), zorder=0)
        ax.text(0.03, 0.03, r"$\downarrow$ to 0 at $V = 1/\eta$", transform=ax.transAxes, fontsize=6, color=s.GREY)
        s.loglog(ax, "V", s.GRADIENT)
        ax.set_title(s.REGIME_NAME[regime])
    axes[0, 1].set_ylabel("")
    axes[0, 0].set_ylim(_FLOOR, None)
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


def draw_turning(tables: Mapping[str, Table]) -> Figure:
    """Left: gradient against V for several T on HIGH, with the closed form. Right: the minima against T."""
    closed, sweep = tables["turning_points"], tables["sweep_T"]
    figure, axes = s.panels(2, height=2.6)
    left, right = axes[0]
    lengths = sorted(closed.values("T"))
    for T, shade in zip(lengths, _T_SHADES, strict=False):
        x, curve = closed.where(regime="high", T=T).grid("V", "avg_grad_sq_before")
        left.plot(x, curve.mean(axis=0), color=shade, linewidth=0.9, linestyle=":")
        V, measured = sweep.where(regime="high", T=T).grid("V", "avg_grad_sq_before")
        left.plot(
            V, measured.mean(axis=0), color=shade, marker="o", markersize=2.5, linestyle="none", label=f"T = {T:g}"
        )
        least = minimum_of(x, curve)
        if least is not None:
            left.plot(*_on_mean(x, curve, least), marker="v", color=shade, markeredgecolor=s.REGIME_COLOR["high"],
                      markersize=5, linestyle="none")  # fmt: skip
    s.loglog(left, "V", s.GRADIENT_BEFORE)
    left.set_title("HIGH")
    left.legend(loc="upper right", title="dots: simulated\ndotted: closed form,\nsmallest at the triangle")
    for regime in ("low", "high"):
        color: dict[str, Any] = {"color": s.REGIME_COLOR[regime]}
        for T, found in _turning_points(closed.where(regime=regime)).items():
            right.plot(T, found.mean, marker="_", markersize=9, linestyle="none", **color)
        for T, found in _turning_points(sweep.where(regime=regime)).items():
            right.plot(T, found.mean, marker="o", linestyle="none", **color)
            right.annotate(turning_words(found), (T, found.mean), xytext=(5, 4), textcoords="offset points", fontsize=6)
    s.loglog(right, "number of tasks T", r"turning point $V^*$")
    s.few_ticks(right, "x", lengths)
    right.set_title("minimum of the gradient")
    handles = [Line2D([], [], color=s.REGIME_COLOR[r], label=s.REGIME_NAME[r]) for r in ("low", "high")]
    handles += [Line2D([], [], color="black", marker="o", linestyle="none", label="simulated")]
    handles += [Line2D([], [], color="black", marker="_", markersize=9, linestyle="none", label="closed form")]
    right.legend(handles=handles, loc="lower left")
    right.margins(x=0.13, y=0.12)
    s.letter([left, right])
    return s.finish(figure)


def _turning_points(table: Table) -> dict[int, Spread]:
    """Where the gradient before a task is smallest, by the length of the stream."""
    found = {T: minimum_of(*table.where(T=T).grid("V", "avg_grad_sq_before")) for T in table.values("T")}
    return {T: spread for T, spread in found.items() if spread is not None}


def draw_tradeoff(tables: Mapping[str, Table]) -> Figure:
    """One panel per regime: gradient against queue, the colour of a point says its V."""
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
                first: dict[str, Any] = {"xytext": (-4, -3), "ha": "right", "va": "top"}
                last: dict[str, Any] = {"xytext": (3, 4)}
                place = first if value == _MARKED[0] else last
                note = ax.annotate(words, (x[at], y[at]), textcoords="offset points", fontsize=6, **place)
                note.set_in_layout(False)
        ends = np.nanmin(x), np.nanmax(x)
        room = (ends[1] / ends[0]) ** 0.4  # room for the last note inside the panel
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
