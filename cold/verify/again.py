"""Stored runs made again with their own settings, and put in the place of the stored ones where that is asked for."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from msgspec.structs import replace as loaded

from coldtheory.ground.errors import ColdError

from ..config import RunConfig
from ..grid import Engine, Event, fill
from ..grid.worker import data_at_hand
from ..runs import OtherData, Result, read_result, replace_run, same_data, stored_config

FOLDER = "again"  #: beside the stored runs, as long as the new ones are being made


@dataclass(frozen=True)
class Again:
    """A stored run beside the one that was made from its record now, or why there is none."""

    stored: Result
    new: Result | None
    error: str = ""


def run_again(
    stored: Iterable[Result],
    *,
    engine: Engine,
    data_root: Path | None = None,
    out: Path | None = None,
    replacing: Callable[[Result, Result], bool] | None = None,
    retry_failed: bool = False,
    on_event: Callable[[Event], None] | None = None,
) -> list[Again]:
    """Make runs again from the settings that they carry, with as many threads as they had.

    out       : folder for the new runs, which stay there; by default a folder `again` beside the stored ones, which
                goes away as they end
    replacing : asked, with the stored run and the new one, whether that belongs in its place. Nothing is removed before
                its successor is complete, so a stopped call loses nothing; the same call goes on with runs that
                were begun
    """
    made: list[Again] = []
    for place, group in groupby(sorted(stored, key=_named), key=lambda run: _named(run).parent):
        made += _in_one_place(
            {run.run_id: run for run in group}, place, engine, data_root, out, replacing, retry_failed, on_event
        )
    return made


def _in_one_place(
    stored: dict[str, Result],
    place: Path,
    engine: Engine,
    data_root: Path | None,
    out: Path | None,
    replacing: Callable[[Result, Result], bool] | None,
    retry_failed: bool,
    on_event: Callable[[Event], None] | None,
) -> list[Again]:
    target = place / FOLDER if out is None else out
    made: dict[str, Again] = {}

    def settle(event: Event) -> None:
        run, folder = stored[event.run_id], target / event.run_id
        if event.state in ("done", "reused"):
            new = _in_memory(read_result(folder))
            if replacing is not None and replacing(run, new):
                replace_run(run, new)
            if out is None:
                shutil.rmtree(folder)
            made[event.run_id] = Again(run, new)
        else:
            made[event.run_id] = Again(run, None, event.error or "another program makes it now")
        if on_event is not None:
            on_event(event)

    configs = []
    for run in stored.values():
        try:
            configs.append(_config(run, data_root))
        except ColdError as error:
            made[run.run_id] = Again(run, None, str(error))
    fill(configs, target, engine=engine, data_root=data_root, retry_failed=retry_failed, weights=False, on_event=settle)
    with suppress(OSError):  # what failed, or was begun, stays there
        target.rmdir()
    return [made[run_id] for run_id in stored]


def _config(run: Result, data_root: Path | None) -> RunConfig:
    """The settings of a stored run, on as many threads as it had; its name and its data must be as they were."""
    config = stored_config(run)
    if config.run_id != run.run_id:
        raise ColdError(
            f"its settings are called {config.run_id} now; commit {run.provenance.get('commit')} has the old name"
        )
    here = None if run.data is None else data_at_hand(config, data_root)
    if not same_data(run.data, here):
        raise OtherData(str(run.folder), run.data, here, "")
    threads = run.timing.get("threads")
    if config.threads is None and run.timing.get("device") == "cpu" and isinstance(threads, int):
        return replace(config, threads=threads)
    return config


def _in_memory(result: Result) -> Result:
    """The run with all its arrays read, so that its folder may be removed."""
    return loaded(result, arrays=dict(result.arrays))


def _named(run: Result) -> Path:
    if run.folder is None:
        raise ColdError(f"{run.run_id} is not on disk")
    return run.folder
