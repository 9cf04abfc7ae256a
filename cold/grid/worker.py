"""One cell, in whichever process an engine chose. Nothing that goes wrong here reaches another cell."""

from __future__ import annotations

import errno
import os
import threading
import traceback
from collections.abc import Iterator
from dataclasses import replace

from threadpoolctl import threadpool_limits

from coldtheory.ground.errors import ColdError

from ..lock import Busy, only_writer
from ..results import ARRAYS, MODEL, RESULT
from .cell import Cell, Outcome
from .gpus import take_gpu
from .index import ERROR, index, write_failure

BEGUN = ".begun"  #: stands in a folder while its cell runs, and stays if the process dies
_FULL = (errno.ENOSPC, errno.EDQUOT)
_one_at_a_time = threading.Lock()  # torch's thread count and generator are the process's, so one run a process


def run_cell(cell: Cell) -> Outcome:
    """The outcome of a cell; its result or its error is on disk."""
    with _one_at_a_time:
        try:
            with only_writer(cell.folder):
                return _run(cell)
        except Busy as error:
            return Outcome(cell.run_id, "busy", str(error))
        except Exception as error:
            return _failure(cell, error)


def _run(cell: Cell) -> Outcome:
    folder = cell.folder
    if cell.run_id in index(folder):
        return Outcome(cell.run_id, "reused", files=_files(cell))
    (folder / BEGUN).write_text(f"{os.getpid()}\n")
    try:
        _train(cell)
        (folder / ERROR).unlink(missing_ok=True)
        return Outcome(cell.run_id, "done", files=_files(cell))
    except Exception as error:  # while the folder is locked
        return _failure(cell, error)
    finally:
        (folder / BEGUN).unlink(missing_ok=True)


def _train(cell: Cell) -> None:
    import torch  # noqa: PLC0415  (only where a run takes place)

    from ..checkpoint import load_latest, remove_checkpoints  # noqa: PLC0415
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
        if (cell.folder / ERROR).exists():  # what it failed on may be the checkpoint itself
            try:
                load_latest(cell.folder)
            except ColdError:
                remove_checkpoints(cell.folder)
        trainer.run(resume=True)
    if not cell.weights:
        (cell.folder / MODEL).unlink(missing_ok=True)


def _failure(cell: Cell, error: Exception) -> Outcome:
    """A full disk is not the cell's own fault: without error.json the next call runs it again unasked."""
    line = " ".join(str(error).split()) or "no message"
    line = line if isinstance(error, ColdError) else f"{type(error).__name__}: {line}"
    text = "".join(traceback.format_exception(error))
    full = any(isinstance(one, OSError) and one.errno in _FULL for one in _causes(error))
    lasting = not full and write_failure(cell.folder, cell.config, line, text)
    return Outcome(cell.run_id, "failed", line, text, lasting)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _files(cell: Cell) -> dict[str, bytes]:
    if not cell.send_back:
        return {}
    return {name: (cell.folder / name).read_bytes() for name in (ARRAYS, RESULT)}
