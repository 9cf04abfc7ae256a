"""What is read back is never executed and never becomes a path, and other data are never taken for the same ones.

These tests use the commands alone: each of them failed before it was mended.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from cold.cli.app import app
from cold.cli.run import _StopRequest
from cold.methods.cold import Cold

SMALL = (
    "--epochs", "1", "--batch-size", "10", "--memory", "10", "--threads", "1", "--limit-train", "20",
    "--limit-test", "10", "--model", "mlp-4",
)  # fmt: skip


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLD_CACHE", str(tmp_path / "cache"))


def call(*words, code=0):
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, (done.output, done.exception)
    return done


def trained():
    """The folder of a small finished run."""
    call("run", "--dataset", "synthetic", "--tasks", "2", *SMALL, "--out", "runs")
    (path,) = Path("runs").rglob("result.json")
    return path.parent


def images(root, *, seed, classes=("a", "b", "c", "d")):
    """A folder of small images."""
    rng = np.random.default_rng(seed)
    for part in ("train", "test"):
        for kind in classes:
            for number in range(6):
                path = root / part / kind / f"{number}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(rng.integers(0, 256, (8, 8, 3)).astype(np.uint8)).save(path)


def idx(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    head = bytes([0, 0, 8, array.ndim]) + b"".join(length.to_bytes(4, "big") for length in array.shape)
    path.write_bytes(head + array.astype(np.uint8).tobytes())


def mnist(root, *, seed):
    rng = np.random.default_rng(seed)
    for part, count in (("train", 40), ("t10k", 20)):
        idx(root / "mnist" / f"{part}-images-idx3-ubyte", rng.integers(0, 256, (count, 28, 28)))
        idx(root / "mnist" / f"{part}-labels-idx1-ubyte", np.arange(count) % 10)


# ------------------------------------------------------------------------------------------------------- critical


@pytest.mark.parametrize("named", ["{file}", "{file}:Evil"])
def test_eval_runs_no_file_that_a_result_names(named, tmp_path):
    folder = trained()
    evil, mark = tmp_path / "evil.py", tmp_path / "executed"
    evil.write_text(f"import pathlib\npathlib.Path({str(mark)!r}).touch()\n")
    content = json.loads((folder / "result.json").read_text())
    content["config"]["method"] = named.format(file=evil)
    (folder / "result.json").write_text(json.dumps(content))
    done = CliRunner().invoke(app, ["eval", str(folder)])
    assert not mark.exists()
    assert done.exit_code == 2
    assert "--method FILE.py" in done.stderr


@pytest.mark.parametrize("name", ["../../escaped", "../escaped", "/tmp/../{tmp}/escaped", "a/../../../escaped"])
def test_merge_writes_nothing_outside(name, tmp_path):
    folder = trained()
    content = json.loads((folder / "result.json").read_text())
    content["run_id"] = name.format(tmp=str(tmp_path).lstrip("/"))
    (folder / "result.json").write_text(json.dumps(content))
    before = set(tmp_path.rglob("*"))
    CliRunner().invoke(app, ["study", "merge", "runs", "--out", "deep/down/out"])
    new = {path for path in set(tmp_path.rglob("*")) - before if path.is_file()}
    assert [path for path in new if not path.is_relative_to(tmp_path / "deep" / "down" / "out")] == []
    assert not (tmp_path.parent / "escaped").exists()


# ------------------------------------------------------------------------------------------------------- high


def test_a_result_of_other_data_is_not_given_for_these(tmp_path):
    mnist(tmp_path / "one", seed=1)
    mnist(tmp_path / "two", seed=2)
    run = ("run", "--dataset", "split-mnist", *SMALL, "--tasks", "5", "--out", "runs")
    call(*run, "--data-root", "one")
    done = call(*run, "--resume", "--data-root", "two", code=2)
    assert "other data" in done.stderr
    call(*run, "--resume", "--data-root", "one")


def test_a_checkpoint_of_other_data_is_refused(tmp_path, monkeypatch):
    mnist(tmp_path / "one", seed=1)
    mnist(tmp_path / "two", seed=2)
    run = ("run", "--dataset", "split-mnist", *SMALL, "--tasks", "5", "--out", "runs")

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:  # after the first task, whose state is saved
        patch.setattr("cold.methods.cold.Cold.begin_task", _after_the_first(stop))
        CliRunner().invoke(app, [*run, "--data-root", "one"])
    assert list(tmp_path.glob("runs/*/checkpoint-*.pt"))
    assert "other data" in call(*run, "--resume", "--data-root", "two", code=2).stderr
    call(*run, "--resume", "--data-root", "one")


def _after_the_first(stop):
    whole = Cold.begin_task
    return lambda self, task, train: stop() if task else whole(self, task, train)


def test_eval_refuses_other_data(tmp_path):
    mnist(tmp_path / "one", seed=1)
    mnist(tmp_path / "two", seed=2)
    call("run", "--dataset", "split-mnist", *SMALL, "--tasks", "5", "--out", "runs", "--data-root", "one")
    (folder,) = (path.parent for path in tmp_path.glob("runs/*/result.json"))
    told = call("eval", str(folder), "--data-root", "two", code=2)
    assert told.stdout == ""
    (line,) = told.stderr.splitlines()
    assert "made from other data (fingerprint" in line
    assert "--data-root" in line
    assert "--fresh" not in line
    again = json.loads(call("eval", str(folder), "--data-root", "one", "--json").stdout)
    assert again["largest_difference"] == 0.0
    assert again["data"]["stored"] == again["data"]["here"]


STUDY = """
title = "Mine"
methods = ["er"]
field = "lr"
values = [0.1, 0.01]
[[cpu]]
dataset = "folder:{path}"
seeds = [0]
settings = {{ tasks = 2, epochs = 1, memory = 8, batch_size = 4, model = "mlp-4", threads = 1 }}
"""


def test_a_study_of_a_folder_of_images_works(tmp_path):
    images(tmp_path / "birds", seed=0)
    (tmp_path / "mine.toml").write_text(STUDY.format(path=tmp_path / "birds"))
    study = ("study", "run", "mine.toml", "--engine", "serial", "--out", "runs", "--json")
    first = json.loads(call(*study).stdout)
    assert len(first["done"]) == 2
    assert first["failed"] == {}
    again = json.loads(call(*study).stdout)
    assert sorted(again["reused"]) == sorted(first["done"])
    standing = json.loads(call("study", "status", "mine.toml", "--runs", "runs", "--json").stdout)
    assert len(standing[0]["finished"]) == 2


def test_a_study_does_not_reuse_runs_of_another_folder_of_the_same_name(tmp_path):
    for place, seed in (("one", 1), ("two", 2)):
        images(tmp_path / place / "birds", seed=seed)
        (tmp_path / f"{place}.toml").write_text(STUDY.format(path=tmp_path / place / "birds"))
    study = ("study", "run", "--engine", "serial", "--out", "runs", "--json")
    call(*study, "one.toml")
    other = json.loads(call(*study, "two.toml", code=1).stdout)
    assert other["reused"] == []
    assert all("other data" in why for why in other["failed"].values())


def test_a_retry_starts_over_where_the_checkpoint_is_of_other_data(tmp_path, monkeypatch):
    for place, seed in (("one", 1), ("two", 2)):
        images(tmp_path / place / "birds", seed=seed)
        (tmp_path / f"{place}.toml").write_text(STUDY.format(path=tmp_path / place / "birds"))
    study = ("study", "run", "--engine", "serial", "--out", "runs", "--json")

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:  # the first cell has a checkpoint, and no program knows of a failure
        patch.setattr("cold.methods.er.ER.begin_task", lambda self, task, train: stop() if task else None)
        CliRunner().invoke(app, [*study, "one.toml"])
    assert list(tmp_path.glob("runs/*/checkpoint-*.pt"))
    first = json.loads(call(*study, "two.toml", code=1).stdout)
    ((run_id, why),) = first["failed"].items()
    assert "made from other data" in why
    assert "start over with --retry-failed" in why
    assert "--fresh" not in why
    again = call(*study, "two.toml", "--retry-failed")
    assert json.loads(again.stdout)["done"] == [run_id]
    (note,) = [line for line in again.stderr.splitlines() if line.startswith("note: ")]
    assert "made from other data" in note
    assert note.endswith(f"{run_id} starts over")


# ------------------------------------------------------------------------------------------------------- signals


def test_a_hangup_saves(tmp_path):
    """As SIGTERM does."""
    words = ["run", "--dataset", "synthetic", "--tasks", "2", "--epochs", "100000", "--memory", "10", "--threads", "1"]
    code = "import sys; from cold.cli.app import app; app(sys.argv[1:])"
    with subprocess.Popen([sys.executable, "-c", code, *words, "--out", "runs"], stderr=subprocess.PIPE) as process:
        while not list(tmp_path.glob("runs/*/.lock")):  # from then on it listens
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGHUP)
        told = process.communicate(timeout=600)[1]  # only so that a run which does not stop is a failure
    assert process.returncode == 128 + signal.SIGHUP
    assert b"go on with --resume" in told
    assert len(list(tmp_path.glob("runs/*/checkpoint-*.pt"))) == 1


def test_an_ignored_hangup_stays_ignored():
    """Under nohup a run goes on."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with _StopRequest().listening():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        with _StopRequest().listening():
            assert callable(signal.getsignal(signal.SIGHUP))
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)
