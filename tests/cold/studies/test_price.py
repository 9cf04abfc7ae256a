"""What studies cost, from what finished runs took."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from cold.cli.app import app
from cold.runs import make_result, write_result
from cold.studies import find_study, planned
from cold.studies import price as pricing
from cold.studies.passes import work
from cold.studies.price import prices, seconds_per_pass
from coldtheory.ground.errors import ColdError


def store(folder, config, seconds):
    import numpy as np  # noqa: PLC0415

    arrays = {"accuracy": np.eye(config.tasks), "start": np.zeros(config.tasks)}
    run = make_result(config.run_id, config.as_dict(), arrays, {"cpu_seconds": seconds}, {}, {})
    write_result(folder / run.run_id, run)
    return run


def test_what_is_finished_prices_the_rest(tmp_path):
    cells = [one.config for one in planned(find_study("V").on("split-cifar100"), "cpu")]
    for config in cells[:2]:
        store(tmp_path, config, 0.001 * work(config).units)
    line = next(one for one in prices([find_study("V")], "cpu", [tmp_path]) if one.dataset == "split-cifar100")
    assert (line.runs, line.finished) == (72, 2)
    rest = sum(work(config).units for config in cells[2:])
    assert line.to_come == pytest.approx(0.001 * rest / 60)
    assert line.spent == pytest.approx(sum(0.001 * work(config).units for config in cells[:2]) / 60)
    assert line.each == pytest.approx(line.to_come / 70)


def test_runs_that_two_studies_share_are_priced_once(tmp_path):
    V, queues = find_study("V"), find_study("queues")
    found = prices([V, queues], "cpu", [tmp_path])
    assert all(one.runs == 0 and one.to_come == 0 for one in found if one.study == "queues")
    alone = prices([queues], "cpu", [tmp_path])
    assert sum(one.runs for one in alone) > 0


def test_nothing_is_known_without_runs_or_trials(tmp_path, monkeypatch):
    monkeypatch.setattr(pricing, "declared_rates", lambda profile: {})
    (line, *_) = prices([find_study("V")], "cpu", [tmp_path])
    assert (line.to_come, line.each) == (None, None)


def test_only_runs_of_the_profile_count(tmp_path):
    (config, *_) = (one.config for one in planned(find_study("V").on("pmnist"), "cpu"))
    run = store(tmp_path, config, 10.0)
    assert seconds_per_pass([run], "cpu") == {"pmnist": pytest.approx(10.0 / work(config).units)}
    assert seconds_per_pass([run], "paper") == {}


def test_trials_stand_in_for_what_was_never_run():
    rates = pricing.declared_rates("cpu")
    assert {"split-cifar100", "split-tinyimagenet"} <= set(rates)
    assert all(0 < rate < 1 for rate in rates.values())


def test_a_wrong_entry_is_one_line(monkeypatch):
    monkeypatch.setattr(pricing, "read_bases", lambda: {"seconds_per_pass": {"cpu": {"pmnist": "x"}}})
    with pytest.raises(ColdError, match=r"profiles\.toml does not follow its schema"):
        pricing.declared_rates("cpu")


def call(*words, code=0):
    done = CliRunner().invoke(app, ["study", *map(str, words)], env={"COLUMNS": "80"})
    assert done.exit_code == code, done.output + str(done.exception)
    return done


def test_the_command(tmp_path):
    shown = call("plan", "all", "--runs", tmp_path).stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.splitlines()[-4].startswith("all")
    rows = json.loads(call("plan", "V", "--dataset", "split-cifar100", "--runs", tmp_path, "--json").stdout)
    assert [(row["study"], row["dataset"], row["runs"], row["finished"]) for row in rows] == [
        ("V", "split-cifar100", 72, 0)
    ]
    assert rows[0]["to_come"] > 0


def test_a_dataset_of_a_study(tmp_path):
    status = json.loads(call("status", "all", "--dataset", "split-mnist", "--out", tmp_path, "--json").stdout)
    assert {one["study"] for one in status} == {"gradient", "class-incremental", "forget", "front", "weight"}
    assert "unknown dataset of the study V" in call("plan", "V", "--dataset", "imagenet", code=2).stderr
