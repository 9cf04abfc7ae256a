"""`coldtheory sweep AXIS`, with `sweep-V` and so on as second names: one body for all."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from types import SimpleNamespace
from typing import Annotated, Any, get_args

import typer
from rich.console import Console
from rich.markup import escape

from ..controllers import CONTROLLERS, controller_of
from ..ground import checks
from ..ground.command_line import typed_command, with_old_names
from ..ground.errors import ColdError
from ..ground.statistics import Spread
from ..ground.terminal import Bar, plain_table
from ..rows import axis_value, loglog_slope, mean_over_seeds, smallest_at
from ..settings import Reference, Solver, Weights
from ..store import Row
from ..sweep import (
    CONSTANT,
    CONTROLLER_AXIS,
    NAMED,
    Axis,
    Numbers,
    Scheme,
    SweepCell,
    grid,
    record_sweep,
    run_cells,
)
from ..tasks import REGIMES
from . import options as o
from .options import RESULTS


@dataclass(frozen=True)
class _Defaults:
    """The defaults of a sweep: a grid for its own axis, and single values for the rest."""

    V: str = o.PAPER["V"]
    eta: str = o.PAPER["eta"]
    delta: str = o.PAPER["delta"]
    steps: str = o.PAPER["steps"]
    T: str | None = None
    memory: str | None = None
    points: int | None = None
    reference: str = "previous"
    weights: str = "mean"
    solver: str = "gd"
    window: str | None = None
    noise: str = "0"
    controller: str = "queue"
    V_schedule: str | None = None


_CONTROLLER = "controller"  # several controllers, or one of them with a grid for one parameter
_DEFAULTS: dict[str, _Defaults] = {
    "V": _Defaults(V="10:1000:20log"),
    "delta": _Defaults(delta="1e-9:1:10log"),
    "eta": _Defaults(eta="1e-5:2e-3:12log"),
    "steps": _Defaults(steps="1,2,3,5,8,13"),
    "T": _Defaults(T="50,150,500,1500"),
    "memory": _Defaults(memory="1,2,5,10,20,50,100", points=100),
    "eta_factor": _Defaults(eta="auto:0.1:1:10lin"),
    _CONTROLLER: _Defaults(controller=",".join(CONTROLLERS)),
    "V_schedule": _Defaults(V_schedule=f"{CONSTANT},power:-0.5,power:0.33,power:0.5"),
    "reference": _Defaults(reference=",".join(get_args(Reference))),
    "weights": _Defaults(weights=",".join(get_args(Weights))),
    "solver": _Defaults(solver=",".join(get_args(Solver))),
    "noise": _Defaults(noise="0,1e-3,1e-2,1e-1"),
    "window": _Defaults(window="1,2,5,10,20", reference="best"),
}
_EXAMPLES: dict[str, str] = {
    "V": "coldtheory sweep V --regime high --V 10:1000:20log --seeds 0-19",
    "delta": "coldtheory sweep delta --regime conflict --delta 1e-6:10:8log",
    "eta": "coldtheory sweep eta --regime low --V 200 --eta 1e-4,4e-4,1e-3",
    "steps": "coldtheory sweep steps --regime high --steps 1,3,10",
    "T": "coldtheory sweep T --regime high --tasks 50,150,1500",
    "memory": "coldtheory sweep memory --regime high --points 100 --memory-per-task 1,10,100",
    "eta_factor": "coldtheory sweep eta-factor --regime conflict --eta auto:0.1,0.5,1",
    _CONTROLLER: "coldtheory sweep controller --regime conflict --controller nupi:kappa_i=1,kappa_p=0.1:10:5log",
}
_ABOUT = f"""Sweep one setting and store every cell: {", ".join(_DEFAULTS).replace("_", "-")}.

The option of that setting takes the grid or the list of names; it has a default.

Examples: [bold]coldtheory sweep V --regime high[/]

[bold]coldtheory sweep controller --regime conflict[/]

[bold]coldtheory sweep controller --controller leaky:a=1e-4:1:9log[/]

[bold]coldtheory sweep reference --reference previous,stored --V 50[/]

[bold]coldtheory sweep V-schedule --V-schedule constant,power:0.33[/]
"""
_Sweep = with_old_names({"--memory": "--memory-per-task"})
_OTHER_NAMES = {"tasks": "T", "memory_per_task": "memory"}  # of axes, after the names of their options
_TITLES = {"avg_grad_sq_before": "grad² before", "avg_grad_sq_after": "grad² after", "avg_Qbar": "queue Q̄"}


def add_to(app: typer.Typer) -> None:
    """Register the command `sweep` and its second names, one per axis, with the program."""
    app.command("sweep", help=_ABOUT, cls=_Sweep)(_command(None))
    words = {"eta_factor": "the factor C of eta = C/alpha_t", _CONTROLLER: "one parameter of a controller"}
    for axis in (*get_args(Axis), _CONTROLLER):
        about = f"Sweep {words.get(axis, axis)} and store every cell.\n\nExample: [bold]{_EXAMPLES[axis]}[/]"
        app.command(f"sweep-{axis.replace('_', '-')}", help=about, cls=_Sweep)(_command(axis))


def _command(swept: str | None) -> Callable[..., None]:
    """Make the command `sweep AXIS`, or that of one axis, which is then a hidden default."""
    default: Any = SimpleNamespace(**dict.fromkeys(asdict(_Defaults())))  # to be filled in when the axis is known
    argument: Any = typer.Argument(metavar="AXIS", help="The setting to sweep, such as V, controller or reference.")
    if swept is not None:
        default = _Defaults(controller="leaky:a=1e-4:1:9log") if swept == _CONTROLLER else _DEFAULTS[swept]
        argument = typer.Option(swept, "--axis", hidden=True)

    def command(
        context: typer.Context,
        axis: str = argument,
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
        seeds: o.SeedsOption = None,
        reference: o.References = default.reference,
        weights: o.WeightsList = default.weights,
        solver: o.Solvers = default.solver,
        window: o.Windows = default.window,
        noise: o.Noises = default.noise,
        controller: o.ControllerOption = default.controller,
        V_schedule: o.ScheduleOption = default.V_schedule,
        fit: Annotated[
            str | None, typer.Option("--fit", help="Range in which slopes are fitted, such as 50:200.")
        ] = None,
        as_json: o.JsonOption = False,
        out: o.OutOption = RESULTS,
        engine: o.EngineOption = "loky",
        jobs: o.JobsOption = -1,
        scheduler: o.SchedulerOption = None,
    ) -> None:
        asked = axis.replace("-", "_")
        asked = checks.choice("setting to sweep", _OTHER_NAMES.get(asked, asked), _DEFAULTS)
        wanted = o.parse_seeds(seeds)
        typed: dict[str, Any] = {
            "V": V, "eta": eta, "delta": delta, "steps": steps, "T": T, "memory": memory, "points": points,
            "reference": reference, "weights": weights, "solver": solver, "window": window, "noise": noise,
            "controller": controller, "V_schedule": V_schedule,
        }  # fmt: skip
        given = {**asdict(_DEFAULTS[asked]), **{name: value for name, value in typed.items() if value is not None}}
        along, values, rule = _grid_of(asked, given)
        numbers, scheme = _numbers(given, along), _scheme(given, along, rule)
        between = o.parse_range(fit)
        T, memory, points = (given[name] for name in ("T", "memory", "points"))
        fixed = {
            "T": None if along == "T" or T is None else o.parse_whole(T, "tasks", "T"),
            "m": None if along == "memory" or memory is None else o.parse_whole(memory, "memory-per-task"),
        }
        rows: list[Row] = []
        everything: list[SweepCell] = []
        for base in o.parse_sources(regime):
            source = base.with_constants(d=d, n=points, spread=spread if points else None, **fixed)
            cells = grid(source, along, values, wanted, numbers=numbers, scheme=scheme)
            with Bar(f"sweep {axis} {source.name}") as tell:
                try:
                    found = run_cells(cells, out, engine=engine, n_jobs=jobs, scheduler=scheduler, progress=tell)
                except KeyboardInterrupt:
                    Console(stderr=True).print(
                        "interrupted; finished cells are stored, and the same command goes on from there"
                    )
                    raise typer.Exit(130) from None
            if not as_json:
                _print(found, along, between)
            rows += found
            everything += cells
        if as_json:
            typer.echo(json.dumps(rows))
        if all(row["diverged"] for row in rows):
            limit = max(2.0 / row["V"] for row in rows)
            raise ColdError(
                f"every run diverged: eta is too large; stay below 2/(V L), here {limit:.3g} at the smallest V"
            )
        command = typed_command("coldtheory", context, ("as_json", "fit"))
        kept = record_sweep(_name_of(everything), along, everything, out, command)
        if not as_json:
            place = "" if out == RESULTS else f" --results {shlex.quote(str(out))}"
            Console(highlight=False).print(
                f"Draw it: [bold]coldtheory plot gradient{place}[/], or queues, or tradeoff (its name is {kept.name}).",
                soft_wrap=True,
            )

    return command


def _name_of(cells: Sequence[SweepCell]) -> str:
    """Return the tasks of a sweep in a word, for its name."""
    names = list(dict.fromkeys(cell.source.name for cell in cells))
    return "all" if names == list(REGIMES) else "+".join(names)


def _grid_of(swept: str, given: dict[str, Any]) -> tuple[str, list[Any], str]:
    """Return the axis of the grid, its values, and the controller without the parameter that is varied."""
    controller = str(given["controller"])
    if swept == "eta_factor":
        kind, _, grid_text = str(given["eta"]).partition(":")
        if kind != "auto":
            raise ColdError("a sweep of eta-factor takes --eta auto:GRID, such as auto:0.1:1:10lin")
        return swept, o.parse_grid(grid_text, "eta auto"), controller
    if swept == "V_schedule":
        parts = o.parse_names(str(given[swept]))
        return swept, [part if part == CONSTANT else o.parse_schedule(part) for part in parts], controller
    if swept != _CONTROLLER:
        text = str(given[swept])
        return swept, o.parse_names(text) if swept in NAMED else o.parse_grid(text, swept), controller
    names = o.parse_names(controller)
    if len(names) > 1:
        return swept, names, "queue"
    name, _, rest = controller.partition(":")
    parts = re.split(r",(?=[A-Za-z_]+=)", rest)  # commas also separate the values of a list
    grids = [part for part in parts if re.search(r"=.*[:,]", part)]
    if len(grids) != 1:
        raise ColdError(
            "a sweep of controller takes --controller with several names, such as queue,leaky, or with a grid "
            "for one of its parameters, such as leaky:a=1e-4:1:9log"
        )
    parameter, _, grid_text = grids[0].partition("=")
    fixed = ",".join(part for part in parts if part not in grids)
    return f"{CONTROLLER_AXIS}{parameter}", o.parse_grid(grid_text, f"controller {name}"), f"{name}:{fixed}".rstrip(":")


def _numbers(given: dict[str, Any], axis: str) -> Numbers:
    """Return the settings of a run that are not varied."""

    def one(name: str) -> float:
        return o.parse_one(str(given[name]), name)

    default = Numbers()
    eta, factor = default.eta, None
    if axis == "eta_factor":
        eta = "auto"
    elif axis != "eta":
        eta, factor = o.parse_eta(str(given["eta"]))
    return Numbers(
        V=default.V if axis == "V" else one("V"),
        eta=eta,
        eta_factor=factor,
        delta=default.delta if axis == "delta" else one("delta"),
        steps=default.steps if axis == "steps" else o.parse_whole(str(given["steps"]), "steps"),
    )


def _scheme(given: dict[str, Any], axis: str, controller: str) -> Scheme:
    """Return the other settings that are not varied; an axis among them keeps its default and is set cell by cell."""
    kept = {name: given[name] for name in ("reference", "weights", "solver") if name != axis}
    for name, value in kept.items():
        checks.choice(name, value, get_args({"reference": Reference, "weights": Weights, "solver": Solver}[name]))
    window = None if axis == "window" or given["window"] is None else given["window"]
    return Scheme(
        **kept,
        window=None if window is None else o.parse_whole(window, "window"),
        noise=0.0 if axis == "noise" else o.parse_one(str(given["noise"]), "noise"),
        controller=controller,
        V_schedule=None if axis == "V_schedule" else o.parse_schedule(given["V_schedule"]),
    )


def _print(rows: Sequence[Row], axis: str, between: tuple[float, float] | None) -> None:
    """Print one line per value of the axis (means over seeds), then slopes and the turning point."""
    console = Console()
    seeds = len({row["seed"] for row in rows})
    console.print(f"[bold]{rows[0]['regime']}[/], {seeds} seed{'s' if seeds > 1 else ''}: {_fixed(rows[0], axis)}")
    table = plain_table()
    for name in (axis.removeprefix(CONTROLLER_AXIS), *_TITLES.values(), "Δ̄", "ρ̄", "D_Φ", "η·α", "step"):
        table.add_column(name, justify="right", no_wrap=True)
    values = sorted(dict.fromkeys(axis_value(row, axis) for row in rows), key=_as_number)  # names in their order
    groups = [[row for row in rows if axis_value(row, axis) == value] for value in values]
    for value, here in zip(values, groups, strict=True):
        spread = [_mean_text(mean_over_seeds(here, name)) for name in _TITLES]
        plain = [
            _short(mean_over_seeds(here, name).mean, digits=2)
            for name in ("Delta_bar", "rho_bar", "D_phi", "eta_alpha_max")
        ]
        table.add_row(_label(value, axis), *spread, *plain, _step_text(here))
    console.print(table)
    if any(row.get("avg_forgetting") is not None for row in rows):  # rows of older versions do not have it
        lost = [_short(mean_over_seeds(here, "avg_forgetting").mean, digits=2) for here in groups]
        console.print(f"mean forgetting of past tasks, line by line: {', '.join(lost)}")
    console.print("[dim]± s.e. over seeds; D_Φ and ρ̄ over the smallest ball around optima and models;[/]")
    console.print("[dim]η·α is the largest over t; step ≤½: η ≤ 1/(2α_t) in every run, ≤1: η ≤ 1/α_t;[/]")
    if axis not in NAMED:
        console.print("[dim]slopes are log-log, with their 95 % interval over seeds[/]")
    console.print(f"[dim]{_tolerance_text(rows)}[/]")
    if axis in NAMED:
        console.print()
        return
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
    """Say whether delta satisfies the premise of Theorems 1 and 2."""
    met = sum(row["delta"] > row["delta_min"] for row in rows)
    which = "in every run" if met == len(rows) else "in no run" if met == 0 else f"in {met} of {len(rows)} runs"
    smallest = mean_over_seeds(rows, "delta_min").mean
    return f"δ > δ′, the premise of Theorems 1 and 2: {which} (smallest feasible δ′: {_short(smallest)})"


def _label(value: object, axis: str) -> str:
    """Return a value of the axis as text; a controller with its usual parameters is only its name."""
    if axis == _CONTROLLER and (rule := controller_of(str(value))) == type(rule)():
        return rule.name
    return _short(value)


def _as_number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.inf


def _fixed(row: Row, axis: str) -> str:
    """Return the settings that do not vary."""
    wanted = ("T", "d", "memory", "V", "eta", "eta_factor", "delta", "steps", "V_schedule")
    names = [n for n in wanted if n != axis and row.get(n) is not None]
    if row.get("controller") and not axis.startswith(_CONTROLLER):
        names.append("controller")
    numbers = ", ".join(f"{name}={_short(row[name])}" for name in names)
    scheme = "/".join(row[name] for name in ("reference", "weights") if name != axis)
    return f"{numbers}, {scheme}" + (", exact" if row["solver"] == "exact" and axis != "solver" else "")


def _mean_text(value: Spread) -> str:
    if value.n == 0:
        return "–"
    return _short(value.mean) + (f"±{_short(value.se, digits=1)}" if value.n > 1 else "")


def _short(value: object, digits: int = 3) -> str:
    """Write a number with few characters: 0.0123, 1.2e-5, 1500."""
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
