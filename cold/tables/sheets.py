"""Comparisons as sheets: what each column says and which entries are bold."""

from __future__ import annotations

import math
from collections.abc import Sequence

from coldtheory.ground.statistics import Spread, spread

from . import footnotes
from .comparison import ComparedRow, Comparison
from .sheet import Column, Entry, Sheet
from .stored import RunsOnHand
from .terms import KINDS


def in_full(comparison: Comparison, stored: RunsOnHand, call: str) -> Sheet:
    """One setting, each row with its seeds, its distance from the best and its settings."""
    columns = (
        Column("method"), Column("seeds"), *_four(""), Column("best − row", "difference"), Column("settings"),
    )  # fmt: skip
    rows = []
    for row in comparison.rows:
        gap = Entry(None if comparison.best(row, "acc") else comparison.gap(row))
        numbers = _numbers(comparison, row)
        rows.append((_label(row), Entry(footnotes.seeds(row)), *numbers, gap, Entry(footnotes.settings(row))))
    title = f"{comparison.terms.title}; {KINDS[comparison.terms.kind]}"
    return _sheet(title, columns, rows, [comparison], stored, call)


def side_by_side(
    comparisons: Sequence[Comparison], stand_ins: Sequence[Comparison | None], stored: RunsOnHand, call: str
) -> Sheet:
    """Several settings of one dataset; runs of a reduced size stand in columns of their own."""
    columns = [Column("method")]
    for comparison, stand_in in zip(comparisons, stand_ins, strict=True):
        memory = f", M = {comparison.terms.base['memory']}"
        columns += _four(memory)
        if stand_in is not None:
            columns += [Column("reduced: ACC %", "spread"), Column("reduced: F", "spread", 4)]
    rows = []
    for number, row in enumerate(comparisons[0].rows):
        entries = [_label(row)]
        for comparison, stand_in in zip(comparisons, stand_ins, strict=True):
            entries += _numbers(comparison, comparison.rows[number])
            if stand_in is not None:
                entries += _reduced(stand_in.row(row.row.key))
        rows.append(tuple(entries))
    dataset = comparisons[0].terms.title.partition(",")[0]
    title = f"{dataset}; {KINDS[comparisons[0].terms.kind]}"
    more = [f"reduced: {one.terms.title}; cold table {one.terms.name}" for one in stand_ins if one is not None]
    return _sheet(title, tuple(columns), rows, comparisons, stored, call, more)


def _sheet(
    title: str,
    columns: tuple[Column, ...],
    rows: Sequence[tuple[Entry, ...]],
    comparisons: Sequence[Comparison],
    stored: RunsOnHand,
    call: str,
    more: Sequence[str] = (),
) -> Sheet:
    notes = (*more, *footnotes.notes(comparisons, stored))
    missing = footnotes.commands(comparisons, stored)
    return Sheet(title, columns, tuple(rows), notes, missing, footnotes.origin(call, stored))


def _four(where: str) -> list[Column]:
    return [
        Column(f"ACC %{where}", "spread"),
        Column(f"paper ACC %{where}", "spread"),
        Column(f"F{where}", "spread", 4),
        Column(f"paper F{where}", "spread", 3),
    ]


def _label(row: ComparedRow) -> Entry:
    return Entry(f"{row.row.label} (reduced)" if row.row.reduced else row.row.label)


def _numbers(comparison: Comparison, row: ComparedRow) -> list[Entry]:
    paper = row.printed
    return [
        Entry(spread(row.acc.values()), comparison.best(row, "acc")),
        _printed(paper.acc, paper.acc_sd, paper.acc_rounding, paper.acc_bold) if paper else Entry(),
        Entry(spread(row.forgetting.values()), comparison.best(row, "forgetting")),
        _printed(paper.forgetting, paper.forgetting_sd, paper.forgetting_rounding, paper.forgetting_bold)
        if paper
        else Entry(),
    ]


def _printed(mean: float | None, sd: float | None, rounding: float, bold: bool) -> Entry:
    """A number of the paper with its own digits."""
    if mean is None:
        return Entry()
    digits = round(-math.log10(2 * rounding))
    if sd is None:
        return Entry(Spread(mean, shown=f"{mean:.{digits}f}"), bold)
    rounded = f"{sd:.{digits}f}"
    return Entry(Spread(mean, sd, shown=f"{mean:.{digits}f} ± {rounded if float(rounded) == sd else f'{sd:g}'}"), bold)


def _reduced(row: ComparedRow | None) -> list[Entry]:
    found = (None, None) if row is None else (spread(row.acc.values()), spread(row.forgetting.values()))
    return [Entry(value) for value in found]
