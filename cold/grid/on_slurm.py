"""Jobs of a batch system through submitit, one a cell, on a disk that all machines share.

A job that reaches its time limit is queued again and goes on from its checkpoint.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from coldtheory.ground.errors import ColdError

from .cell import Cell, Outcome
from .index import write_failure
from .worker import run_cell

if TYPE_CHECKING:
    from .engines import Engine

_LOOK_EVERY = 0.5


class Requeued:
    """`run_cell`, and what submitit calls when a job is preempted: the same again, later."""

    def __call__(self, cell: Cell) -> Outcome:
        return run_cell(cell)

    def checkpoint(self, cell: Cell) -> Any:
        from submitit.helpers import DelayedSubmission  # noqa: PLC0415

        return DelayedSubmission(self, cell)


def outcomes(cells: Sequence[Cell], engine: Engine) -> Iterator[Outcome]:
    try:
        import submitit  # noqa: PLC0415  (an extra)
    except ImportError:
        raise ColdError("--engine slurm needs submitit: pip install 'cold-continual[slurm]'") from None
    options = {"timeout_min": 240, "name": "cold", **engine.options}
    cluster = options.pop("cluster", "slurm")
    if engine.threads is not None:
        options.setdefault("cpus_per_task", engine.threads)
    if cluster == "slurm":
        options.setdefault("slurm_array_parallelism", engine.jobs if engine.jobs > 0 else 256)
        if engine.gpu is not None:
            options.setdefault("gpus_per_node", 1)  # a batch system deals whole GPUs
    try:
        executor = submitit.AutoExecutor(folder=cells[0].out / "slurm", cluster=cluster)
        executor.update_parameters(**options)
        waiting = dict(zip(executor.map_array(Requeued(), cells), cells, strict=True))
    except (RuntimeError, ValueError, NameError, OSError, submitit.core.utils.FailedJobError) as error:
        raise ColdError(f"jobs cannot be submitted to {cluster}: {' '.join(str(error).split())}") from None
    while waiting:
        ended = [job for job in waiting if job.done()]
        for job in ended:
            yield _outcome(job, waiting.pop(job))
        if not ended:
            time.sleep(_LOOK_EVERY)


def _outcome(job: Any, cell: Cell) -> Outcome:
    error = job.exception()
    if error is None:
        outcome: Outcome = job.result()
        return outcome
    line = f"job {job.job_id} was lost: {str(error).strip().splitlines()[0]}"
    return Outcome(cell.run_id, "failed", line, lasting=write_failure(cell.folder, cell.config, line, str(error)))
