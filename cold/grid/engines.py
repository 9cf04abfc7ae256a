"""Engines turn cells into outcomes, one each, in the order in which they end. Cells do not depend on the engine."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from coldtheory.ground.engines import LOST, cores, dask_client, run_on_processes
from coldtheory.ground.errors import ColdError, unknown_name

from .cells import CellOutcome, GridCell, write_failure
from .worker import places, run_cell

ENGINES = ("serial", "loky", "dask", "slurm")
_LOOK_EVERY = 0.5  # seconds between two looks at the jobs of a batch system


@dataclass(frozen=True)
class Engine:
    """Where cells run.

    kind       serial: in this process; loky: in processes of this machine; dask: on the workers of a scheduler, or of
               a small cluster on this machine; slurm: jobs of a batch system, through submitit
    jobs       runs at a time (loky, dask without scheduler, slurm's array); -1: as many as cores, or as GPUs take
    scheduler  address of a dask scheduler
    threads    of torch and BLAS in each run; None: the cores divided by the jobs on this machine. Sums of floats may
               differ in the last bit between numbers of threads, so rows are equal where this or config.threads is
    gpu        the share of a GPU that a run takes, 1 or less; None: no GPUs are assigned. loky and a local dask
               cluster spread their processes over the visible GPUs. With --scheduler a worker process serves one run
               at a time and offers its share as a resource, two to a GPU for instance by

                   CUDA_VISIBLE_DEVICES=0 dask worker ADDRESS --nworkers 2 --nthreads 1 --resources "gpu=0.5"
    options    slurm: parameters of submitit's executor, e.g. {"timeout_min": 60, "slurm_partition": "gpu"}; "cluster"
               may be "local" to try it without a batch system
    """

    kind: str = "loky"
    jobs: int = -1
    scheduler: str | None = None
    threads: int | None = None
    gpu: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in ENGINES:
            raise unknown_name("engine", self.kind, ENGINES)
        if self.jobs == 0 or self.jobs < -1:
            raise ColdError("jobs must be a positive number, or -1 for all cores")
        if self.scheduler is not None and self.kind != "dask":
            raise ColdError("--scheduler goes with --engine dask")
        if self.threads is not None and self.threads < 1:
            raise ColdError(f"threads must be at least 1, got {self.threads}")
        if self.gpu is not None:
            places(self.gpu)

    @property
    def workers(self) -> int:
        """The number of runs at a time on this machine."""
        if self.kind == "serial":
            return 1
        if self.jobs > 0:
            return self.jobs
        return cores() if self.gpu is None else max(1, _gpus() * places(self.gpu))

    @property
    def threads_each(self) -> int | None:
        """The threads of each run; None if the workers may be on other machines."""
        if self.threads is not None or self.kind == "slurm" or self.scheduler is not None:
            return self.threads
        return max(1, cores() // self.workers)

    def outcomes(self, cells: Sequence[GridCell]) -> Iterator[CellOutcome]:
        """Yield one outcome per cell, in the order in which they end."""
        if self.kind == "serial":
            return map(run_cell, cells)
        return {"loky": _on_loky, "dask": _on_dask, "slurm": _on_slurm}[self.kind](cells, self)


def _gpus() -> int:
    import torch  # noqa: PLC0415  (only where GPUs are asked for)

    return torch.cuda.device_count()


# ------------------------------------------------------------------------------------------------ loky


def _on_loky(cells: Sequence[GridCell], engine: Engine) -> Iterator[CellOutcome]:
    """Run cells in processes of this machine. If its process dies twice, a cell has failed."""
    lost: list[GridCell] = []
    yield from run_on_processes(
        run_cell, cells, workers=engine.workers, threads=engine.threads_each, lost=lost, keep_workers=False
    )
    for cell in lost:
        lasting = write_failure(cell.folder, cell.config, LOST, "")
        yield CellOutcome(cell.run_id, "failed", LOST, lasting=lasting)


# ------------------------------------------------------------------------------------------------ dask


def _on_dask(cells: Sequence[GridCell], engine: Engine) -> Iterator[CellOutcome]:
    """Run cells on the workers of a dask scheduler, here or on other machines.

    The scheduler gives the cell of a lost worker to another one, where it goes on from its checkpoint if the disk is
    shared. Results come back through the scheduler as well, so that the disk need not be.
    """
    with dask_client(engine.scheduler, engine.workers) as client:
        distributed = import_module("distributed")  # an extra; dask_client says how to get it

        resources = {"gpu": engine.gpu} if engine.gpu is not None and engine.scheduler is not None else None
        if resources is not None:
            _check_offer(client.scheduler_info(n_workers=-1)["workers"].values(), resources["gpu"])
        futures: dict[Any, GridCell] = {
            client.submit(run_cell, cell, key=f"{cell.run_id}-{number}", pure=False, resources=resources): cell
            for number, cell in enumerate(cells)
        }
        for future in distributed.as_completed(list(futures)):
            cell, error = futures.pop(future), future.exception()
            if error is None:
                yield future.result()
            else:  # errors of the cell itself are outcomes, so this is one of dask
                line = f"no worker could finish it: {' '.join(str(error).split())}"
                lasting = write_failure(cell.folder, cell.config, line, "")
                yield CellOutcome(cell.run_id, "failed", line, lasting=lasting)


def _check_offer(workers: Iterable[Mapping[str, Any]], share: float) -> None:
    """Raise if no worker offers enough, since the cells would wait for ever."""
    offers = [float(worker.get("resources", {}).get("gpu", 0.0)) for worker in workers]
    if offers and max(offers) < share:
        raise ColdError(
            f"no worker offers a GPU share of {share:g}; start workers with --resources 'gpu={share:g}', or give a "
            "smaller --gpu"
        )


# ------------------------------------------------------------------------------------------------ slurm


class Requeued:
    """Call `run_cell`; when a job is preempted, submitit asks for the same call again, later."""

    def __call__(self, cell: GridCell) -> CellOutcome:
        return run_cell(cell)

    def checkpoint(self, cell: GridCell) -> Any:
        """What submitit calls when the job is preempted: the same cell, submitted again."""
        from submitit.helpers import DelayedSubmission  # noqa: PLC0415

        return DelayedSubmission(self, cell)


def _on_slurm(cells: Sequence[GridCell], engine: Engine) -> Iterator[CellOutcome]:
    """Jobs of a batch system through submitit, one per cell, on a disk that all machines share.

    A job that reaches its time limit is queued again and goes on from its checkpoint.
    """
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
            options.setdefault("gpus_per_node", 1)  # a batch system assigns whole GPUs
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


def _outcome(job: Any, cell: GridCell) -> CellOutcome:
    error = job.exception()
    if error is None:
        outcome: CellOutcome = job.result()
        return outcome
    line = f"job {job.job_id} was lost: {str(error).strip().splitlines()[0]}"
    return CellOutcome(cell.run_id, "failed", line, lasting=write_failure(cell.folder, cell.config, line, str(error)))
