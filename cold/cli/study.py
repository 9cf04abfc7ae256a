"""`cold study` lists, plans, runs and manages the paper's ablations and further studies."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from coldtheory.ground.command_line import JsonOption, named_value, seeds_of, with_old_names
from coldtheory.ground.errors import ColdError, unknown_name

from ..grid import ENGINES, Engine, Event, fill
from ..runs import merge, pack, unpack
from ..studies import PROFILES, Study, all_studies, find_study, planned
from ..studies.plan import THROUGHPUT, estimates, standings
from ..studies.price import prices
from .options import OUT, DataRootOption, JobsOption, ProfileOption, RetryOption, RunsOption, SeedsOption
from .study_print import about, print_lines, print_plan, print_prices, print_report, print_standings, table

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="List, plan, run and manage the paper's ablations and further studies.",
)

Name = Annotated[str, typer.Argument(metavar="ID|FILE.toml|all", help="A study, one of your own, or all.")]
Out = Annotated[Path, typer.Option("--out", help="Where to write. A folder of runs; those that it holds count.")]
Dataset = Annotated[str | None, typer.Option("--dataset", help="Name of the benchmark.")]


@app.command("list")
def list_studies(as_json: JsonOption = False) -> None:
    """List the studies with their figures and the number of runs in each profile.

    Example: [bold]cold study list[/]
    """
    if as_json:
        typer.echo(json.dumps([about(study, OUT) for study in all_studies()]))
        return
    shown = table("study", "what it asks", *PROFILES, "figures", numbers=PROFILES)
    for study in all_studies():
        runs = (str(len(planned(study, profile))) if profile in study.grids else "–" for profile in PROFILES)
        shown.add_row(study.id, study.title, *runs, ", ".join(study.figures))
    console = Console(highlight=False)
    console.print(shown)
    console.print("[dim]number of runs by profile; runs that several studies share are made once[/]")


@app.command("show")
def show_study(name: Name, as_json: JsonOption = False) -> None:
    """Print a study: the paper's claim, its runs, its figures and how to draw them.

    Example: [bold]cold study show V[/]
    """
    for study in _chosen(name):
        if as_json:
            typer.echo(json.dumps(about(study, OUT)))
            continue
        console = Console(highlight=False)
        console.print(f"[bold]{study.id}[/]: {escape(study.title)}")
        console.print(f"{escape(study.label)}: {escape(study.claim)}", soft_wrap=True)
        for profile in PROFILES:
            if profile not in study.grids:
                console.print(f"[bold]{profile}[/]: none; {escape(study.absent.get(profile, 'its file has none'))}")
                continue
            console.print(f"[bold]{profile}[/]: {len(planned(study, profile))} runs")
            for grid in study.grids[profile]:
                settings = "".join(f", {key} = {value}" for key, value in grid.settings.items())
                values = "" if grid.field == "method" else f", {grid.field} in {list(grid.values)}"
                words = f"  {grid.dataset}{settings}{values}: {', '.join(grid.methods)}; seeds {list(grid.seeds)}"
                console.print(escape(words), soft_wrap=True)
            for picture in study.pictures.get(profile, ()):
                console.print(f"  [dim]{escape(picture.command(profile, OUT))}[/]", soft_wrap=True)


@app.command("run", cls=with_old_names({"--reuse": "--runs", "--weights": "--keep-networks"}))
def run_study(
    name: Name,
    profile: ProfileOption = "cpu",
    out: Out = OUT,
    runs: RunsOption = None,
    seeds: SeedsOption = None,
    dataset: Dataset = None,
    engine: Annotated[str, typer.Option(help=f"How jobs are computed. {', '.join(ENGINES)}.")] = "loky",
    jobs: JobsOption = -1,
    scheduler: Annotated[str | None, typer.Option(help="Address of a running dask scheduler.")] = None,
    gpu: Annotated[float | None, typer.Option(help="Share of a GPU per run: 1, or 0.5 for two runs on each.")] = None,
    threads: Annotated[
        int | None, typer.Option(help="CPU threads per run. The default is the number of cores divided by the jobs.")
    ] = None,
    slurm: Annotated[
        list[str] | None,
        typer.Option("--slurm", help="NAME=VALUE for the executor of submitit. The option may be repeated."),
    ] = None,
    data_root: DataRootOption = None,
    retry_failed: RetryOption = False,
    keep_networks: Annotated[bool, typer.Option("--keep-networks", help="Keep the trained networks.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print how many runs there are and how long they would take.")
    ] = False,
    throughput: Annotated[
        float | None,
        typer.Option(help="With --dry-run, compute GPU hours from this many images of 32 x 32 per second."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make the runs of a study that are not there yet.

    Examples: [bold]cold study run V --profile cpu --jobs 2[/]
    [bold]cold study run V --profile cpu --dataset pmnist --seeds 6,7,8[/]  (more seeds for the same figures)
    [bold]cold study run all --profile paper --dry-run[/]
    [bold]cold study run V --profile paper --engine dask --scheduler tcp://host:8786 --gpu 1[/]
    [bold]cold study run V --profile paper --engine slurm --slurm slurm_partition=gpu --gpu 1[/]

    A stopped study goes on when the same command is given again. The exit code is 1 if some runs failed.
    """
    chosen = _with_profile(_chosen(name, seeds, dataset), profile, several=name == "all")
    roots = [out, *(runs or [])]
    if dry_run:
        assumed = THROUGHPUT if throughput is None and profile == "paper" else throughput
        done = {run_id for one in standings(chosen, profile, roots) for run_id in one.finished}
        plan = estimates(chosen, profile, finished=done, throughput=assumed)
        if as_json:
            rows = [one.as_dict() for one in plan]
            typer.echo(json.dumps({"estimate": True, "throughput": assumed, "studies": rows}))
        else:
            print_plan(plan, assumed, Engine(engine, jobs).workers)
        return
    if throughput is not None:
        raise ColdError("--throughput goes with --dry-run")
    options = dict(named_value(word) for word in slurm or [])
    where = Engine(engine, jobs, scheduler, threads, gpu, options)
    configs = [run.config for study in chosen for run in planned(study, profile)]
    try:
        report = fill(
            configs, out, engine=where, data_root=data_root, retry_failed=retry_failed, roots=roots,
            weights=keep_networks, on_event=_tell,
        )  # fmt: skip
    except KeyboardInterrupt:
        print("stopped; finished runs stay, and the same command goes on with the rest", file=sys.stderr)
        raise typer.Exit(130) from None
    if as_json:
        folders = {run_id: str(folder) for run_id, folder in report.folders.items()}
        content = {"done": report.done, "reused": report.reused, "failed": dict(report.failed), "busy": report.busy}
        typer.echo(json.dumps({**content, "folders": folders}))
    else:
        print_report(chosen, profile, out, report)
    if not report.complete:
        raise typer.Exit(1)


@app.command("status", cls=with_old_names({"--out": "--runs", "--reuse": "--runs"}))
def status(
    name: Name = "all",
    profile: ProfileOption = "cpu",
    runs: RunsOption = None,
    seeds: SeedsOption = None,
    dataset: Dataset = None,
    as_json: JsonOption = False,
) -> None:
    """Print which runs of a study are finished, failed (and why) or missing.

    Example: [bold]cold study status all --profile cpu --runs runs[/]
    """
    chosen = _with_profile(_chosen(name, seeds, dataset), profile, several=name == "all")
    found = standings(chosen, profile, runs or [OUT])
    if as_json:
        typer.echo(json.dumps([one.as_dict() for one in found]))
        return
    print_standings(found)


@app.command("plan")
def plan_study(
    name: Name = "all",
    profile: ProfileOption = "cpu",
    runs: RunsOption = None,
    seeds: SeedsOption = None,
    dataset: Dataset = None,
    as_json: JsonOption = False,
) -> None:
    """Say what the runs of a study cost in core-minutes: spent on those that are finished, and still to come.

    An estimate from what finished runs on the same dataset took; [bold]cold study run --dry-run[/] measures steps on
    this machine instead. What would settle open claims, and its price: [bold]coldtheory check --power[/].

    Examples: [bold]cold study plan all --runs runs[/]
    [bold]cold study plan V --dataset split-cifar100[/]
    """
    chosen = _with_profile(_chosen(name, seeds, dataset), profile, several=name == "all")
    found = prices(chosen, profile, runs or [OUT])
    if as_json:
        typer.echo(json.dumps([one.as_dict() for one in found]))
        return
    print_prices(found)


@app.command("merge")
def merge_runs(
    sources: Annotated[list[Path], typer.Argument(metavar="FOLDERS...", help="Folders of runs, at any depth.")],
    out: Out = OUT,
    as_json: JsonOption = False,
) -> None:
    """Copy the runs of several machines into one folder. Nothing is overwritten, and differences are named.

    Example: [bold]cold study merge machine-a/runs machine-b/runs --out results/runs[/]
    """
    merged = merge(sources, out)
    wrong = {**merged.different, **merged.damaged}
    if as_json:
        content = {"copied": merged.copied, "same": merged.same, "different": dict(merged.different)}
        typer.echo(json.dumps({**content, "damaged": dict(merged.damaged)}))
    else:
        console = Console(highlight=False)
        console.print(f"{len(merged.copied)} runs copied to {out}, {len(merged.same)} were there with the same content")
        print_lines(console, wrong)
    if wrong:
        raise typer.Exit(1)


@app.command("pack")
def pack_runs(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of runs, at any depth.")],
    keep_steps: Annotated[
        bool, typer.Option("--keep-steps", help="Also keep the queues at single steps, which are most of the bytes.")
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Write packed runs as folders again; the packed files stay.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Put finished runs into one rows.jsonl and one arrays.npz per folder, and remove their own folders.

    Example: [bold]cold study pack results/runs[/]

    All commands find packed runs as before. No number changes; only the queues at single steps are left out, which
    nothing reads, unless --keep-steps. A run that is packed with other content is named, and nothing is done.
    """
    if undo:
        written = unpack(folder)
        typer.echo(json.dumps({"written": written}) if as_json else f"{len(written)} runs written below {folder}")
        return
    done = pack(folder, keep_steps=keep_steps)
    if as_json:
        places = [str(place) for place in done.folders]
        typer.echo(json.dumps({"packed": done.packed, "same": done.same, "dropped": done.dropped, "folders": places}))
        return
    left = f"; left out: {', '.join(done.dropped)}" if done.dropped else ""
    there = f", {len(done.same)} were packed before" if done.same else ""
    typer.echo(f"{len(done.packed)} runs packed in {len(done.folders)} folders{there}{left}")


def _chosen(name: str, seeds: str | None = None, dataset: str | None = None) -> list[Study]:
    found = list(all_studies()) if name == "all" else [find_study(name)]
    if dataset is not None:
        having = [one for one in found if any(g.dataset == dataset for grids in one.grids.values() for g in grids)]
        found = [study.on(dataset) for study in having or found]
    return found if seeds is None else [study.with_seeds(seeds_of(seeds)) for study in found]


def _with_profile(chosen: list[Study], profile: str, *, several: bool) -> list[Study]:
    """Of all studies, choose those that have the profile; a single study must have it."""
    if profile not in PROFILES:
        raise unknown_name("profile", profile, PROFILES)
    if several:
        return [study for study in chosen if profile in study.grids]
    for study in chosen:
        study.grids_of(profile)
    return chosen


def _tell(event: Event) -> None:
    why = f": {event.error}" if event.error else ""
    print(f"{event.run_id} {event.state} ({event.done} of {event.total}){why}", file=sys.stderr)
