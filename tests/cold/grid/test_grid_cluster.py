"""A dask cluster of two worker processes, and a batch system in small."""

from __future__ import annotations

import logging
import sys

import pytest

from cold.grid import Engine, fill
from coldtheory.ground.errors import ColdError
from tests.cold.grid.grid_cells import cells, rows, troubled

pytestmark = pytest.mark.slow


@pytest.fixture
def cluster():
    distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
        resources={"gpu": 0.5},
    ) as running:
        yield running


def test_two_dask_workers_give_the_rows_of_one_process_even_if_one_is_killed(cluster, tmp_path):
    unlucky = troubled(tmp_path / "order", "kill once")
    wanted = [*cells(0, 1), unlucky, *cells(2, 3)]
    engine = Engine("dask", scheduler=cluster.scheduler_address)
    report = fill(wanted, tmp_path / "dask", engine=engine)
    assert not (tmp_path / "order").exists()  # the worker was killed indeed
    assert report.complete
    alone = fill(wanted, tmp_path / "serial", engine=Engine("serial"))
    assert rows(report.folders.values()) == rows(alone.folders.values())
    bad = troubled(tmp_path / "order", "raise", seed=1)
    half = Engine("dask", scheduler=cluster.scheduler_address, gpu=0.5)  # on a machine without GPUs, a share of none
    report = fill([*cells(4), bad], tmp_path / "dask", engine=half)
    assert list(report.failed) == [bad.run_id]
    assert len(report.done) == 1
    whole = Engine("dask", scheduler=cluster.scheduler_address, gpu=1.0)
    with pytest.raises(ColdError, match="no worker offers a GPU share of 1"):
        fill(cells(5), tmp_path / "dask", engine=whole)


def test_jobs_of_a_batch_system(tmp_path):
    """submitit's local executor: processes on this machine instead of a queue."""
    pytest.importorskip("submitit", reason="needs the extra 'slurm'")
    bad = troubled(tmp_path / "order", "raise")
    engine = Engine("slurm", threads=1, options={"cluster": "local", "timeout_min": 5})
    report = fill([*cells(0), bad], tmp_path / "slurm", engine=engine)
    alone = fill(cells(0), tmp_path / "serial", engine=Engine("serial"))
    assert rows(report.folders.values()) == rows(alone.folders.values())
    assert report.failed == {bad.run_id: "RuntimeError: told to fail"}


def test_without_submitit(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(ColdError, match=r"pip install 'cold-continual\[slurm\]'"):
        fill(cells(0), tmp_path, engine=Engine("slurm"))
