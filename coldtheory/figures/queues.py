"""Queues: their average against V, and every one of them over t and k, for both references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from .. import measures
from ..settings import Reference
from ..simulation import simulate
from ..tasks import make_tasks
from . import style as s
from .table import Table, Tell, counted, quiet

_LINE: dict[str, dict[str, Any]] = {"previous": {"linestyle": "-"}, "best": {"linestyle": (0, (4, 1.5))}}


def queue_maps(
    *, regime: str, references: Sequence[Reference], V: Sequence[float], delta: Sequence[float], eta: float, seed: int,
    T: int, stride: int, tell: Tell = quiet,
) -> Table:  # fmt: skip
    """Q_k[t] for every `stride`-th t and k < t, of one seed, for pairs (V, delta): a picture has no more pixels."""
    tasks = make_tasks(regime, seed, T=T)
    rows: list[dict[str, Any]] = []
    for reference in counted(references, tell):
        run = simulate(tasks, V=V, delta=delta, eta=eta, reference=reference)
        Q = run.Q
        for i, (v, d) in enumerate(zip(V, delta, strict=True)):
            here = {"regime": regime, "reference": reference, "V": v, "delta": d}
            for t in range(stride, T + 1, stride):
                rows += [{**here, "t": t, "k": k, "Q": Q[i, t, k - 1]} for k in range(1, t, stride)]
    return Table.of(rows)


def queue_caps(*, eta: Mapping[str, float], V: Sequence[float], seeds: int, T: int, tell: Tell = quiet) -> Table:
    """The largest queue max_{t,k} Q_k[t] of each run of COLD, and its limit l r^2/2; `eta` is per regime."""
    rows = []
    for regime, step in counted(list(eta.items()), tell):
        run = simulate(make_tasks(regime, range(seeds), T=T), V=V, eta=step)
        largest = run.Q.max(axis=(-1, -2))
        cap = 0.5 * run.tasks.phi_hat.smoothness[:, None] * measures.r_constant(run) ** 2
        rows += [
            {"regime": regime, "V": v, "seed": s, "Q_max": largest[s, i], "cap": cap[s, i]}
            for s in range(seeds)
            for i, v in enumerate(V)
        ]
    return Table.of(rows)


def draw_queues(tables: Mapping[str, Table]) -> Figure:
    """Top: average against V. Below: heatmaps of Q_k[t] on CONFLICT, a row per reference and a column per V."""
    maps = tables["queue_maps"]
    figure = s.new_figure(s.PAGE, 5.9)
    upper, lower = _halves(figure, [2.3, 3.6])
    axes = upper.subplots(1, 3)
    for ax, regime in zip(axes, s.REGIME_COLOR, strict=True):
        _averages(ax, regime, tables)
    handles = [
        Line2D([], [], color="black", label=rf"{s.METHOD_NAME[r]}, average $\bar{{Q}}$", **line)
        for r, line in _LINE.items()
    ]
    handles += [Line2D([], [], color="black", linestyle=":", label=r"COLD, largest $Q_k[t]$")]
    handles += [Line2D([], [], color="black", linewidth=0.7, label=r"$\ell r^2/2$, COLD's limit")]
    upper.legend(handles=handles, loc="outside lower center", ncols=4)
    heat = _heatmaps(lower, maps, "V", [f"V = {v:g}" for v in maps.values("V")])
    s.letter([*axes, *heat])
    return s.finish(figure)


def draw_queues_delta(tables: Mapping[str, Table]) -> Figure:
    """Top: average queue and gradient against delta. Below: heatmaps of Q_k[t] for several delta."""
    maps, sweep = tables["queue_maps_delta"], tables["sweep_delta"]
    figure = s.new_figure(s.PAGE, 5.7)
    upper, lower = _halves(figure, [2.1, 3.6])
    left, right = upper.subplots(1, 2)
    for reference, line in _LINE.items():
        here = sweep.where(reference=reference)
        delta, queue = here.grid("delta", "avg_Qbar")
        color = s.REGIME_COLOR["conflict"]
        s.band(left, delta, np.where(queue > 0, queue, np.nan), color=color, label=s.METHOD_NAME[reference], **line)
        s.band(
            right,
            delta,
            here.grid("delta", "avg_grad_sq_before")[1],
            color=color,
            label=s.METHOD_NAME[reference],
            **line,
        )
    s.loglog(left, r"tolerance $\delta$", s.QUEUE)
    right.set_xscale("log")
    right.set(xlabel=r"tolerance $\delta$", ylabel=s.GRADIENT_BEFORE)
    for ax in (left, right):
        ax.legend(loc="best")
        ax.set_title("CONFLICT")
    names = [rf"$\delta$ = {s.power(d)}" for d in maps.values("delta")]
    heat = _heatmaps(lower, maps, "delta", names)
    s.letter([left, right, *heat])
    return s.finish(figure)


def _heatmaps(figure: Any, maps: Table, axis: str, names: list[str]) -> list[Axes]:
    """Q_k[t] of one regime: t to the right, k upwards, one colour scale per reference."""
    references = maps.values("reference")
    (regime,) = maps.values("regime")
    figure.suptitle(f"every queue of one seed, {s.REGIME_NAME[regime]}", fontsize=8)
    axes = figure.subplots(len(references), len(names), sharex=True, sharey=True, squeeze=False)
    for row, reference in enumerate(references):
        top = float(maps.where(reference=reference)["Q"].max()) or 1.0
        for column, value in enumerate(maps.values(axis)):
            ax, one = axes[row, column], maps.where(reference=reference, **{axis: value})
            mesh = s.heat(ax, one, "Q", top)
            ax.set_title(f"{s.METHOD_NAME[reference]}, {names[column]}")
            if not one["Q"].any():
                s.say_empty(ax)
        axes[row, 0].set_ylabel("past task k")
        figure.colorbar(mesh, ax=list(axes[row]), pad=0.01, aspect=18).set_label(r"queue $Q_k[t]$")
    for ax in axes[-1]:
        ax.set_xlabel("task t")
    return list(axes.flat)


def _averages(ax: Axes, regime: str, tables: Mapping[str, Table]) -> None:
    color, both = s.REGIME_COLOR[regime], tables["sweep_queues"].where(regime=regime)
    previous = both.where(reference="previous") if regime == "conflict" else tables["sweep_V"].where(regime=regime)
    for reference, table in (("previous", previous), ("best", both.where(reference="best"))):
        V, queue = table.grid("V", "avg_Qbar")
        s.band(ax, V, np.where(queue > 0, queue, np.nan), color=color, **_LINE[reference])
    caps = tables["queue_caps"].where(regime=regime)
    V, largest = caps.grid("V", "Q_max")
    s.band(ax, V, np.where(largest > 0, largest, np.nan), color=color, linestyle=":")
    ax.plot(V, caps.grid("V", "cap")[1].mean(axis=0), color=color, linewidth=0.7)
    s.loglog(ax, "V", "queue" if regime == "low" else "")
    step = r"$10^{-4}$" if regime == "conflict" else r"$4\cdot 10^{-4}$"
    ax.set_title(rf"{s.REGIME_NAME[regime]}, $\eta$ = {step}")


def _halves(figure: Figure, heights: list[float]) -> tuple[SubFigure, SubFigure]:
    parts: Any = figure.subfigures(2, 1, height_ratios=heights)
    return parts[0], parts[1]
