"""`cold reproduce`: all runs behind all tables and figures of a profile, and what is made of them; one command."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from coldtheory.ground.command_line import JsonOption, named_value
from coldtheory.ground.errors import ColdError, unknown_name
from coldtheory.ground.files import write_atomically

from ..catalogue import BENCHMARKS
from ..config import RunConfig
from ..data.cache import data_root as chosen_root
from ..data.data_sets import DATA_SETS
from ..grid import ENGINES, Engine, Event, fill
from ..runs import by_run_id, default_roots, find_runs, identified
from ..studies import PROFILES, Picture, Study, planned, studies
from ..studies.passes import size_of_pass, work
from ..studies.plan import THROUGHPUT
from ..tables.comparison import ComparedRow
from ..tables.formats import markdown
from ..tables.make import fill_table, make, sheets, terms_of
from ..tables.reproducibility import page, reproducibility
from ..tables.terms import KINDS, Settings, Terms, declarations, layered, using
from ..tables.wanted import final_runs, tuning_run
from .study_print import table as empty_table

OUT, TO = Path("results/runs"), Path("reproduction")


def add_to(app: typer.Typer) -> None:
    """Register the command `reproduce` with the program."""
    app.command("reproduce")(reproduce)


@dataclass(frozen=True)
class Step:
    """One table or study: its runs, those that are stored, those that are made in this step and their GPU hours (the
    others are those of an earlier step), and what it leaves."""

    kind: str
    name: str
    runs: int
    finished: int
    new: int
    gpu_hours: float
    needs: tuple[str, ...]  #: data sets
    outputs: tuple[Path, ...]


def reproduce(
    profile: Annotated[
        str, typer.Option(help="Profile of the runs, which names their size: paper, cpu or smoke.")
    ] = "paper",
    out: Annotated[Path, typer.Option(help="Where to write.")] = OUT,
    to: Annotated[Path, typer.Option(help="Folder of tables and figures.")] = TO,
    engine: Annotated[str, typer.Option(help=f"How jobs are computed. {', '.join(ENGINES)}.")] = "loky",
    jobs: Annotated[int, typer.Option(help="Number of jobs at a time; -1 takes all cores.")] = -1,
    scheduler: Annotated[str | None, typer.Option(help="Address of a running dask scheduler.")] = None,
    gpu: Annotated[float | None, typer.Option(help="Share of a GPU per run: 1, or 0.5 for two runs on each.")] = None,
    slurm: Annotated[list[str] | None, typer.Option("--slurm", help="NAME=VALUE for the executor of submitit.")] = None,
    data_root: Annotated[
        Path | None,
        typer.Option(help="Folder of the data sets; by default COLD_DATA, or a folder of the user's cache."),
    ] = None,
    terms: Annotated[
        Path | None, typer.Option(help="TOML file with comparisons of your own, like cold/tables/comparisons.toml.")
    ] = None,
    parts: Annotated[bool, typer.Option("--parts", help="Go on with parts or copies of data sets.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Also make the runs that failed before.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print how many runs there are and how long they would take.")
    ] = False,
    throughput: Annotated[
        float, typer.Option(help="With --dry-run, compute GPU hours from this many images of 32 x 32 per second.")
    ] = THROUGHPUT,
    as_json: JsonOption = False,
) -> None:
    """Make every run behind the paper's tables and figures, then the tables and figures themselves.

    Examples: [bold]cold reproduce --dry-run[/]  (steps, GPU hours, what will be written)
    [bold]cold reproduce --gpu 1[/]  (all of it on the GPUs of this machine)
    [bold]cold reproduce --engine slurm --slurm slurm_partition=gpu --gpu 1[/]
    [bold]cold reproduce --profile smoke[/]  (a minute, on any machine)

    A stopped call goes on when it is given again: finished runs stay, runs that were begun continue. Exit code 1: some
    runs failed, or an output is missing.
    """
    if profile not in PROFILES:
        raise unknown_name("profile", profile, PROFILES)
    with using(terms):
        plan = _plan(profile, out, to, throughput, own=terms is not None)
        if dry_run:
            _print(plan, throughput, as_json=as_json)
            return
        _check_data(plan, data_root, parts=parts or profile != "paper")
        options = dict(named_value(word) for word in slurm or [])
        place = _Place(Engine(engine, jobs, scheduler, None, gpu, options), data_root, retry_failed, out, to)
        try:
            failed = _run(plan, profile, place, own=terms is not None)
        except KeyboardInterrupt:
            print("stopped; finished runs stay, the same command goes on with the rest", file=sys.stderr)
            raise typer.Exit(130) from None
        plan = _plan(profile, out, to, throughput, own=terms is not None)
    _print(plan, throughput, as_json=as_json)
    for run_id, why in failed.items():
        print(f"{run_id} failed: {why}", file=sys.stderr)
    if failed or any(not path.exists() for step in plan for path in step.outputs):
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Place:
    engine: Engine
    data_root: Path | None
    retry_failed: bool
    out: Path
    to: Path


# ------------------------------------------------------------------------------------------------ what there is to do


def _tables(profile: str, *, own: bool) -> list[tuple[str, str]]:
    """(table, kind) of a profile. The paper's wide tables share their runs; those of reduced size belong to `cpu`."""
    told = declarations()
    names = [name for name, about in told["benchmark"].items() if own or bool(about.get("short")) == (profile == "cpu")]
    if profile == "smoke" and not own:
        names = []
    found = [(name, kind) for name in names for kind in KINDS if kind in told["benchmark"][name]]
    if profile == "paper":
        full = told["full"]
        found += [(name, kind) for name in full["tables"] for kind in KINDS if kind in full]
    return found


def _studies(profile: str) -> list[Study]:
    return [study for study in studies() if profile in study.grids]


def _plan(profile: str, out: Path, to: Path, throughput: float, *, own: bool) -> list[Step]:
    """All steps in order; a run that several need counts where it is needed first."""
    roots = [out, *default_roots()]
    seen: set[str] = set()
    steps = [_table_step(name, kind, out, to, throughput, seen) for name, kind in _tables(profile, own=own)]
    stored = find_runs(*roots)
    for study in _studies(profile):
        configs = by_run_id(run.config for run in planned(study, profile))
        there = {run_id for run_id, config in configs.items() if stored.of(identified(config)) is not None}
        new = [config for run_id, config in configs.items() if run_id not in seen | there]
        seen |= set(configs)
        pictures = tuple(to / "figures" / f"{_figure_id(one, profile)}.png" for one in study.pictures.get(profile, ()))
        hours, needs = sum(map(_units, new)) / throughput / 3600, _needs(configs.values())
        steps.append(Step("study", study.id, len(configs), len(there), len(new), hours, needs, pictures))
    if profile != "smoke" and not own:
        steps.append(Step("page", "what reproduces", 0, 0, 0, 0.0, (), (to / "reproducibility.md",)))
    return steps


def _table_step(name: str, kind: str, out: Path, to: Path, throughput: float, seen: set[str]) -> Step:
    """Of one table; `seen` are run ids, and comparisons, that an earlier step has."""
    runs = finished = new = 0
    units = 0.0
    needs: dict[str, None] = {}
    for one in make(name, terms_of(name, kind, out), [out, *default_roots()]).comparisons:
        configs = list(_configs(one.terms))
        lacking = {run.run_id: run.config for run in one.missing}
        later = sum(row.choice.to_come + len(row.row.seeds) for row in one.rows if _waits(row))
        runs += len(configs)
        finished += len(configs) - len(lacking) - later
        needs |= dict.fromkeys(_needs(configs))
        fresh = [config for run_id, config in lacking.items() if run_id not in seen]
        again = f"{one.terms.name} {kind}" in seen  # runs that tuning has still to name are those of the earlier step
        new += len(fresh) + (0 if again else later)
        units += sum(map(_units, fresh)) + (0 if again else later * sum(map(_units, configs)) / len(configs))
        seen |= {*lacking, f"{one.terms.name} {kind}"}
    file = to / "tables" / f"{name}-{kind}.md"
    return Step("table", f"{name}, {kind}", runs, finished, new, units / throughput / 3600, tuple(needs), (file,))


def _waits(row: ComparedRow) -> bool:
    """Whether runs of a row can be named only when its tuning is done."""
    return row.choice.settings is None and not row.row.absent


def _configs(terms: Terms) -> Iterable[RunConfig]:
    """All runs of a comparison, with each parameter at its start where tuning is still to choose it."""
    for row in terms.rows:
        if row.absent:
            continue
        chosen: Settings = {}
        if row.tuning is not None:
            start = row.tuning.parameter.start if row.tuning.parameter else {}
            others = row.tuning.parameter.others if row.tuning.parameter else ()
            tried = [layered(start, {"lr": lr}) for lr in row.tuning.lr]
            tried += [layered(other, {"lr": row.tuning.lr[0]}) for other in others]
            yield from (tuning_run(terms, row, settings).config for settings in tried)
            chosen = tried[0]
        yield from (run.config for run in final_runs(terms, row, chosen))


def _units(config: RunConfig) -> float:
    return work(config).units * size_of_pass(config)


def _needs(configs: Iterable[RunConfig]) -> tuple[str, ...]:
    names = dict.fromkeys(BENCHMARKS[config.dataset].data for config in configs if config.dataset in BENCHMARKS)
    return tuple(name for name in names if name)


def _figure_id(picture: Picture, profile: str) -> str:
    other = "" if picture.dataset is None else picture.dataset.rpartition("=")[2]
    return "-".join(word for word in (picture.figure, other, profile) if word)


def _check_data(plan: Sequence[Step], data_root: Path | None, *, parts: bool) -> None:
    """All that is missing, or not whole, at once, before hours have gone by."""
    root = chosen_root(data_root)
    needed = dict.fromkeys(name for step in plan for name in step.needs if step.new)
    absent = [name for name in needed if DATA_SETS[name].find(root) is None]
    if absent:
        raise ColdError(f"no {', '.join(absent)} below {root}; get them first: cold data fetch {' '.join(absent)}")
    for name in () if parts else needed:
        path = DATA_SETS[name].find(root)
        assert path is not None
        train, test, _ = DATA_SETS[name].counts(path)
        if about := DATA_SETS[name].about(train, test, path.name):
            raise ColdError(f"{path} is {about}; get it whole: cold data fetch {name} --again, or go on with --parts")


# ------------------------------------------------------------------------------------------------ doing it


def _run(plan: Sequence[Step], profile: str, place: _Place, *, own: bool) -> dict[str, str]:
    failed: dict[str, str] = {}
    roots = [place.out, *default_roots()]
    for name, kind in _tables(profile, own=own):
        print(f"table {name}, {kind}", file=sys.stderr)
        wanted = terms_of(name, kind, place.out)
        made, wrong = fill_table(
            name, wanted, roots, engine=place.engine, data_root=place.data_root, retry_failed=place.retry_failed,
            on_event=_tell,
        )  # fmt: skip
        failed |= wrong
        text = "\n".join(markdown(sheet) for sheet in sheets(made, f"cold table {name} --kind {kind}"))
        write_atomically(place.to / "tables" / f"{name}-{kind}.md", text)
    for study in _studies(profile):
        print(f"study {study.id}", file=sys.stderr)
        report = fill(
            [run.config for run in planned(study, profile)], place.out, engine=place.engine, roots=roots,
            data_root=place.data_root, retry_failed=place.retry_failed, weights=False, on_event=_tell,
        )  # fmt: skip
        failed |= {**report.failed, **dict.fromkeys(report.busy, "another program runs it now")}
    _draw(profile, place)
    if any(step.kind == "page" for step in plan):
        found, _ = reproducibility("cold table reproducibility", roots)
        write_atomically(place.to / "reproducibility.md", page(found))
    return failed


def _draw(profile: str, place: _Place) -> None:
    """Every picture of the profile's studies; one that lacks runs is named, and the others are drawn."""
    from coldtheory.figures import Wanted  # noqa: PLC0415  (only where something is drawn)
    from coldtheory.figures.gallery import write_figure  # noqa: PLC0415

    from ..plots import figures  # noqa: PLC0415

    for picture in dict.fromkeys(one for study in _studies(profile) for one in study.pictures.get(profile, ())):
        wanted = Wanted(dataset=picture.dataset, profile=profile, kept=True)
        name = _figure_id(picture, profile)
        figure = next(one for one in figures(wanted) if one.id == name)
        try:
            write_figure(figure, place.out, place.to / "figures")
        except ColdError as error:
            print(f"{name} is not drawn: {error}", file=sys.stderr)


def _tell(event: Event) -> None:
    why = f": {event.error}" if event.error else ""
    print(f"{event.run_id} {event.state} ({event.done} of {event.total}){why}", file=sys.stderr, flush=True)


def _print(plan: Sequence[Step], throughput: float, *, as_json: bool) -> None:
    if as_json:
        steps = [{**asdict(step), "outputs": {str(path): path.exists() for path in step.outputs}} for step in plan]
        typer.echo(json.dumps({"estimate": True, "throughput": throughput, "steps": steps}))
        return
    numbers = ("runs", "stored", "to make", "GPU hours")
    shown = empty_table("step", *numbers, "data", numbers=numbers)
    for step in plan:
        counts = map(str, (step.runs, step.finished, step.new))
        shown.add_row(f"{step.kind} {step.name}", *counts, f"{step.gpu_hours:,.1f}", ", ".join(step.needs))
    hours = sum(step.gpu_hours for step in plan)
    shown.add_row("all", "", "", str(sum(step.new for step in plan)), f"{hours:,.1f}", "")
    console = Console(highlight=False)
    console.print(shown)
    for path in dict.fromkeys(path for step in plan for path in step.outputs):
        console.print(escape(f"{path} ({'written' if path.exists() else 'to come'})"), soft_wrap=True)
    console.print(
        f"[dim]an estimate, not a measurement: {throughput:g} images of 32 x 32 per second through ResNet-18, forward "
        "and backward (--throughput); runs that an earlier step has are not made, or counted in hours, again[/]"
    )
