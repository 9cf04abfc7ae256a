"""`cold settings`: what stored tuning runs chose, and two choices against each other."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from coldtheory.ground.command_line import JsonOption, seeds_of
from coldtheory.ground.errors import ColdError
from coldtheory.ground.statistics import LEVEL, spread
from coldtheory.ground.terminal import plain_table

from ..catalogue import same
from ..tuning.rivals import Rivals, Side
from ..tuning.settings_file import FILE, Chosen, read_settings
from ..tuning.stored import size_of, stored_settings, words_of_settings

OUT = Path("results/runs")
app = typer.Typer(rich_markup_mode="rich", invoke_without_command=True)


@app.callback()
def list_settings(
    context: typer.Context,
    method: Annotated[str | None, typer.Option(help="Only of this method.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Only for this benchmark.")] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option(help="Folders with runs and settings files; default: as cold table, and results/tuning."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the settings that stored tuning runs chose, by method, benchmark and size: what --settings best takes.

    Examples: [bold]cold settings --method er[/]
    [bold]cold run --dataset pmnist --method er --limit-train 10000 --settings best[/]
    [bold]cold settings compare mine.toml pmnist-10k --seeds 0-5[/]
    """
    if context.invoked_subcommand is not None:
        return
    asked = {name: value for name, value in (("method", method), ("dataset", dataset)) if value is not None}
    found = [
        one
        for one in stored_settings(runs)
        if all(same(getattr(one.config, name), value) for name, value in asked.items())
    ]
    if as_json:
        typer.echo(json.dumps([{**one.as_dict(), "source": one.source} for one in found]))
        return
    if not found:
        raise ColdError("no stored tuning runs chose such settings; cold settings lists all, cold tune makes new ones")
    console = Console(highlight=False)
    for place, group in groupby(found, key=lambda one: _place(one.source)):
        console.print(f"[bold]{escape(place)}[/]", soft_wrap=True)
        console.print(_table(list(group)))
    console.print("[dim]valid. %: accuracy on held-out training data; runs: that many were compared[/]")


def _place(source: str) -> str:
    """Files of one folder stand together; those of `cold tune` have a folder each."""
    path = Path(source)
    if path.suffix != ".toml":
        return source
    return str(path.parents[1] if path.name == FILE and len(path.parts) > 2 else path.parent)


def _table(found: Sequence[Chosen]) -> Any:
    table = plain_table("method", "benchmark", gap=2)
    table.add_column("size", overflow="fold")
    table.add_column("chosen", overflow="fold")
    table.add_column("valid. %", justify="right", no_wrap=True)
    table.add_column("runs", justify="right", no_wrap=True)
    for one in found:
        config, origin = one.config, one.origin
        table.add_row(
            config.method, escape(config.dataset), escape(words_of_settings(size_of(config))) or "full",
            escape(words_of_settings(origin.chosen)), f"{origin.acc:.2f}", str(len(origin.runs)),
        )  # fmt: skip
    return table


@app.command("compare")
def compare_settings(
    first: Annotated[str, typer.Argument(help="A settings file, as cold tune writes it.")],
    second: Annotated[str, typer.Argument(help="Another one, or the name of a table, as pmnist-10k.")],
    seeds: Annotated[str, typer.Option(help="Seeds, separated by commas or as a range: 6,7,8 or 0-19.")] = "0-2",
    limit_test: Annotated[int | None, typer.Option(help="Test samples per task.")] = None,
    engine: Annotated[str, typer.Option(help="How jobs are computed.")] = "",
    jobs: Annotated[int, typer.Option(help="Number of jobs at a time; -1 takes all cores.")] = 1,
    data_root: Annotated[
        Path | None,
        typer.Option(help="Folder of the data sets; by default COLD_DATA, or a folder of the user's cache."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where to write.")] = OUT,
    as_json: JsonOption = False,
) -> None:
    """Hold two choices of settings of a method against each other on test data, with fresh seeds.

    Examples: [bold]cold settings compare results/tuning/NAME/settings.toml pmnist-10k --seeds 0-5[/]

    Benchmark and size are those of the first. Of the second, what it chose counts: learning rate and main parameter.
    """
    from ..grid import Engine, Event  # noqa: PLC0415  (joblib)
    from ..tuning.rivals import compare_settings as run  # noqa: PLC0415

    def tell(event: Event) -> None:
        print(f"{event.run_id} {event.state} ({event.done} of {event.total})", file=sys.stderr, flush=True)

    one = read_settings(Path(first))
    other = read_settings(Path(second)) if second.endswith(".toml") else _of_table(second, one)
    where = Engine(engine or ("serial" if jobs == 1 else "loky"), jobs=jobs)
    try:
        found = run(
            one, other, seeds_of(seeds), out, engine=where, limit_test=limit_test, data_root=data_root, on_event=tell
        )
    except KeyboardInterrupt:
        print("stopped; finished runs stay, the same command goes on with the rest", file=sys.stderr)
        raise typer.Exit(130) from None
    if as_json:
        typer.echo(json.dumps(_as_json(found)))
    else:
        _print(found, one, other)


def _of_table(name: str, like: Chosen) -> Chosen:
    """What the stored tuning runs of a table chose for the same method."""
    method = like.config.method
    found = [one for one in stored_settings() if one.source == f"cold table {name}" and one.config.method == method]
    if not found:
        known = dict.fromkeys(
            one.source.removeprefix("cold table ")
            for one in stored_settings()
            if one.source.startswith("cold table ") and one.config.method == method
        )
        raise ColdError(
            f"{name} is no table with a tuned {method}; {', '.join(known) or 'none'} would be one; or give a file"
        )
    return found[0]


def _print(found: Rivals, one: Chosen, other: Chosen) -> None:
    console = Console(highlight=False)
    table = plain_table("", "chosen by", gap=2)
    table.add_column("settings", overflow="fold")
    for name in ("seeds", "ACC %"):
        table.add_column(name, justify="right", no_wrap=True)
    for number, side, chosen in ((1, found.first, one), (2, found.second, other)):
        told = spread(side.acc.values())
        assert told is not None
        acc = f"{told.mean:.2f}" + ("" if told.sd is None else f" ± {told.sd:.2f}")
        words = words_of_settings(chosen.origin.chosen)
        table.add_row(str(number), escape(chosen.source), escape(words), str(told.n), acc)
    console.print(table)
    gain = found.difference
    interval = "" if gain.low is None else f", {100 * LEVEL:.0f} % interval [{gain.low:+.2f}, {gain.high:+.2f}]"
    each = ", ".join(f"{value:+.2f}" for value in gain.each)
    console.print(escape(f"1 - 2: {gain.mean:+.2f} points{interval}; by seed: {each}"), soft_wrap=True)


def _as_json(found: Rivals) -> dict[str, Any]:
    def side(one: Side) -> dict[str, Any]:
        return {"settings": one.settings, "acc": dict(one.acc), "runs": one.runs}

    gain = found.difference
    return {
        "first": side(found.first),
        "second": side(found.second),
        "difference": {"mean": gain.mean, "low": gain.low, "high": gain.high, "each": gain.each, "level": LEVEL},
    }
