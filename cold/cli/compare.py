"""`cold compare`: several runs side by side, seeds together, the paper's numbers beside them."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from coldtheory.ground.errors import ColdError, unknown_name

from ..compare import Group, grouped, partings, printed_cell
from ..results import RESULT, Result, read_result
from .show import JsonOption

_SHOWN = ("acc", "forgetting", "forgetting_after", "bwt", "fwt", "learning_acc")


def add_to(app: typer.Typer) -> None:
    app.command("compare")(compare)


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, or folders that hold such.", metavar="RUNS...")],
    against: Annotated[
        str | None, typer.Option("--against", help="A method: print paired differences to it, seed by seed.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also F over l ≥ j, BWT and learning accuracy.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Print runs side by side: mean ± s.d. over seeds, and what the paper prints for the same setting.

    Example: [bold]cold compare results/runs --against er[/]
    """
    results = [read_result(folder) for folder in find_runs(runs)]
    groups = grouped(results)
    if as_json:
        typer.echo(json.dumps([_as_json(group) for group in groups]))
        return
    console = Console()
    _print_table(console, groups, everything=everything)
    if against is not None:
        _print_differences(console, groups, against)
    _print_partings(console, results)


def find_runs(paths: Sequence[Path]) -> list[Path]:
    """The run folders among or directly below the given ones."""
    found: list[Path] = []
    for path in paths:
        below = sorted(p.parent for p in path.glob(f"*/{RESULT}")) if path.is_dir() else []
        found += [path] if (path / RESULT).exists() or path.name == RESULT or not below else below
    return found


def _print_table(console: Console, groups: Sequence[Group], *, everything: bool) -> None:
    more = (("F (l ≥ j)", "forgetting_after", 4), ("BWT", "bwt", 4), ("learning %", "learning_acc", 2))
    shown = (("ACC %", "acc", 2), ("F", "forgetting", 4), *(more if everything else ()))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("dataset", "run", "seeds", *(title for title, _, _ in shown), "paper ACC", "paper F"):
        table.add_column(name, justify="left" if name in ("dataset", "run") else "right")
    for group in groups:
        cell = printed_cell(group.config)
        table.add_row(
            str(group.config["dataset"]),
            group.label,
            str(len(group.results)),
            *(_spread(group.values(name), digits) for _, name, digits in shown),
            "–" if cell is None else f"{cell.acc:.2f}",
            "–" if cell is None or cell.forgetting is None else f"{cell.forgetting:g}",
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
        raise ColdError(f"there are {len(bases)} settings of {against}; name the runs to compare more narrowly")
    base = {result.config["seed"]: result for result in bases[0].results}
    for group in groups:
        pairs = [(r, base[r.config["seed"]]) for r in group.results if r.config["seed"] in base]
        if group is bases[0] or not pairs:
            continue
        gains = [float(r.metrics["acc"] or 0) - float(b.metrics["acc"] or 0) for r, b in pairs]
        se = statistics.stdev(gains) / math.sqrt(len(gains)) if len(gains) > 1 else math.nan
        each = ", ".join(f"{gain:+.2f}" for gain in gains)
        error = f" ± {se:.2f} (s.e.)" if len(gains) > 1 else ""
        console.print(f"{group.label} - {against}: {statistics.mean(gains):+.2f}{error} points; {each}")


def _spread(values: Sequence[float], digits: int) -> str:
    if not values:
        return "–"
    mean = f"{statistics.mean(values):.{digits}f}"
    return f"{mean} ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else mean


def _as_json(group: Group) -> dict[str, Any]:
    cell = printed_cell(group.config)
    return {
        "run": group.label,
        "config": {k: v for k, v in group.config.items() if k != "seed"},
        "seeds": [result.config["seed"] for result in group.results],
        "runs": [result.run_id for result in group.results],
        "metrics": {name: group.values(name) for name in _SHOWN},
        "paper": None if cell is None else {"acc": cell.acc, "forgetting": cell.forgetting},
    }
