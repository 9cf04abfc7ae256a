"""`cold tune`: search the settings of a method on validation data, within a budget."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from coldtheory.ground.command_line import JsonOption, named_value
from coldtheory.ground.terminal import Bar, plain_table

from ..catalogue import BENCHMARK_NAMES
from ..presets import settings_in
from ..tables.terms import layered
from ..tuning.search import Search, Step, Tuned, prepare, tune
from ..tuning.settings_file import Chosen
from ..tuning.space import range_of
from ..tuning.stored import TUNING_OUT, words_of_settings

Text = str | None
Whole = int | None


def add_to(app: typer.Typer) -> None:
    """Register the command `tune` with the program."""
    app.command("tune")(tune_method)


def tune_method(
    method: Annotated[str, typer.Argument(help="A method: cold, er, der, ...; or FILE.py of your own.")],
    dataset: Annotated[Text, typer.Option(help=f"Name of the benchmark. {', '.join(BENCHMARK_NAMES)}.")] = None,
    budget: Annotated[
        int, typer.Option(help="In whole runs: a trial that has learned 5 of 20 tasks has cost a quarter of a run.")
    ] = 12,
    preset: Annotated[
        Text,
        typer.Option(
            help="Named settings; paper takes those of the paper's tables for this dataset, method and memory."
        ),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Settings from a TOML file; flags override it.")] = None,
    scenario: Annotated[Text, typer.Option(help="Scenario of a split: task, class or domain.")] = None,
    tasks: Annotated[Whole, typer.Option(help="Number of tasks.")] = None,
    epochs: Annotated[Whole, typer.Option(help="Epochs per task.")] = None,
    batch_size: Annotated[Whole, typer.Option(help="Samples of the present task per step.")] = None,
    memory: Annotated[Whole, typer.Option(help="M: samples in the memory, of all tasks together.")] = None,
    memory_batch: Annotated[
        Whole, typer.Option(help="Memory samples per step: of each past task, or (mixed) in all.")
    ] = None,
    limit_train: Annotated[Whole, typer.Option(help="Training samples per task.")] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", help="NAME=VALUE, a hyper-parameter of the method.")
    ] = None,
    data_option: Annotated[
        list[str] | None, typer.Option("--data-option", help="NAME=VALUE, an option of the data set.")
    ] = None,
    further: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE, any other setting of cold run, as optimizer=sgdm.")
    ] = None,
    search: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=LOW:HIGH, what else to search or between which other ends; default: the learning rate and the "
            "method's main parameter, see cold.tuning.space. May be repeated."
        ),
    ] = None,
    validation: Annotated[float | None, typer.Option(help="Share of the training data held out.")] = None,
    seed: Annotated[Whole, typer.Option(help="Seed of the random numbers. Default: 100.")] = None,
    engine: Annotated[str, typer.Option(help="How jobs are computed.")] = "",
    jobs: Annotated[int, typer.Option(help="Number of jobs at a time; -1 takes all cores.")] = 1,
    scheduler: Annotated[Text, typer.Option(help="Address of a running dask scheduler.")] = None,
    gpu: Annotated[float | None, typer.Option(help="Share of a GPU per run: 1, or 0.5 for two runs on each.")] = None,
    threads: Annotated[int, typer.Option(help="CPU threads per run.")] = 1,
    data_root: Annotated[
        Path | None,
        typer.Option(help="Folder of the data sets; by default COLD_DATA, or a folder of the user's cache."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where to write.")] = TUNING_OUT,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Also make the runs that failed before.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Search the learning rate and the main parameter of a method by successive halving on validation data.

    Examples: [bold]cold tune er --dataset pmnist --preset paper --limit-train 1000 --budget 12[/]
    [bold]cold tune der --dataset folder:birds --tasks 5 --epochs 1 --jobs 4[/]
    [bold]cold tune cold --dataset synthetic --search V=1:1000 --budget 4[/]
    [bold]cold run --settings results/tuning/NAME/settings.toml --seed 0[/]  (what it found)

    All settings learn a quarter of the tasks, the better half of them goes on to half of the tasks, and the better half
    of those to the end. The same command goes on after a kill. Needs Optuna: pip install 'cold-continual\\[tune]'.
    """
    from ..tuning.journal import load_optuna  # noqa: PLC0415
    from ..tuning.outcome import save  # noqa: PLC0415

    given = locals()
    names = (
        "method", "dataset", "preset", "scenario", "tasks", "epochs", "batch_size", "memory", "memory_batch",
        "limit_train", "validation", "seed", "threads",
    )  # fmt: skip
    flags: dict[str, Any] = {name: given[name] for name in names if given[name] is not None}
    for name, words in (("options", option), ("data_options", data_option)):
        if words:
            flags[name] = dict(named_value(word) for word in words)
    flags = layered(dict(named_value(word) for word in further or []), flags)
    if config is not None:
        flags = layered(settings_in(config), flags)
    load_optuna()  # if it is missing, that is said before any work is done
    wanted = prepare(flags, budget, dict(range_of(word) for word in search or []))
    place = _engine(engine, jobs, scheduler, threads, gpu)
    with nullcontext() if as_json else Bar("tasks learned") as bar:
        try:
            tuned = tune(
                wanted, out, engine=place, data_root=data_root, retry_failed=retry_failed,
                on_step=_teller(bar, wanted),
            )  # fmt: skip
        except KeyboardInterrupt:
            print("stopped; what is known is stored, the same command goes on with the rest", file=sys.stderr)
            raise typer.Exit(130) from None
    chosen, path = save(tuned)
    if as_json:
        ends = [one.name for one in tuned.at_an_end]
        typer.echo(json.dumps({**chosen.as_dict(), "file": str(path), "at_an_end": ends}))
    else:
        _print(tuned, chosen, _shown_path(path))


def _engine(kind: str, jobs: int, scheduler: str | None, threads: int, gpu: float | None) -> Any:
    from ..grid import Engine  # noqa: PLC0415  (joblib)

    return Engine(kind or ("serial" if jobs == 1 else "loky"), jobs, scheduler, threads, gpu)


def _teller(bar: Callable[[int, int], None] | None, search: Search) -> Callable[[Step], None]:
    """A bar in a terminal; elsewhere a line for each trial that has come as far as it was to come."""
    begun, learned = time.monotonic(), 0
    in_terminal = bar is not None and Console(stderr=True).is_terminal

    def tell(step: Step) -> None:
        nonlocal learned
        learned += step.new
        if bar is not None:
            bar(step.done, step.cost)
        if in_terminal or not step.new:
            return
        left = (time.monotonic() - begun) / learned * (step.cost - step.done)
        trial, total = step.trial, search.start.tasks
        print(
            f"trial {trial.number}, {words_of_settings(trial.values)}: {trial.accuracies[step.tasks]:.2f} % after "
            f"{step.tasks} of {total} tasks ({100 * step.done // step.cost} %, about {_duration(left)} left)",
            file=sys.stderr, flush=True,
        )  # fmt: skip

    return tell


def _duration(seconds: float) -> str:
    """
    >>> _duration(42.0), _duration(200.0), _duration(9000.0)
    ('42 s', '3 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _print(tuned: Tuned, chosen: Chosen, path: str) -> None:
    search, console = tuned.search, Console(highlight=False)
    names = [one.name for one in search.space]
    table = plain_table(gap=2)
    for name in ("trial", *names, "tasks", "valid. %"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("outcome")
    order = {"finished": 0, "stopped": 1, "failed": 2, "running": 3}
    for trial in sorted(tuned.trials, key=lambda one: (order[one.state], -one.tasks, -(one.acc or 0.0), one.number)):
        outcome = "chosen" if trial is tuned.chosen else trial.state
        values = (f"{trial.values[name]:g}" for name in names)
        acc = "–" if trial.acc is None else f"{trial.acc:.2f}"
        table.add_row(
            str(trial.number), *values, f"{trial.tasks}/{search.start.tasks}", acc, outcome,
            style="bold" if outcome == "chosen" else None,
        )  # fmt: skip
    console.print(table)
    console.print(
        f"{search.start.method} on {escape(search.start.dataset)}: {words_of_settings(chosen.origin.chosen)}, "
        f"{chosen.origin.acc:.2f} % on validation data (seed {search.seed}); {tuned.spent:.1f} of {search.budget} runs "
        f"spent"
    )
    for one in tuned.at_an_end:
        console.print(
            f"[yellow]{one.name} = {tuned.chosen.values[one.name]:g} lies at an end of {one.low:g} to {one.high:g}: "
            f"look further with --search {one.name}=LOW:HIGH[/]"
        )
    console.print(f"cold run --settings {escape(path)} --seed 0", soft_wrap=True)


def _shown_path(path: Path) -> str:
    """Below the current folder, as one would type it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
