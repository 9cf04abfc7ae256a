"""`cold show`: one run as a page of text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..results import Result, read_result

RunArgument = Annotated[Path, typer.Argument(help="Folder of a run.", metavar="RUN")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for scripts, and nothing else on stdout.")]


def add_to(app: typer.Typer) -> None:
    app.command("show")(show)


def show(run: RunArgument, as_json: JsonOption = False) -> None:
    """Print the measures, the accuracies and the provenance of a finished run.

    Example: [bold]cold show results/runs/pmnist-cold-s0-1a2b3c4d[/]
    """
    result = read_result(run)
    if as_json:
        typer.echo(json.dumps(result.as_json()))
    else:
        print_result(result, run, matrix=True)


def print_result(result: Result, folder: Path, *, matrix: bool = False) -> None:
    console = Console(highlight=False)
    measures, timing, origin = result.metrics, result.timing, result.provenance
    config = result.config
    console.print(
        f"[bold]{escape(result.run_id)}[/]: {escape(str(config['method']))} on {escape(str(config['dataset']))}"
    )
    table = Table(box=None, pad_edge=False, show_header=False)
    meanings = {
        "acc": "average accuracy after the last task, %",
        "forgetting": "F as printed, maximum over all l < T",
        "forgetting_after": "F with l >= j only",
        "bwt": "backward transfer",
        "fwt": "forward transfer",
        "learning_acc": "accuracy on each task right after it, %",
    }
    for name, meaning in meanings.items():
        value = measures[name]
        table.add_row(name, "–" if value is None else f"{value:.4g}", f"[dim]{meaning}[/]")
    console.print(table)
    if matrix:
        _print_matrix(console, result)
    console.print(
        f"{timing['steps']} steps, {timing['train_seconds']:.0f} s training, {timing['eval_seconds']:.0f} s tests, "
        f"{timing['steps_per_second']:.0f} steps/s, peak memory {timing['peak_memory_bytes'] / 2**20:.0f} MiB"
    )
    commit = (origin["commit"] or "no checkout")[:12] + (" + changes" if origin["changed"] else "")
    console.print(f"[dim]commit {commit}, {origin['time']}, in {escape(str(folder))}[/]")


def _print_matrix(console: Console, result: Result) -> None:
    accuracy = result.arrays["accuracy"]
    console.print("accuracy (%) on each task (across) after each task (down)")
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for j in range(len(accuracy)):
        table.add_column(str(j + 1), justify="right")
    for i, row in enumerate(accuracy):
        cells = [f"{100 * a:.1f}" if j <= i else f"[dim]{100 * a:.1f}[/]" for j, a in enumerate(row)]
        table.add_row(f"{i + 1}", *cells)
    console.print(table)
