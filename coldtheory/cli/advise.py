"""`coldtheory advise`: for your own tasks, which V and eta, which theorem holds, and what to change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from .._plots import check_ending
from ..ground.errors import ColdError
from ..ground.terminal import Bar
from . import options as o


def add_to(app: typer.Typer) -> None:
    """Register the command `advise` with the program."""
    app.command("advise")(advise_on)


def advise_on(
    tasks: Annotated[
        str,
        typer.Argument(
            metavar="TASKS",
            help="low, high, conflict; a file: .npz (optima), .csv or .toml; or a training run: its folder or id.",
        ),
    ],
    V: Annotated[
        str | None, typer.Option("--V", help="Weight of the present task. To be judged, instead of the advised one.")
    ] = None,
    eta: o.EtaOption = o.PAPER["eta"],
    delta: o.DeltaOption = o.PAPER["delta"],
    steps: o.StepsOption = o.PAPER["steps"],
    T: o.TOption = None,
    d: o.DimensionOption = None,
    memory: o.MemoryOption = None,
    points: o.PointsOption = None,
    spread: o.SpreadOption = None,
    seeds: o.SeedsOption = None,
    reference: o.ReferenceOption = "previous",
    weights: o.WeightsOption = "mean",
    solver: o.SolverOption = "gd",
    statement: Annotated[
        str | None,
        typer.Option("--statement", help="Python file of a statement of your own, which is run. Or a name."),
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw a picture into this file.")] = None,
    as_json: o.JsonOption = False,
) -> None:
    """Read a page about your tasks: V, step size, queues, every theorem, and what to change so that it applies.

    The first five lines are the answer.

    Examples: [bold]coldtheory advise my_optima.npz[/], [bold]coldtheory advise conflict --eta 1e-4[/],
    [bold]coldtheory advise my_optima.csv --statement mine.py --json[/]
    """
    from ..advice import advice_on, advise  # noqa: PLC0415  (loads every statement: not for --help)

    if plot is not None:
        check_ending(plot)
    if not _means_tasks(tasks):
        found = advice_on(tasks)
        if found is None:
            o.parse_sources(tasks)  # says what tasks may be
            raise ColdError(f"advise takes one source of tasks, got {tasks!r}; name low, high or conflict")
        typer.echo(json.dumps(found.data) if as_json else found.text())
        return
    (source,) = o.parse_sources(tasks)
    source = source.with_constants(
        T=None if T is None else o.parse_whole(T, "T", "sweep-T"),
        d=d,
        n=points,
        m=None if memory is None else o.parse_whole(memory, "memory", "sweep-memory"),
        spread=spread if points else None,
    )
    rate, factor = o.parse_eta(eta)
    if factor is not None:
        raise ColdError("advise takes --eta auto without a factor, or a number")
    made = source.tasks(source.seeds(1 if seeds is None else o.parse_seeds(seeds)))
    with Bar("advice") as tell:
        advice = advise(
            made if len(made.phi.optima) > 1 else made[0],
            V=None if V is None else o.parse_one(V, "V", "sweep-V"),
            eta=rate,
            delta=o.parse_one(delta, "delta", "sweep-delta"),
            steps=o.parse_whole(steps, "steps", "sweep-steps"),
            reference=reference,
            weights=weights,
            solver=solver,
            statement=statement,
            name=source.name,
            tell=tell,
        )
    if plot is not None:
        advice.plot(plot)
    typer.echo(json.dumps(advice.page.data) if as_json else str(advice))


def _means_tasks(word: str) -> bool:
    """Whether it names a regime or ends like a file of tasks."""
    from ..sources import FILE_KINDS  # noqa: PLC0415
    from ..tasks import REGIMES  # noqa: PLC0415

    return word in REGIMES or Path(word).suffix in FILE_KINDS
