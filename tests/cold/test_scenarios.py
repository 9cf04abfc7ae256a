"""Class-incremental runs: one head, both metrics from one run, and the same run however its scenario is typed."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from cold.catalogue import BENCHMARKS
from cold.cli.app import app
from cold.compare import printed_cell
from cold.config import RunConfig, make_config
from cold.data import from_tensors, load_benchmark
from cold.metrics import metrics
from cold.runs import VIEWS, difference, find_runs, pack, read_result
from cold.trainer import Stopped, Trainer
from coldtheory.ground.errors import ColdError
from tests.cold.methods.method_cases import TINY

SMALL = {
    **TINY, "dataset": "synthetic", "tasks": 4, "limit_train": 40, "limit_test": 30, "scenario": "class",
    "data_options": {"classes": 8, "shape": [1, 6, 6]},
}  # fmt: skip


def small(**changes):
    return make_config(SMALL, changes)


def test_one_head_for_all_classes_and_labels_that_go_on():
    split, classes = (load_benchmark("synthetic", tasks=5, scenario=s) for s in ("task", "class"))
    assert (split.head_widths, classes.head_widths, classes.scenario) == ((2,) * 5, (10,), "class")
    for t, (left, right) in enumerate(zip(split.tasks, classes.tasks, strict=True)):
        assert right.head == 0
        assert right.outputs == (2 * t, 2 * t + 1)
        assert torch.equal(left.train.index, right.train.index)  # the same images in the same tasks
        assert torch.equal(left.train.y + 2 * t, right.train.y)
        assert [right.classes[k] for k in right.outputs] == list(left.classes)


def test_own_tensors_have_classes_of_their_own():
    x, y = torch.randn(12, 3), torch.arange(12) % 3
    made = from_tensors([(x, y, x, y), (x, y + 3, x, y + 3)], scenario="class")
    assert [task.outputs for task in made.tasks] == [(0, 1, 2), (3, 4, 5)]
    assert Trainer(make_config(TINY, {"method": "finetune"}), benchmark=made).config.scenario == "class"
    with pytest.raises(ColdError, match="test label 3 is out of range"):
        from_tensors([(x, y, x, y + 3), (x, y + 3, x, y)], scenario="class")


@pytest.mark.parametrize(("dataset", "scenario", "same"), [
    ("split-mnist", "task", {}), ("split-mnist", "domain", {"data_options": {"heads": "shared"}}),
    ("pmnist", "domain", {}), ("folder:birds", "task", {}), ("synthetic", "task", {}),
])  # fmt: skip
def test_one_id_however_the_scenario_is_typed(dataset, scenario, same):
    typed = make_config({"dataset": dataset, "scenario": scenario, "tasks": 2})
    assert typed == make_config({"dataset": dataset, "tasks": 2}, same)
    assert typed.run_id == make_config({"dataset": dataset, "tasks": 2}, same).run_id


def test_another_scenario_is_another_run():
    plain, classes = (RunConfig(dataset="split-mnist", scenario=s, memory=1000) for s in (None, "class"))
    assert plain.run_id != classes.run_id
    assert printed_cell(RunConfig(dataset="split-cifar10", memory=600).as_dict()) is not None
    assert printed_cell(RunConfig(dataset="split-cifar10", memory=600, scenario="class").as_dict()) is None


@pytest.mark.parametrize("name", [entry.name for entry in BENCHMARKS.values() if entry.kind != "split"])
def test_tasks_with_all_classes_are_domain_incremental(name):
    with pytest.raises(ColdError, match=f"{name} has all classes in every task: it is domain-incremental, not class-"):
        RunConfig(dataset=name, scenario="class")


@pytest.mark.parametrize(("settings", "message"), [
    ({"scenario": "instance"}, "unknown scenario"),
    ({"scenario": "class", "data_options": {"heads": "shared"}}, "leave out --data-option heads"),
])  # fmt: skip
def test_bad_scenarios_in_one_line(settings, message):
    with pytest.raises(ColdError, match=message) as caught:
        make_config({"dataset": "synthetic"}, settings)
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------------------------------------- what is measured


def by_hand(made, view, seen):
    """Right answers, sample by sample, where only some outputs are allowed."""
    made.model.eval()
    rows = []
    for task in made.benchmark.tasks:
        allowed = {"task": task.outputs, "": range(8), "seen": range(2 * seen)}[view]
        right = 0
        for x, y in zip(made.context.inputs(task.test.raw()), task.test.y.tolist(), strict=True):
            logits = made.model(x[None], [(0, 1)])[0][0].tolist()
            right += max(allowed, key=lambda k: logits[k]) == y
        rows.append(right / len(task.test))
    made.model.train()
    return rows


def test_accuracies_among_all_classes_those_seen_and_those_of_the_task():
    made = Trainer(small(method="er"))
    seen = []
    plain = made.method.end_task

    def end_task(task, train):
        plain(task, train)
        seen.append({view: by_hand(made, view, task + 1) for view in ("", *VIEWS)})

    made.method.end_task = end_task
    result = made.run()
    for view, name in (("", "accuracy"), ("seen", "accuracy_seen"), ("task", "accuracy_task")):
        assert result.arrays[name].tolist() == [row[view] for row in seen]
    assert np.array_equal(result.arrays["accuracy"][-1], result.arrays["accuracy_seen"][-1])  # all classes are seen
    assert (result.arrays["accuracy_task"] >= result.arrays["accuracy"]).all()
    assert not np.triu(result.arrays["accuracy_seen"], 1).any()  # a class that is not seen cannot be the answer


def test_measures_of_every_view():
    result = Trainer(small(method="finetune")).run()
    assert result.metrics["class_il"] == result.metrics["acc"] == 100 * result.arrays["accuracy"][-1].mean()
    assert result.metrics["task_il"] == result.views["task"]["acc"] == 100 * result.arrays["accuracy_task"][-1].mean()
    assert result.metrics["task_il"] > result.metrics["class_il"]  # the last task has taken all answers
    for view in VIEWS:
        found = metrics(result.arrays[f"accuracy_{view}"], result.arrays[f"start_{view}"])
        assert result.views[view] == vars(found)
    plain = Trainer(small(method="finetune", scenario=None)).run()
    assert plain.views == {}
    assert not {"class_il", "task_il"} & set(plain.metrics)


def test_anytime_accuracy():
    matrix = np.array([[0.8, 0.9, 0.1], [0.6, 0.4, 0.2], [0.3, 0.3, 0.9]])
    assert metrics(matrix).anytime_acc == pytest.approx(100 * (0.8 + 0.5 + 0.5) / 3)


def test_the_network_trains_as_with_global_labels_in_the_domain_scenario():
    """What `from_tensors(scenario="domain")` gave before there was a word for it."""
    x, y = torch.randn(40, 6, generator=torch.Generator().manual_seed(1)), torch.arange(40) % 2
    tasks = [(x, y, x, y), (-x, y + 2, -x, y + 2)]
    old, new = (
        Trainer(make_config(TINY, {"method": "derpp"}), benchmark=from_tensors(tasks, scenario=s)).run()
        for s in ("domain", "class")
    )
    assert np.array_equal(old.arrays["accuracy"], new.arrays["accuracy"])


# ---------------------------------------------------------------------------------------------- what is stored


def test_stored_read_back_packed_and_resumed(tmp_path):
    config = small(method="cold")
    whole = Trainer(config, out=tmp_path / "a").run()
    again = read_result(tmp_path / "a" / whole.run_id)
    assert (again.views, again.metrics) == (whole.views, whole.metrics)
    assert difference(whole, again) is None
    count = iter(range(10**9))
    with pytest.raises(Stopped):
        Trainer(config, out=tmp_path / "b", should_stop=lambda: next(count) >= 13).run()
    assert difference(whole, Trainer(config, out=tmp_path / "b").run(resume=True)) is None
    pack(tmp_path / "a")
    packed = find_runs(tmp_path / "a")[whole.run_id]
    assert packed.views == whole.views
    assert difference(packed, whole) is None


def test_a_measure_that_an_older_version_did_not_know_is_no_difference():
    result = Trainer(small(method="finetune")).run()
    older = type(result)(**{f: getattr(result, f) for f in result.__struct_fields__} | {"metrics": {
        name: value for name, value in result.metrics.items() if name != "anytime_acc"}})  # fmt: skip
    assert difference(result, older) is None
    older.metrics["acc"] += 1
    assert difference(result, older) == "metrics (acc)"


def test_on_the_command_line(tmp_path):
    words = "run --dataset synthetic --scenario class --method er --epochs 1 --limit-train 40 --memory 20 --json --out"
    printed = CliRunner().invoke(app, [*words.split(), str(tmp_path)])
    assert printed.exit_code == 0, printed.output
    told = json.loads(printed.stdout)
    assert 0 <= told["metrics"]["class_il"] <= told["metrics"]["task_il"] <= 100
    assert told["config"]["scenario"] == "class"
    shown = CliRunner().invoke(app, ["show", str(tmp_path / told["run_id"])])
    assert "Class-IL" in shown.stdout
    assert "Task-IL" in CliRunner().invoke(app, ["compare", str(tmp_path)]).stdout
