"""A table by its name: comparisons from stored runs, the runs that it lacks, sheets from comparisons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from coldtheory.ground.errors import ColdError, unknown_name

from ..runs import Result, earlier_rule
from .comparison import Comparison, compared
from .sheet import Sheet
from .sheets import in_full, side_by_side
from .stored import RunsOnHand
from .summary import differences
from .terms import Row, Terms, benchmark, declarations, full_size, reduced_stand_in, summaries

if TYPE_CHECKING:
    from ..grid import Engine, Event

PRINTED = ("complexity", "hyperparams")
REPRODUCIBILITY = "reproducibility"


@dataclass(frozen=True, eq=False)
class FilledTable:
    """The comparisons behind a table, and the runs they were read from."""

    name: str
    comparisons: tuple[Comparison, ...]
    stored: RunsOnHand


def names() -> list[str]:
    """All tables: those of the paper, then further benchmarks and what sums them up."""
    told = declarations()
    return [*told["full"]["tables"], *PRINTED, REPRODUCIBILITY, *told["benchmark"], *told["summary"]]


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
    known = [one for one in names() if one not in (*PRINTED, REPRODUCIBILITY)]
    if name not in known:
        raise unknown_name("table of runs", name, known)
    told = summaries()
    if name in declarations()["full"]["tables"]:
        found = full_size(name, kind)
    else:
        found = tuple(benchmark(one, kind) for one in (told[name].columns if name in told else [name]))
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


def make(name: str, terms: Sequence[Terms], roots: Sequence[Path]) -> FilledTable:
    """The table with what is stored below the folders `roots`."""
    stored = RunsOnHand(roots)
    return FilledTable(name, tuple(compared(one, stored) for one in terms), stored)


def fill_table(
    name: str,
    terms: Sequence[Terms],
    roots: Sequence[Path],
    *,
    engine: Engine,
    data_root: Path | None = None,
    retry_failed: bool = False,
    again: bool = False,
    on_event: Callable[[Event], None] | None = None,
) -> tuple[FilledTable, dict[str, str]]:
    """The table with all the runs that could be made, and why the others could not, by run id.

    again : also make runs anew that followed an earlier rule of their method, and put them in the place of the stored

    Runs for tuning come first: which final runs there are depends on what tuning chose, so each round makes what can
    be named by then, until nothing is left to do. Weights are not kept, so finished rows are small enough to be
    committed.
    """
    from ..grid import fill  # noqa: PLC0415  (joblib and more, only where runs are made)
    from ..verify import run_again, to_replace  # noqa: PLC0415

    tried: set[str] = set()
    failed: dict[str, str] = {}
    while True:
        made = make(name, terms, roots)
        if again and (old := _to_repeat(made, tried)):
            tried |= {run.run_id for run in old}
            done = run_again(
                old,
                engine=engine,
                data_root=data_root,
                replacing=to_replace,
                retry_failed=retry_failed,
                on_event=on_event,
            )
            failed |= {one.stored.run_id: one.error for one in done if one.error}
            continue
        missing = {run.run_id: run for one in made.comparisons for run in one.missing if run.run_id not in tried}
        if not missing:
            return made, failed
        tried |= missing.keys()
        in_order = sorted(missing.values(), key=lambda run: run.config.evaluate_on != "validation")
        for out, group in groupby(in_order, lambda run: run.out):
            report = fill(
                [run.config for run in group], out, engine=engine, data_root=data_root, retry_failed=retry_failed,
                weights=False, on_event=on_event,
            )  # fmt: skip
            failed |= {**report.failed, **dict.fromkeys(report.busy, "another program runs it now")}


def _to_repeat(made: FilledTable, tried: set[str]) -> list[Result]:
    """Runs by an earlier rule. As long as there are some for tuning, those alone: what they choose names the others."""
    old = [run for run in made.stored.used if run.run_id not in tried and earlier_rule(run) is not None]
    tuning = [run for run in old if run.config.get("evaluate_on") == "validation"]
    return tuning or old


def sheets(made: FilledTable, call: str) -> list[Sheet]:
    """One sheet for a benchmark or a summary; for the paper's wide tables one for each dataset."""
    if (summary := summaries().get(made.name)) is not None:
        return [differences(summary, made.comparisons, made.stored, call)]
    if len(made.comparisons) == 1:
        return [in_full(made.comparisons[0], made.stored, call)]
    groups = [list(group) for _, group in groupby(made.comparisons, key=lambda one: one.terms.base["dataset"])]
    return [side_by_side(group, [_stand_in(one, made.stored) for one in group], made.stored, call) for group in groups]


def _stand_in(comparison: Comparison, stored: RunsOnHand) -> Comparison | None:
    """Runs of a reduced size, shown beside and never mixed with those of full size."""
    name = reduced_stand_in(comparison.terms)
    if name is None or comparison.terms.kind != "equal":
        return None
    found = compared(benchmark(name, "equal"), stored)
    return found if any(row.runs for row in found.rows) else None
