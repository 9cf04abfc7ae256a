"""One function on many jobs, by the engine of the user's choice; results come as they are ready."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, Literal, TypeVar, get_args

import joblib

from .errors import ColdError, unknown_name

Engine = Literal["loky", "dask", "serial"]
Job = TypeVar("Job")
Result = TypeVar("Result")


def run_jobs(
    function: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    engine: Engine = "loky",
    n_jobs: int = -1,
    scheduler: str | None = None,
) -> Iterator[Result]:
    """`function` of every job, in the order in which they end. What a job is never depends on the engine."""
    if engine not in get_args(Engine):
        raise unknown_name("engine", engine, get_args(Engine))
    if n_jobs == 0:
        raise ColdError("jobs must be a positive number, or -1 for all cores")
    if scheduler is not None and engine != "dask":
        raise ColdError("--scheduler goes with --engine dask")
    if engine == "serial" or (engine == "loky" and (n_jobs == 1 or len(jobs) <= 1)):
        yield from map(function, jobs)
        return
    with ExitStack() as stack:
        if engine == "dask":
            stack.enter_context(dask_client(scheduler, n_jobs))
            stack.enter_context(joblib.parallel_config(backend="dask"))
            pool = joblib.Parallel(return_as="generator_unordered")
        else:
            pool = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        yield from pool(joblib.delayed(function)(job) for job in jobs)


def dask_client(scheduler: str | None, n_jobs: int) -> Any:
    """A client of a running scheduler, or of a small cluster on this machine."""
    try:
        from distributed import Client  # noqa: PLC0415  (an extra, and slow to import)
    except ImportError:
        raise ColdError("--engine dask needs dask: pip install 'cold-continual[dask]'") from None
    if scheduler is None:
        workers = joblib.cpu_count() if n_jobs < 0 else n_jobs
        # a cluster that the client starts itself ends with the client; any free port, for another may run already
        return Client(n_workers=workers, threads_per_worker=1, dashboard_address=":0")  # type: ignore[no-untyped-call]
    try:
        return Client(scheduler, timeout="10s")  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError) as error:
        raise ColdError(f"no dask scheduler answers at {scheduler}: {error}") from None
