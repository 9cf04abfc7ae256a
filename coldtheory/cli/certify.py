"""`coldtheory certify`: proofs in exact arithmetic and exact worst cases, as a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import track

from ..ground.terminal import plain_table
from .options import JsonOption

if TYPE_CHECKING:
    from ..certify import Record


def add_to(app: typer.Typer) -> None:
    """Register the command `certify` with the program."""
    app.command("certify")(certify)


def certify(
    size: Annotated[
        Literal["small", "full"], typer.Option("--size", help="full takes more tasks and more settings than small.")
    ] = "small",
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="Only this id, or all ids that begin with it. The option may be repeated."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Prove or refute statements with z3, and find worst cases with PEPit.

    The exit code is 1 if a certificate does not hold.

    Examples: [bold]coldtheory certify --only lemma1[/] and [bold]coldtheory certify --size full[/]

    It needs an extra: pip install 'cold-continual\\[certify]'
    """
    from ..certify import chosen_ids, run_certificate, to_json  # noqa: PLC0415  (needed by this command alone)

    ids = chosen_ids(only)
    bar = Console(stderr=True)
    records = [r for id in track(ids, "certifying", console=bar, transient=True) for r in run_certificate(id, size)]
    if as_json:
        typer.echo(json.dumps([to_json(record) for record in records]))
    else:
        _print(records)
    if not all(record.holds for record in records):
        raise typer.Exit(1)


def _print(records: Sequence[Record]) -> None:
    console = Console()
    table = plain_table("", "certificate", "kind")
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("found", ratio=1)
    for record in records:
        sign = "[green]ok[/]" if record.holds else "[bold red]FAIL[/]"
        table.add_row(sign, escape(record.id), record.kind, f"{record.seconds:.2f} s", escape(record.found))
    console.print(table)
    failed = [record.id for record in records if not record.holds]
    console.print(
        f"{len(records)} certificates" + (f", [bold red]failed:[/] {', '.join(failed)}" if failed else ", all hold")
    )
