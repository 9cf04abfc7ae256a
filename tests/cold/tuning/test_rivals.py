"""Two choices of settings against each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cold.grid import Engine
from cold.runs import read_result
from cold.tuning.rivals import compare_settings
from coldtheory.ground.errors import ColdError
from coldtheory.ground.statistics import paired
from tests.cold.tuning.test_settings_file import ORIGIN, Chosen
from tests.cold.tuning.tiny_search import TINY


def chosen(lr, **changes):
    settings = {**TINY, "lr": lr, **changes}
    origin = {name: getattr(ORIGIN, name) for name in ORIGIN.__struct_fields__}
    return Chosen(settings, type(ORIGIN)(**{**origin, "chosen": {"lr": lr}}))


def test_the_same_benchmark_and_seeds_for_both(tmp_path):
    """Of the second only what it chose counts: its other size does not."""
    one, other = chosen(1e-2), chosen(1e-3, limit_train=17, memory=8)
    found = compare_settings(one, other, [0, 1], tmp_path, engine=Engine("serial"), limit_test=10)
    for side, lr in ((found.first, 1e-2), (found.second, 1e-3)):
        runs = [read_result(tmp_path / run_id) for run_id in side.runs]
        assert [run.config["seed"] for run in runs] == [0, 1]
        assert {(run.config["lr"], run.config["limit_train"], run.config["memory"]) for run in runs} == {(lr, 40, 20)}
        assert {(run.config["evaluate_on"], run.config["limit_test"]) for run in runs} == {("test", 10)}
        assert side.acc == {run.config["seed"]: run.metrics["acc"] for run in runs}
    assert found.difference == paired(found.first.acc, found.second.acc)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("result.json")}
    compare_settings(one, other, [0, 1], tmp_path, engine=Engine("serial"), limit_test=10)
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("result.json")}


def test_the_seed_of_tuning_would_be_biased(tmp_path):
    with pytest.raises(ColdError, match="seed 100 has chosen the settings"):
        compare_settings(chosen(1e-2), chosen(1e-3), [0, 100], tmp_path, engine=Engine("serial"))


def test_two_methods_are_compared_elsewhere(tmp_path):
    with pytest.raises(ColdError, match="two methods, er and der; compare their runs with cold compare"):
        compare_settings(chosen(1e-2), chosen(1e-3, method="der"), [0], tmp_path, engine=Engine("serial"))


def test_a_run_that_fails_is_named(tmp_path):
    one = chosen(1e-2)
    with pytest.raises(ColdError, match=r"synthetic-er-s0-.*: a memory of M = 2 holds less than one sample"):
        compare_settings(
            replace(one, settings={**one.settings, "memory": 2}), one, [0], tmp_path, engine=Engine("serial")
        )
