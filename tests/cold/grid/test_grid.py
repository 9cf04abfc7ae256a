"""A list of cells on one machine: each once, the same rows on every engine, and nothing lost when something breaks."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys

import pytest

from cold.checkpoint import checkpoints
from cold.grid import Engine, failures, fill
from cold.grid.cells import ERROR
from cold.grid.worker import _held, take_gpu
from cold.runs import MODEL, RESULT, find_runs, only_writer
from cold.trainer import Trainer
from coldtheory.ground.engines import LOST
from coldtheory.ground.errors import ColdError
from tests.cold.grid.grid_cells import cells, rows, troubled

SERIAL, PAIR = Engine("serial"), Engine("loky", jobs=2)


def test_each_cell_once_and_what_is_finished_is_reused(tmp_path):
    events = []
    first = fill([*cells(0, 1), *cells(0)], tmp_path / "a", engine=SERIAL, weights=False)
    assert (len(first.done), first.reused, first.complete) == (2, (), True)
    assert not list(tmp_path.rglob(MODEL))
    report = fill(cells(0, 1, 2), tmp_path / "b", engine=SERIAL, roots=[tmp_path], on_event=events.append)
    assert report.reused == first.done
    assert [event.state for event in events] == ["reused", "reused", "done"]
    assert (events[-1].done, events[-1].total) == (3, 3)
    assert [folder.parent.name for folder in report.folders.values()] == ["a", "a", "b"]
    assert {run_id: run.folder for run_id, run in find_runs(tmp_path).items()} == report.folders
    assert (tmp_path / "b" / report.done[0] / MODEL).is_file()


def test_a_cell_without_a_number_of_tasks_has_the_name_that_the_trainer_gives_it(tmp_path):
    report = fill(cells(0, tasks=None), tmp_path, engine=SERIAL)
    assert list(report.done) == [path.name for path in tmp_path.iterdir()]
    assert fill(cells(0, tasks=2), tmp_path, engine=SERIAL).reused == report.done


def test_damaged_results_are_made_anew(tmp_path):
    (run_id,) = fill(cells(0), tmp_path, engine=SERIAL).done
    path = tmp_path / run_id / RESULT
    good = rows([path.parent])
    path.write_text(path.read_text()[:-20])
    assert not find_runs(tmp_path)
    assert fill(cells(0), tmp_path, engine=SERIAL).done == (run_id,)
    assert rows([path.parent]) == good


def test_a_failed_cell_is_kept_apart_listed_and_retried_on_request(tmp_path):
    order = tmp_path / "order"
    bad, out = troubled(order, "raise"), tmp_path / "runs"
    wanted = [*cells(0), bad, *cells(1)]
    report = fill(wanted, out, engine=SERIAL)
    assert len(report.done) == 2
    assert report.failed == {bad.run_id: "RuntimeError: told to fail"}
    about = json.loads((out / bad.run_id / ERROR).read_text())
    assert about["config"] == bad.as_dict()
    assert "begin_task" in about["traceback"]
    assert about["provenance"]["python"]
    order.unlink()  # mended, but nobody asked for another try
    again = fill(wanted, out, engine=SERIAL)
    assert again.failed == report.failed == failures(out)
    assert not again.complete
    events = []
    mended = fill(wanted, out, engine=SERIAL, retry_failed=True, on_event=events.append)
    assert mended.done == (bad.run_id,)
    assert mended.complete
    assert not (out / bad.run_id / ERROR).exists()
    plain = fill([troubled(order, None)], tmp_path / "plain", engine=SERIAL)
    assert rows(mended.folders.values())[bad.run_id] == rows(plain.folders.values())[bad.run_id]


def test_a_damaged_checkpoint_does_not_stop_a_retry(tmp_path):
    bad = troubled(tmp_path / "order", "raise")
    fill([bad], tmp_path / "runs", engine=SERIAL)
    kept = checkpoints(tmp_path / "runs" / bad.run_id)
    assert kept
    for path in kept:
        path.write_bytes(b"no checkpoint")
    (tmp_path / "order").unlink()
    assert fill([bad], tmp_path / "runs", engine=SERIAL, retry_failed=True).done == (bad.run_id,)


def test_a_cell_that_fails_after_its_checkpoint_was_read_names_the_remedy_of_a_grid(tmp_path, monkeypatch):
    bad, out = troubled(tmp_path / "order", "raise"), tmp_path / "runs"
    fill([bad], out, engine=SERIAL)
    (tmp_path / "order").unlink()
    (out / bad.run_id / ERROR).unlink()
    real = Trainer._run_task

    def fails_once_resumed(self):
        if self.resumed:
            raise RuntimeError("sizes do not fit")
        real(self)

    monkeypatch.setattr(Trainer, "_run_task", fails_once_resumed)
    (line,) = fill([bad], out, engine=SERIAL).failed.values()
    assert "cannot go on from the checkpoint" in line
    assert line.endswith("(RuntimeError: sizes do not fit); start over with --retry-failed")
    assert fill([bad], out, engine=SERIAL, retry_failed=True).done == (bad.run_id,)


def test_a_full_disk_leaves_the_other_rows_and_needs_no_request(tmp_path, monkeypatch):
    unlucky, count = cells(1)[0].run_id, []
    real = os.replace

    def full(source, target):
        if unlucky in str(target):
            count.append(target)
            raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", full)
    report = fill(cells(0, 1, 2), tmp_path, engine=SERIAL)
    assert len(report.done) == 2
    assert "No space left" in report.failed[unlucky]
    assert count
    monkeypatch.undo()
    assert not list(tmp_path.glob(f"{unlucky}/.*json*"))
    assert fill(cells(0, 1, 2), tmp_path, engine=SERIAL).done == (unlucky,)


def test_a_results_folder_that_is_deleted_between_cells_is_filled_again(tmp_path):
    out, events = tmp_path / "runs", []

    def delete(event):
        events.append(event.state)
        if len(events) == 2:
            shutil.rmtree(out)

    assert len(fill(cells(0, 1, 2), out, engine=SERIAL, on_event=delete).done) == 3
    assert len(find_runs(out)) == 1
    again = fill(cells(0, 1, 2), out, engine=SERIAL)
    assert (len(again.done), len(again.reused)) == (2, 1)
    plain = fill(cells(0, 1, 2), tmp_path / "plain", engine=SERIAL)
    assert rows(again.folders.values()) == rows(plain.folders.values())
    assert not list(out.rglob(".lock"))


def test_a_cell_that_another_program_runs_is_left_to_it(tmp_path):
    (config,) = cells(0)
    with only_writer(tmp_path / config.run_id):
        report = fill(cells(0, 1), tmp_path, engine=SERIAL)
    assert report.busy == (config.run_id,)
    assert len(report.done) == 1
    assert not report.complete


@pytest.mark.slow
def test_lost_workers_of_loky(tmp_path):
    """One worker is killed once: its cell goes on. Another cell kills every worker: it fails, alone."""
    once, always = tmp_path / "once", tmp_path / "always"
    unlucky, deadly = troubled(once, "kill once"), troubled(always, "kill", seed=1)
    wanted = [*cells(0, 1), unlucky, deadly, *cells(2, 3)]
    report = fill(wanted, tmp_path / "runs", engine=PAIR)
    assert report.failed == {deadly.run_id: LOST} == failures(tmp_path / "runs")
    assert len({*report.done, *report.reused}) == 5  # one that had ended when the pool broke is found finished
    always.unlink()
    alone = fill(wanted, tmp_path / "alone", engine=SERIAL)
    mended = fill(wanted, tmp_path / "runs", engine=SERIAL, retry_failed=True)
    assert mended.done == (deadly.run_id,)
    assert rows(mended.folders.values()) == rows(alone.folders.values())


@pytest.mark.slow
def test_a_killed_driver_loses_nothing(tmp_path):
    order = tmp_path / "order"
    wanted = [*cells(0), troubled(order, "kill"), *cells(1)]
    code = (
        "import sys; from pathlib import Path\n"
        "from tests.cold.grid.grid_cells import cells, troubled\n"
        "from cold.grid import Engine, fill\n"
        "fill([*cells(0), troubled(Path(sys.argv[1]), None), *cells(1)], Path(sys.argv[2]), engine=Engine('serial'))\n"
    )
    words = [sys.executable, "-c", code, str(order), str(tmp_path / "runs")]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob(RESULT)}
    assert len(before) == 1
    order.unlink()
    report = fill(wanted, tmp_path / "runs", engine=SERIAL)
    assert (len(report.reused), len(report.done), report.complete) == (1, 2, True)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_workers_spread_over_gpus_and_share_them(tmp_path):
    """Places are locks: with two runs a GPU, four processes find a place on two GPUs and a fifth finds none."""
    assert take_gpu(0.5, 0, tmp_path) == "cpu"
    taken = []
    try:
        locks = []
        for _ in range(4):
            taken.append(take_gpu(0.5, 2, tmp_path))
            assert take_gpu(0.5, 2, tmp_path) == taken[-1]  # a process keeps its place
            locks.append(_held.pop(taken[-1]))  # as if the next process asked
        assert taken == ["cuda:0", "cuda:1", "cuda:0", "cuda:1"]
        with pytest.raises(ColdError, match="all 2 GPUs have 2 runs each"):
            take_gpu(0.5, 2, tmp_path)
    finally:
        _held.clear()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"kind": "lokky"}, "did you mean loky"),
        ({"jobs": 0}, "jobs must be"),
        ({"scheduler": "tcp://127.0.0.1:1"}, "goes with --engine dask"),
        ({"gpu": 1.5}, "share of a GPU"),
        ({"threads": 0}, "at least 1"),
    ],
)
def test_engines_are_checked(wrong, words):
    with pytest.raises(ColdError, match=words):
        Engine(**wrong)


def test_threads_are_shared_out(monkeypatch):
    monkeypatch.setattr("joblib.cpu_count", lambda: 8)
    assert Engine("loky", jobs=4).threads_each == 2
    assert Engine("serial").threads_each == 8
    assert Engine("loky").workers == 8
    assert Engine("dask", scheduler="tcp://somewhere:8786").threads_each is None
