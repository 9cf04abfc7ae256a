"""`cold compare` prints runs side by side: means over seeds, with the paper's numbers beside them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from coldtheory.ground.command_line import JsonOption, with_old_names
from coldtheory.ground.errors import ColdError, unknown_name
from coldtheory.ground.statistics import LEVEL, paired, spread

from ..compare import Group, grouped, partings, printed_cell
from ..runs import UNRECORDED, Result, data_notes, find_runs

_SHOWN = ("acc", "forgetting", "forgetting_after", "bwt", "fwt", "learning_acc", "anytime_acc", "class_il", "task_il")


def add_to(app: typer.Typer) -> None:
    """Register the command `compare` with the program."""
    app.command("compare", cls=with_old_names({"--all": "--all-measures"}))(compare)


def compare(
    runs: Annotated[
        list[Path], typer.Argument(help="Folders of runs, or folders that contain them.", metavar="RUNS...")
    ],
    against: Annotated[
        str | None, typer.Option("--against", help="Also print the paired differences to this method, seed by seed.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all-measures", help="Also print F over l ≥ j, BWT, learning and any-time accuracy.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Print runs side by side: mean ± s.d. over seeds, and what the paper prints for the same setting.

    Example: [bold]cold compare results/runs --against er[/]
    """
    for folder in runs:
        if not folder.is_dir():
            raise ColdError(f"there is no folder {folder}; name folders that 'cold run' or 'cold study run' wrote")
    found = find_runs(*runs)
    if not found:
        places = " or ".join(map(str, runs))
        nothing = f"there is no finished run in {places}; 'cold run --out {runs[0]}' makes one"
        raise ColdError(found.problems[0] if found.problems else nothing)
    for line in found.problems:
        print(f"note: left out: {line}", file=sys.stderr)
    results = list(found.values())
    groups = grouped(results)
    if as_json:
        typer.echo(json.dumps([_as_json(group) for group in groups]))
        return
    console = Console()
    _print_table(console, groups, everything=everything)
    if against is not None:
        _print_differences(console, groups, against)
    _print_partings(console, results)
    _print_data(console, results)


def _print_data(console: Console, results: Sequence[Result]) -> None:
    """Once: which runs were made from a part or a copy of their data set, and how many do not say from which data."""
    for line in data_notes(results):
        console.print(f"[dim]{escape(line)}[/]", soft_wrap=True)
    unknown = sum(result.data is None for result in results)
    if unknown:
        count = "all runs" if unknown == len(results) else f"{unknown} of {len(results)} runs"
        console.print(f"[dim]data {UNRECORDED} in {count}: assumed to be the same as in the others[/]", soft_wrap=True)


def _print_table(console: Console, groups: Sequence[Group], *, everything: bool) -> None:
    more = (
        ("F (l ≥ j)", "forgetting_after", 4), ("BWT", "bwt", 4), ("learning %", "learning_acc", 2),
        ("any time %", "anytime_acc", 2),
    )  # fmt: skip
    masked = (("Task-IL %", "task_il", 2),) if any(group.values("task_il") for group in groups) else ()
    shown = (("ACC %", "acc", 2), *masked, ("F", "forgetting", 4), *(more if everything else ()))
    cells = [printed_cell(group.config) for group in groups]
    printed = ("paper ACC", "paper F") if any(cells) else ()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("dataset", no_wrap=True)
    table.add_column("run", overflow="fold")
    for name in ("seeds", *(title for title, _, _ in shown), *printed):
        table.add_column(name, justify="right")
    for group, cell in zip(groups, cells, strict=True):
        beside = (
            "–" if cell is None else f"{cell.acc:.2f}",
            "–" if cell is None or cell.forgetting is None else f"{cell.forgetting:g}",
        )
        table.add_row(
            str(group.config["dataset"]),
            escape(group.label),
            str(len(group.results)),
            *(_spread(group.values(name), digits) for _, name, digits in shown),
            *(beside if printed else ()),
        )
    console.print(table)


def _print_partings(console: Console, results: Sequence[Result]) -> None:
    for parting in partings(results):
        console.print(
            f"V={parting.V:g}, delta={parting.delta:g}, seed {parting.seed}: cold-oracle's queues equal cold's, bit "
            f"for bit, up to task {parting.equal_until} of {parting.tasks}; in {parting.older} of "
            f"{parting.comparisons} comparisons an older model than the newest was the best",
            highlight=False,
        )


def _print_differences(console: Console, groups: Sequence[Group], against: str) -> None:
    bases = [group for group in groups if group.config["method"] == against]
    if not bases:
        raise unknown_name("method among these runs", against, sorted({str(g.config["method"]) for g in groups}))
    if len(bases) > 1:
        raise ColdError(f"there are {len(bases)} settings of {against}; name fewer runs to compare")
    for group in groups:
        gain = None if group is bases[0] else paired(group.by_seed("acc"), bases[0].by_seed("acc"))
        if gain is None:
            continue
        seeds = f"paired over {len(gain.each)} seeds: " + ", ".join(f"{each:+.2f}" for each in gain.each)
        words = "points (one seed)"
        if gain.low is not None and gain.high is not None:
            words = f"[{gain.low:+.2f}, {gain.high:+.2f}] points ({100 * LEVEL:.0f} % interval, {seeds})"
        console.print(escape(f"{group.label} - {against}: {gain.mean:+.2f} {words}"), soft_wrap=True)


def _spread(values: Sequence[float], digits: int) -> str:
    found = spread(values)
    if found is None:
        return "–"
    return f"{found.mean:.{digits}f}" + ("" if found.sd is None else f" ± {found.sd:.{digits}f}")


def _as_json(group: Group) -> dict[str, Any]:
    cell = printed_cell(group.config)
    return {
        "run": group.label,
        "config": {k: v for k, v in group.config.items() if k != "seed"},
        "seeds": group.seeds,
        "runs": [result.run_id for result in group.results],
        "data": list(dict.fromkeys(result.data for result in group.results)),
        "about_data": list(dict.fromkeys(result.about_data for result in group.results)),
        "metrics": {name: group.values(name) for name in _SHOWN},
        "paper": None if cell is None else {"acc": cell.acc, "forgetting": cell.forgetting},
    }
