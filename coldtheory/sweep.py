"""Grids of runs: V, delta, eta, T, the memory, the reference, the controller or any other setting, for every seed,
stored cell by cell.

Jobs are cut in one way and use one thread of linear algebra each. So on one machine, and on machines with the same
kernels, rows do not depend on the engine or the number of workers; machines with other kernels agree up to rounding.
The keys of rows are the same on all machines.
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from .controllers import Queue, controller_of
from .ground import checks
from .ground.engines import Engine, run_jobs
from .ground.errors import ColdError, DivergenceWarning, unknown_name
from .ground.files import config_key
from .ground.limits import demand_memory
from .paper import TOY
from .rows import measured, plain
from .settings import ETA_FACTOR, Reference, Settings, Solver, Weights, schedule_factors, schedule_text
from .simulation import simulate
from .sources import Source
from .store import ROW_SCHEMA, Row, SweepRecord, open_row_files, write_sweep

Axis = Literal["V", "delta", "eta", "steps", "T", "memory", "eta_factor"]
SchemeAxis = Literal["noise", "window", "reference", "weights", "solver", "controller", "V_schedule"]
NAMED = ("reference", "weights", "solver", "controller", "V_schedule")  #: axes whose values are texts
CONSTANT = "constant"  #: among the values of V_schedule: a V that does not move
CONTROLLER_AXIS = (
    "controller."  # and the name of a parameter: the axis `controller.a` sweeps a of the scheme's controller
)

_LATER = ("eta_factor", "controller", "V_schedule")  # settings that older rows do not have
_CELL_BYTES = 2000  # of a cell with its key and its row, at least
_SEEDS_A_JOB = 5  # part of what a job is, so never a matter of the machine


@dataclass(frozen=True)
class Scheme:
    """What holds for a whole sweep besides the axis."""

    reference: Reference = "previous"
    weights: Weights = "mean"
    solver: Solver = "gd"
    window: int | None = None
    noise: float = 0.0
    controller: str | None = None  # as `coldtheory.controllers.controller_of` reads it; None is the queue
    V_schedule: str | None = None  # as `coldtheory.settings.schedule_factors` reads it; None is a constant V

    def __post_init__(self) -> None:
        """One text per controller and schedule, whichever way it was typed."""
        rule = controller_of(self.controller)
        object.__setattr__(self, "controller", None if rule == Queue() else rule.text)
        if self.V_schedule is not None:
            object.__setattr__(self, "V_schedule", schedule_text(self.V_schedule))

    @property
    def config(self) -> dict[str, Any]:
        """What identifies it. Settings that were added later are left out where they are not set, so older rows are
        still found."""
        return {name: value for name, value in vars(self).items() if name not in _LATER or value is not None}


@dataclass(frozen=True)
class Numbers:
    """The settings of one run that may be swept."""

    V: float = TOY.V
    eta: float | Literal["auto"] = TOY.eta
    delta: float = TOY.delta
    steps: int = TOY.steps
    eta_factor: float | None = None  # of eta="auto"; None is 1/2

    def __post_init__(self) -> None:
        if self.eta_factor == ETA_FACTOR:
            object.__setattr__(self, "eta_factor", None)

    @property
    def config(self) -> dict[str, Any]:
        """The settings that identify a run; those that were added later are left out where they are not set."""
        return {name: value for name, value in vars(self).items() if name not in _LATER or value is not None}


@dataclass(frozen=True)
class SweepCell:
    """One run of a grid."""

    source: Source
    seed: int
    numbers: Numbers
    scheme: Scheme

    @property
    def config(self) -> dict[str, Any]:
        """Everything that identifies the cell, as plain values."""
        return {
            "schema": ROW_SCHEMA, "source": self.source.config, "seed": self.seed,
            **self.numbers.config, **self.scheme.config,
        }  # fmt: skip

    @property
    def key(self) -> str:
        """The hash of the configuration, which is the key of its row."""
        return config_key(self.config)


def grid(
    source: Source,
    axis: Axis | SchemeAxis | str,
    values: Sequence[float] | Sequence[str],
    seeds: int | list[int] | tuple[int, ...] | range,
    *,
    numbers: Numbers | None = None,
    scheme: Scheme | None = None,
) -> list[SweepCell]:
    """The cells of a sweep: every value of the axis with every seed.

    seeds : how many there are (0, 1, ..., or all streams of a user's file), or which
    """
    checks.kind_of("source", source, Source, "load one with load_source('high')")
    if not str(axis).startswith(CONTROLLER_AXIS):
        checks.choice("axis", axis, (*get_args(Axis), *get_args(SchemeAxis), f"{CONTROLLER_AXIS}PARAMETER"))
    along: list[Any] = list(values) if axis in NAMED else checks.numbers(axis, values).reshape(-1).tolist()
    if not along:
        raise ColdError(f"the grid of {axis} is empty")
    count = len(seeds) if isinstance(seeds, list | tuple | range) else checks.whole("seeds", seeds, least=1)
    numbers, scheme = Numbers() if numbers is None else numbers, Scheme() if scheme is None else scheme
    checks.kind_of("numbers", numbers, Numbers, "make one with Numbers(V=...)")
    checks.kind_of("scheme", scheme, Scheme, "make one with Scheme(reference=...)")
    demand_memory(_CELL_BYTES * count * len(along), f"a grid of {len(along)} values and {count} seeds")
    counted = axis in ("steps", "T", "memory", "window")
    cells = []
    for value in dict.fromkeys(checks.whole(axis, v) if counted else v for v in along):
        here, chosen, rule = source, numbers, scheme
        if axis == "T":
            here = source.with_constants(T=value)
        elif axis == "memory":
            here = source.with_constants(m=value)
        elif axis.startswith(CONTROLLER_AXIS):
            rule = replace(scheme, controller=_with_parameter(scheme.controller, axis, value))
        elif axis in get_args(SchemeAxis):
            given: dict[str, Any] = {str(axis): None if axis == "V_schedule" and value == CONSTANT else value}
            rule = replace(scheme, **given)
        else:
            chosen = replace(numbers, **{str(axis): value})
        _check(chosen, rule, here.T)
        cells += [SweepCell(here, seed, chosen, rule) for seed in here.seeds(seeds)]
    return cells


def run_cells(
    cells: Sequence[SweepCell],
    folder: Path,
    *,
    engine: Engine = "loky",
    n_jobs: int = -1,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Row]:
    """The rows of these cells, in their order; what the folder holds already is not computed again.

    `progress(done, total)` is told how many cells are there. An interruption loses at most the jobs
    under way.
    """
    keys, stems = cell_keys(cells), stems_of(cells)
    of_stem: dict[str, dict[str, SweepCell]] = {}
    for key, cell in zip(keys, cells, strict=True):
        of_stem.setdefault(stems[id(cell.source)], {})[key] = cell
    sources = {stem: next(iter(here.values())).source.config for stem, here in of_stem.items()}
    with open_row_files(folder, sources) as files:
        there = {key for stem, here in of_stem.items() for key in files[stem].having(here)}
        missing = {key: cell for key, cell in zip(keys, cells, strict=True) if key not in there}
        done, total = len(cells) - len(missing), len(cells)
        progress(done, total)
        for stem, rows in run_jobs(
            _run_job, list(_jobs(missing.values())), engine=engine, n_jobs=n_jobs, scheduler=scheduler
        ):
            files[stem].add(rows)
            done += len(rows)
            progress(done, total)
        found = {row["key"]: row for stem, here in of_stem.items() for row in files[stem].rows(here)}
    return [found[key] for key in keys]


def record_sweep(name: str, axis: str, cells: Sequence[SweepCell], folder: Path, command: str) -> SweepRecord:
    """Keep which rows of the folder this sweep is made of, so that it can be drawn; `command` makes them again."""
    stems = stems_of(cells)
    keys: dict[str, list[str]] = {}
    for key, cell in zip(cell_keys(cells), cells, strict=True):
        keys.setdefault(stems[id(cell.source)], []).append(key)
    sources = {stems[id(cell.source)]: cell.source.config for cell in cells}
    words = re.sub(r"[^\w.+-]+", "-", f"{axis}-{name}")
    return write_sweep(folder, SweepRecord(name=words, axis=axis, command=command, sources=sources, keys=keys))


def cell_keys(cells: Sequence[SweepCell]) -> list[str]:
    """`key` of every cell. Cells that differ in the seed alone share all other text that is hashed."""
    of_rest: dict[tuple[int, int, int], tuple[Any, bytes]] = {}
    keys = []
    for cell in cells:
        rest = (id(cell.source), id(cell.numbers), id(cell.scheme))
        if rest not in of_rest:
            text = json.dumps({**cell.config, "seed": None}, sort_keys=True, separators=(",", ":"), allow_nan=False)
            before, seed, rear = text.encode().partition(b'"seed":null')
            assert seed
            of_rest[rest] = hashlib.sha256(before + b'"seed":'), rear
        begun, after = of_rest[rest]
        digest = begun.copy()
        digest.update(b"%d%s" % (cell.seed, after))
        keys.append(digest.hexdigest()[:16])
    return keys


def stems_of(cells: Sequence[SweepCell]) -> dict[int, str]:
    """The name of each source's row file, by the source's `id`: cells share sources, and a name is slow to make."""
    sources = {id(cell.source): cell.source for cell in cells}
    return {number: source.stem for number, source in sources.items()}


@dataclass(frozen=True)
class _Job:
    """Runs that share tasks and scheme: one call of `simulate`."""

    source: Source
    seeds: tuple[int, ...]
    numbers: tuple[Numbers, ...]
    scheme: Scheme

    def __str__(self) -> str:
        """A short description for messages."""
        runs = f"{len(self.seeds) * len(self.numbers)} runs of {self.source.stem}"
        return f"{runs} (seeds {self.seeds[0]} to {self.seeds[-1]}, V from {self.numbers[0].V:g})"


def _jobs(cells: Iterable[SweepCell]) -> Iterator[_Job]:
    """Cells in groups: first by tasks, scheme and seed, then seeds that want the same numbers together."""
    cells = list(cells)
    stems = stems_of(cells)
    of_seed: dict[tuple[str, Scheme, bool, int], list[SweepCell]] = {}
    for cell in cells:
        group = (stems[id(cell.source)], cell.scheme, cell.numbers.eta == "auto", cell.seed)
        of_seed.setdefault(group, []).append(cell)
    alike: dict[tuple[str, Scheme, tuple[Numbers, ...]], list[SweepCell]] = {}
    for (stem, scheme, _, _), group_cells in of_seed.items():
        numbers = tuple(cell.numbers for cell in group_cells)
        alike.setdefault((stem, scheme, numbers), []).append(group_cells[0])
    for (_, scheme, numbers), firsts in alike.items():
        for at in range(0, len(firsts), _SEEDS_A_JOB):
            seeds = tuple(cell.seed for cell in firsts[at : at + _SEEDS_A_JOB])
            yield _Job(firsts[0].source, seeds, numbers, scheme)


def _run_job(job: _Job) -> tuple[str, list[Row]]:
    """The rows of a job, and the row file they belong to."""
    tasks = job.source.tasks(job.seeds)
    eta = job.numbers[0].eta
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)  # rows say which runs diverged
        run = simulate(
            tasks,
            V=[n.V for n in job.numbers],
            eta="auto" if eta == "auto" else [float(n.eta) for n in job.numbers],
            delta=[n.delta for n in job.numbers],
            steps=[n.steps for n in job.numbers],
            eta_factor=[n.eta_factor or ETA_FACTOR for n in job.numbers] if eta == "auto" else None,
            **vars(job.scheme),
            noise_seed=job.seeds,  # a cell's noise is its seed's, whatever else is in the job
        )
    with np.errstate(over="ignore", invalid="ignore"):
        values = measured(run)
    rows = []
    for s, seed in enumerate(job.seeds):
        for p, numbers in enumerate(job.numbers):
            cell = SweepCell(job.source, seed, numbers, job.scheme)
            config = {**dict.fromkeys(_LATER), **cell.config, "regime": job.source.name, "T": tasks.T, "d": tasks.d}
            config |= {"memory": job.source.config.get("m", job.source.config.get("n")), "key": cell.key}
            rows.append({**config, **{name: plain(array[s, p]) for name, array in values.items()}})
    return job.source.stem, rows


def _check(numbers: Numbers, scheme: Scheme, T: int) -> None:
    """Raise any error in the settings before work is done."""
    factors = None if scheme.V_schedule is None else schedule_factors(scheme.V_schedule, T)
    Settings.of(**vars(numbers), **{**vars(scheme), "V_schedule": factors}, noise_seed=0, ball=None)


def _with_parameter(controller: str | None, axis: str, value: float) -> str:
    rule, name = controller_of(controller), axis.removeprefix(CONTROLLER_AXIS)
    known = [field.name for field in fields(rule)]
    if name not in known:
        raise unknown_name(f"parameter of the controller {rule.name}", name, known or ["none"])
    return replace(rule, **{name: value}).text
