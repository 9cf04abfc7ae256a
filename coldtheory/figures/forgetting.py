"""Real forgetting over the number of tasks: what is measured in Cases 1, 2 and 3, and what is proved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..bounds import evaluate, facts_of
from ..quadratics import Array
from ..settings import Reference
from ..simulation import simulate
from ..tasks import make_tasks
from . import style as s
from .table import Table, Tell, counted, quiet

_CASES: dict[Reference, str] = {"previous": "Case 1", "best": "Case 2", "stored": "Case 3"}
_MEANT = {"previous": "previous model", "best": "best model", "stored": "stored model"}
_STREAMS = {"alternating": "optima alternate", "creeping": "optima creep", "conflict": "CONFLICT"}
#: of bounds; those of Cases 2 and 3 nearly coincide
_DASHES: dict[Reference, Any] = {"previous": (0, (4, 1.5)), "best": (0, (4, 1.5)), "stored": (2.75, (4, 1.5))}
_SHOWN = (0.15, 20.0)  # of forgetting over delta; Case 1's bound goes on
_DWELL = 8  # tasks at either end of the creeping stream
_SHORTEST = {"conflict": 50}  # before, only one kind of task has come
_ROOM = 1.05  # delta over the smallest tolerance that the centre of CONFLICT needs


def forgetting(*, lengths: Sequence[int], V: Mapping[str, Sequence[float]], seed: int, tell: Tell = quiet) -> Table:
    """Mean forgetting and its bound at every length: for each stream all references at its first V, and the stored one
    at the others, too. Models are exact minimisers."""
    cells = [(stream, reference, values[0]) for stream, values in V.items() for reference in _CASES]
    cells += [(stream, "stored", v) for stream, values in V.items() for v in values[1:]]
    rows = [
        {"stream": stream, "reference": reference, "V": v, "T": T, **_measured(stream, reference, v, T, seed)}
        for T, (stream, reference, v) in counted(
            [(T, cell) for T in lengths for cell in cells if _SHORTEST.get(cell[0], 2) <= T], tell
        )
    ]
    return Table.of(rows)


def stream_of(name: str, T: int, seed: int) -> tuple[Array, float, Array]:
    """Optima (T, d), the tolerance delta, and comparators (T, d): one point that is near enough to all optima."""
    if name == "conflict":
        optima = make_tasks("conflict", seed, T=T).phi.optima
        centre = 0.5 * (optima.min(axis=0) + optima.max(axis=0))
        delta = _ROOM * 0.5 * float(np.square(optima - centre).sum(axis=-1).max())
        return optima, delta, np.broadcast_to(centre, optima.shape)
    # From -1 to 1 and back: with delta = 1/2 the loss of the end that is left grows by at most delta per task.
    way = np.sqrt(np.arange(4)) - 1.0
    period = np.concatenate([np.full(_DWELL, -1.0), way[1:], np.full(_DWELL, 1.0), -way[1:]])
    turns = np.array([-1.0, 1.0]) if name == "alternating" else period
    return np.resize(turns, T)[:, None], 0.5, np.zeros((T, 1))


def _measured(stream: str, reference: Reference, V: float, T: int, seed: int) -> dict[str, float]:
    optima, delta, star = stream_of(stream, T, seed)
    facts = facts_of(simulate(optima, V=V, delta=delta, solver="exact", reference=reference))
    if reference == "previous":
        bound = evaluate("creeping", "average", facts)
    else:
        nearest = 0.5 * float(np.square(optima - star).sum(axis=-1).max())
        bound = evaluate("forgetting", "proved", facts, delta_prime=nearest, w_star=star)
    return {
        "delta": delta, "avg_forgetting": float(bound.lhs), "bound": float(bound.rhs),
        "avg_Qbar": float(facts.avg_Qbar), "holds": float(bound.outcome == "holds"),
    }  # fmt: skip


def draw_forgetting(tables: Mapping[str, Table]) -> Figure:
    """Three streams with measured value and bound per case, and the excess of Case 3's bound over delta."""
    table = tables["forgetting"]
    figure, axes = s.panels(2, 2, height=4.6)
    for ax, (stream, words) in zip(axes.flat, _STREAMS.items(), strict=False):
        here = table.where(stream=stream)
        V = here.where(reference="previous").values("V")[0]
        _stream(ax, here.where(V=V))
        ax.set_title(f"{words}, V = {V:g}")
    _excess(axes[1, 1], table.where(stream="alternating", reference="stored"))
    handles = [Line2D([], [], color=s.CASE_COLOR[r], label=f"{case}: {_MEANT[r]}") for r, case in _CASES.items()]
    handles += [
        Line2D([], [], color="black", marker="o", label="measured"),
        Line2D([], [], color="black", linestyle="--", label="proved bound"),
        Line2D([], [], color=s.GREY, linestyle=":", label=r"tolerance $\delta$"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    s.letter(list(axes.flat))
    return s.finish(figure)


def _stream(ax: Axes, table: Table) -> None:
    for reference, dashes in _DASHES.items():
        here = table.where(reference=reference)
        color: dict[str, Any] = {"color": s.CASE_COLOR[reference]}
        ax.plot(here["T"], here["avg_forgetting"] / here["delta"], marker="o", markersize=2.5, **color)
        s.cut_line(ax, here["T"], here["bound"] / here["delta"], high=_SHOWN[1], linestyle=dashes, **color)
    ax.axhline(1.0, color=s.GREY, linestyle=":")
    s.loglog(ax, "number of tasks T", r"mean forgetting $/\;\delta$")
    ax.set_ylim(*_SHOWN)
    s.few_ticks(ax, "y", (0.2, 0.5, 1, 2, 5, 10, 20))
    ax.text(0.25, 0.96, "Case 1's bound goes on growing with T", transform=ax.transAxes, va="top", fontsize=6,
            color=s.CASE_COLOR["previous"])  # fmt: skip


def _excess(ax: Axes, table: Table) -> None:
    """The bound's excess over delta against T, a line per V, each with its fitted exponent."""
    lines = dict(zip(sorted(table.values("V"), reverse=True), ("-", (0, (5, 1.5)), (0, (1.5, 1.2))), strict=False))
    for V, line in lines.items():
        here = table.where(V=V)
        excess = (here["bound"] - here["delta"]) / here["delta"]
        words = rf"V = {V:g}: $T^{{{exponent(here['T'], excess):.2f}}}$"
        ax.plot(here["T"], excess, color=s.CASE_COLOR["stored"], linestyle=line, label=words)
    guide = 0.6 * excess[-1] * np.sqrt(here["T"][-1] / here["T"])
    ax.plot(here["T"], guide, color=s.GREY, linewidth=0.7, label=r"slope of $T^{-1/2}$")
    ax.legend(loc="upper right")
    ax.set_title("optima alternate, Case 3: excess of the bound")
    s.loglog(ax, "number of tasks T", r"(bound $-\;\delta)\;/\;\delta$")
    ax.set_ylim(top=3.0 * float((table["bound"] / table["delta"]).max()))  # room for the legend


def exponent(T: Array, excess: Array) -> float:
    """p of the power T^p that fits best."""
    return float(np.polyfit(np.log(T), np.log(excess), 1)[0])
