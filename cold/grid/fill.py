"""Fill a list of cells: finished ones are kept, failed ones are listed, and the others go to an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from coldtheory.ground.errors import ColdError
from coldtheory.ground.files import write_atomically

from ..config import RunConfig
from ..runs import ARRAYS, RESULT, by_run_id, find_runs
from .cells import ERROR, CellOutcome, GridCell, State, failures, write_failure
from .engines import Engine
from .worker import reused


@dataclass(frozen=True)
class Event:
    """One more cell is settled; now `done` of `total` are."""

    run_id: str
    state: State
    done: int
    total: int
    error: str = ""
    acc: float | None = None  #: of a cell that stopped, see `CellOutcome`


@dataclass(frozen=True)
class Report:
    """What became of the cells, by run id. `folders` has all that are finished, wherever they are."""

    done: tuple[str, ...]
    reused: tuple[str, ...]
    failed: Mapping[str, str]  #: with the error, one line
    busy: tuple[str, ...]  #: another program is running them now
    folders: Mapping[str, Path]
    stopped: tuple[str, ...] = ()  #: after as many tasks as they were to learn

    @property
    def complete(self) -> bool:
        """Whether no run failed and none is being made by another program."""
        return not self.failed and not self.busy


def fill(
    configs: Sequence[RunConfig],
    out: Path,
    *,
    engine: Engine | None = None,
    data_root: Path | None = None,
    retry_failed: bool = False,
    roots: Sequence[Path] = (),
    weights: bool = True,
    until: int | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> Report:
    """Run every cell that is not finished below `out` or one of `roots`; results go to <out>/<run id>.

    A finished run with another fingerprint of its data than the data at hand is not reused: below `out` that is a
    failure which says so, below another root the cell is run again.

    retry_failed : also cells that failed before; they go on from their checkpoint. Where they cannot, as it is damaged
                   or was made from other data, they start over, and a line on stderr says so
    weights      : whether model.safetensors stays beside each result
    until        : stop every run after so many tasks; with a larger number, or with none, a later call goes on
    """
    engine, out = engine or Engine(), out.absolute()
    wanted = by_run_id(configs)
    finished, failed = find_runs(out, *roots), failures(out)
    places: dict[str, Path] = {}
    states: dict[str, CellOutcome] = {}

    def settle(outcome: CellOutcome) -> None:
        states[outcome.run_id] = outcome
        if on_event is not None:
            on_event(Event(outcome.run_id, outcome.state, len(states), len(wanted), outcome.error, outcome.acc))

    for run_id, config in wanted.items():
        if run_id in finished:
            outcome, folder = reused(finished[run_id], config, data_root), finished[run_id].folder or out
            if outcome.state == "reused" or folder.is_relative_to(out):
                places[run_id] = folder
                settle(outcome)
                continue
        if run_id in failed and not retry_failed:
            settle(CellOutcome(run_id, "failed", failed[run_id]))
    far = engine.scheduler is not None
    root = None if data_root is None else data_root.absolute()
    cells = [
        GridCell(config, run_id, out, root, engine.threads_each, engine.gpu, weights, far, until)
        for run_id, config in wanted.items()
        if run_id not in states
    ]
    if cells:
        for outcome in engine.outcomes(cells):
            settle(_received(outcome, out, wanted[outcome.run_id]))

    def of(state: State) -> tuple[str, ...]:
        return tuple(run_id for run_id in wanted if states[run_id].state == state)

    folders = {name: places.get(name, out / name) for name in wanted if states[name].state in ("done", "reused")}
    return Report(
        of("done"),
        of("reused"),
        {name: states[name].error for name in of("failed")},
        of("busy"),
        folders,
        of("stopped"),
    )


def _received(outcome: CellOutcome, out: Path, config: RunConfig) -> CellOutcome:
    """Write what a worker on another disk sent, as it would have: result.json comes last."""
    folder = out / outcome.run_id
    if outcome.state == "failed" and outcome.lasting and not (folder / ERROR).exists():
        write_failure(folder, config, outcome.error, outcome.traceback)
    if not outcome.files or (folder / RESULT).exists():
        return outcome
    try:
        for name in (ARRAYS, RESULT):
            write_atomically(folder / name, outcome.files[name])
        (folder / ERROR).unlink(missing_ok=True)
    except (ColdError, OSError) as error:
        return CellOutcome(outcome.run_id, "failed", str(error), lasting=False)
    return outcome
