"""`coldtheory figures` lists what can be drawn; `coldtheory plot` draws it, and makes missing data first."""

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
from ..figures.catalogue import ALL, PAPER, Scale, statement_figure
from ..figures.figure import Figure, Wanted, worst
from ..figures.swept import FIGURE_IDS, sweep_figure
from ..ground.command_line import note, with_old_names
from ..ground.errors import ColdError, unknown_name
from ..ground.terminal import Bar, plain_table
from ..sources import Source, load_source
from ..store import SweepRecord, stored_sweeps
from ..sweep import grid, record_sweep, run_cells
from . import options as o
from .options import PICTURES, RESULTS

SCALE = Scale()
_WIDTH = 80  # of a list that is not shown in a terminal
_STATE_COLOR = {"present": "green", "stale": "yellow", "missing": "dim"}
_SETTABLE = ("T", "d", "n", "m", "spread")  # constants of tasks that a sweep sets by options


def add_to(app: typer.Typer) -> None:
    """Register the commands `figures` and `plot` with the program."""
    old = {"--out": "--results", "--to": "--figures"}
    app.command("figures", cls=with_old_names(old))(list_figures)
    app.command("plot", cls=with_old_names(old))(plot)


def list_figures(
    results: o.ResultsOption = RESULTS, figures: o.FiguresOption = PICTURES, as_json: o.JsonOption = False
) -> None:
    """List every figure with the state of its data, and the commands that make what is missing.

    Example: [bold]coldtheory figures[/]
    """
    known = registry.figures(SCALE, Wanted(kept=results == RESULTS))
    entries = [_entry(figure, results, figures) for figure in known]
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
    sweeps = [record.name for record in stored_sweeps(results)]
    if sweeps:
        console.print(f"{', '.join(FIGURE_IDS)} draw your newest sweep, or another by its name: {', '.join(sweeps)}.")
    _print_commands([entry for entry in entries if entry["kind"] != "theory" and entry["state"] != "present"], console)


def _print_commands(lacking: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Print the commands that make missing runs, each once, on lines that can be copied."""
    figures: dict[str, list[str]] = {}
    for entry in lacking:
        figures.setdefault(entry["command"], []).append(entry["id"])
    if figures:
        console.print("The other figures need finished runs, which these commands make:")
    for command, ids in figures.items():
        console.print(escape(command.replace(" && ", " &&\n")), style="bold", soft_wrap=True)
        console.print(Padding(f"[dim]for {', '.join(ids)}[/]", (0, 0, 0, 4), expand=False))


def plot(
    name: Annotated[str, typer.Argument(metavar="ID|all", help="A figure as 'coldtheory figures' lists it, or all.")],
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[SWEEP|FILE.py|STATEMENT]",
            help="With gradient, queues or tradeoff: a stored sweep by its name, or paper. With bounds: a statement, "
            "or a Python file with one, which is run.",
        ),
    ] = None,
    regime: o.DrawnRegimeOption = None,
    stored: Annotated[
        bool,
        typer.Option("--stored", help="Draw only from stored data; the exit code is 2 if data are missing or stale."),
    ] = False,
    run: Annotated[bool, typer.Option("--run", hidden=True)] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Compare the data of the pictures with the code; the exit code is 1 if any differ."
        ),
    ] = False,
    results: o.ResultsOption = RESULTS,
    figures: o.FiguresOption = PICTURES,
    formats: o.PictureFormats = "png,pdf",
    paper: o.PaperOption = False,
    dataset: o.PictureDataset = None,
    profile: o.PictureProfile = None,
    as_json: o.JsonOption = False,
) -> None:
    """Draw a figure, or all of them. Missing or stale data of theory figures are computed and stored first.

    [bold]gradient[/], [bold]queues[/] and [bold]tradeoff[/] show your newest sweep, or the one that you name. Without a
    stored sweep, and with the word [bold]paper[/], they show the paper's regimes.

    A training figure is drawn from finished runs. Where they are missing, the command that makes them is named, and
    [bold]plot all[/] leaves the figure out.

    Examples: [bold]coldtheory plot queues[/], [bold]coldtheory plot queues --regime mine.npz[/],
    [bold]coldtheory plot gradient paper[/], [bold]coldtheory plot all --check[/] and
    [bold]coldtheory plot bounds mine.py[/], a statement of your own
    """
    if stored and run:
        raise ColdError("--stored draws only what is there and --run makes what is not; give one of the two")
    if run:
        note("plot always does what --run asks for; leave it out, because the next release will not accept it")
    known = registry.figures(SCALE, Wanted(dataset, profile, paper, kept=results == RESULTS))
    chosen = list(known) if name == "all" else [registry.find(name, known)]
    if name != "all" and chosen[0].id in FIGURE_IDS and not check:
        chosen = [_of_sweep(chosen[0], what, regime, results)]
    elif regime is not None:
        raise ColdError(f"--regime goes with the figures of a sweep: coldtheory plot {FIGURE_IDS[0]} --regime {regime}")
    elif what is not None:
        chosen = [_of_statement(chosen, what)]
    if check:
        _check(chosen, figures, as_json=as_json)
        return
    draw(chosen, results, figures, formats, several=name == "all", make=not stored, as_json=as_json)
    if name == "all":
        gallery.write_readme(known, figures)


def draw(
    chosen: Sequence[Figure], data: Path, figures: Path, formats: str, *, several: bool, make: bool, as_json: bool
) -> None:
    """Draw the chosen figures from what the folder `data` holds, and write the pictures.

    several : leave out what has no data, instead of complaining
    make    : compute what theory figures lack
    """
    kinds = gallery.check_formats(part.strip().lower() for part in formats.split(",") if part.strip())
    gallery.check_folder(figures)
    console = Console(stderr=True, highlight=False)
    drawn: list[dict[str, Any]] = []
    skipped: list[Figure] = []
    for figure in chosen:
        if make and figure.kind == "theory":
            _make(figure, data, console)
        if several and figure.state(data) != "present":
            skipped.append(figure)
            continue
        start = time.perf_counter()
        files = gallery.write_figure(figure, data, figures, kinds)
        seconds = time.perf_counter() - start
        drawn.append({"id": figure.id, "files": [str(path) for path in files], "seconds": round(seconds, 2)})
        if not as_json:
            Console(highlight=False).print(f"{figure.id}: {files[0]} [dim]({seconds:.1f} s)[/]", soft_wrap=True)
    if not as_json:
        _explain_skipped(skipped, data, console)
    if not drawn:
        raise ColdError(f"no figure has its data in {data}; 'coldtheory figures' says what makes them")
    if as_json:
        typer.echo(json.dumps({"drawn": drawn, "skipped": [figure.id for figure in skipped]}))


def _of_sweep(figure: Figure, name: str | None, regime: str | None, results: Path) -> Figure:
    """Return the figure of the chosen sweep, or the one of the gallery if that is chosen or no sweep is stored."""
    sweeps = stored_sweeps(results)
    if name is not None and regime is not None:
        raise ColdError(f"{name} and --regime {regime} both say which sweep to draw; give one of the two")
    if name == PAPER:
        return figure
    if name is not None:
        named = [record for record in sweeps if record.name == name]
        if not named:
            raise unknown_name("sweep", name, [*(record.name for record in sweeps), PAPER])
        return sweep_figure(figure.id, named[0])
    if regime is None:
        return sweep_figure(figure.id, sweeps[0]) if sweeps else figure
    sources = o.parse_sources(regime)
    wanted = {_tasks_of(source.config) for source in sources}
    of_regime = [one for one in sweeps if {_tasks_of(config) for config in one.sources.values()} == wanted]
    if of_regime:
        return sweep_figure(figure.id, of_regime[0])
    if wanted == {_tasks_of(load_source(name).config) for name in ALL}:
        return figure
    (source,) = sources
    return sweep_figure(figure.id, _sweep_V(source, regime, results))


def _tasks_of(config: Mapping[str, Any]) -> str:
    """Identify tasks by all that a sweep cannot set: their number, dimension and samples do not count."""
    return json.dumps({name: value for name, value in config.items() if name not in _SETTABLE}, sort_keys=True)


def _sweep_V(source: Source, regime: str, results: Path) -> SweepRecord:
    """Make the sweep that `coldtheory sweep V` makes of these tasks by default."""
    cells = grid(source, "V", SCALE.V, SCALE.seeds)
    with Bar(f"sweep V {source.name}") as tell:
        run_cells(cells, results, progress=tell)
    return record_sweep(source.name, "V", cells, results, f"coldtheory sweep V --regime {regime}")


def _of_statement(chosen: Sequence[Figure], statement: str) -> Figure:
    if [figure.id for figure in chosen] != ["bounds"]:
        raise ColdError(f"only the figure bounds takes a statement: coldtheory plot bounds {statement}")
    from ..bounds import named_statement  # noqa: PLC0415  (a list of figures needs no bounds)
    from ..bounds.own import source_digest  # noqa: PLC0415

    title = named_statement(statement).title
    return statement_figure(statement, title, source_digest(statement), SCALE)


def _entry(figure: Figure, results: Path, figures: Path) -> dict[str, Any]:
    picture = figures / f"{figure.id}.png"
    states = [data.state(results) for data in figure.data]  # asked once, as it may have to look at thousands of runs
    return {
        "id": figure.id, "aliases": list(figure.aliases), "label": figure.label, "kind": figure.kind,
        "title": figure.title, "sentence": figure.sentence, "state": worst(states), "command": figure.command,
        "data": [
            {"name": d.name, "state": state, "command": d.command, "commands": list(d.commands())}
            for d, state in zip(figure.data, states, strict=True)
        ],
        "picture": str(picture) if picture.is_file() else None,
    }  # fmt: skip


def _make(figure: Figure, results: Path, console: Console) -> None:
    """Make what a theory figure lacks, and say how long that took."""
    lacking = [data for data in figure.data if data.state(results) != "present"]
    if not lacking:
        return
    start = time.perf_counter()
    try:
        for data in lacking:
            with Bar(f"{figure.id}: {data.name}") as tell:
                data.make(results, tell)
    except KeyboardInterrupt:
        console.print("interrupted; what is finished is stored, and the same command goes on from there")
        raise typer.Exit(130) from None
    names = ", ".join(data.name for data in lacking)
    console.print(f"[dim]{figure.id}: computed {names} in {time.perf_counter() - start:.1f} s[/]", soft_wrap=True)


def _explain_skipped(skipped: Sequence[Figure], data: Path, console: Console) -> None:
    """Name each figure with stale data, since old data may mislead, and those without data in one line."""
    missing = []
    for figure in skipped:
        if figure.state(data) == "stale":
            console.print(f"[yellow]{figure.id}:[/] {escape(gallery.complaint(figure, data))}", soft_wrap=True)
        else:
            missing.append(figure.id)
    if missing:
        words = f"no data for {', '.join(missing)}; 'coldtheory figures' says what makes them"
        console.print(f"[dim]{words}[/]", soft_wrap=True)


def _check(chosen: Sequence[Figure], figures: Path, *, as_json: bool) -> None:
    with Bar("computing the data again") as tell:
        found = gallery.check(chosen, figures, tell)
    if as_json:
        typer.echo(json.dumps(found))
    else:
        console = Console(highlight=False)
        for id_, problem in found.items():
            console.print(f"{id_}: {'matches' if problem is None else escape(problem)}", soft_wrap=True)
    if any(problem is not None for problem in found.values()):
        raise typer.Exit(1)
