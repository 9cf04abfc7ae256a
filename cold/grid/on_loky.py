"""Processes of this machine. `coldtheory.ground.engines` gives up when one of them is killed; a grid goes on.

When a worker dies (out of memory, killed), loky stops the whole pool. Cells that had not begun go to a new pool. One
of those that had begun may have killed its worker, so they run again at the end, one at a time: each goes on from its
checkpoint, and one whose process dies a second time has failed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from joblib.externals.loky import BrokenProcessPool, ProcessPoolExecutor, as_completed

from .cell import Cell, Outcome
from .index import write_failure
from .worker import BEGUN, run_cell

if TYPE_CHECKING:
    from .engines import Engine

LOST = "the worker process was lost twice (killed, or out of memory?)"
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def outcomes(cells: Sequence[Cell], engine: Engine) -> Iterator[Outcome]:
    threads = engine.threads_each
    limits = {} if threads is None else dict.fromkeys(_THREAD_VARIABLES, str(threads))
    waiting: list[Cell] = list(cells)
    suspects: list[Cell] = []
    while waiting:
        lost: list[Cell] = []
        yield from _pool(waiting, min(engine.workers, len(waiting)), limits, lost)
        begun, waiting = _parted(lost)
        suspects += begun
    while suspects:
        lost = []
        yield from _pool(suspects, 1, limits, lost)
        guilty, suspects = _parted(lost)
        for cell in guilty:
            lasting = write_failure(cell.folder, cell.config, LOST, "")
            yield Outcome(cell.run_id, "failed", LOST, lasting=lasting)


def _parted(lost: list[Cell]) -> tuple[list[Cell], list[Cell]]:
    """Lost cells that had begun, and the others. A pool that broke before any began would do so for ever: then all."""
    begun = {cell.run_id for cell in lost if (cell.folder / BEGUN).exists()}
    for cell in lost:
        (cell.folder / BEGUN).unlink(missing_ok=True)
    if not begun:
        return lost, []
    return [cell for cell in lost if cell.run_id in begun], [cell for cell in lost if cell.run_id not in begun]


def _pool(cells: Sequence[Cell], workers: int, limits: dict[str, str], lost: list[Cell]) -> Iterator[Outcome]:
    """Outcomes of the cells; those that a broken pool did not come to are put into `lost`."""
    pool = ProcessPoolExecutor(max_workers=workers, env=limits)
    try:
        futures = {}
        for cell in cells:
            try:
                futures[pool.submit(run_cell, cell)] = cell
            except BrokenProcessPool:
                lost.append(cell)
        for future in as_completed(list(futures)):
            try:
                yield future.result()
            except BrokenProcessPool:
                lost.append(futures[future])
    except BaseException:  # Ctrl-C: what runs goes on from its checkpoint the next time
        pool.shutdown(kill_workers=True)
        raise
    pool.shutdown()
