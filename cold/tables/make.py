"""A table by its name: comparisons from what is stored, sheets from comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from coldtheory.ground.errors import ColdError, unknown_name

from .compared import Comparison, compared
from .declared import benchmark, full_size, reduced_stand_in
from .sheet import Sheet
from .sheets import in_full, side_by_side
from .source import declarations
from .stored import Shelf
from .terms import Row, Terms

PRINTED = ("complexity", "hyperparams")


@dataclass(frozen=True, eq=False)
class Made:
    """The comparisons behind a table, and the runs they were read from."""

    name: str
    comparisons: tuple[Comparison, ...]
    shelf: Shelf


def names() -> list[str]:
    """All tables: those of the paper, then further benchmarks."""
    told = declarations()
    return [*told["full"]["tables"], *PRINTED, *told["benchmark"]]


def terms_of(
    name: str,
    kind: str,
    out: Path | None = None,
    *,
    rows: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
) -> tuple[Terms, ...]:
    """The terms behind a table; with a folder, all its runs belong there.

    rows  : only these
    seeds : in place of the table's; rows that are reduced to seeds of their own keep those
    """
    known = [one for one in names() if one not in PRINTED]
    if name not in known:
        raise unknown_name("table of runs", name, known)
    found = full_size(name, kind) if name in declarations()["full"]["tables"] else (benchmark(name, kind),)
    found = tuple(replace(terms, rows=_selected(terms, rows, seeds)) for terms in found)
    return found if out is None else tuple(replace(terms, out=out, tuning_out=out) for terms in found)


def _selected(terms: Terms, keys: Sequence[str] | None, seeds: Sequence[int] | None) -> tuple[Row, ...]:
    known = {row.key: row for row in terms.rows}
    for key in keys or ():
        if key not in known:
            raise unknown_name(f"row of {terms.name}", key, known)
    chosen = terms.rows if keys is None else tuple(known[key] for key in keys)
    if seeds is None:
        return chosen
    tuned_on = {row.tuning.settings["seed"] for row in chosen if row.tuning} & set(seeds)
    if tuned_on:
        raise ColdError(f"seed {min(tuned_on)} has chosen the settings: a row on it would be biased; leave it out")
    return tuple(replace(row, seeds=tuple(seeds)) if row.seeds == terms.seeds else row for row in chosen)


def make(name: str, terms: Sequence[Terms], roots: Sequence[Path]) -> Made:
    shelf = Shelf(roots)
    return Made(name, tuple(compared(one, shelf) for one in terms), shelf)


def sheets(made: Made, call: str) -> list[Sheet]:
    """One sheet for a benchmark; for the paper's wide tables one for each dataset."""
    if len(made.comparisons) == 1:
        return [in_full(made.comparisons[0], made.shelf, call)]
    groups = [list(group) for _, group in groupby(made.comparisons, key=lambda one: one.terms.base["dataset"])]
    return [side_by_side(group, [_stand_in(one, made.shelf) for one in group], made.shelf, call) for group in groups]


def _stand_in(comparison: Comparison, shelf: Shelf) -> Comparison | None:
    """Runs of a reduced size, shown beside and never mixed with those of full size."""
    name = reduced_stand_in(comparison.terms)
    if name is None or comparison.terms.kind != "equal":
        return None
    found = compared(benchmark(name, "equal"), shelf)
    return found if any(line.runs for line in found.lines) else None
