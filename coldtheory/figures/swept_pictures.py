"""The pictures of one stored sweep; see `coldtheory.figures.swept`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..ground.statistics import minimum_of
from . import style as s
from .table import Table

_SYMBOLS = {
    "delta": r"tolerance $\delta$", "eta": r"step size $\eta$", "eta_factor": r"$\eta\,\alpha_t$",
    "T": "number of tasks T", "steps": "gradient steps per task",
    "memory": "samples per task in the memory", "noise": "gradient noise",
    "window": "window of latest models", "V_schedule": "schedule of V",
}  # fmt: skip


def draw_gradient(tables: Mapping[str, Table]) -> Figure:
    """One panel per source of tasks: the gradient before and after each task over what was varied."""
    table = _only(tables)
    figure, axes = _panels(table, columns=1)
    for number, (ax, regime) in enumerate(zip(axes.flat, table.values("regime"), strict=True)):
        here, color = table.where(regime=regime), _color(regime, number)
        x, before = _over_axis(here, "avg_grad_sq_before")
        _, after = _over_axis(here, "avg_grad_sq_after")
        _curve(ax, here, x, before, color=color, label="before each task", marker="o", **s.BEFORE)
        _curve(ax, here, x, after, color=color, label="after it", marker="s", **s.AFTER)
        least = minimum_of(x, before) if _is_number(here) else None
        if least is not None:
            words = f"smallest at {_plain_name(here)} = {least.mean:.4g} ± {least.se:.2g}"
            ax.axvline(least.mean, color=s.GREY, linewidth=0.8, linestyle=":", zorder=0, label=words)
        _label(ax, here, s.GRADIENT)
        _scale(ax, "y", np.concatenate([before.ravel(), after.ravel()]))
        ax.set_title(_title(regime))
        ax.legend(loc="best")
    return _finished(figure, axes, table)


def draw_queues(tables: Mapping[str, Table]) -> Figure:
    """Per source of tasks: the average queue on the left, what past tasks lose on the right."""
    table = _only(tables)
    figure, axes = _panels(table, columns=2)
    for number, (pair, regime) in enumerate(zip(axes, table.values("regime"), strict=True)):
        here, color = table.where(regime=regime), _color(regime, number)
        left, right = pair
        x, queue = _over_axis(here, "avg_Qbar")
        _curve(left, here, x, queue, color=color, marker="o")
        _label(left, here, s.QUEUE)
        _scale(left, "y", np.array([queue.min(axis=0), queue.mean(axis=0), queue.max(axis=0)]))
        for name, words, marker, style in (
            ("avg_forgetting", "mean", "o", s.BEFORE),
            ("max_forgetting", "largest", "s", s.AFTER),
        ):
            _curve(right, here, *_over_axis(here, name), color=color, label=words, marker=marker, **style)
        right.axhline(0.0, color=s.GREY, linewidth=0.6, zorder=0)
        _label(right, here, "forgetting of past tasks")
        right.legend(loc="best")
        for ax in pair:
            ax.set_title(_title(regime))
    return _finished(figure, axes, table)


def draw_tradeoff(tables: Mapping[str, Table]) -> Figure:
    """One panel per source of tasks: the gradient over the queue, a point per value of what was varied.

    The colour of a point is its value; where names were varied, the name stands beside it.
    """
    table = _only(tables)
    figure, axes = _panels(table, columns=1)
    numbers = np.unique(table["value"]) if _is_number(table) else np.zeros(1)
    logarithmic = numbers.min() > 0 and len(numbers) > 1
    norm = (mpl.colors.LogNorm if logarithmic else mpl.colors.Normalize)(numbers.min(), numbers.max())
    for number, (ax, regime) in enumerate(zip(axes.flat, table.values("regime"), strict=True)):
        here = table.where(regime=regime)
        x, queue = _over_axis(here, "avg_Qbar")
        queues = queue.mean(axis=0)
        shown = {name: _over_axis(here, name)[1].mean(axis=0) for name in ("avg_grad_sq_before", "avg_grad_sq_after")}
        for gradient, marker, words, style in zip(
            shown.values(), "os", ("before each task", "after it"), (s.BEFORE, s.AFTER), strict=True
        ):
            line: Any = {**style} if _is_number(here) else {"linestyle": "none"}
            color = _color(regime, number)
            ax.plot(queues, gradient, label=words, marker=marker, markersize=3.5, color=color, linewidth=0.9, **line)
            if _is_number(here):
                ax.scatter(
                    queues, gradient, c=x, cmap="viridis", norm=norm, s=14, marker=marker, zorder=3, linewidths=0
                )
        if not _is_number(here):
            for place, value in enumerate(here.values("value")):
                at = (queues[place], shown["avg_grad_sq_before"][place])
                ax.annotate(str(value), at, xytext=(0, 5), textcoords="offset points", ha="center", fontsize=6)
            ax.margins(0.2)
        ax.set(xlabel=s.QUEUE, ylabel=s.GRADIENT)
        _scale(ax, "x", queues)
        _scale(ax, "y", np.concatenate(list(shown.values())))
        ax.set_title(_title(regime))
        ax.legend(loc="best")
    if _is_number(table):
        bar = figure.colorbar(mpl.cm.ScalarMappable(norm, "viridis"), ax=list(axes.flat), pad=0.02, aspect=25)
        bar.set_label(_axis_name(table))
    return _finished(figure, axes, table)


def _curve(ax: Axes, table: Table, x: np.ndarray, by_seed: np.ndarray, *, color: str, marker: str, **line: Any) -> None:
    """The mean over seeds with the range from the 10 % to the 90 % quantile: a line, or bars for names."""
    if _is_number(table):
        s.band(ax, x, by_seed, color=color, marker=marker, markersize=2.5, **line)
        return
    mean = by_seed.mean(axis=0)
    ends = np.abs(np.quantile(by_seed, [0.1, 0.9], axis=0) - mean)
    ax.errorbar(x, mean, ends, color=color, marker=marker, markersize=3, label=line.get("label"), linestyle="none")


def _only(tables: Mapping[str, Table]) -> Table:
    (table,) = tables.values()
    return table


def _panels(table: Table, *, columns: int) -> tuple[Figure, Any]:
    """Axes (rows, columns): side by side where a source of tasks has one panel, else a row for each."""
    count = len(table.values("regime"))
    if columns == 1:
        return s.panels(count, height=2.7, width=4.2 if count == 1 else s.PAGE)
    return s.panels(columns, count, height=2.5 * count, width=s.PAGE)


def _over_axis(table: Table, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Places along the axis (n,) and a column as (seeds, n). Words stand side by side, in the order of the sweep."""
    if _is_number(table):
        return table.grid("value", name)
    words = table.values("value")
    places = np.array([words.index(word) for word in table["value"].tolist()], dtype=float)
    return Table({**table.columns, "value": places}).grid("value", name)


def _is_number(table: Table) -> bool:
    return bool(table["value"].dtype.kind == "f")


def _plain_name(table: Table) -> str:
    return str(table["axis"][0]).removeprefix("controller.")


def _axis_name(table: Table) -> str:
    return _SYMBOLS.get(str(table["axis"][0]), _plain_name(table))


def _label(ax: Axes, table: Table, y: str) -> None:
    """Names of both axes, and the scale of the horizontal one."""
    ax.set(xlabel=_axis_name(table), ylabel=y)
    if _is_number(table):
        _scale(ax, "x", np.unique(table["value"]))
        return
    words = table.values("value")
    ax.set_xticks(range(len(words)), [str(word) for word in words], rotation=20, ha="right")


def _scale(ax: Axes, which: str, values: np.ndarray) -> None:
    """Logarithmic for positive numbers; where some are zero, linear up to the power of ten below the others."""
    known = values[np.isfinite(values)]
    if not (known > 0).any() or (known < 0).any():
        return
    scale, limits = (ax.set_xscale, ax.set_xlim) if which == "x" else (ax.set_yscale, ax.set_ylim)
    if (known > 0).all():
        scale("log")
        return
    first = 10.0 ** np.floor(np.log10(known[known > 0].min()))
    scale("symlog", linthresh=first, linscale=0.5)
    limits(-0.3 * first, 2.0 * known.max())  # numbers that are never negative need no negative half


def _color(regime: str, number: int) -> str:
    return s.REGIME_COLOR.get(regime, s.PALETTE[(number + 3) % len(s.PALETTE)])  # own tasks have colours of their own


def _title(regime: str) -> str:
    return s.REGIME_NAME.get(regime, regime)


def _finished(figure: Figure, axes: Any, table: Table) -> Figure:
    if axes.size > 1:
        s.letter(list(axes.flat))
    diverged = _diverged(table)
    if diverged:
        s.small_print(figure, f"not drawn, because runs diverged: {diverged}")
    return s.finish(figure)


def _diverged(table: Table) -> str:
    """The values at which some run diverged, in words; such runs have no measures."""
    gone = np.isnan(table["avg_Qbar"])
    several = len(table.values("regime")) > 1
    pairs = dict.fromkeys(zip(table["regime"][gone].tolist(), table["value"][gone].tolist(), strict=True))
    words = [
        f"{f'{_title(regime)} ' if several else ''}{value if isinstance(value, str) else f'{value:g}'}"
        for regime, value in pairs
    ]
    return f"{_plain_name(table)} = {', '.join(words)}" if words else ""
