"""Several benchmarks in one sheet: how far one row is ahead of each other row, paired over seeds."""

from __future__ import annotations

from collections.abc import Sequence

from coldtheory.ground.statistics import LEVEL, spread

from . import footnotes
from .comparison import Comparison
from .sheet import Column, Entry, Sheet, text
from .stored import RunsOnHand
from .terms import Summary

_SIGNIFICANT = 0.05


def differences(summary: Summary, comparisons: Sequence[Comparison], stored: RunsOnHand, call: str) -> Sheet:
    """A line for each row that the summary's row is compared with, a column for each benchmark."""
    labels: dict[str, str] = {}
    entries: dict[tuple[str, str], Entry] = {}
    for comparison in comparisons:
        contrasts = list(comparison.contrasts)
        p_values = comparison.adjusted if comparison.terms.holm else [1.0] * len(contrasts)
        for (left, right, found), p_value in zip(contrasts, p_values, strict=True):
            if left.row.key == summary.of:
                labels.setdefault(right.row.key, right.row.label)
                entries[right.row.key, comparison.terms.name] = Entry(found, p_value < _SIGNIFICANT)
    columns = (Column("minus"), *(Column(name, "difference") for name in summary.columns.values()))
    rows = tuple(
        (Entry(label), *(entries.get((key, one.terms.name), Entry()) for one in comparisons))
        for key, label in labels.items()
    )
    notes = (
        *(_about(summary, comparison) for comparison in comparisons),
        f"differences in points of ACC, paired over seeds, with {100 * LEVEL:.0f} % intervals; bold: p below "
        f"{_SIGNIFICANT} by Holm's correction for all contrasts of the benchmark",
        f"each benchmark has a table of its own, such as: cold table {comparisons[0].terms.name}",
        *footnotes.of_runs(stored),
    )
    missing = footnotes.commands(comparisons, stored)
    return Sheet(summary.title, columns, rows, notes, missing, footnotes.origin(call, stored))


def _about(summary: Summary, comparison: Comparison) -> str:
    """A column's benchmark, and the accuracy of the row that all others are compared with."""
    terms, row = comparison.terms, comparison.row(summary.of)
    found = None if row is None else spread(row.acc.values())
    if row is None or found is None:
        told = "no runs"
    else:
        told = f"{row.row.label} {text(Entry(found), Column('', 'spread'))} %, {footnotes.seeds(row)} seeds"
    reduced = f"; {terms.short}" if terms.short else ""
    return f"{summary.columns[terms.name]}: {told}{reduced}"
