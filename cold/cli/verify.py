"""`cold verify`: stored runs made again from their own records, and compared."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from coldtheory.ground.checks import number, whole
from coldtheory.ground.command_line import JsonOption
from coldtheory.ground.errors import ColdError

from ..runs import FoundRuns, Result, default_roots, earlier_rule, find_runs
from ..verify import TOLERANCE, Verified, to_replace, verified


def add_to(app: typer.Typer) -> None:
    """Register the command `verify` with the program."""
    app.command("verify")(verify)


def verify(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUNS...", help="Runs, or folders of them; default: runs, results/runs and those of the package."
        ),
    ] = None,
    sample: Annotated[int | None, typer.Option(help="Only as many, drawn at random; default: all.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = 0,
    earlier: Annotated[
        bool, typer.Option("--earlier", help="Only runs that were made by an earlier rule of their method.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Put new runs in the place of stored ones that they differ from.")
    ] = False,
    tolerance: Annotated[
        float, typer.Option(help="Points of accuracy that are allowed where versions or kernels differ.")
    ] = TOLERANCE,
    out: Annotated[Path | None, typer.Option(help="Where to write.")] = None,
    jobs: Annotated[int, typer.Option(help="Number of jobs at a time; -1 takes all cores.")] = 1,
    data_root: Annotated[
        Path | None,
        typer.Option(help="Folder of the data sets; by default COLD_DATA, or a folder of the user's cache."),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Also make the runs that failed before.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make stored runs again from their own records and compare: bit for bit with the same versions and kernels.

    Where versions or kernels differ, sums are rounded otherwise, and the average accuracy has to agree within the
    tolerance. A stopped call goes on with runs that it had begun. Exit code 1: a run differs or failed.

    Examples: [bold]cold verify runs/study-epochs --sample 3[/]
    [bold]cold verify runs --earlier --replace --jobs 2[/]  (runs of earlier rules, made by the present ones)
    """
    tolerance = number("--tolerance", tolerance, least=0)
    chosen = _chosen(find_runs(*(runs or default_roots())), sample, seed, earlier=earlier)
    if not chosen:
        _print([], as_json=as_json)
        return
    known = [run.seconds for run in chosen if run.seconds is not None]
    print(f"{len(chosen)} runs, which took {sum(known) / 60:.1f} core-minutes when they were made", file=sys.stderr)
    _print(_made_again(chosen, tolerance, replace, out, jobs, data_root, retry_failed), as_json=as_json)


def _chosen(found: FoundRuns, sample: int | None, seed: int, *, earlier: bool) -> list[Result]:
    if not found:
        raise ColdError(found.problems[0] if found.problems else "no finished run there; name a folder that holds some")
    runs = [run for run in found.values() if not earlier or earlier_rule(run) is not None]
    if sample is None:
        return runs
    return random.Random(seed).sample(runs, min(whole("--sample", sample, least=1), len(runs)))


def _made_again(
    chosen: Sequence[Result],
    tolerance: float,
    replace: bool,
    out: Path | None,
    jobs: int,
    data_root: Path | None,
    retry_failed: bool,
) -> list[Verified]:
    from ..grid import Engine, Event  # noqa: PLC0415  (only where runs are made)
    from ..verify import run_again  # noqa: PLC0415

    def tell(event: Event) -> None:
        why = f": {event.error}" if event.error else ""
        print(f"{event.run_id} {event.state} ({event.done} of {event.total}){why}", file=sys.stderr, flush=True)

    try:
        made = run_again(
            chosen, engine=Engine("serial" if jobs == 1 else "loky", jobs=jobs), data_root=data_root, out=out,
            replacing=to_replace if replace else None, retry_failed=retry_failed, on_event=tell,
        )  # fmt: skip
    except KeyboardInterrupt:
        print("stopped; the same command goes on with runs that were begun", file=sys.stderr)
        raise typer.Exit(130) from None
    return [verified(one, tolerance) for one in made]


def _print(found: Sequence[Verified], *, as_json: bool) -> None:
    counts = Counter(one.state for one in found)
    if as_json:
        typer.echo(json.dumps({"runs": [one.as_dict() for one in found], "counts": counts}))
    else:
        console = Console(highlight=False)
        console.print(_table(found))
        words = ", ".join(f"{count} {state}" for state, count in counts.items())
        console.print(f"{len(found)} runs made again: {words}" if found else "no such runs")
    if any(not one.sound for one in found):
        raise typer.Exit(1)


def _table(found: Sequence[Verified]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("run", "stored", "now", "", "why"):
        table.add_column(name, justify="right" if name in ("stored", "now") else "left", overflow="fold")
    for one in found:
        numbers = [None if run is None else run.metrics.get("acc") for run in (one.stored, one.new)]
        shown = ("–" if value is None else f"{value:.3f}" for value in numbers)
        commit = f"; commit {str(one.stored.provenance.get('commit'))[:12]} made it" if not one.sound else ""
        table.add_row(one.stored.run_id, *shown, one.state, escape(one.why + commit))
    return table
