"""How tight the bounds are: right side over left side against V, and what the right side is made of.

A statement of the user's own is drawn in the same way, by `coldtheory plot bounds FILE.py`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..bounds import Bound, evaluate, facts_of, named_statement
from ..ground.errors import DivergenceWarning
from ..search import plan_for
from ..simulation import simulate
from ..tasks import make_tasks
from . import style as s
from .table import Table, Tell, counted, mean_and_quantiles, quiet

#: (statement, form) whose tightness is drawn
BOUNDS = (
    ("thm3", "corrected"),
    ("thm3", "trajectory"),
    ("thm3_sharp", "corrected"),
    ("thm3_sharp", "sharp"),
    ("cor1", "corrected"),
    ("thm4", "corrected"),
    ("thm4", "progress"),
    ("thm4", "by_lindley"),
    ("thm4", "a_priori"),
)
_FACTOR = 10.0  # ratio of the ends of an axis from which a logarithmic scale is used
_SEEDS_AT_ONCE = 5  # every queue of every run is kept while its bounds are evaluated

_Found = dict[tuple[str, str, str], list[dict[str, np.ndarray]]]  # (regime, statement, form): parts by group of seeds
_Forms = Mapping[tuple[str, str], tuple[str, str, Any]]  # (statement, form): words, colour, line

_GRADIENT: _Forms = {
    ("cor1", "corrected"): ("Corollary 1", s.PALETTE[3], "-"),
    ("thm3", "corrected"): ("Theorem 3", s.PALETTE[0], "-"),
    ("thm3_sharp", "corrected"): ("Theorem 3'", s.PALETTE[4], "-"),
    ("thm3", "trajectory"): ("Theorem 3, at the models", s.PALETTE[0], (0, (2, 2))),
    ("thm3_sharp", "sharp"): ("Theorem 3', sharpest", s.PALETTE[4], "--"),
}
_QUEUE: _Forms = {
    ("thm4", "corrected"): ("Theorem 4", s.PALETTE[1], "-"),
    ("thm4", "progress"): ("Theorem 4, sharpest of its kind", s.PALETTE[1], "--"),
    ("thm4", "a_priori"): (r"$\ell r^2/2$", s.PALETTE[7], "-"),
    ("thm4", "by_lindley"): ("Lindley's identity", s.PALETTE[2], "-"),
}
_DISSECTED = {
    ("thm3", "corrected"): "Theorem 3",
    ("thm3_sharp", "sharp"): "Theorem 3', sharpest",
    ("thm4", "corrected"): "Theorem 4",
}


def bound_terms(*, regimes: Sequence[str], V: Sequence[float], seeds: int, T: int, tell: Tell = quiet) -> Table:
    """Each statement's left side, right side, terms and their ratio, in the forms that hold, over a V-sweep.

    Mean and quantiles over seeds; empty where a premise fails or the measured side is 0 for some seed.
    """
    found: _Found = {(regime, *name): [] for regime in regimes for name in BOUNDS}
    for regime, some in counted(_groups(regimes, seeds), tell):
        facts = facts_of(simulate(make_tasks(regime, some, T=T), V=V))
        for name in BOUNDS:
            found[regime, *name].append(_parts(evaluate(*name, facts)))
    return _summary(found, V)


def statement_terms(
    *, statement: str, source: str, regimes: Sequence[str], V: Sequence[float], seeds: int, T: int, tell: Tell = quiet
) -> Table:
    """The same for one statement in all of its forms, each with the reference, weights and solver that it is about.

    statement : a name, or the file that the user named, which is run
    source    : the digest of the file; not used, but a changed file needs a new table
    """
    told = named_statement(statement)
    found: _Found = {(regime, told.id, form): [] for regime in regimes for form in told.forms}
    for regime, some in counted(_groups(regimes, seeds), tell):
        tasks, known = make_tasks(regime, some, T=T), {}
        for form in told.forms:
            plan = plan_for(told, form)
            key = (plan.reference, plan.weights, plan.solver)
            if key not in known:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DivergenceWarning)  # there the statement is not applicable
                    run = simulate(tasks, V=V, reference=plan.reference, weights=plan.weights, solver=plan.solver)
                known[key] = facts_of(run)
            found[regime, told.id, form].append(_parts(evaluate(told, form, known[key]).worst()))
    return _summary(found, V)


def _groups(regimes: Sequence[str], seeds: int) -> list[tuple[str, range]]:
    firsts = range(0, seeds, _SEEDS_AT_ONCE)
    return [(regime, range(first, min(first + _SEEDS_AT_ONCE, seeds))) for regime in regimes for first in firsts]


def _summary(found: _Found, V: Sequence[float]) -> Table:
    rows: list[dict[str, Any]] = []
    for (regime, id_, form), pieces in found.items():
        for part in pieces[0]:
            array = np.concatenate([piece[part] for piece in pieces])
            here = {"regime": regime, "statement": id_, "form": form, "part": part}
            rows += [{**here, "V": v, **mean_and_quantiles(array[:, i])} for i, v in enumerate(V)]
    return Table.of(rows)


def _parts(bound: Bound) -> dict[str, np.ndarray]:
    """(streams, V) arrays by name, NaN where the statement does not apply."""
    use = bound.applicable
    sides = {"measured": bound.lhs, "bound": bound.rhs, "ratio": bound.rhs / np.where(bound.lhs > 0, bound.lhs, np.nan)}
    return {
        n: np.where(use, a, np.nan) for n, a in {**sides, **{f"term: {t}": v for t, v in bound.terms.items()}}.items()
    }


def draw_bounds(tables: Mapping[str, Table]) -> Figure:
    """Top: bounds of the gradient. Bottom: bounds of the queue. 1 is equality."""
    table = tables["bound_terms"]
    figure, axes = s.panels(3, 2, height=4.6, sharex=True, sharey="row")
    for row, forms in enumerate((_GRADIENT, _QUEUE)):
        for column, regime in enumerate(s.REGIME_COLOR):
            ax = axes[row, column]
            ax.axhline(1.0, color="black", linewidth=0.7)
            for (statement, form), (words, color, line) in forms.items():
                one = table.where(regime=regime, statement=statement, form=form, part="ratio")
                ax.plot(one["V"], one["mean"], color=color, linestyle=line, label=words)
                ax.fill_between(one["V"], one["low"], one["high"], color=color, alpha=0.15, linewidth=0)
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.set_title(s.REGIME_NAME[regime])
            if row == 1:
                ax.set_xlabel("V")
    axes[0, 0].set_ylabel("gradient: bound / measured")
    axes[1, 0].set_ylabel("queue: bound / measured")
    s.letter(list(axes.flat))
    handles = [handle for ax in axes[:, 0] for handle in ax.get_legend_handles_labels()[0]]
    handles.append(Line2D([], [], color="black", linewidth=0.7, label="equality"))
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return s.finish(figure)


def draw_statement(tables: Mapping[str, Table]) -> Figure:
    """Top: both sides of each form. Bottom: right side over left side; 1 is equality, below it the form is violated."""
    (table,) = tables.values()
    forms, regimes = table.values("form"), table.values("regime")
    colors = {form: s.PALETTE[number % len(s.PALETTE)] for number, form in enumerate(forms)}
    figure, axes = s.panels(len(regimes), 2, height=4.2, sharex=True)
    for column, regime in enumerate(regimes):
        for form, color in colors.items():
            for row, part, line in ((0, "bound", "-"), (1, "ratio", "-"), (0, "measured", ":")):
                one = table.where(regime=regime, form=form, part=part)
                paint = "black" if part == "measured" else color
                axes[row, column].plot(one["V"], one["mean"], color=paint, linestyle=line)
                axes[row, column].fill_between(one["V"], one["low"], one["high"], color=color, alpha=0.15, linewidth=0)
        axes[1, column].axhline(1.0, color="black", linewidth=0.7)
        here = table.where(regime=regime)
        _scaled(axes[0, column], np.concatenate([here.where(part=part)["mean"] for part in ("bound", "measured")]))
        if not np.isfinite(here.where(part="ratio")["mean"]).any():
            words = "not applicable,\nor nothing to measure"
            axes[1, column].text(0.5, 0.5, words, transform=axes[1, column].transAxes, ha="center", color=s.GREY)
        axes[1, column].sharey(axes[1, 0])
        axes[0, column].set_title(s.REGIME_NAME[regime])
        axes[1, column].set_xlabel("V")
    _scaled(axes[1, 0], table.where(part="ratio")["mean"])
    V = table["V"]
    axes[0, 0].set_xscale("log")
    axes[0, 0].set_xlim(0.8 * V.min(), 1.25 * V.max())  # of all panels: some may be empty
    axes[0, 0].set_ylabel("both sides")
    axes[1, 0].set_ylabel("bound / measured")
    s.letter(list(axes.flat))
    names = [Line2D([], [], color=color, label=form) for form, color in colors.items()]
    measured = Line2D([], [], color="black", linestyle=":", label="measured")
    figure.legend(handles=[*names, measured], loc="outside lower center", ncols=min(len(names) + 1, 6))
    return s.finish(figure)


def _scaled(ax: Axes, values: np.ndarray) -> None:
    """A logarithmic axis where no value is negative and the positive ones differ by a factor."""
    known = values[np.isfinite(values) & (values != 0)]
    if len(known) and known.min() > 0 and known.max() > _FACTOR * known.min():
        ax.set_yscale("log")
    else:
        ax.ticklabel_format(axis="y", useOffset=False)


def draw_bound_terms(tables: Mapping[str, Table]) -> Figure:
    """Each term as a share of the right side, stacked: what adds above 0, what is taken off below."""
    table = tables["bound_terms"]
    figure, axes = s.panels(3, len(_DISSECTED), height=5.2, sharex=True, sharey="row")
    shown: dict[str, None] = {}
    for row, ((statement, form), words) in enumerate(_DISSECTED.items()):
        for column, regime in enumerate(s.REGIME_COLOR):
            shown |= dict.fromkeys(
                _stack(axes[row, column], table.where(regime=regime, statement=statement, form=form))
            )
            axes[row, column].set_title(s.REGIME_NAME[regime])
        axes[row, 0].set_ylabel(f"{words}:\nshare of the bound")
    for ax in axes[-1]:
        ax.set_xlabel("V")
    s.letter(list(axes.flat))
    handles = [Patch(color=s.TERM_COLOR[name], label=name) for name in s.TERM_COLOR if name in shown]
    figure.legend(handles=handles, loc="outside lower center", ncols=5)
    return s.finish(figure)


def _stack(ax: Axes, table: Table) -> list[str]:
    """Draw the shares of one bound; the names of the terms that can be seen."""
    whole = table.where(part="bound")
    base = {"above": np.zeros(len(whole)), "below": np.zeros(len(whole))}
    seen = []
    for part in (name for name in table.values("part") if name.startswith("term: ")):
        share = table.where(part=part)["mean"] / whole["mean"]
        for side, values in (("above", np.maximum(share, 0.0)), ("below", np.minimum(share, 0.0))):
            if np.nanmax(np.abs(values), initial=0.0) > 0.005:
                name = part.removeprefix("term: ")
                seen.append(name)
                top = base[side] + values
                ax.fill_between(whole["V"], base[side], top, color=s.TERM_COLOR[name], linewidth=0)
                base[side] = top
    ax.axhline(0.0, color="black", linewidth=0.5)
    ax.set_xscale("log")
    ax.margins(x=0, y=0.02)
    return seen
