"""`coldtheory simulate` runs one setting, prints a summary, and saves the run on request."""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..controllers import controller_of
from ..ground.command_line import with_old_names
from ..ground.errors import ColdError, DivergenceWarning
from ..ground.files import write_atomically
from ..ground.provenance import provenance
from ..rows import MEASURED_KEYS, measured, plain
from ..simulation import Run, divergence_message, simulate
from . import options as o


def add_to(app: typer.Typer) -> None:
    """Register the command `simulate` with the program."""
    app.command("simulate", cls=with_old_names({"--memory": "--memory-per-task"}))(simulate_one)


def simulate_one(
    regime: o.RegimeOption = "high",
    V: o.VOption = o.PAPER["V"],
    eta: o.EtaOption = o.PAPER["eta"],
    delta: o.DeltaOption = o.PAPER["delta"],
    steps: o.StepsOption = o.PAPER["steps"],
    T: o.TOption = None,
    d: o.DimensionOption = None,
    memory: o.MemoryOption = None,
    points: o.PointsOption = None,
    spread: o.SpreadOption = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the random numbers. It chooses the task stream.")] = 0,
    reference: o.ReferenceOption = "previous",
    weights: o.WeightsOption = "mean",
    solver: o.SolverOption = "gd",
    window: o.WindowOption = None,
    noise: o.NoiseOption = 0.0,
    controller: o.ControllerOption = "queue",
    V_schedule: o.ScheduleOption = None,
    save: Annotated[
        Path | None, typer.Option("--save", help="Save models, queues and series in this .npz file.")
    ] = None,
    as_json: o.JsonOption = False,
) -> None:
    """Run one setting and print a summary.

    Example: [bold]coldtheory simulate --regime high --V 200 --save run.npz[/]
    """
    sources = o.parse_sources(regime)
    if len(sources) != 1:
        raise ColdError("simulate takes one regime; to run all of them use: coldtheory sweep V --regime all")
    if seed < 0:
        raise ColdError(f"the seed must be >= 0, got {seed}")
    source = sources[0].with_constants(
        T=None if T is None else o.parse_whole(T, "tasks", "T"),
        d=d,
        n=points,
        m=None if memory is None else o.parse_whole(memory, "memory-per-task"),
        spread=spread if points else None,
    )
    rate, factor = o.parse_eta(eta)
    settings: dict[str, Any] = {
        "V": o.parse_one(V, "V"),
        "eta": rate,
        "delta": o.parse_one(delta, "delta"),
        "steps": o.parse_whole(steps, "steps"),
        "reference": reference,
        "weights": weights,
        "solver": solver,
        "window": window,
        "noise": noise,
        "eta_factor": factor,
        "controller": None if controller == "queue" else controller_of(controller).text,
        "V_schedule": o.parse_schedule(V_schedule),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        run = simulate(source.tasks([seed])[0], **settings, noise_seed=seed)
    if run.diverged:
        raise ColdError(divergence_message(run))
    values = {name: plain(value) for name, value in measured(run).items()}
    config = {"source": source.config, "seed": seed, **settings}
    if save is not None:
        _save(save, run, config)
    if as_json:
        typer.echo(json.dumps({**config, **values}))
    else:
        _print(values, config)


def _save(path: Path, run: Run, config: dict[str, Any]) -> None:
    buffer = io.BytesIO()
    about = json.dumps({"format": "coldtheory-run/1", "config": config, "provenance": provenance()})
    names = ("w", "Q", "grad_sq_before", "grad_sq_after", "Qbar", "Delta", "alpha", "lyapunov", "drift", "forgetting")
    np.savez_compressed(buffer, about=np.array(about), **{name: getattr(run, name) for name in names})
    write_atomically(path if path.suffix == ".npz" else path.with_suffix(".npz"), buffer.getvalue())


def _print(values: dict[str, Any], config: dict[str, Any]) -> None:
    source = config["source"]
    title = (
        f"{source.get('regime', source.get('file'))}, seed {config['seed']}, V={config['V']:g}, eta={config['eta']}, "
    )
    title += f"delta={config['delta']:g}, steps={config['steps']}, {config['reference']}/{config['weights']}"
    title += "".join(f", {config[name]}" for name in ("controller", "V_schedule") if config[name] is not None)
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, show_header=False)
    for name, meaning in MEASURED_KEYS.items():
        value = values[name]
        table.add_row(
            name, f"{value:.6g}" if isinstance(value, float) else str(value).lower(), f"[dim]{escape(meaning)}[/]"
        )
    Console().print(table)
