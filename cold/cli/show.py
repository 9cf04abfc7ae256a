"""`cold show` prints one run as a page of text."""

from __future__ import annotations

import json
from typing import Annotated

import msgspec
import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from coldtheory.ground.command_line import JsonOption

from ..metrics import loss_forgetting
from ..runs import UNRECORDED, Result, delivered, find_run

RunArgument = Annotated[str, typer.Argument(help="Folder of a run, or its id.", metavar="RUN")]
_MEANINGS = {
    "acc": "average accuracy after the last task, %",
    "forgetting": "F as printed, maximum over all l < T",
    "forgetting_after": "F with l >= j only",
    "forgetting_loss": "loss gained since each task was learnt, nats",
    "bwt": "backward transfer",
    "fwt": "forward transfer",
    "learning_acc": "accuracy on each task right after it, %",
    "anytime_acc": "average accuracy over the tasks seen, averaged over all evaluations, %",
}
_VIEWS = {"": "Class-IL", "seen": "seen", "task": "Task-IL"}


def add_to(app: typer.Typer) -> None:
    """Register the command `show` with the program."""
    app.command("show")(show)


def show(run: RunArgument, as_json: JsonOption = False) -> None:
    """Print the measures, the accuracies and the provenance of a finished run.

    Examples: [bold]cold show results/runs/pmnist-cold-s0-1a2b3c4d[/]
    [bold]cold show pmnist-cold-s0-1a2b3c4d[/]  (below runs, results/runs, or among the runs of the package)
    """
    result = find_run(run)
    if as_json:
        typer.echo(json.dumps(result.as_json()))
    else:
        print_result(result, matrix=True)


def print_result(result: Result, *, matrix: bool = False) -> None:
    """Print the measures of one run; with `matrix` also its accuracies, tasks by tasks."""
    console = Console(highlight=False)
    method, dataset = (escape(str(result.config.get(name, "?"))) for name in ("method", "dataset"))
    console.print(f"[bold]{escape(result.run_id)}[/]: {method} on {dataset}")
    measured = {"": result.metrics, **result.views}
    table = Table(box=None, pad_edge=False, show_header=len(measured) > 1)
    for title in ("", *(_VIEWS.get(view, view) for view in measured), ""):
        table.add_column(escape(title))
    for name, meaning in _MEANINGS.items():
        values = [numbers.get(name) for numbers in measured.values()]
        if name == "forgetting_loss" and values[0] is None:
            continue
        table.add_row(name, *("–" if value is None else f"{value:.4g}" for value in values), f"[dim]{meaning}[/]")
    console.print(table)
    if result.views:
        console.print(
            "[dim]answers among all classes (Class-IL), those seen until then, and those of the task (Task-IL)[/]"
        )
    _print_request(console, result)
    _print_bounds(console, result)
    if matrix:
        _print_matrix(console, result)
    numbers = {name: value for name, value in result.timing.items() if isinstance(value, int | float)}
    words = [
        form.format(numbers[name] / unit)
        for name, form, unit in (
            ("steps", "{:.0f} steps", 1),
            ("train_seconds", "{:.0f} s training", 1),
            ("eval_seconds", "{:.0f} s tests", 1),
            ("steps_per_second", "{:.0f} steps/s", 1),
            ("peak_memory_bytes", "peak memory {:.0f} MiB", 2**20),
        )
        if name in numbers
    ]
    if words:
        console.print(", ".join(words))
    origin = result.provenance
    commit = str(origin.get("commit") or "no checkout")[:12] + (" + changes" if origin.get("changed") else "")
    place = "" if result.folder is None else f", in {result.folder}"
    kernels = origin.get("kernels")
    if isinstance(kernels, dict):
        used = ", ".join(str(kernels[name]) for name in ("aten", "processor", "gpu") if kernels.get(name))
        console.print(f"[dim]{escape(f'kernels {used}')}[/]", soft_wrap=True)
    if result.about_data:
        console.print(f"data: {escape(result.about_data)}", soft_wrap=True)
    console.print(f"[dim]{escape(f'data {result.data or UNRECORDED}; commit {commit}, {result.time}{place}')}[/]")


def _print_request(console: Console, result: Result) -> None:
    """What was requested, what came, and why if it is not the same."""
    found = delivered(result)
    if found is None:
        return

    def amount(value: float) -> str:
        return f"{value:.3f} nats" if found.kind == "loss" else f"{100 * value:.1f} %"

    console.print(
        f"forgetting requested {amount(found.requested)}; at the end, mean over past tasks: {amount(found.gauge[-1])} "
        f"on the gauge, {amount(found.test[-1])} on the test data (worst task {amount(found.worst)})"
    )
    if found.smallest is not None:
        console.print(
            f"[bold]The request is below what can be reached here:[/] the smallest forgetting is about "
            f"{amount(found.smallest)}. The run went on with the weight of the past that serves accuracy best."
        )
    elif found.exceeded:
        console.print(
            f"[bold]More was forgotten than requested:[/] {amount(found.settled()[0])} on the gauge, on average over "
            f"the second half of the tasks. The weight of the past was not at its ceiling (it ended at "
            f"{found.weight[-1]:.2g}), so more could be had: give it more steps per task, more tasks or a larger gauge."
        )


class _Bound(msgspec.Struct):
    """A theorem on this run, as its diagnostics have stored it."""

    statement: str
    form: str
    outcome: str
    lhs: float | None = None
    rhs: float | None = None
    terms: dict[str, float] = {}
    failing_premises: list[str] = []

    def __str__(self) -> str:
        told = f"{self.statement} ({self.form}): {self.outcome}"
        if self.lhs is None or self.rhs is None:
            return f"{told}; premises that fail: {', '.join(self.failing_premises)}"
        terms = " + ".join(f"{name} {value:.4g}" for name, value in self.terms.items())
        return f"{told}, measured {self.lhs:.4g}, bound {self.rhs:.4g} = {terms}"


def _print_bounds(console: Console, result: Result) -> None:
    """Which theorems apply to a run with diagnostics, and both of their sides."""
    try:
        bounds = msgspec.convert(result.diagnostics.get("bounds") or [], list[_Bound])
    except msgspec.ValidationError:
        return
    for bound in sorted(bounds, key=lambda bound: bound.lhs is None):
        style = "dim" if bound.lhs is None else "none"
        console.print(f"[{style}]{escape(str(bound))}[/]")
        loss = result.array("loss")
        if bound.statement == "forgetting" and bound.lhs is not None and loss is not None and len(loss) > 1:
            tested = float(np.nanmean(loss_forgetting(loss)))
            console.print(
                f"  that is on the memory; on the test data, mean over the same pairs of tasks: {tested:.4g} nats"
            )


def _print_matrix(console: Console, result: Result) -> None:
    accuracy = result.array("accuracy")
    if accuracy is None:
        return
    console.print("accuracy (%) on each task (across) after each task (down)")
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for j in range(len(accuracy)):
        table.add_column(str(j + 1), justify="right")
    for i, row in enumerate(accuracy):
        cells = [f"{100 * a:.1f}" if j <= i else f"[dim]{100 * a:.1f}[/]" for j, a in enumerate(row)]
        table.add_row(f"{i + 1}", *cells)
    console.print(table)
