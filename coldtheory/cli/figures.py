"""`coldtheory figures` and `coldtheory plot`: what can be drawn, and drawing it, with its data made first."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from ..figures import gallery, registry
from ..figures.catalogue import Scale, statement_figure
from ..figures.figure import Figure, Wanted, worst
from ..ground.errors import ColdError
from ..ground.terminal import Bar, plain_table
from .options import JsonOption, OutOption

SCALE = Scale()
_WIDTH = 80  # of lists that no terminal shows
_STATE_COLOR = {"present": "green", "stale": "yellow", "missing": "dim"}

RESULTS = Path("results")

ToOption = Annotated[Path, typer.Option("--to", help="Folder of the pictures.")]


def add_to(app: typer.Typer) -> None:
    app.command("figures")(list_figures)
    app.command("plot")(plot)


def list_figures(out: OutOption = RESULTS, to: ToOption = Path("figures"), as_json: JsonOption = False) -> None:
    """List every figure with the state of its data, and the commands that make what is missing.

    Example: [bold]coldtheory figures[/]
    """
    known = registry.figures(SCALE, Wanted(kept=out == RESULTS))
    entries = [_entry(figure, out, to) for figure in known]
    if as_json:
        typer.echo(json.dumps(entries))
        return
    console = Console(highlight=False) if Console().is_terminal else Console(highlight=False, width=_WIDTH)
    table = plain_table("figure", "also", "data", "drawn")
    for entry in entries:
        color, drawn = _STATE_COLOR[entry["state"]], "yes" if entry["picture"] else "no"
        table.add_row(entry["id"], ", ".join(entry["aliases"]), f"[{color}]{entry['state']}[/]", drawn)
    console.print(table)
    counts = Counter(entry["state"] for entry in entries)
    console.print(f"{len(entries)} figures: " + ", ".join(f"{n} {state}" for state, n in counts.items()))
    console.print("[bold]coldtheory plot FIGURE[/] draws one, and computes what a theory figure lacks.")
    _print_commands([entry for entry in entries if entry["kind"] != "theory" and entry["state"] != "present"], console)


def _print_commands(lacking: Sequence[Mapping[str, Any]], console: Console) -> None:
    """What makes the runs that figures lack, each command once, on lines that can be copied."""
    figures: dict[str, list[str]] = {}
    for entry in lacking:
        figures.setdefault(entry["command"], []).append(entry["id"])
    if figures:
        console.print("Other figures need finished runs, which these commands make:")
    for command, ids in figures.items():
        console.print(escape(command.replace(" && ", " &&\n")), style="bold", soft_wrap=True)
        console.print(Padding(f"[dim]for {', '.join(ids)}[/]", (0, 0, 0, 4), expand=False))


def plot(
    name: Annotated[str, typer.Argument(metavar="ID|all", help="A figure as 'coldtheory figures' lists it, or all.")],
    statement: Annotated[
        str | None,
        typer.Argument(metavar="[FILE.py|STATEMENT]", help="With bounds: draw this statement; a Python file is run."),
    ] = None,
    stored: Annotated[
        bool, typer.Option("--stored", help="Draw only what is stored; exit 2 where data are missing or stale.")
    ] = False,
    run: Annotated[
        bool, typer.Option("--run", help="Make missing or stale data of theory figures first: the default now.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Compare the pictures' data with the code; exit 1 if any differs.")
    ] = False,
    out: OutOption = RESULTS,
    to: ToOption = Path("figures"),
    formats: Annotated[str, typer.Option("--format", help="png, pdf or both, by commas.")] = "png,pdf",
    paper: Annotated[bool, typer.Option("--paper", help="Training figures: the paper's printed numbers too.")] = False,
    dataset: Annotated[
        str | None, typer.Option("--dataset", help="Training figures: another dataset than the paper's, or OLD=NEW.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", help="Training figures: only runs of this profile.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Draw a figure, or all of them. Missing or stale data of theory figures are computed and stored first.

    A training figure is drawn from finished runs; where they are missing, the command that makes them is named, and
    [bold]plot all[/] leaves the figure out.

    Example: [bold]coldtheory plot gradient[/], [bold]coldtheory plot all --check[/] and
    [bold]coldtheory plot bounds mine.py[/], a statement of your own
    """
    if stored and run:
        raise ColdError("--stored draws only what is there and --run makes what is not; give one of the two")
    known = registry.figures(SCALE, Wanted(dataset, profile, paper, kept=out == RESULTS))
    chosen = list(known) if name == "all" else [registry.find(name, known)]
    if statement is not None:
        chosen = [_of_statement(chosen, statement)]
    if check:
        _check(chosen, to, as_json=as_json)
        return
    kinds = gallery.check_formats(part.strip().lower() for part in formats.split(",") if part.strip())
    gallery.check_folder(to)
    console = Console(stderr=True, highlight=False)
    drawn: list[dict[str, Any]] = []
    skipped: list[Figure] = []
    for figure in chosen:
        if not stored and figure.kind == "theory":
            _make(figure, out, console)
        if name == "all" and figure.state(out) != "present":
            skipped.append(figure)
            continue
        start = time.perf_counter()
        files = gallery.write_figure(figure, out, to, kinds)
        seconds = time.perf_counter() - start
        drawn.append({"id": figure.id, "files": [str(path) for path in files], "seconds": round(seconds, 2)})
        if not as_json:
            Console(highlight=False).print(f"{figure.id}: {files[0]} [dim]({seconds:.1f} s)[/]", soft_wrap=True)
    if not as_json:
        _explain_skipped(skipped, out, console)
    if not drawn:
        raise ColdError(f"no figure has its data in {out}; make it with: coldtheory plot all")
    if name == "all":
        gallery.write_readme(known, to)
    if as_json:
        typer.echo(json.dumps({"drawn": drawn, "skipped": [figure.id for figure in skipped]}))


def _of_statement(chosen: Sequence[Figure], statement: str) -> Figure:
    if [figure.id for figure in chosen] != ["bounds"]:
        raise ColdError(f"only the figure bounds takes a statement: coldtheory plot bounds {statement}")
    from ..bounds import named_statement  # noqa: PLC0415  (a list of figures needs no bounds)
    from ..bounds.own import source_digest  # noqa: PLC0415

    title = named_statement(statement).title
    return statement_figure(statement, title, source_digest(statement), SCALE)


def _entry(figure: Figure, out: Path, to: Path) -> dict[str, Any]:
    picture = to / f"{figure.id}.png"
    states = [data.state(out) for data in figure.data]  # once: thousands of runs may be behind it
    return {
        "id": figure.id, "aliases": list(figure.aliases), "label": figure.label, "kind": figure.kind,
        "title": figure.title, "sentence": figure.sentence, "state": worst(states), "command": figure.command,
        "data": [
            {"name": d.name, "state": state, "command": d.command, "commands": list(d.commands())}
            for d, state in zip(figure.data, states, strict=True)
        ],
        "picture": str(picture) if picture.is_file() else None,
    }  # fmt: skip


def _make(figure: Figure, out: Path, console: Console) -> None:
    """Make what a theory figure lacks, and say how long that took."""
    lacking = [data for data in figure.data if data.state(out) != "present"]
    if not lacking:
        return
    start = time.perf_counter()
    try:
        for data in lacking:
            with Bar(f"{figure.id}: {data.name}") as tell:
                data.make(out, tell)
    except KeyboardInterrupt:
        console.print("interrupted; what is finished is stored, the same command goes on from there")
        raise typer.Exit(130) from None
    names = ", ".join(data.name for data in lacking)
    console.print(f"[dim]{figure.id}: computed {names} in {time.perf_counter() - start:.1f} s[/]", soft_wrap=True)


def _explain_skipped(skipped: Sequence[Figure], out: Path, console: Console) -> None:
    """What is stale one by one, since old data may mislead; what is missing in one line."""
    missing = []
    for figure in skipped:
        if figure.state(out) == "stale":
            console.print(f"[yellow]{figure.id}:[/] {escape(gallery.complaint(figure, out))}", soft_wrap=True)
        else:
            missing.append(figure.id)
    if missing:
        words = f"no data for {', '.join(missing)}; 'coldtheory figures' says what makes it"
        console.print(f"[dim]{words}[/]", soft_wrap=True)


def _check(chosen: Sequence[Figure], to: Path, *, as_json: bool) -> None:
    with Bar("computing the data anew") as tell:
        found = gallery.check(chosen, to, tell)
    if as_json:
        typer.echo(json.dumps(found))
    else:
        console = Console(highlight=False)
        for id_, problem in found.items():
            console.print(f"{id_}: {'matches' if problem is None else escape(problem)}", soft_wrap=True)
    if any(problem is not None for problem in found.values()):
        raise typer.Exit(1)
