"""Run one function on many jobs with the engine that the user chooses; results come as soon as they are ready.

joblib is slow to load, and is loaded where a pool is about to start.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from .errors import ColdError, unknown_name

Engine = Literal["loky", "dask", "serial"]
Job = TypeVar("Job")
Result = TypeVar("Result")
_Numbered = Mapping[int, Job]  # jobs by number; the number also names the mark of a job

LOST = "the worker process was lost twice (killed, or out of memory?)"
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_NAMED_AT_MOST = 3  # lost jobs that a message names


def run_jobs(
    function: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    engine: Engine = "loky",
    n_jobs: int = -1,
    scheduler: str | None = None,
) -> Iterator[Result]:
    """Yield `function(job)` for every job, in the order in which the jobs end. Jobs do not depend on the engine.

    With loky, a job whose process dies twice is left out while all others go on; at the end a `ColdError` names it
    by its `str`.
    """
    if engine not in get_args(Engine):
        raise unknown_name("engine", engine, get_args(Engine))
    if n_jobs == 0:
        raise ColdError("jobs must be a positive number, or -1 for all cores")
    if scheduler is not None and engine != "dask":
        raise ColdError("--scheduler goes with --engine dask")
    if engine == "serial" or (engine == "loky" and (n_jobs == 1 or len(jobs) <= 1)):
        yield from map(function, jobs)
    elif engine == "loky":
        import joblib  # noqa: PLC0415

        lost: list[Job] = []
        workers = joblib.effective_n_jobs(n_jobs)
        yield from run_on_processes(function, jobs, workers=workers, threads=cores() // workers, lost=lost)
        if lost:
            names = "; ".join(str(job) for job in lost[:_NAMED_AT_MOST])
            more = f" and {len(lost) - _NAMED_AT_MOST} more" if len(lost) > _NAMED_AT_MOST else ""
            raise ColdError(f"{LOST} by: {names}{more}; everything else is done, so try again with --jobs 1")
    else:
        import joblib  # noqa: PLC0415

        with ExitStack() as stack:
            stack.enter_context(dask_client(scheduler, n_jobs))
            stack.enter_context(joblib.parallel_config(backend="dask"))
            pool = joblib.Parallel(return_as="generator_unordered")
            yield from pool(joblib.delayed(function)(job) for job in jobs)


def run_on_processes(
    function: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    workers: int,
    threads: int | None,
    lost: list[Job],
    keep_workers: bool = True,
) -> Iterator[Result]:
    """Yield results of `function` from processes of this machine. If a process dies, no other job is lost.

    When a worker dies (out of memory, killed), loky stops the whole pool. Jobs that had not begun go to a new pool. One
    of those that had begun may have killed its worker, so they run again at the end, one at a time, and one whose
    process dies a second time is put into `lost`.

    threads       of linear algebra per worker; None: not set
    keep_workers  from call to call; processes that hold much, such as a GPU, should begin and end with one call
    """
    limits = {} if threads is None else dict.fromkeys(_THREAD_VARIABLES, str(max(1, threads)))
    waiting = dict(enumerate(jobs))
    suspects: dict[int, Job] = {}
    with tempfile.TemporaryDirectory(prefix="cold-jobs-", ignore_cleanup_errors=True) as marks:
        work = _Marked(function, Path(marks))
        while waiting:
            broken: dict[int, Job] = {}
            yield from _pool(work, waiting, min(workers, len(waiting)), limits, broken, keep_workers)
            begun, waiting = work.parted(broken)
            suspects |= begun
        while suspects:
            broken = {}
            yield from _pool(work, suspects, 1, limits, broken, keep_workers)
            guilty, suspects = work.parted(broken)
            lost.extend(guilty.values())


class _Marked:
    """A function that leaves a mark while it works on a job; the mark stays if the process dies."""

    def __init__(self, function: Callable[[Any], Any], marks: Path) -> None:
        self.function, self.marks = function, marks

    def __call__(self, number: int, job: Any) -> Any:
        mark = self.marks / str(number)
        mark.touch()
        try:
            return self.function(job)
        finally:
            mark.unlink(missing_ok=True)

    def parted(self, broken: _Numbered[Job]) -> tuple[dict[int, Job], dict[int, Job]]:
        """Jobs of a broken pool that had begun, and the others.

        A pool that breaks before any of them begins would do so for ever: then all count as begun.
        """
        begun = {int(name) for name in os.listdir(self.marks)}
        for number in begun:
            (self.marks / str(number)).unlink(missing_ok=True)
        begun = begun & broken.keys() or set(broken)
        return (
            {number: job for number, job in broken.items() if number in begun},
            {number: job for number, job in broken.items() if number not in begun},
        )


def _pool(
    work: _Marked, jobs: _Numbered[Job], workers: int, limits: dict[str, str], broken: dict[int, Job], keep: bool
) -> Iterator[Any]:
    """Yield results of the jobs; those that a broken pool did not reach are put into `broken`."""
    from joblib.externals.loky import BrokenProcessPool, as_completed, get_reusable_executor  # noqa: PLC0415

    pool = get_reusable_executor(max_workers=workers, env=limits, timeout=300, reuse="auto" if keep else False)
    try:
        futures = {}
        for number, job in jobs.items():
            try:
                futures[pool.submit(work, number, job)] = number
            except BrokenProcessPool:
                broken[number] = job
        for future in as_completed(list(futures)):
            number = futures.pop(future)  # so that results are not kept after they are handed on
            try:
                result = future.result()
            except BrokenProcessPool:
                broken[number] = jobs[number]
            else:
                yield result
    except BaseException:  # Ctrl-C, a failed job, or a caller that stops reading
        pool.shutdown(kill_workers=True)
        raise
    if (
        broken or not keep
    ):  # processes of a broken pool may still be working: they must end before their jobs start again
        pool.shutdown(kill_workers=bool(broken))


def cores() -> int:
    """The number of processors that this program may use."""
    import joblib  # noqa: PLC0415

    return int(joblib.cpu_count())


def dask_client(scheduler: str | None, n_jobs: int) -> Any:
    """Return a client of a running scheduler, or of a small cluster on this machine."""
    try:
        from distributed import Client  # noqa: PLC0415  (an extra, and slow to import)
    except ImportError:
        raise ColdError("--engine dask needs dask: pip install 'cold-continual[dask]'") from None
    if scheduler is None:
        workers = cores() if n_jobs < 0 else n_jobs
        # a cluster that the client starts ends with the client; port 0 is any free one, as another may be in use
        return Client(n_workers=workers, threads_per_worker=1, dashboard_address=":0")  # type: ignore[no-untyped-call]
    try:
        return Client(scheduler, timeout="10s")  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError) as error:
        raise ColdError(
            f"no dask scheduler answers at {scheduler}: {error}; start one, or leave --scheduler out"
        ) from None
