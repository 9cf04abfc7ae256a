"""`cold table` prints the paper's tables from stored runs, and the commands that fill the gaps."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from coldtheory.ground.command_line import JsonOption, seeds_of, words_of
from coldtheory.ground.errors import ColdError, unknown_name

from ..runs import default_roots
from ..tables import footnotes
from ..tables.formats import FORMATS, data_of_runs, data_of_sheets, show
from ..tables.make import PRINTED, REPRODUCIBILITY, FilledTable, fill_table, make, names, sheets, terms_of
from ..tables.printed import complexity, hyperparameters
from ..tables.sheet import Sheet
from ..tables.terms import KINDS, Terms, using
from .options import DataRootOption, JobsOption, RetryOption, SeedsOption

_SHOWN = ("terminal", *FORMATS, "json")


def add_to(app: typer.Typer) -> None:
    """Register the command `table` with the program."""
    app.command("table")(table)


def table(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(names())}.", metavar="NAME")],
    kind: Annotated[
        str,
        typer.Option(
            help="equal: the same terms for all methods, tuned on validation data. published: those of their papers."
        ),
    ] = "equal",
    rows: Annotated[str | None, typer.Option(help="Only these rows, separated by commas, such as er,cold.")] = None,
    seeds: SeedsOption = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            help="Folder of finished training runs. They may be at any depth, and the option may be repeated. The "
            "default is runs, results/runs and those of the package."
        ),
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help=f"Format of the output. It is one of {', '.join(_SHOWN)}.")
    ] = "terminal",
    missing: Annotated[
        bool, typer.Option("--missing", help="Print only the commands that make missing runs, one per line.")
    ] = False,
    run: Annotated[
        bool, typer.Option("--run", help="Make the missing runs first; after a stop the same command goes on.")
    ] = False,
    jobs: JobsOption = 1,
    engine: Annotated[
        str,
        typer.Option(help="How jobs are computed. serial, loky, dask or slurm; the default for several jobs is loky."),
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(help="Where to write. New runs go into this folder; the default is in comparisons.toml."),
    ] = None,
    data_root: DataRootOption = None,
    retry_failed: RetryOption = False,
    again: Annotated[
        bool,
        typer.Option("--again", help="Make again what is there."),
    ] = False,
    measured: Annotated[
        Path | None,
        typer.Option(help="File with the output of `cold methods --measure --json`, for the table complexity."),
    ] = None,
    terms: Annotated[
        Path | None, typer.Option(help="TOML file with comparisons of your own, like cold/tables/comparisons.toml.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print one of the paper's tables from stored runs: mean ± s.d. over seeds, the paper's value beside ours.

    Examples: [bold]cold table pmnist[/]
    [bold]cold table pmnist-10k --kind published --format markdown[/]
    [bold]cold table split-cifar10 --run --jobs 2[/]
    [bold]cold table pmnist-10k --rows er,cold --seeds 0-8[/]  (a difference on more seeds)
    [bold]cold table pmnist-10k --rows cba --run --again[/]  (replace runs of an earlier rule)
    """
    form = "json" if as_json else form
    with using(terms):
        for what, given, known in (("table", name, names()), ("kind", kind, KINDS), ("format", form, _SHOWN)):
            if given not in known:
                raise unknown_name(what, given, known)
        flags = {"--kind": None if kind == "equal" else kind, "--rows": rows, "--seeds": seeds}
        call = " ".join([f"cold table {name}", *(f"{flag} {value}" for flag, value in flags.items() if value)])
        if name in PRINTED:
            if run or missing or rows or seeds:
                raise ColdError(f"{name} needs no runs; leave out --run, --missing, --rows and --seeds")
            found = [complexity(call, measured)] if name == "complexity" else hyperparameters(call)
            _print(form, found, data_of_sheets(name, found))
            return
        if name == REPRODUCIBILITY:
            _reproducibility(form, call, runs, of_rows=bool(run or missing or rows or seeds or kind != "equal"))
            return
        keys = None if rows is None else words_of(rows)
        numbers = None if seeds is None else seeds_of(seeds)
        wanted = terms_of(name, kind, out, rows=keys, seeds=numbers)
        roots = [*(runs or default_roots()), *([out] if out is not None else [])]
        failed: dict[str, str] = {}
        if again and not run:
            raise ColdError("--again goes with --run")
        if run:
            made, failed = _fill(name, wanted, roots, Place(jobs, engine, data_root, retry_failed, again))
        else:
            made = make(name, wanted, roots)
        if missing:
            _print_missing(made)
        else:
            _print(form, sheets(made, call), data_of_runs(made), made)
    if failed:
        raise typer.Exit(1)


def _reproducibility(form: str, call: str, runs: list[Path] | None, *, of_rows: bool) -> None:
    from ..tables.reproducibility import page, reproducibility  # noqa: PLC0415  (all tables at once)

    if of_rows:
        raise ColdError(f"{REPRODUCIBILITY} shows all rows of all tables; leave out --kind, --rows, --seeds and --run")
    found, data = reproducibility(call, runs)
    if form == "markdown":
        typer.echo(page(found), nl=False)
    else:
        _print(form, found, data)


@dataclass(frozen=True)
class Place:
    """Where and how new runs are made."""

    jobs: int
    engine: str
    data_root: Path | None
    retry_failed: bool
    again: bool


def _fill(name: str, terms: tuple[Terms, ...], roots: list[Path], place: Place) -> tuple[FilledTable, dict[str, str]]:
    from ..grid import Engine, Event  # noqa: PLC0415  (only where runs are made)

    def tell(event: Event) -> None:
        why = f": {event.error}" if event.error else ""
        print(f"{event.run_id} {event.state} ({event.done} of {event.total}){why}", file=sys.stderr, flush=True)

    engine = Engine(place.engine or ("serial" if place.jobs == 1 else "loky"), jobs=place.jobs)
    folders = [*roots, *dict.fromkeys(folder for one in terms for folder in (one.out, one.tuning_out))]
    try:
        return fill_table(
            name, terms, folders, engine=engine, data_root=place.data_root, retry_failed=place.retry_failed,
            again=place.again, on_event=tell,
        )  # fmt: skip
    except KeyboardInterrupt:
        print("stopped; finished runs stay, and the same command goes on with the rest", file=sys.stderr)
        raise typer.Exit(130) from None


def _print_missing(made: FilledTable) -> None:
    for line in footnotes.commands(made.comparisons, made.stored):
        typer.echo(line)
    later = footnotes.to_come(made.comparisons)
    if later:
        print(f"{later} more commands can be named when the tuning runs among these are finished", file=sys.stderr)


def _print(form: str, found: list[Sheet], data: dict[str, Any], made: FilledTable | None = None) -> None:
    if form == "json":
        typer.echo(json.dumps(data))
    elif form == "terminal":
        console = Console(highlight=False)
        for sheet in found:
            show(console, sheet)
        if made is not None and (later := footnotes.to_come(made.comparisons)):
            console.print(f"{later} more runs can be named when tuning is finished")
    else:
        typer.echo("\n".join(FORMATS[form](sheet) for sheet in found), nl=False)
