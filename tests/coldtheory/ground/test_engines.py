"""One function on many jobs: a process that dies takes nothing with it."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from coldtheory import ColdError
from coldtheory.ground.engines import LOST, run_jobs, run_on_processes


def work(folder: Path, job: tuple[int, str]) -> int:
    """The square of the number, unless the job says to kill the process: always, or at the first time only."""
    number, what = job
    with (folder / f"{number}").open("a") as file:
        file.write(f"{os.getpid()}\n")
    begun = (folder / f"{number}").read_text().splitlines()
    if what == "kill" or (what == "kill once" and len(begun) == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "raise":
        raise ColdError("told to fail")
    return number**2


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_jobs_of_dead_workers_run_again_and_the_deadly_one_is_named(n_jobs, tmp_path):
    jobs = [(n, {4: "kill once", 7: "kill", 11: "kill once"}.get(n, "")) for n in range(16)]
    found = []
    with pytest.raises(ColdError, match=r"lost twice .* by: \(7, 'kill'\); everything else is done"):
        found.extend(run_jobs(partial(work, tmp_path), jobs, n_jobs=n_jobs))
    assert sorted(found) == [n**2 for n in range(16) if n != 7]
    began = {int(path.name): len(path.read_text().splitlines()) for path in tmp_path.iterdir()}
    assert (began[4], began[7], began[11]) == (2, 2, 2)
    again = [jobs[n] if n != 7 else (7, "") for n in range(16)]
    assert sorted(run_jobs(partial(work, tmp_path), again, n_jobs=n_jobs)) == [n**2 for n in range(16)]


def test_many_deadly_jobs_are_counted(tmp_path):
    jobs = [(n, "kill" if n % 2 else "") for n in range(10)]
    lost = []
    found = list(run_on_processes(partial(work, tmp_path), jobs, workers=2, threads=1, lost=lost, keep_workers=False))
    assert sorted(found) == [0, 4, 16, 36, 64]
    assert sorted(lost) == [job for job in jobs if job[1]]
    with pytest.raises(ColdError, match=r"and 2 more; everything else") as error:
        list(run_jobs(partial(work, tmp_path), jobs, n_jobs=2))
    assert str(error.value).startswith(LOST)


def test_an_error_of_a_job_is_no_lost_worker(tmp_path):
    with pytest.raises(ColdError, match=r"^told to fail$"):
        list(run_jobs(partial(work, tmp_path), [(n, "raise" if n == 3 else "") for n in range(6)], n_jobs=2))
    assert sorted(run_jobs(partial(work, tmp_path), [(n, "") for n in range(6)], n_jobs=2)) == [0, 1, 4, 9, 16, 25]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"engine": "lokky"}, "did you mean loky"),
        ({"n_jobs": 0}, "jobs must be"),
        ({"scheduler": "tcp://127.0.0.1:1"}, "goes with --engine dask"),
    ],
)
def test_engines_are_checked(wrong, words):
    with pytest.raises(ColdError, match=words):
        list(run_jobs(abs, [1, 2], **wrong))
