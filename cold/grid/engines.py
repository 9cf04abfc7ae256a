"""Engines: from cells to outcomes, one each, in the order in which they end. What a cell is never depends on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import joblib

from coldtheory.ground.errors import ColdError, unknown_name

from .cell import Cell, Outcome
from .gpus import places
from .worker import run_cell

ENGINES = ("serial", "loky", "dask", "slurm")
Run = Callable[[Sequence[Cell], "Engine"], Iterator[Outcome]]


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
        """Runs at a time on this machine."""
        if self.kind == "serial":
            return 1
        if self.jobs > 0:
            return self.jobs
        return joblib.cpu_count() if self.gpu is None else max(1, _gpus() * places(self.gpu))

    @property
    def threads_each(self) -> int | None:
        """Of each run; None where the worker's machine is not this one."""
        if self.threads is not None or self.kind == "slurm" or self.scheduler is not None:
            return self.threads
        cores: int = joblib.cpu_count()
        return max(1, cores // self.workers)

    def outcomes(self, cells: Sequence[Cell]) -> Iterator[Outcome]:
        if self.kind == "serial":
            return map(run_cell, cells)
        run: Run = import_module(f".on_{self.kind}", __package__).outcomes
        return run(cells, self)


def _gpus() -> int:
    import torch  # noqa: PLC0415  (only where GPUs are asked for)

    return torch.cuda.device_count()
