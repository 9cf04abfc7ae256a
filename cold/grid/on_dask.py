"""Workers of a dask scheduler, here or on other machines.

The scheduler gives the cell of a lost worker to another one, where it goes on from its checkpoint if the disk is
shared. Results come back through the scheduler as well, so that the disk need not be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from coldtheory.ground.engines import dask_client
from coldtheory.ground.errors import ColdError

from .cell import Cell, Outcome
from .index import write_failure
from .worker import run_cell

if TYPE_CHECKING:
    from .engines import Engine


def outcomes(cells: Sequence[Cell], engine: Engine) -> Iterator[Outcome]:
    with dask_client(engine.scheduler, engine.workers) as client:
        distributed = import_module("distributed")  # an extra; dask_client says how to get it

        resources = {"gpu": engine.gpu} if engine.gpu is not None and engine.scheduler is not None else None
        if resources is not None:
            _check_offer(client.scheduler_info(n_workers=-1)["workers"].values(), resources["gpu"])
        futures: dict[Any, Cell] = {
            client.submit(run_cell, cell, key=f"{cell.run_id}-{number}", pure=False, resources=resources): cell
            for number, cell in enumerate(cells)
        }
        for future in distributed.as_completed(list(futures)):
            cell, error = futures.pop(future), future.exception()
            if error is None:
                yield future.result()
            else:  # the cell's own errors are outcomes; this one is dask's
                line = f"no worker could finish it: {' '.join(str(error).split())}"
                lasting = write_failure(cell.folder, cell.config, line, "")
                yield Outcome(cell.run_id, "failed", line, lasting=lasting)


def _check_offer(workers: Iterable[Mapping[str, Any]], share: float) -> None:
    """Cells that ask for more than any worker offers would wait for ever."""
    offers = [float(worker.get("resources", {}).get("gpu", 0.0)) for worker in workers]
    if offers and max(offers) < share:
        raise ColdError(
            f"no worker offers a GPU share of {share:g}; start workers with --resources 'gpu={share:g}' or ask for less"
        )
