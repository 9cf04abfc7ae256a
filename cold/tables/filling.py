"""Make the runs that a table lacks: tuning first, then what depends on it, until nothing is left to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

from ..grid import Engine, Event, fill
from .make import Made, make
from .terms import Terms


def fill_table(
    name: str,
    terms: Sequence[Terms],
    roots: Sequence[Path],
    *,
    engine: Engine,
    data_root: Path | None = None,
    retry_failed: bool = False,
    on_event: Callable[[Event], None] | None = None,
) -> tuple[Made, dict[str, str]]:
    """The table with all the runs that could be made, and why the others could not, by run id.

    Each round makes what can be named by then: which final runs there are depends on what tuning chose. Weights are
    not kept, so that finished rows are small enough to be committed.
    """
    tried: set[str] = set()
    failed: dict[str, str] = {}
    while True:
        made = make(name, terms, roots)
        cells = {cell.run_id: cell for one in made.comparisons for cell in one.missing if cell.run_id not in tried}
        if not cells:
            return made, failed
        tried |= cells.keys()
        for out, group in groupby(sorted(cells.values(), key=lambda cell: not _tunes(cell.flags)), lambda c: c.out):
            report = fill(
                [cell.config for cell in group], out, engine=engine, data_root=data_root, retry_failed=retry_failed,
                weights=False, on_event=on_event,
            )  # fmt: skip
            failed |= {**report.failed, **dict.fromkeys(report.busy, "another program runs it now")}


def _tunes(flags: dict[str, object]) -> bool:
    return flags.get("evaluate_on") == "validation"
