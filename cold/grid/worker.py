"""Run one cell in the process that an engine chose. No error here affects another cell.

Where an engine does not say it itself, a worker process also takes a GPU. A GPU has 1 / share places, each a lock
file; a process takes the first free place when its first cell runs and keeps it until it ends, so that loky's and
dask's workers on one machine spread over the GPUs without knowing of one another. CUDA_VISIBLE_DEVICES holds as
always: GPUs are numbered among the visible ones.
"""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from filelock import FileLock, Timeout
from threadpoolctl import threadpool_limits

from coldtheory.ground.errors import ColdError

from ..config import RunConfig
from ..runs import ARRAYS, MODEL, RESULT, Busy, Result, check_same_run, find_runs, identified, only_writer
from .cells import ERROR, CellOutcome, GridCell, write_failure

if TYPE_CHECKING:
    from ..trainer import Trainer

_FULL = (errno.ENOSPC, errno.EDQUOT)
#: Settings that decide which data a run has; what they are here is loaded once per process.
_OF_DATA = (
    "dataset", "tasks", "seed", "limit_train", "limit_test", "validation", "iid", "augment", "data_options",
)  # fmt: skip
_fingerprints: dict[tuple[str, Path | None], str | None] = {}
_one_at_a_time = (
    threading.Lock()
)  # torch has one thread count and one generator per process, so a process makes one run at a time


def run_cell(cell: GridCell) -> CellOutcome:
    """Run a cell and return its outcome; its result or its error is then on disk."""
    with _one_at_a_time:
        try:
            with only_writer(cell.folder):
                return _run(cell)
        except Busy as error:
            return CellOutcome(cell.run_id, "busy", str(error))
        except Exception as error:
            return _failure(cell, error)


def _run(cell: GridCell) -> CellOutcome:
    folder = cell.folder
    finished = find_runs(folder).get(cell.run_id)
    if finished is not None:
        return reused(finished, cell.config, cell.data_root, _files(cell))
    try:
        acc = _train(cell)
        (folder / ERROR).unlink(missing_ok=True)
        return CellOutcome(cell.run_id, "done" if acc is None else "stopped", files=_files(cell), acc=acc)
    except Exception as error:  # while the folder is locked
        return _failure(cell, error)


def reused(
    finished: Result, config: RunConfig, data_root: Path | None, files: Mapping[str, bytes] | None = None
) -> CellOutcome:
    """Return the outcome of a finished cell: a failure if that run had other settings or other data."""
    try:
        data = None if finished.data is None else data_at_hand(config, data_root)
        check_same_run(finished, identified(config), data)
    except ColdError as error:
        return CellOutcome(finished.run_id, "failed", str(error), lasting=False)
    return CellOutcome(finished.run_id, "reused", files=files or {})


def _train(cell: GridCell) -> float | None:
    """Train to the end; where the cell is to stop before, the accuracy over the tasks learned by then."""
    import torch  # noqa: PLC0415  (only where a run takes place)

    from ..checkpoint import Unusable, remove_checkpoints  # noqa: PLC0415
    from ..trainer import Trainer  # noqa: PLC0415

    config = cell.config
    if cell.gpu is not None and config.device == "auto":
        config = replace(config, device=take_gpu(cell.gpu, torch.cuda.device_count()))
    if cell.threads is not None:
        torch.set_num_threads(cell.threads)
    with threadpool_limits(config.threads or cell.threads):
        trainer = Trainer(config, data_root=cell.data_root, out=cell.out)
        if trainer.folder != cell.folder:
            raise ColdError(f"the settings name the run {trainer.config.run_id}, not {cell.run_id}; set tasks")
        try:
            acc = _advance(trainer, cell.until, resume=True)
        except Unusable as error:
            if not (cell.folder / ERROR).exists():  # the user has not yet seen a failure and asked for another try
                raise ColdError(f"{error.why}; start over with --retry-failed") from error
            print(f"note: {error.why}; {cell.run_id} starts over", file=sys.stderr)
            remove_checkpoints(cell.folder)
            acc = _advance(Trainer(config, data_root=cell.data_root, out=cell.out), cell.until, resume=False)
    if not cell.weights:
        (cell.folder / MODEL).unlink(missing_ok=True)
    return acc


def _advance(trainer: Trainer, until: int | None, *, resume: bool) -> float | None:
    from ..trainer import Stopped  # noqa: PLC0415

    try:
        trainer.run(resume=resume, until=until)
    except Stopped:
        assert until is not None
        return float(100.0 * np.mean(trainer.record.accuracy[until - 1][:until]))  # as `Result.over_tasks`
    return None


def _failure(cell: GridCell, error: Exception) -> CellOutcome:
    """Return a failure. If the disk is full, error.json is not written, so that the next call runs the cell again."""
    line = " ".join(str(error).split()) or "no message"
    line = line if isinstance(error, ColdError) else f"{type(error).__name__}: {line}"
    text = "".join(traceback.format_exception(error))
    full = any(isinstance(one, OSError) and one.errno in _FULL for one in _causes(error))
    lasting = not full and write_failure(cell.folder, cell.config, line, text)
    return CellOutcome(cell.run_id, "failed", line, text, lasting)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _files(cell: GridCell) -> dict[str, bytes]:
    if not cell.send_back or not (cell.folder / RESULT).is_file():
        return {}
    return {name: (cell.folder / name).read_bytes() for name in (ARRAYS, RESULT)}


def data_at_hand(config: RunConfig, data_root: Path | None) -> str | None:
    """Return the fingerprint of the data for these settings; None if they cannot be loaded here."""
    bare = RunConfig(**{name: getattr(config, name) for name in _OF_DATA})
    key = (bare.run_id, data_root)
    if key not in _fingerprints:
        from ..compute import load_data  # noqa: PLC0415  (torch)

        try:
            _fingerprints[key] = load_data(bare, data_root).fingerprint or None
        except ColdError:
            _fingerprints[key] = None
    return _fingerprints[key]


# ------------------------------------------------------------------------------------------------ which GPU


_held: dict[str, FileLock] = {}  # the place of this process; the lock lives as long as the process


def places(share: float) -> int:
    """Return how many runs share a GPU.

    >>> places(1.0), places(0.5), places(0.3)
    (1, 2, 3)
    """
    if not 0 < share <= 1:
        raise ColdError(f"the share of a GPU must be above 0 and at most 1, got {share:g}")
    return int(1 / share + 1e-9)


def take_gpu(share: float, count: int, folder: Path | None = None) -> str:
    """Return the device of this process: "cuda:k" of a GPU with a free place, or "cpu" without a GPU."""
    if count == 0:
        return "cpu"
    if _held:
        return next(iter(_held))
    shared = folder or Path(tempfile.gettempdir()) / f"cold-gpus-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    shared.mkdir(parents=True, exist_ok=True)
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "all").replace(",", "-")
    for place in range(places(share)):
        for gpu in range(count):
            lock = FileLock(shared / f"{visible}-{gpu}-{place}.lock", blocking=False)
            try:
                lock.acquire()
            except Timeout:
                continue
            _held[f"cuda:{gpu}"] = lock
            return f"cuda:{gpu}"
    raise ColdError(f"all {count} GPUs have {places(share)} runs each; take fewer --jobs or a smaller --gpu share")
