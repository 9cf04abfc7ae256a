"""`coldtheory figures` and `coldtheory plot`: what can be drawn, and drawing it from stored data."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..errors import ColdError
from ..figures import gallery, registry
from ..figures.catalogue import Scale
from ..figures.registry import Figure
from .options import JsonOption, OutOption

SCALE = Scale()
_STATE_COLOR = {"present": "green", "stale": "yellow", "missing": "dim"}

ToOption = Annotated[Path, typer.Option("--to", help="Folder of the pictures.")]


def add_to(app: typer.Typer) -> None:
    app.command("figures")(list_figures)
    app.command("plot")(plot)


def list_figures(
    out: OutOption = Path("results"), to: ToOption = Path("figures"), as_json: JsonOption = False
) -> None:
    """List every figure with the state of its data and the command that makes it.

    Example: [bold]coldtheory figures[/]
    """
    known = registry.figures(SCALE)
    entries = [
        {
            "id": figure.id, "aliases": list(figure.aliases), "label": figure.label, "kind": figure.kind,
            "title": figure.title, "state": figure.state(out), "command": figure.command,
            "data": [{"name": d.name, "state": d.state(out), "command": d.command} for d in figure.data],
            "picture": str(to / f"{figure.id}.png") if (to / f"{figure.id}.png").is_file() else None,
        }
        for figure in known
    ]  # fmt: skip
    if as_json:
        typer.echo(json.dumps(entries))
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("id", "kind", "data", "drawn", "made by"):
        table.add_column(name, no_wrap=True)
    for figure, entry in zip(known, entries, strict=True):
        short = f" [dim]({', '.join(figure.aliases)})[/]" if figure.aliases else ""
        state = str(entry["state"])
        table.add_row(
            figure.id + short, figure.kind, f"[{_STATE_COLOR[state]}]{state}[/]", "yes" if entry["picture"] else "no",
            escape(figure.command),
        )  # fmt: skip
    Console(width=None if Console().is_terminal else 120).print(table)


def plot(
    name: Annotated[str, typer.Argument(metavar="ID|all", help="A figure as 'coldtheory figures' lists it, or all.")],
    run: Annotated[bool, typer.Option("--run", help="Make missing or stale data first.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Compare the pictures' data with the code; 1 if any differs.")] = False,
    out: OutOption = Path("results"),
    to: ToOption = Path("figures"),
    formats: Annotated[str, typer.Option("--format", help="png, pdf or both, by commas.")] = "png,pdf",
    as_json: JsonOption = False,
) -> None:
    """Draw a figure, or all that have data, from what is stored; nothing is simulated without --run.

    Example: [bold]coldtheory plot gradient --run[/]
    """
    known = registry.figures(SCALE)
    chosen = list(known) if name == "all" else [registry.find(name, known)]
    if check:
        _check(chosen, to, as_json=as_json)
        return
    _refuse_file(to)
    console = Console(stderr=True, highlight=False)
    drawn: list[dict[str, object]] = []
    skipped: list[Figure] = []
    for figure in chosen:
        if run and figure.kind == "theory":
            _make(figure, out, console)
        state = figure.state(out)
        if name == "all" and state != "present":
            skipped.append(figure)
            if state == "stale" and not as_json:
                console.print(f"[yellow]{figure.id}: its data is of another version; redo it with {figure.command}[/]")
            continue
        start = time.perf_counter()
        files = gallery.write_figure(figure, out, to, _formats(formats))
        seconds = time.perf_counter() - start
        drawn.append({"id": figure.id, "files": [str(path) for path in files], "seconds": round(seconds, 2)})
        if not as_json:
            Console(highlight=False).print(f"{figure.id}: {files[0]} [dim]({seconds:.1f} s)[/]", soft_wrap=True)
    if not drawn:
        raise ColdError(f"no figure has its data in {out}; make it with: coldtheory plot all --run")
    if name == "all":
        gallery.write_readme(known, to)
        if skipped and not as_json:
            ids = ", ".join(figure.id for figure in skipped)
            console.print(f"[dim]no data for {ids}; 'coldtheory figures' says what makes it[/]", soft_wrap=True)
    if as_json:
        typer.echo(json.dumps({"drawn": drawn, "skipped": [figure.id for figure in skipped]}))


def _make(figure: Figure, out: Path, console: Console) -> None:
    for data in figure.data:
        if data.state(out) != "present":
            with console.status(f"computing {data.name}"):
                data.make(out)


def _check(chosen: Sequence[Figure], to: Path, *, as_json: bool) -> None:
    found = gallery.check(chosen, to)
    if as_json:
        typer.echo(json.dumps(found))
    else:
        console = Console(highlight=False)
        for id_, problem in found.items():
            console.print(f"{id_}: {'matches' if problem is None else escape(problem)}", soft_wrap=True)
    if any(problem is not None for problem in found.values()):
        raise typer.Exit(1)


def _formats(text: str) -> list[str]:
    return [part.strip().lower() for part in text.split(",") if part.strip()]


def _refuse_file(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ColdError(f"{folder} is a file; give a folder with --to")
