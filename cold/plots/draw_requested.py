"""Figures beyond the paper from their tables: calibration, gauge, plasticity against forgetting, robustness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import NDArray

from coldtheory.figures import style as s
from coldtheory.figures.table import Table

from ..catalogue import method_title
from .looks import look
from .robust import FACTORS

_ABSOLUTE, _RELATIVE = 0.02, 0.2  # how far delivered forgetting may be from the request
_FLOOR = 0.008  # nats; smaller ones are drawn here


def draw_requested(tables: Mapping[str, Table]) -> Figure:
    """Delivered against requested forgetting (top) and accuracy (bottom), one column per benchmark."""
    rows = list(next(iter(tables.values())).rows())
    titles = list(dict.fromkeys(row["title"] for row in rows))
    with s.styled():
        figure, axes = s.panels(len(titles), 2, height=4.0, width=s.PAGE)
        axes = np.asarray(axes).reshape(2, len(titles))
        for column, title in enumerate(titles):
            own = [row for row in rows if row["title"] == title]
            _calibrated(axes[0, column], own, title)
            _reached(axes[1, column], own)
        axes[0, 0].set_ylabel("delivered (nats)")
        axes[1, 0].set_ylabel("accuracy ACC (%)")
        s.letter(list(axes.flat))
        figure.legend(handles=axes[0, 0].get_legend_handles_labels()[0], loc="outside lower center", ncols=5)
        return s.finish(figure)


def _calibrated(ax: Axes, rows: Sequence[Mapping[str, Any]], title: str) -> None:
    requested = sorted({row["requested"] for row in rows})
    line = np.geomspace(requested[0] * 0.8, requested[-1] * 1.25, 60)
    slack = np.maximum(_ABSOLUTE, _RELATIVE * line)
    near = f"within {_ABSOLUTE:g} nats or {_RELATIVE:.0%}"
    ax.fill_between(
        line, np.maximum(line - slack, _FLOOR), line + slack, color=s.GREY, alpha=0.2, linewidth=0, label=near
    )
    ax.plot(line, line, color=s.GREY, linewidth=0.8, label="as requested")
    style = look("cold-distill")
    for row in rows:
        unmet = np.isfinite(row["smallest"])
        ax.plot(row["requested"], max(row["delivered"], _FLOOR), marker="x" if unmet else "o", markersize=2.5,
                color=style["color"], alpha=0.45, linestyle="none")  # fmt: skip
    means = [np.mean([row["delivered"] for row in rows if row["requested"] == value]) for value in requested]
    ax.plot(requested, np.maximum(means, _FLOOR), **{**style, "linestyle": "-"}, label="mean over seeds")
    for marker, words in (("o", "one seed"), ("x", "one seed, said to be out of reach")):
        ax.plot([], [], marker=marker, color=style["color"], alpha=0.45, linestyle="none", markersize=3, label=words)
    _log(ax, requested)
    ax.set_yscale("log")
    ax.set_title(title)


def _reached(ax: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    requested = sorted({row["requested"] for row in rows})
    style = look("cold-distill")
    for row in rows:
        ax.plot(row["requested"], row["acc"], "o", markersize=2.5, color=style["color"], alpha=0.45)
    means = [np.mean([row["acc"] for row in rows if row["requested"] == value]) for value in requested]
    ax.plot(requested, means, **{**style, "linestyle": "-"})
    _log(ax, requested)
    ax.set_xlabel("requested forgetting (nats)")


def _log(ax: Axes, values: Sequence[float]) -> None:
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(FixedLocator(list(values)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def draw_gauge(tables: Mapping[str, Table]) -> Figure:
    """Forgetting on the test data against forgetting by the gauge, one panel per benchmark."""
    rows = list(next(iter(tables.values())).rows())
    titles = list(dict.fromkeys(row["title"] for row in rows))
    with s.styled():
        figure, axes = s.panels(len(titles), 1, height=2.3, width=s.PAGE)
        axes = np.asarray(axes).reshape(-1)
        for ax, title in zip(axes, titles, strict=True):
            own = [row for row in rows if row["title"] == title]
            gauge, test = (np.array([row[name] for row in own]) for name in ("gauge", "test"))
            low, high = min(gauge.min(), test.min()), max(gauge.max(), test.max())
            ax.plot([low, high], [low, high], color=s.GREY, linewidth=0.8, label="both are equal")
            color = look("cold-distill")["color"]
            ax.plot(gauge, test, "o", markersize=1.6, alpha=0.35, color=color, label="one run after one task")
            slope, offset = np.polyfit(gauge, test, 1)
            ax.set_title(title)
            words = f"slope {slope:.2f}, bias {np.mean(gauge - test):+.3f}\n(fit at 0: {offset:+.3f})"
            ax.text(0.04, 0.96, s.minus(words), transform=ax.transAxes, va="top", fontsize=6)
            ax.set_xlabel("by the gauge (nats)")
        axes[0].set_ylabel("on the test data (nats)")
        s.letter(list(axes))
        figure.legend(handles=axes[0].get_legend_handles_labels()[0], loc="outside lower center", ncols=2)
        return s.finish(figure)


def draw_front(tables: Mapping[str, Table]) -> Figure:
    """Accuracy of newly learnt tasks against forgetting, one panel per benchmark and one line per method."""
    rows = list(next(iter(tables.values())).rows())
    titles = list(dict.fromkeys(row["title"] for row in rows))
    with s.styled():
        figure, axes = s.panels(len(titles), 1, height=2.6, width=s.PAGE)
        axes = np.asarray(axes).reshape(-1)
        labelled: dict[str, Any] = {}  # label -> its first line: one key for all panels
        for ax, title in zip(axes, titles, strict=True):
            shown = [row for row in rows if row["title"] == title]
            for method, requested in dict.fromkeys((row["method"], row["requested"]) for row in shown):
                found = _front_of([row for row in shown if (row["method"], row["requested"]) == (method, requested)])
                label = method_title(method) + (", on request" if requested else "")
                style = {**look(method), **({"linestyle": "--", "markerfacecolor": "white"} if requested else {})}
                (line,) = ax.plot(np.maximum(found[:, 0], _FLOOR), found[:, 1], label=label, **style)
                labelled.setdefault(label, line)
            ax.set_xscale("log")
            ax.set_title(title)
            ax.set_xlabel("loss that past tasks gained (nats)")
        axes[0].set_ylabel("accuracy when just learnt (%)")
        s.letter(list(axes))
        figure.legend(handles=list(labelled.values()), loc="outside lower center", ncols=(len(labelled) + 1) // 2)
        return s.finish(figure)


def _front_of(rows: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
    """Means over seeds of each setting: (forgetting, accuracy when just learnt), by forgetting."""
    settings = dict.fromkeys(row["setting"] for row in rows)
    at = [[row for row in rows if row["setting"] == setting] for setting in settings]
    return np.array(
        sorted([np.mean([row[n] for row in one]) for n in ("forgetting_loss", "learning_acc")] for one in at)
    )


def draw_robust(tables: Mapping[str, Table]) -> Figure:
    """Accuracy over the factor, one panel per size and one line per method."""
    rows = list(next(iter(tables.values())).rows())
    sizes = sorted({row["limit_train"] for row in rows})
    with s.styled():
        figure, axes = s.panels(len(sizes), 1, height=2.4, width=s.PAGE)
        axes = np.asarray(axes).reshape(-1)
        for ax, size in zip(axes, sizes, strict=True):
            for method in dict.fromkeys(row["method"] for row in rows):
                own = [row for row in rows if row["limit_train"] == size and row["method"] == method]
                by_factor = {f: [row["acc"] for row in own if row["factor"] == f] for f in FACTORS}
                means = [np.mean(found) if found else np.nan for found in by_factor.values()]
                ax.plot(FACTORS, means, label=method_title(method), **look(method))
            _log(ax, FACTORS)
            ax.set_title(f"{int(size):,} images per task")
            ax.set_xlabel("times the default")
        axes[0].set_ylabel("accuracy ACC (%)")
        s.letter(list(axes))
        handles = axes[0].get_legend_handles_labels()[0]
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
        return s.finish(figure)
