"""`coldtheory sweep-V` and its sisters: one command per axis, one body for all."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, get_args

import typer
from rich.console import Console
from rich.markup import escape

from ..ground.errors import ColdError
from ..ground.statistics import Spread
from ..ground.terminal import Bar, plain_table
from ..rows import loglog_slope, mean_over_seeds, smallest_at
from ..store import Row
from ..sweep import Axis, Numbers, Scheme, grid, run_cells
from . import options as o


@dataclass(frozen=True)
class _Defaults:
    """What a sweep command does when told nothing: the grid of its own axis, single numbers elsewhere."""

    V: str = o.PAPER["V"]
    eta: str = o.PAPER["eta"]
    delta: str = o.PAPER["delta"]
    steps: str = o.PAPER["steps"]
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
_TITLES = {"avg_grad_sq_before": "grad² before", "avg_grad_sq_after": "grad² after", "avg_Qbar": "queue Q̄"}


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
            with Bar(f"sweep-{axis} {source.name}") as tell:
                try:
                    found = run_cells(cells, out, engine=engine, n_jobs=jobs, scheduler=scheduler, progress=tell)
                except KeyboardInterrupt:
                    Console(stderr=True).print("interrupted; finished cells are stored, the same command resumes")
                    raise typer.Exit(130) from None
            if not as_json:
                _print(found, axis, between)
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


def _print(rows: Sequence[Row], axis: str, between: tuple[float, float] | None) -> None:
    """One line per value of the axis (means over seeds), then slopes and the turning point."""
    console = Console()
    seeds = len({row["seed"] for row in rows})
    console.print(f"[bold]{rows[0]['regime']}[/], {seeds} seed{'s' if seeds > 1 else ''}: {_fixed(rows[0], axis)}")
    table = plain_table()
    for name in (axis, *_TITLES.values(), "Δ̄", "ρ̄", "D_Φ", "η·α", "step"):
        table.add_column(name, justify="right", no_wrap=True)
    for value in sorted({row[axis] for row in rows}, key=_as_number):
        here = [row for row in rows if row[axis] == value]
        spread = [_mean_text(mean_over_seeds(here, name)) for name in _TITLES]
        plain = [
            _short(mean_over_seeds(here, name).mean, digits=2)
            for name in ("Delta_bar", "rho_bar", "D_phi", "eta_alpha_max")
        ]
        table.add_row(_short(value), *spread, *plain, _step_text(here))
    console.print(table)
    console.print("[dim]± s.e. over seeds; D_Φ and ρ̄ over the smallest ball around optima and models;[/]")
    console.print("[dim]η·α is the largest over t; step ≤½: η ≤ 1/(2α_t) in every run, ≤1: η ≤ 1/α_t;[/]")
    console.print("[dim]slopes are log-log, with their 95 % interval over seeds[/]")
    console.print(f"[dim]{_tolerance_text(rows)}[/]")
    where = "" if between is None else f", {axis} in [{between[0]:g}, {between[1]:g}]"
    for name, words in _TITLES.items():
        slope = loglog_slope(rows, axis, name, between)
        if slope is not None:
            interval = f"[{slope.low:+.3f}, {slope.high:+.3f}]"
            console.print(f"slope of {words}{where}: [bold]{slope.slope:+.3f}[/] {escape(interval)}")
    turning = smallest_at(rows, axis, "avg_grad_sq_before")
    if turning is not None:
        console.print(f"{_TITLES['avg_grad_sq_before']} is smallest at {axis} = {turning.mean:.4g} ± {turning.se:.2g}")
    console.print()


def _tolerance_text(rows: Sequence[Row]) -> str:
    """Whether delta leaves room for the ideal problem, as Theorems 1 and 2 ask."""
    met = sum(row["delta"] > row["delta_min"] for row in rows)
    which = "in every run" if met == len(rows) else "in no run" if met == 0 else f"in {met} of {len(rows)} runs"
    smallest = mean_over_seeds(rows, "delta_min").mean
    return f"δ > δ′, the premise of Theorems 1 and 2: {which} (smallest feasible δ′: {_short(smallest)})"


def _as_number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.inf


def _fixed(row: Row, axis: str) -> str:
    """The settings that do not vary."""
    names = [n for n in ("T", "d", "memory", "V", "eta", "delta", "steps") if n != axis and row[n] is not None]
    numbers = ", ".join(f"{name}={_short(row[name])}" for name in names)
    return f"{numbers}, {row['reference']}/{row['weights']}" + (", exact" if row["solver"] == "exact" else "")


def _mean_text(value: Spread) -> str:
    if value.n == 0:
        return "–"
    return _short(value.mean) + (f"±{_short(value.se, digits=1)}" if value.n > 1 else "")


def _short(value: object, digits: int = 3) -> str:
    """Few characters: 0.0123, 1.2e-5, 1500."""
    if not isinstance(value, int | float):
        return str(value)
    if math.isnan(value):
        return "–"
    if value == int(value) and abs(value) < 1e5:
        return f"{value:g}"
    return re.sub(r"e([+-])0+", r"e\1", f"{value:.{digits}g}").replace("e+", "e")


def _step_text(rows: Sequence[Row]) -> str:
    diverged = sum(row["diverged"] for row in rows)
    if diverged:
        return f"{diverged} div."
    if all(row["step_half"] for row in rows):
        return "≤½"
    return "≤1" if all(row["step_one"] for row in rows) else ">1"
