"""Comparisons as sheets: what each column says and which entries are bold."""

from __future__ import annotations

import math
from collections.abc import Sequence

from coldtheory.ground.statistics import Spread, spread

from . import words
from .compared import Comparison, Line
from .sheet import Column, Entry, Sheet
from .stored import Shelf


def in_full(comparison: Comparison, shelf: Shelf, call: str) -> Sheet:
    """One setting, each row with its seeds, its distance from the best and its settings."""
    columns = (
        Column("method"), Column("seeds"), *_four(""), Column("best − row", "difference"), Column("settings"),
    )  # fmt: skip
    rows = []
    for line in comparison.lines:
        best = comparison.best(line, "acc")
        gap = Entry(None if best else comparison.gap(line))
        rows.append((_label(line), Entry(words.seeds(line)), *_numbers(comparison, line), gap,
                     Entry(words.settings(line))))  # fmt: skip
    title = f"{comparison.terms.title}; {words.KINDS[comparison.terms.kind]}"
    return _sheet(title, columns, rows, [comparison], shelf, call)


def side_by_side(
    comparisons: Sequence[Comparison], stand_ins: Sequence[Comparison | None], shelf: Shelf, call: str
) -> Sheet:
    """Several settings of one dataset; runs of a reduced size stand in columns of their own."""
    columns = [Column("method")]
    for comparison, stand_in in zip(comparisons, stand_ins, strict=True):
        memory = f", M = {comparison.terms.base['memory']}"
        columns += _four(memory)
        if stand_in is not None:
            columns += [Column("reduced: ACC %", "spread"), Column("reduced: F", "spread", 4)]
    rows = []
    for number, line in enumerate(comparisons[0].lines):
        row = [_label(line)]
        for comparison, stand_in in zip(comparisons, stand_ins, strict=True):
            row += _numbers(comparison, comparison.lines[number])
            if stand_in is not None:
                row += _reduced(stand_in.line(line.row.key))
        rows.append(tuple(row))
    dataset = comparisons[0].terms.title.partition(",")[0]
    title = f"{dataset}; {words.KINDS[comparisons[0].terms.kind]}"
    more = [f"reduced: {one.terms.title}; cold table {one.terms.name}" for one in stand_ins if one is not None]
    return _sheet(title, tuple(columns), rows, comparisons, shelf, call, more)


def _sheet(
    title: str,
    columns: tuple[Column, ...],
    rows: Sequence[tuple[Entry, ...]],
    comparisons: Sequence[Comparison],
    shelf: Shelf,
    call: str,
    more: Sequence[str] = (),
) -> Sheet:
    notes = (*more, *words.notes(comparisons, shelf))
    missing = words.commands(comparisons, shelf)
    return Sheet(title, columns, tuple(rows), notes, missing, words.origin(call, shelf))


def _four(where: str) -> list[Column]:
    return [
        Column(f"ACC %{where}", "spread"),
        Column(f"paper ACC %{where}", "spread"),
        Column(f"F{where}", "spread", 4),
        Column(f"paper F{where}", "spread", 3),
    ]


def _label(line: Line) -> Entry:
    return Entry(f"{line.row.label} (reduced)" if line.row.reduced else line.row.label)


def _numbers(comparison: Comparison, line: Line) -> list[Entry]:
    paper = line.printed
    return [
        Entry(spread(line.acc.values()), comparison.best(line, "acc")),
        _printed(paper.acc, paper.acc_sd, paper.acc_rounding, paper.acc_bold) if paper else Entry(),
        Entry(spread(line.forgetting.values()), comparison.best(line, "forgetting")),
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


def _reduced(line: Line | None) -> list[Entry]:
    found = (None, None) if line is None else (spread(line.acc.values()), spread(line.forgetting.values()))
    return [Entry(value) for value in found]
