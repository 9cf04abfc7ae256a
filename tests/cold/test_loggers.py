"""Loggers with the real packages: what they write in one's own loop and in `cold run`, and that it stays here."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from cold import COLD, loggers
from cold.cli.app import app
from cold.loggers import LOGGERS, Logger, open_logger
from cold.runs import read_result
from coldtheory.ground.errors import ColdError

SETTINGS = [
    "run", "--dataset", "synthetic", "--method", "cold", "--tasks", "5", "--memory", "30", "--epochs", "1",
    "--limit-train", "120", "--limit-test", "40", "--batch-size", "20", "--device", "cpu", "--threads", "1",
]  # fmt: skip


def needs(package: str):
    return pytest.mark.skipif(
        find_spec(package) is None, reason=f"needs {package}: pip install 'cold-continual[{package}]'"
    )


def each(*more):
    return pytest.mark.parametrize("kind", [pytest.param(name, marks=[needs(name), *more]) for name in LOGGERS])


# ---------------------------------------------------------------------------------------------- reading it back


def written(kind: str, folder: Path) -> dict[str, dict[int, float]]:
    """Name -> step -> value, as each package reads its own files."""
    return {"tensorboard": _tensorboard, "wandb": _wandb, "mlflow": _mlflow}[kind](folder)


def _tensorboard(folder: Path) -> dict[str, dict[int, float]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: PLC0415

    found = EventAccumulator(str(folder / "tensorboard"))
    found.Reload()
    return {tag: {event.step: event.value for event in found.Scalars(tag)} for tag in found.Tags()["scalars"]}


def _wandb(folder: Path) -> dict[str, dict[int, float]]:
    import wandb  # noqa: PLC0415
    from wandb.proto import wandb_internal_pb2  # noqa: PLC0415

    wandb.teardown()  # its process writes the file, and may still be at it when a run has finished
    (file,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    found: dict[str, dict[int, float]] = {}
    for data in _log_records(file.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        values = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
        step = int(values.pop("_step", record.history.step.num))
        for name, value in values.items():
            if not name.startswith("_"):
                found.setdefault(name, {})[step] = value
    return found


def _log_records(data: bytes) -> Iterator[bytes]:
    """The records of a log in LevelDB's format behind W&B's seven bytes: blocks of 32 KiB, records in pieces."""
    at, parts = 7, b""
    while at + 7 <= len(data):
        left = 2**15 - at % 2**15
        if left < 7:
            at += left
            continue
        length, kind = struct.unpack("<HB", data[at + 4 : at + 7])
        parts += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # a whole record, or the last piece of one
            yield parts
            parts = b""


def _mlflow(folder: Path) -> dict[str, dict[int, float]]:
    import mlflow  # noqa: PLC0415

    client = mlflow.MlflowClient(tracking_uri=f"sqlite:///{folder / 'mlflow.db'}")
    (experiment,) = [e for e in client.search_experiments() if e.name == "cold"]
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    return {name: {m.step: m.value for m in client.get_metric_history(run.info.run_id, name)}
            for name in run.data.metrics}  # fmt: skip


@pytest.fixture
def no_network(monkeypatch):
    """Any attempt to reach another machine fails the test; sockets of this machine are W&B's own."""
    connect = socket.socket.connect

    def guarded(self, address):
        if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "localhost", "::1"):
            pytest.fail(f"a logger wants to reach {address}")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


# ---------------------------------------------------------------------------------------------- both ways to log


@each()
@pytest.mark.usefixtures("no_network")
def test_own_loop(kind, tmp_path):
    model = torch.nn.Linear(3, 2)
    generator = torch.Generator().manual_seed(0)
    with open_logger(kind, folder=tmp_path, name="mine", settings={"V": 2.0}, every=2) as logger:
        dpp = COLD(V=2.0, delta=0.0, memory=8, memory_batch=2, callbacks=[logger])
        for t in range(3):
            x = torch.randn(20, 3, generator=generator)
            y = torch.randint(2, (20,), generator=generator)
            dpp.begin_task(model, x, y)
            for _ in range(4):
                dpp.loss(model, x, y)
            dpp.end_task(model)
            logger.accuracies([0.5 + 0.1 * t] * (t + 1), dpp.steps)
    found, columns = written(kind, tmp_path), dpp.history.columns()
    assert set(found) == {
        "loss", "loss/present", "queue/task_1", "queue/task_2", "weight/task_1", "weight/task_2",
        "accuracy/task_1", "accuracy/task_2", "accuracy/task_3", "accuracy so far",
    }  # fmt: skip
    for name, column in (("loss", columns["loss"]), ("loss/present", columns["present"]),
                         ("queue/task_1", columns["Q"][:, 0]), ("weight/task_2", columns["weight"][:, 1])):  # fmt: skip
        wanted = {step: value for step, value in enumerate(column, 1) if step % 2 == 0 and not np.isnan(value)}
        assert found[name] == pytest.approx(wanted)
    assert found["accuracy/task_1"] == pytest.approx({4: 0.5, 8: 0.6, 12: 0.7})
    assert found["accuracy so far"] == pytest.approx({4: 50.0, 8: 60.0, 12: 70.0})


@each()
@pytest.mark.usefixtures("no_network")
def test_cold_run_logs_queues_losses_accuracies_and_weights(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, [*SETTINGS, "--out", "runs", "--log", kind])
    assert done.exit_code == 0, done.output + str(done.exception)
    (folder,) = (tmp_path / "runs").iterdir()
    found, arrays = written(kind, folder), read_result(folder).arrays
    assert found["queue/task_1"][30] == pytest.approx(arrays["queues"][-1][0], rel=1e-5)
    assert set(found["loss"]) == {6, 12, 18, 24, 30}  # the trainer looks at the end of every epoch
    for task in range(5):
        wanted = dict(zip((6, 12, 18, 24, 30), arrays["accuracy"][:, task].tolist(), strict=True))
        assert found[f"accuracy/task_{task + 1}"] == pytest.approx(wanted)
    assert found["weight/task_2"][30] == pytest.approx(arrays["queues"][-1][1], rel=1e-5)  # weights "sum"
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]  # nothing beside the folder of the run


# ---------------------------------------------------------------------------------------------- mistakes


def test_a_further_logger_is_one_method():
    class Printed(Logger):
        def __init__(self) -> None:
            super().__init__(every=1)
            self.lines: list[tuple] = []

        def log(self, values, step):
            self.lines.append((step, sorted(values)))

    logger = Printed()
    dpp = COLD(V=1.0, delta=0.0, memory=4, callbacks=[logger])
    dpp.begin_task(torch.nn.Linear(2, 2), torch.ones(3, 2), torch.zeros(3, dtype=torch.int64))
    dpp.loss(torch.nn.Linear(2, 2), torch.ones(3, 2), torch.zeros(3, dtype=torch.int64))
    assert logger.lines == [(1, ["loss", "loss/present"])]


@pytest.mark.parametrize("kind", LOGGERS)
def test_a_package_that_is_not_installed_is_told_in_one_line(kind, monkeypatch):
    monkeypatch.setattr(loggers, "find_spec", lambda name: None)
    with pytest.raises(ColdError, match=rf"{kind} is not installed; pip install 'cold-continual\[{kind}\]'"):
        open_logger(kind)


def test_an_unknown_logger_is_told_before_any_work_is_done(tmp_path):
    done = CliRunner().invoke(app, [*SETTINGS, "--out", str(tmp_path), "--log", "tensorbord"])
    assert done.exit_code == 2
    assert "did you mean tensorboard" in done.output
    assert not list(tmp_path.iterdir())
