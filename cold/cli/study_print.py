"""What `cold study` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..grid import Report
from ..studies import Study, planned
from ..studies.plan import Estimate, Standing
from ..studies.price import Price


def about(study: Study, out: Path) -> dict[str, Any]:
    """A study as plain data for --json: what it asks, its runs and grids by profile, and its figures."""
    return {
        "id": study.id, "title": study.title, "claim": study.claim, "label": study.label, "figures": study.figures,
        "absent": dict(study.absent),
        "profiles": {
            profile: {
                "runs": len(planned(study, profile)),
                "grids": [{**vars(grid), "settings": dict(grid.settings)} for grid in grids],
                "figures": [picture.command(profile, out) for picture in study.pictures.get(profile, ())],
            }
            for profile, grids in study.grids.items()
        },
    }  # fmt: skip


def print_report(chosen: Sequence[Study], profile: str, out: Path, report: Report) -> None:
    """Print how many runs were made, found and failed, and how to draw what is there."""
    console = Console(highlight=False)
    words = f"{len(report.done)} runs made, {len(report.reused)} were there, {len(report.failed)} failed"
    console.print(words + (f", {len(report.busy)} are run by another program" if report.busy else ""))
    print_lines(console, report.failed)
    if report.failed:
        console.print("[dim]try them again with --retry-failed[/]")
    pictures = dict.fromkeys(p for study in chosen for p in study.pictures.get(profile, ()))
    for picture in pictures:
        console.print(f"[dim]{escape(picture.command(profile, out))}[/]", soft_wrap=True)


def print_standings(found: Sequence[Standing]) -> None:
    """Print a table with the finished, failed and missing runs of each study."""
    shown = table("study", "runs", "finished", "failed", "missing", numbers=("runs", "finished", "failed", "missing"))
    for one in found:
        counts = (one.runs, len(one.finished), len(one.failed), len(one.missing))
        shown.add_row(one.study, *map(str, counts))
    console = Console(highlight=False)
    console.print(shown)
    print_lines(console, {run_id: line for one in found for run_id, line in one.failed.items()})


def print_prices(found: Sequence[Price]) -> None:
    """Print a table of what the studies cost, in core-minutes."""
    numbers = ("runs", "finished", "spent", "to come", "a run")
    shown = table("study", "dataset", *numbers, numbers=numbers)
    for one in found:
        words = [one.study, one.dataset, str(one.runs), str(one.finished), f"{one.spent:,.1f}"]
        shown.add_row(*words, _minutes(one.to_come), _minutes(one.each))
    known = [one.to_come for one in found if one.to_come is not None]
    sums = (sum(one.runs for one in found), sum(one.finished for one in found))
    spent = f"{sum(one.spent for one in found):,.1f}"
    shown.add_row("all", "", *map(str, sums), spent, f"{sum(known):,.1f}", "")
    console = Console(highlight=False)
    console.print(shown)
    console.print(
        "[dim]core-minutes; what is to come is an estimate from what finished runs on the same dataset took per pass, "
        "or from the trials in profiles.toml; runs that an earlier line has are not counted again[/]"
    )


def _minutes(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"


def print_lines(console: Console, lines: Mapping[str, str]) -> None:
    """Print each problem once, with the runs that have it."""
    alike: dict[str, list[str]] = {}
    for run_id, line in lines.items():
        alike.setdefault(line, []).append(run_id)
    for line, run_ids in alike.items():
        more = f" and {len(run_ids) - 1} more" if len(run_ids) > 1 else ""
        console.print(f"[red]{run_ids[0]}{more}[/]: {escape(line)}", soft_wrap=True)


def print_plan(plan: Sequence[Estimate], throughput: float | None, workers: int) -> None:
    """Print an estimate: core minutes from measured steps, or GPU hours from a stated throughput."""
    unit = "core minutes" if throughput is None else "GPU hours"
    amounts = [60 * (one.core_hours or 0.0) if throughput is None else one.gpu_hours or 0.0 for one in plan]
    shown = table("study", "runs", "to make", "passes", unit, numbers=("runs", "to make", "passes", unit))
    for one, amount in zip(plan, amounts, strict=True):
        shown.add_row(one.study, str(one.runs), str(one.new), f"{one.passes:,.0f}", f"{amount:,.1f}")
    total = sum(amounts)
    if len(plan) > 1:
        sums = (sum(one.runs for one in plan), sum(one.new for one in plan))
        shown.add_row("all", *map(str, sums), f"{sum(one.passes for one in plan):,.0f}", f"{total:,.1f}")
    console = Console(highlight=False)
    console.print(shown)
    if throughput is None:
        memory = max((one.memory_bytes or 0 for one in plan), default=0)
        words = (
            f"an estimate from steps measured now: about {total / workers:,.1f} minutes with {workers} runs at a "
            f"time, {memory / 2**20:,.0f} MiB per run besides its data"
        )
    else:
        words = (
            f"an estimate, not a measurement: {throughput:g} images of 32 x 32 per second through ResNet-18, forward "
            "and backward (--throughput); other images and networks are scaled by their multiplications"
        )
    console.print(words, soft_wrap=True)
    console.print(
        "[dim]passes: one sample forward and backward; runs that an earlier study shares are not made again[/]"
    )


def table(*names: str, numbers: Sequence[str] = ()) -> Table:
    """An empty table with these columns; those in `numbers` are aligned to the right."""
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in names:
        made.add_column(name, overflow="fold", justify="right" if name in numbers else "left", no_wrap=name in numbers)
    return made
