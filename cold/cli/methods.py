"""`cold methods` lists the methods with their declared costs, and measures them on request."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from coldtheory.ground.command_line import JsonOption

from ..catalogue import COST_LETTERS, METHODS, MethodEntry, printed_costs


def add_to(app: typer.Typer) -> None:
    """Register the command `methods` with the program."""
    app.command("methods")(methods)


def methods(
    method: Annotated[
        list[str] | None, typer.Option(help="Method: a name, or FILE.py of your own. The option may be repeated.")
    ] = None,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure", help="Also measure time per step, storage and growth with t, which takes a minute or two."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List the methods with their papers, settings and hyper-parameters.

    Cost per batch and storage stand beside the numbers of the paper's table.

    Example: [bold]cold methods --method er --method gem --measure[/]
    """
    names = method or sorted(METHODS)
    rows = [described(_entry(name)) for name in names]
    if measure:
        from .measure import fisher_speed, measured  # noqa: PLC0415  (the trainer, needed here only)

        for row, name in zip(rows, names, strict=True):
            row["measured"] = measured(name)
        plain = measured("finetune")["step_ms"][-1]
        speed = fisher_speed()
    if as_json:
        typer.echo(json.dumps({"methods": rows, **({"fisher": speed} if measure else {})}))
        return
    console = Console(highlight=False)
    _print_rules(console, rows)
    _print_costs(console, rows)
    if measure:
        _print_measured(console, rows, plain)
        console.print(
            f"EWC's Fisher on {speed['samples']} samples of MNIST's size: {1e6 * speed['seconds_a_sample']:.0f} us per "
            f"sample, {speed['ratio']:.0f} times as fast as a loop over samples, largest difference "
            f"{speed['difference']:.1g} of the largest entry"
        )


def described(entry: MethodEntry) -> dict[str, Any]:
    """Return what a method declares, with its row in the paper's table."""
    printed = printed_costs().get(entry.name)
    return {
        "name": entry.name,
        "title": entry.title,
        "paper": entry.paper,
        "settings": list(entry.settings),
        "options": entry.defaults(),
        "published": {name: dict(settings) for name, settings in entry.published.items()},
        "published_by": entry.published_by or (entry.paper if entry.published else ""),
        "cost": entry.cost,
        "storage": entry.storage,
        "printed": None if printed is None else {"operations": printed.operations, "storage": printed.storage},
    }


def _entry(name: str) -> MethodEntry:
    if name in METHODS:
        return METHODS[name]
    from ..methods import find_method  # noqa: PLC0415  (torch: only for a method of the user's own)

    return find_method(name).as_entry()


def _print_rules(console: Console, rows: list[dict[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("method", "title", "settings", "options", "paper"):
        table.add_column(column)
    for row in rows:
        options = ", ".join(f"{name}={value}" for name, value in row["options"].items())
        table.add_row(row["name"], row["title"], ", ".join(row["settings"]), escape(options), escape(row["paper"]))
    console.print(table)


def _print_costs(console: Console, rows: list[dict[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("method", "per batch", "the paper prints", "storage", "the paper prints"):
        table.add_column(column)
    for row in rows:
        printed = row["printed"] or {"operations": "-", "storage": "-"}
        table.add_row(row["name"], row["cost"], printed["operations"], row["storage"], printed["storage"])
    console.print(table)
    console.print(f"[dim]{COST_LETTERS}[/]")


def _print_measured(console: Console, rows: list[dict[str, Any]], plain: float) -> None:
    table = Table(box=None, pad_edge=False)
    names = (
        "method",
        "ms per step, task 2",
        "last task",
        "growth",
        "x fine-tune",
        "numbers stored",
        "last task",
        "growth",
    )
    for column in names:
        table.add_column(column, justify="left" if column == "method" else "right")
    for row in rows:
        found = row["measured"]
        (t_early, t_late), (s_early, s_late) = found["step_ms"], found["stored"]
        table.add_row(
            row["name"],
            f"{t_early:.2f}",
            f"{t_late:.2f}",
            f"{t_late / t_early:.2f}" if t_early else "-",
            f"{t_late / plain:.2f}",
            f"{s_early}",
            f"{s_late}",
            f"{s_late / s_early:.2f}" if s_early else "-",
        )
    console.print(table)
    reduced = [row["name"] for row in rows if row["measured"]["reduced"]]
    console.print(
        "[dim]processor time on one thread; 8 tasks, batches of 64, 32 replayed from all past tasks, memory of 256"
        f"{'; reduced: ' + ', '.join(reduced) if reduced else ''}[/]"
    )
