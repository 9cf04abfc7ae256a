"""Runs on streams with blurred boundaries and on streams without any: what methods see, and what is measured."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from cold.catalogue import METHODS
from cold.catalogue.methods import TASK_FREE
from cold.cli.app import app
from cold.config import RunConfig, make_config
from cold.runs import difference
from cold.trainer import Stopped, Trainer
from coldtheory.ground.errors import ColdError
from tests.cold.methods.method_cases import SMALL_OPTIONS, STREAM, TINY

SMALL = {
    **TINY, "dataset": "synthetic", "tasks": 4, "limit_train": 30, "limit_test": 20, "scenario": "class", "epochs": 1,
    "memory": 28, "data_options": {"classes": 8, "shape": [1, 6, 6]},
}  # fmt: skip


def config(method, **changes):
    filled = STREAM if "fill" in METHODS[method].defaults() else {}
    few = {"memory_batch": 1} if method == "mer" else {}
    options = {**filled.get("options", {}), **SMALL_OPTIONS.get(method, {})}
    return make_config(SMALL, filled, few, {"method": method, "options": options}, changes)


@pytest.mark.parametrize("method", METHODS)
def test_methods_tell_the_truth(method):
    """Every kind of stream that a method declares can be run; others are refused in one line."""
    for scenario in ("task", "class", "domain"):
        made = make_config(SMALL, {"method": method, "scenario": scenario, "options": SMALL_OPTIONS.get(method, {})})
        assert scenario in METHODS[method].settings
        assert Trainer(make_config(made.as_dict(), {"memory_batch": 1})).run().metrics["acc"] is not None
    if TASK_FREE not in METHODS[method].settings:
        with pytest.raises(ColdError, match=f"{method} does not learn task-free streams, only task, class, domain"):
            Trainer(config(method, windows=7))
        return
    result = Trainer(config(method, windows=7)).run()
    assert result.arrays["accuracy"].shape == (4, 4)
    for name in ("acc", "forgetting", "bwt", "fwt", "learning_acc", "anytime_acc", "class_il", "task_il"):
        assert np.isfinite(result.metrics[name])


@pytest.mark.parametrize("method", METHODS)
def test_every_method_with_blurred_boundaries(method):
    blurred = config(method, blur=0.2, **({"memory_policy": "uniform"} if method == "gdumb" else {}))
    result = Trainer(blurred).run()
    assert result.arrays["accuracy"].shape == (4, 4)
    assert result.config["blur"] == 0.2
    assert RunConfig().run_id == RunConfig(blur=0.0).run_id
    assert blurred.run_id != config(method).run_id


def test_a_method_sees_windows_and_no_tasks():
    made = Trainer(config("er", windows=3, batch_size=7))
    seen = []
    made.method.begin_task = lambda task, train: seen.append(("begin", task, len(train)))
    plain = made.method.step
    made.method.step = lambda batch: (seen.append((batch.task, batch.y.tolist())), plain(batch))[1]
    made.run()
    assert [entry for entry in seen if entry[0] == "begin"] == [("begin", w, 40) for w in range(3)]
    steps = [entry for entry in seen if entry[0] != "begin"]
    assert [task for task, _ in steps] == [w for w in range(3) for _ in range(6)]
    labels = [y for _, batch in steps for y in batch]
    assert [y // 2 for y in labels] == [t for t in range(4) for _ in range(30)]  # the order of the stream


def test_one_window_is_no_boundary_at_all():
    """The same as a benchmark of one task with all samples in this order: nothing else is known."""
    made = Trainer(config("derpp", windows=1))
    made.run()
    assert made.method.memory.tasks == 1
    assert set(made.method.memory.owner.tolist()) == {0}


def test_tasks_are_tested_when_the_window_with_their_last_sample_has_ended():
    made = Trainer(config("finetune", windows=7))
    tested, plain = [], made._evaluate

    def evaluate():
        tested.append(made.position.total)
        return plain()

    made._evaluate = evaluate
    made.run()
    per_window = [len(task.train) for task in made.stream.tasks]
    assert per_window == [17, 17, 17, 17, 17, 17, 18]
    steps = np.cumsum([0] + [-(-n // 10) for n in per_window])
    assert tested == [0, *(int(steps[w]) for w in (2, 4, 6, 7))]  # 30 samples per task


# ---------------------------------------------------------------------------------------------- COLD


def test_cold_keeps_one_queue_per_window():
    made = Trainer(config("cold", windows=7, V=1.0))
    result = made.run()
    assert result.arrays["queues"].shape == (8, 7)
    assert made.method.dpp.memory.counts == [4] * 7  # 28 samples, as many of each window
    queues = result.arrays["queues"]
    assert not np.triu(queues[1:]).any()  # the queue of a window lives when the window has passed
    assert (np.tril(queues[1:], -1) > 0).any()
    window = made.stream.tasks[2].train
    kept = made.method.dpp.memory
    stored = kept.raw[(kept.owner == 2).nonzero()[:, 0]]
    assert {tuple(x.flatten().tolist()) for x in stored} <= {tuple(x.flatten().tolist()) for x in window.raw()}


def test_cold_on_windows_is_cold_on_tasks_that_are_these_windows():
    """The rule is the same: tasks with the same samples in the same order give the same queues, bit for bit."""
    free = Trainer(config("cold", windows=4))  # as long as the tasks: windows and tasks coincide
    known = Trainer(config("cold"))
    for left, right in zip(free.stream.tasks, known.benchmark.tasks, strict=True):
        assert sorted(left.train.index.tolist()) == sorted(right.train.index.tolist())
        right.train.index[:], right.train.y[:] = left.train.index, left.train.y
    plain = known.method.begin_task

    def begin_task(task, train):
        plain(task, train)
        known.position.order = torch.arange(len(train))  # the order of the stream

    known.method.begin_task = begin_task
    expected, result = known.run(), free.run()
    assert np.array_equal(result.arrays["queues"], expected.arrays["queues"])
    assert np.array_equal(result.arrays["accuracy"], expected.arrays["accuracy"])


@pytest.mark.parametrize("method", ["cold", "cold-oracle", "er-ace", "gdumb"])
def test_resumed_in_the_middle_of_a_window(method, tmp_path):
    chosen = config(method, windows=5, blur=0.1)
    whole = Trainer(chosen).run()
    count = iter(range(10**9))
    with pytest.raises(Stopped):
        Trainer(chosen, out=tmp_path, should_stop=lambda: next(count) >= 7).run()
    again = Trainer(chosen, out=tmp_path)
    assert difference(whole, again.run(resume=True)) is None
    assert again.resumed


def test_er_ace_masks_from_the_first_window_on():
    made = Trainer(config("er-ace", windows=2))
    assert made.method.always
    assert not Trainer(config("er-ace")).method.always


def test_gdumb_balances_classes_not_windows():
    made = Trainer(config("gdumb", windows=9, memory=24, memory_batch=1))
    made.run()
    assert torch.bincount(made.method.memory.y, minlength=8).tolist() == [3] * 8


@pytest.mark.parametrize(("method", "changes", "message"), [
    ("cold", {"windows": 1}, "keeps one queue per window that has passed; take --windows 2 or more"),
    ("er", {"windows": 3, "options": {"fill": "task-end"}}, "would have to know where tasks end; .* fill=stream"),
    ("er", {"windows": 0}, "windows must be > 0"), ("er", {"blur": 1.0}, "blur must be below 1"),
    ("er", {"blur": -0.1}, "blur must be >= 0"), ("finetune", {"windows": 3, "scenario": None}, "needs one head"),
])  # fmt: skip
def test_bad_streams_in_one_line(method, changes, message):
    with pytest.raises(ColdError, match=message) as caught:
        Trainer(config(method, **changes))
    assert "\n" not in str(caught.value)


def test_on_the_command_line(tmp_path):
    words = (
        "run --dataset synthetic --scenario class --method cold --epochs 1 --limit-train 40 --limit-test 10 "
        "--windows 6 --blur 0.1 --memory 30 --json --out"
    )
    printed = CliRunner().invoke(app, [*words.split(), str(tmp_path)])
    assert printed.exit_code == 0, printed.output
    told = json.loads(printed.stdout)
    assert (told["config"]["windows"], told["config"]["blur"], told["config"]["tasks"]) == (6, 0.1, 5)
    listed = json.loads(CliRunner().invoke(app, ["methods", "--json"]).stdout)["methods"]
    free = {row["name"] for row in listed if "task-free" in row["settings"]}
    assert free == {"finetune", "joint", "mer", "gdumb", "er", "der", "derpp", "er-ace", "star", "cls-er", "cold",
                    "cold-oracle", "cold-distill"}  # fmt: skip
