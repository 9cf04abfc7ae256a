"""`coldtheory replay` runs a counterexample again: a stored one by its name, a saved one by its file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..bounds import Bound, find_statement, load_statement
from ..counterexamples import counterexample_names
from ..ground.files import write_atomically
from ..ground.terminal import plain_table
from ..ideal import ideal_points
from ..search.rerun import Rerun, rerun
from .options import JsonOption, PlotOption


def add_to(app: typer.Typer) -> None:
    """Register the command `replay` with the program."""
    app.command("replay")(replay)


def replay(
    file: Annotated[
        str | None, typer.Argument(help="A file that `search --out` wrote, or the name of a stored counterexample.")
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--form", help="Form of the statement: printed, corrected, sharp, ... It is shown beside the stored form."
        ),
    ] = None,
    statement: Annotated[
        str | None,
        typer.Option(
            "--statement",
            help="Python file of a statement of your own, which is run. The instance is about it.",
        ),
    ] = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a counterexample again, and print both sides of its form and of the form that holds.

    Without a name, the stored counterexamples are listed.

    The exit code is 1 if the sides are not those in the file, and 2 if the file is damaged.

    Examples: [bold]coldtheory replay lemma1_main_text[/] and [bold]coldtheory replay mine.toml --form corrected[/]
    """
    if file is None:
        _list(as_json)
        return
    again = rerun(file, form, None if statement is None else load_statement(statement))
    if plot is not None:
        draw_instance(again, plot)
    if as_json:
        typer.echo(json.dumps(record(again)))
    else:
        _print(again)
    if not again.comes_out:
        raise typer.Exit(1)


def draw_instance(again: Rerun, path: Path) -> None:
    """Draw an instance that was run again into a file."""
    from ..figures import style  # noqa: PLC0415  (matplotlib is slow to load)
    from ..figures.instance import draw_instance as drawn  # noqa: PLC0415

    bounds = [again.stored] if again.other is None else [again.stored, again.other]
    prime = again.instance.options.get("delta_prime")
    star = None if prime is None else ideal_points(again.run.tasks, prime).w_star
    title = find_statement(again.instance.statement).title
    with style.styled():
        figure = drawn(again.run, bounds, title, star)
    write_atomically(path, style.picture_bytes(figure, path.suffix.removeprefix(".") or "png"))


def record(again: Rerun) -> dict[str, Any]:
    """Return all that is printed, for scripts."""
    instance = again.instance
    return {
        "name": instance.name,
        "statement": again.stored.id,
        "T": instance.T,
        "d": instance.tasks.d,
        "exact": instance.exact,
        "expected": dict(instance.expected),
        "comes_out": again.comes_out,
        **side_record(again.stored),
        "other": None if again.other is None else side_record(again.other),
    }


def side_record(bound: Bound) -> dict[str, Any]:
    """Both sides of a bound with its terms and its outcome, as plain data for --json."""
    return {
        "form": bound.form,
        "lhs": float(bound.lhs),
        "rhs": float(bound.rhs),
        "ratio": float(bound.lhs / bound.rhs) if bound.rhs > 0 else None,
        "outcome": str(bound.outcome),
        "kind": bound.kind,
        "error": float(bound.error),
        "terms": {name: float(term) for name, term in bound.terms.items()},
        "premises": {name: bool(met) for name, met in bound.assumptions.items()},
    }


def show_bound(console: Console, bound: Bound, waived: tuple[str, ...] = ()) -> None:
    """Print both sides, the terms of the right side, and the premises."""
    colour = {"holds": "green", "violated": "red"}.get(str(bound.outcome), "blue")
    console.print(f"[bold]{bound.id}[/], form [bold]{bound.form}[/]: [{colour}]{bound.outcome}[/]")
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1, 0, 2))
    table.add_column()
    table.add_column(justify="right")
    table.add_row("left side", f"{float(bound.lhs):.9g}", style="bold")
    table.add_row("right side", f"{float(bound.rhs):.9g}", style="bold")
    for name, term in bound.terms.items():
        table.add_row(f"  {name}", f"{float(term):.9g}", style="dim")
    if bound.error > 0:
        table.add_row("standard error of left - right", f"{float(bound.error):.3g}", style="dim")
    console.print(table)
    marks = [
        f"{'[green]yes[/]' if met else '[yellow]waived[/]' if name in waived else '[red]no[/]'} {escape(name)}"
        for name, met in bound.assumptions.items()
    ]
    console.print("  premises: " + "; ".join(marks))


def _print(again: Rerun) -> None:
    console = Console(highlight=False)
    instance = again.instance
    exact = ", exact in rationals" if instance.exact else ""
    console.print(f"{escape(instance.name)}: T = {instance.T}, d = {instance.tasks.d}{exact}. {escape(instance.note)}")
    show_bound(console, again.stored)
    if again.other is not None:
        show_bound(console, again.other)
    if again.comes_out:
        console.print("[green]both sides come out as stored[/]")
    for side, gap in again.off.items():
        console.print(f"[bold red]{side} is off by {gap:.3g}:[/] the file says {instance.expected[side]:.9g}")


def _list(as_json: bool) -> None:
    reruns = [rerun(name) for name in counterexample_names()]
    if as_json:
        typer.echo(json.dumps([record(again) for again in reruns]))
        return
    table = plain_table()
    for title in ("name", "form"):
        table.add_column(title, overflow="fold")
    for title in ("T", "left", "right"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("now")
    for again in reruns:
        bound = again.stored
        now = str(bound.outcome) if again.comes_out else "[red]other sides than stored[/]"
        table.add_row(again.instance.name, f"{bound.id} {bound.form}", str(again.instance.T), f"{float(bound.lhs):.4g}",
                      f"{float(bound.rhs):.4g}", now)  # fmt: skip
    Console().print(table)
    Console().print("Rerun one with [bold]coldtheory replay NAME[/].")
