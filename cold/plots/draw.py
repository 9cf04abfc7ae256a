"""Training figures from their tidy table: curves over a setting or over tasks, and heatmaps over tasks.

All that is drawn is in the table, so the CSV beside a picture contains every number in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from coldtheory.figures import style as s
from coldtheory.figures.table import Table

from ..catalogue import IID, benchmark_title, method_title
from .looks import look

_FIELDS = {
    "V": "V",
    "memory": "memory M (samples in total)",
    "delta": r"tolerance $\delta$",
    "tasks": "number of tasks T",
    "epochs": "epochs per task",
    "batch_size": "batch size",
    "method": "method",
}
_METRICS = {
    "acc": "accuracy ACC (%)",
    "forgetting": "forgetting F",
    "avg_grad_sq_before": r"before a task: average $\|\nabla\Phi_t\|^2$",
    "avg_grad_sq_after": r"after it: average $\|\nabla\Phi_t\|^2$",
    "Delta_bar": r"residual $\bar\Delta$",
}
_GAPS = {"acc": "ACC gap (points)", "forgetting": "F gap"}

_MARKERS = "osD^v"
_SHADES = ("#9ecae1", "#4292c6", "#08519c", "#08306b", "black")  # light to dark: small to large values
_HEAT = ("queues", "accuracy")


def draw_training(tables: Mapping[str, Table]) -> Figure:
    """The picture of one figure; its only table says what is in which panel."""
    (table,) = tables.values()
    table, left_out = _comparable(table)
    kinds = set(table.values("kind"))
    if kinds <= set(_HEAT):
        figure = _heatmaps(table)
    elif "avg_grad_sq_before" in table.values("what"):
        figure = _diagnostics(table)
    else:
        figure = _curves(table)
    s.finish(figure)
    s.small_print(figure, _origin(table) + left_out)
    if table["made_up"].any():
        s.watermark(figure)
    return figure


def _comparable(table: Table) -> tuple[Table, str]:
    """The rows without printed numbers for another number of tasks, and a remark on how many those were."""
    paper = table["source"] == "paper"
    keep = ~paper
    for panel in table.values("panel"):
        here = table["panel"] == panel
        lengths = table["t"][here & ~paper]
        last = np.nanmax(lengths) if np.isfinite(lengths).any() else np.nan
        keep |= here & paper & (np.isnan(table["t"]) | (table["t"] == last))
    gone = int((~keep).sum())
    words = f" · {gone} printed numbers left out: they are of another number of tasks" if gone else ""
    return Table({name: column[keep] for name, column in table.columns.items()}), words


def _curves(table: Table) -> Figure:
    """A grid of panels and metrics: metrics below one another, or side by side where methods are compared."""
    panels, metrics = sorted(table.values("panel")), table.values("what")
    compared = "method" in table.values("field")
    rows, columns = (len(panels), len(metrics)) if compared else (len(metrics), len(panels))
    same = not compared and len(table.values("dataset")) == 1 and "gap" not in table.values("kind")
    height = 0.5 + 1.75 * rows + 0.45 * compared
    figure, axes = s.panels(columns, rows, height=height, sharey="row" if same else "none")
    for at, panel in enumerate(panels):
        here = table.where(panel=panel)
        gap = here["kind"][0] == "gap"
        for row, metric in enumerate(metrics):
            ax = axes[at, row] if compared else axes[row, at]
            _panel(ax, here.where(what=metric))
            if gap or compared or at == 0:
                ax.set_ylabel(_GAPS[metric] if gap else _METRICS[metric])
            ax.set_title(_title(here) if row == 0 or compared else "")
    s.letter(list(axes.flat))
    _legend(figure, table)
    return figure


def _panel(ax: Axes, table: Table) -> None:
    kind, field = table["kind"][0], table["field"][0]
    runs, paper = table.where(source="run"), table.where(source="paper")
    ends: list[tuple[float, float, str, str]] = []
    if kind == "sweep":
        for method in runs.values("method"):
            x, y = runs.where(method=method).grid("value", "y")
            s.band(ax, x, y, **look(method), gaps=False)
        for method in paper.values("method"):
            own = paper.where(method=method)
            ax.plot(own["value"], own["y"], **_star(look(method)["color"]))
        _scale(ax, field, runs["value"])
        ax.set_xlabel(_FIELDS[field])
    elif kind == "gap":
        for method in runs.values("method"):
            t, gap = _gap(runs.where(method=method))
            s.band(ax, t, gap, **look(method), gaps=False)
        ax.axhline(0.0, color="0.6", linewidth=0.7, zorder=0)
        low, high = min(runs.values("value")), max(runs.values("value"))
        ax.set_xlabel(f"after task t ({high:g} epochs minus {low:g})")
    else:
        for name, style, line, star in _lines(runs, paper, field):
            t, y = line.grid("t", "y")
            means = s.band(ax, t, y, **style, gaps=False)
            ax.plot(star["t"], star["y"], **_star(style["color"]))
            ends.append((float(t[-1]), float(means[-1]), name, style["color"]))
        ax.set_xlabel("after task t")
    if kind != "sweep":
        ax.xaxis.set_major_locator(mpl.ticker.MaxNLocator(6, integer=True))
    ax.margins(y=0.12)
    if field == "method":
        s.name_ends(ax, ends)


def _lines(runs: Table, paper: Table, field: str) -> list[tuple[str, dict[str, Any], Table, Table]]:
    """(name, style, measured, printed) of every line over tasks: one per method, or one per value of the field."""
    if field == "method":
        names = runs.values("method")
        return [(method_title(m), look(m), runs.where(method=m), paper.where(method=m)) for m in names]
    values = sorted(runs.values("value"))
    return [
        (f"{value:g}", _shade(at, len(values)), runs.where(value=value), paper.where(value=value))
        for at, value in enumerate(values)
    ]


def _gap(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """The metric at the largest value minus that at the smallest, after each task, paired by seed."""
    values = sorted(table.values("value"))
    low, high = table.where(value=values[0]), table.where(value=values[-1])
    seeds = [seed for seed in low.values("seed") if seed in high.values("seed")]
    pairs = [(low.where(seed=seed), high.where(seed=seed)) for seed in seeds]
    t = low.where(seed=seeds[0])["t"]
    return t, np.stack([right["y"] - left["y"] for left, right in pairs])


def _diagnostics(table: Table) -> Figure:
    """Gradient and residual against V: one panel each, one line per split of the data."""
    metrics = table.values("what")
    figure, axes = s.panels(len(metrics), height=2.6)
    looks = {IID: (s.REGIME_COLOR["low"], "near-IID split (LOW)"), "": (s.REGIME_COLOR["high"], "class split (HIGH)")}
    for ax, metric in zip(axes[0], metrics, strict=True):
        for dataset in table.values("dataset"):
            here = table.where(dataset=dataset, what=metric, source="run")
            color, words = looks[IID if dataset.endswith(IID) else ""]
            x, y = here.grid("value", "y")
            s.band(ax, x, np.where(y > 0, y, np.nan), color=color, marker="o", markersize=3.0, label=words, gaps=False)
        s.loglog(ax, _FIELDS[here["field"][0]], _METRICS[metric])
        ax.set_title(
            f"{benchmark_title(table['dataset'][0]).removesuffix(', near-IID')}, {method_title(here['method'][0])}"
        )
    s.letter(list(axes[0]))
    figure.legend(handles=axes[0, 0].get_legend_handles_labels()[0], loc="outside lower center", ncols=2)
    return figure


def _heatmaps(table: Table) -> Figure:
    """A row per panel (queues or accuracy of one method), a column per value of the field; means over seeds.

    Queues for one value may be a thousand times those for another: each map has its own scale. Accuracies share one.
    """
    panels = sorted(table.values("panel"))
    values = sorted(table.values("value"))
    figure, axes = s.panels(len(values), len(panels), height=0.4 + 1.75 * len(panels), sharex=True, sharey=True)
    for row, panel in enumerate(panels):
        here = table.where(panel=panel)
        queues = here["kind"][0] == "queues"
        maps = [_mean(here.where(value=value)) for value in values]
        ends = [(0.0, float(one["y"].max())) for one in maps]
        if not queues:
            ends = [(min(float(one["y"].min()) for one in maps), max(top for _, top in ends))] * len(maps)
        keys = []
        for ax, value, one, (low, top) in zip(axes[row], values, maps, ends, strict=True):
            method, field = method_title(here["method"][0]), _FIELDS[here["field"][0]].removeprefix("tolerance ")
            ax.set_title(f"{method}, {field} = {value:g}")
            if top == 0.0:
                s.say_empty(ax)
            keys += [s.heat_with_key(ax, one, "y", top, low)] if top > 0.0 else []
        if keys:
            keys[-1].set_label(r"queue $Q_k$" if queues else "accuracy")
        axes[row, 0].set_ylabel("task k")
    for ax in axes[-1]:
        ax.set_xlabel("after task t")
        ax.xaxis.set_major_locator(mpl.ticker.MaxNLocator(5, integer=True))
        ax.yaxis.set_major_locator(mpl.ticker.MaxNLocator(5, integer=True))
    s.letter(list(axes.flat))
    return figure


def _mean(table: Table) -> Table:
    """The mean over seeds of a heatmap's entries."""
    pairs, at = np.unique(np.stack([table["t"], table["k"]]), axis=1, return_inverse=True)
    total = np.bincount(at.ravel(), table["y"], minlength=pairs.shape[1])
    count = np.bincount(at.ravel(), minlength=pairs.shape[1])
    return Table({"t": pairs[0], "k": pairs[1], "y": total / count})


def _legend(figure: Figure, table: Table) -> None:
    runs = table.where(source="run")
    handles: list[Line2D] = []
    for kind, field in dict.fromkeys(zip(runs["kind"].tolist(), runs["field"].tolist(), strict=True)):
        here = runs.where(kind=kind, field=field)
        if kind == "tasks" and field != "method":
            values = sorted(here.values("value"))
            names = [_named(field, value) for value in values]
            handles += [Line2D([], [], label=name, **_shade(i, len(values))) for i, name in enumerate(names)]
        else:
            handles += [Line2D([], [], label=_label(here, name), **look(name)) for name in here.values("method")]
    if "paper" in table.values("source"):
        handles.append(Line2D([], [], label="printed in the paper", **_star(s.GREY)))
    unique = list({str(handle.get_label()): handle for handle in handles}.values())
    figure.legend(handles=unique, loc="outside lower center", ncols=min(len(unique), 5))


def _label(table: Table, method: str) -> str:
    """A method's name; where methods are compared, with the settings that COLD had."""
    settings = table.where(method=method)["settings"][0]  # NaN where the column is empty
    return f"{method_title(method)} ({settings})" if isinstance(settings, str) and settings else method_title(method)


def _shade(at: int, count: int) -> dict[str, Any]:
    """Light to dark over the values of a field; the darkest is the largest."""
    shades = _SHADES[-count:] if count <= 2 else _SHADES
    color = shades[min(at, len(shades) - 1)] if count > 2 else ("#4292c6", "#08306b")[at]
    return {"color": color, "marker": _MARKERS[at % len(_MARKERS)], "linestyle": "-", "markersize": 2.5}


def _star(color: str) -> dict[str, Any]:
    return {
        "marker": "*", "markersize": 8, "markerfacecolor": color, "markeredgecolor": "black", "markeredgewidth": 0.6,
        "linestyle": "none", "zorder": 5,
    }  # fmt: skip


def _scale(ax: Axes, field: str, values: np.ndarray) -> None:
    """Logarithmic where values span a decade; with a linear part around 0 if 0 is among them. Ticks at the values."""
    positive = np.unique(values[values > 0])
    if len(positive) < 2:
        return
    decade = positive[-1] >= 10 * positive[0]
    if decade and (values == 0).any():
        ax.set_xscale("symlog", linthresh=float(positive[0]), linscale=0.6)
        ax.set_xlim(-0.4 * float(positive[0]), None)
    elif decade:
        ax.set_xscale("log")
    if field != "V":
        s.few_ticks(ax, "x", _thinned(np.unique(values)))


def _thinned(values: np.ndarray) -> Sequence[float]:
    return [float(value) for value in (values if len(values) <= 6 else values[::2])]


def _title(table: Table) -> str:
    """The dataset, and the method where the panel has one."""
    runs = table.where(source="run")
    methods = runs.values("method")
    words = benchmark_title(table["dataset"][0])
    return f"{words}, {method_title(methods[0])}" if len(methods) == 1 else words


def _named(field: str, value: float) -> str:
    """A value of a field as the key prints it."""
    if field == "epochs":
        return "1 epoch (online)" if value == 1 else f"{value:g} epochs"
    symbol = {"tasks": "T", "delta": r"$\delta$", "memory": "M", "batch_size": "batch"}.get(field, field)
    return f"{symbol} = {value:g}"


def _origin(table: Table) -> str:
    """Which profile and how many seeds made the picture."""
    runs = table.where(source="run")
    groups: dict[tuple[Any, ...], set[float]] = {}
    for panel, method, value, seed in zip(
        *(runs[n].tolist() for n in ("panel", "method", "value", "seed")), strict=True
    ):
        groups.setdefault((panel, method, value), set()).add(seed)
    counts = sorted({len(seeds) for seeds in groups.values()})
    seeds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    profiles = " and ".join(
        sorted({f"{name} profile" if name != "own" else "own settings" for name in runs.values("profile")})
    )
    words = [profiles, f"{seeds} seed{'s' if counts[-1] > 1 else ''} per point"]
    images = runs.values("images")  # NaN: all of them
    words += [f"{images[0]:,.0f} images per task"] * (len(images) == 1 and images[0] == images[0])
    if set(runs.values("kind")) <= set(_HEAT):  # titles have no room for it
        words = [benchmark_title(runs["dataset"][0]), *words]
    told = runs.values("data") if "data" in runs.columns else []  # NaN where all of them are whole
    words += dict.fromkeys(str(about).partition(" (")[0] for about in told if isinstance(about, str) and about)
    if runs["synthetic"].any():
        words.append("synthetic images")
    if runs["made_up"].any():
        words.append("MADE-UP ROWS, not a result")
    return " · ".join(words)
