"""`coldtheory sweep-V` and its sisters: one command an axis, one body for all."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, get_args

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..ground.errors import ColdError
from ..store import Row
from ..sweep import Axis, Numbers, Scheme, grid, run_cells
from . import options as o
from .tables import print_sweep


@dataclass(frozen=True)
class _Defaults:
    """What a sweep command does when told nothing: the grid of its own axis, single numbers elsewhere."""

    V: str = "200"
    eta: str = "4e-4"
    delta: str = "4e-7"
    steps: str = "3"
    T: str | None = None
    memory: str | None = None
    points: int | None = None


_DEFAULTS: dict[Axis, _Defaults] = {
    "V": _Defaults(V="10:1000:20log"),
    "delta": _Defaults(delta="1e-9:1:10log"),
    "eta": _Defaults(eta="1e-5:2e-3:12log"),
    "steps": _Defaults(steps="1,2,3,5,8,13"),
    "T": _Defaults(T="50,150,500,1500"),
    "memory": _Defaults(memory="1,2,5,10,20,50,100", points=100),
}
_EXAMPLES: dict[Axis, str] = {
    "V": "coldtheory sweep-V --regime high --V 10:1000:20log --seeds 20",
    "delta": "coldtheory sweep-delta --regime conflict --delta 1e-6:10:8log",
    "eta": "coldtheory sweep-eta --regime low --V 200 --eta 1e-4,4e-4,1e-3",
    "steps": "coldtheory sweep-steps --regime high --steps 1,3,10",
    "T": "coldtheory sweep-T --regime high --T 50,150,1500",
    "memory": "coldtheory sweep-memory --regime high --points 100 --memory 1,10,100",
}


def add_to(app: typer.Typer) -> None:
    for axis in get_args(Axis):
        about = f"Sweep {axis} and store every cell.\n\nExample: [bold]{_EXAMPLES[axis]}[/]"
        app.command(f"sweep-{axis}", help=about)(_command(axis))


def _command(axis: Axis) -> Callable[..., None]:
    default = _DEFAULTS[axis]

    def command(
        regime: o.RegimeOption = "high",
        V: o.VOption = default.V,
        eta: o.EtaOption = default.eta,
        delta: o.DeltaOption = default.delta,
        steps: o.StepsOption = default.steps,
        T: o.TOption = default.T,
        d: o.DimensionOption = None,
        memory: o.MemoryOption = default.memory,
        points: o.PointsOption = default.points,
        spread: o.SpreadOption = None,
        seeds: o.SeedsOption = 20,
        reference: o.ReferenceOption = "previous",
        weights: o.WeightsOption = "mean",
        solver: o.SolverOption = "gd",
        window: o.WindowOption = None,
        noise: o.NoiseOption = 0.0,
        fit: Annotated[str | None, typer.Option("--fit", help="Range of the slope fit, such as 50:200.")] = None,
        as_json: o.JsonOption = False,
        out: o.OutOption = Path("results"),
        engine: o.EngineOption = "loky",
        jobs: o.JobsOption = -1,
        scheduler: o.SchedulerOption = None,
    ) -> None:
        given = {"V": V, "eta": eta, "delta": delta, "steps": steps, "T": T, "memory": memory}
        values = o.parse_grid(str(given[axis]), axis)
        numbers = _numbers(given, axis)
        scheme = Scheme(reference, weights, solver, window, noise)
        between = o.parse_range(fit)
        fixed = {
            "T": None if axis == "T" or T is None else o.parse_whole(T, "T", "sweep-T"),
            "m": None if axis == "memory" or memory is None else o.parse_whole(memory, "memory", "sweep-memory"),
        }
        rows: list[Row] = []
        for base in o.parse_sources(regime):
            source = base.with_constants(d=d, n=points, spread=spread if points else None, **fixed)
            cells = grid(source, axis, values, seeds, numbers=numbers, scheme=scheme)
            with _Bar(f"sweep-{axis} {source.name}") as tell:
                try:
                    found = run_cells(cells, out, engine=engine, n_jobs=jobs, scheduler=scheduler, progress=tell)
                except KeyboardInterrupt:
                    Console(stderr=True).print("interrupted; finished cells are stored, the same command resumes")
                    raise typer.Exit(130) from None
            if not as_json:
                print_sweep(found, axis, between)
            rows += found
        if as_json:
            typer.echo(json.dumps(rows))
        if all(row["diverged"] for row in rows):
            limit = max(2.0 / row["V"] for row in rows)
            raise ColdError(
                f"every run diverged: eta is too large; stay below 2/(V L), here {limit:.3g} at the smallest V"
            )

    return command


def _numbers(given: dict[str, str | None], axis: Axis) -> Numbers:
    """The settings that are not swept."""

    def one(name: str) -> float:
        return o.parse_one(str(given[name]), name, f"sweep-{name}")

    default = Numbers()
    return Numbers(
        V=default.V if axis == "V" else one("V"),
        eta=default.eta if axis == "eta" else "auto" if given["eta"] == "auto" else one("eta"),
        delta=default.delta if axis == "delta" else one("delta"),
        steps=default.steps if axis == "steps" else o.parse_whole(str(given["steps"]), "steps", "sweep-steps"),
    )


class _Bar:
    """A bar on stderr with the time left, as a callback for `run_cells`."""

    def __init__(self, title: str) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(title, total=None)

    def __enter__(self) -> Callable[[int, int], None]:
        self._bar.start()
        return lambda done, total: self._bar.update(self._task, completed=done, total=total)

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
