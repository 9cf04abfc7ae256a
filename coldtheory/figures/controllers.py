"""The queue, the leaky queue and Yu and Neely's controller over the number of tasks: forgetting and queues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..bounds import evaluate, facts_of
from ..bounds.energy import forgotten, totals
from ..quadratics import Array
from ..simulation import simulate
from . import style as s
from .table import Table, Tell, counted, quiet

_STATEMENT = {"queue": "forgetting_uniform", "leaky:a=0.02": "leaky_queue", "yu-neely": "yu_neely"}
_NAME = {"queue": "queue", "leaky:a=0.02": "leaky queue, a = 0.02", "yu-neely": "Yu and Neely"}
_COLOR = dict(zip(_NAME, (s.PALETTE[0], s.PALETTE[1], s.PALETTE[2]), strict=True))
#: Dotted lines of several controllers coincide: the dots of one fall into the gaps of the others.
_DOTS = {name: (1.6 * number, (1.2, 3.6)) for number, name in enumerate(_NAME)}


def controllers(*, T: int, V: float, delta: float, points: int, tell: Tell = quiet) -> Table:
    """Two streams under every controller, after so many numbers of tasks s: forgetting, its bound, and the queues."""
    cells: list[tuple[str, str, Any, Any]] = [
        ("alternating", name, "mean", reference) for name in _NAME for reference in ("stored", "previous")
    ]
    cells += [("one task", name, weights, "stored") for name in _NAME for weights in ("mean", "sum")]
    at = np.unique(np.geomspace(2, T, points).astype(int))
    rows: list[dict[str, Any]] = []
    for stream, name, weights, reference in counted(cells, tell):
        optima, star, prime = _stream(stream, T)
        run = simulate(optima, V=V, delta=delta, solver="exact", reference=reference, weights=weights, controller=name)
        facts = facts_of(run)
        mean, first = forgotten(facts), totals(facts)[..., 0]
        bound = np.full(T, np.nan)
        if reference == "stored" and weights == "mean":
            bound = evaluate(_STATEMENT[name], "proved", facts, delta_prime=prime, w_star=star).rhs
        queue = run.Q[1:].sum(axis=-1) / facts.past
        rows += [
            {
                "stream": stream, "controller": name, "weights": weights, "reference": reference, "s": int(t),
                "delta": delta, "forgetting": mean[t - 1], "bound": bound[t - 1], "first_task": first[t - 1] / (t - 1),
                "mean_queue": queue[t - 1], "root_mean_square": np.sqrt(2.0 * run.lyapunov[t]),
            }
            for t in at
        ]  # fmt: skip
    return Table.of(rows)


def _stream(name: str, T: int) -> tuple[Array, Array, float]:
    """Optima, comparators and their tolerance: two kinds that take turns, or one task at 0 and then only 1.5."""
    if name == "alternating":
        return np.where(np.arange(T) % 2, -1.0, 1.0)[:, None], np.zeros((T, 1)), 0.5
    first = np.arange(T)[:, None] == 0
    return np.where(first, 0.0, 1.5), np.where(first, 0.0, 1.0), 0.5


def draw_controllers(tables: Mapping[str, Table]) -> Figure:
    """Mean forgetting with its bounds, the one task that mean weights forget, and queues."""
    table = tables["controllers"]
    figure, axes = s.panels(3, height=2.9)
    left, middle, right = axes[0]
    _means(left, table.where(stream="alternating"))
    _first(middle, table.where(stream="one task"))
    _queues(right, table.where(stream="alternating", reference="stored"))
    handles = [Line2D([], [], color=_COLOR[name], label=words) for name, words in _NAME.items()]
    handles += [
        Line2D([], [], color="black", label="Case 3, measured"),
        Line2D([], [], color="black", linestyle="--", label="Case 3, proved bound"),
        Line2D([], [], color="black", linestyle=":", label="Case 1, measured"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    s.letter([left, middle, right])
    return s.finish(figure)


def _means(ax: Axes, table: Table) -> None:
    for name, color in _COLOR.items():
        here = table.where(controller=name, reference="stored")
        ax.plot(here["s"], here["forgetting"], color=color)
        ax.plot(here["s"], here["bound"], color=color, linestyle="--")
        first = table.where(controller=name, reference="previous")["forgetting"]
        ax.plot(here["s"], first, color=color, linestyle=_DOTS[name])
    ax.axhline(float(table["delta"][0]), color=s.GREY, linewidth=0.7)
    ax.annotate(r"$\delta$", (2, float(table["delta"][0])), fontsize=7, xytext=(0, 3), textcoords="offset points")
    ax.set_xscale("log")
    ax.set_ylim(bottom=0.0)
    ax.set(xlabel="number of tasks s", ylabel=r"mean forgetting $F_k[t]$, $k<t\leq s$")
    ax.set_title("optima alternate")


def _first(ax: Axes, table: Table) -> None:
    for name, color in _COLOR.items():
        for weights, line in (("mean", "-"), ("sum", _DOTS[name])):
            here = table.where(controller=name, weights=weights)
            ax.plot(here["s"], here["first_task"], color=color, linestyle=line)
    ax.axhline(0.0, color=s.GREY, linewidth=0.7)
    ax.set_xscale("log")
    ax.set(xlabel="number of tasks s", ylabel=r"task 1: mean of $F_1[t]-\delta$")
    ax.set_title("one task, then another kind")
    lines = [Line2D([], [], color="black", label="mean weights"),
             Line2D([], [], color="black", linestyle=(0, (1, 1)), label="sum weights")]  # fmt: skip
    ax.legend(handles=lines, loc="upper right")


def _queues(ax: Axes, table: Table) -> None:
    for name, color in _COLOR.items():
        here = table.where(controller=name)
        ax.plot(here["s"], here["mean_queue"], color=color)
        ax.plot(here["s"], here["root_mean_square"], color=color, linestyle="-.")
    s.loglog(ax, "number of tasks s", r"queues $Q_k[s]$ over $k$")
    ax.set_title("optima alternate, Case 3")
    lines = [Line2D([], [], color="black", label="mean"),
             Line2D([], [], color="black", linestyle="-.", label="root mean square")]  # fmt: skip
    ax.legend(handles=lines, loc="upper left")
