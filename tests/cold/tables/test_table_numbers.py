"""Choices, means, intervals and ranks, on rows with known numbers."""

from __future__ import annotations

import json
import math

import pytest

from cold.runs import RESULT
from cold.tables.footnotes import notes
from cold.tables.wanted import final_runs, tuning_run
from coldtheory.ground.statistics import paired, spread
from tests.cold.tables.made_rows import finish, row_of, tune, write_row


def test_choice_is_the_best_on_validation_data(tiny, tmp_path):
    assert tune(tiny, "er", tmp_path).settings is None
    half = tune(tiny, "er", tmp_path, 50.0, 60.0)
    assert half.settings is None
    assert [(cell.flags["lr"], cell.flags["options"]) for cell in half.missing] == [(1e-2, {"replay_weight": 3})]
    assert tune(tiny, "er", tmp_path, 61.0).settings == {"lr": 1e-2, "options": {"replay_weight": 3}}


def test_choice_keeps_the_start_where_nothing_is_better(tiny, tmp_path):
    found = tune(tiny, "er", tmp_path, 60.0, 50.0, 60.0)  # of equal ones, the first
    assert found.settings == {"lr": 1e-3}
    assert [value for _, value in found.tried] == [60.0, 50.0, 60.0]


def test_tuning_never_sees_test_data_nor_a_final_seed(tiny):
    for row in tiny.rows:
        if row.tuning is not None:
            cell = tuning_run(tiny, row, {"lr": 1e-3})
            assert cell.config.evaluate_on == "validation"
            assert cell.config.seed not in row.seeds
            final = final_runs(tiny, row, {"lr": 1e-3})[0].config
            assert (final.evaluate_on, final.validation) == ("test", 0.0)


def test_factors_are_of_the_base(tiny, tmp_path):
    found = tune(tiny, "cold", tmp_path, 60.0, 50.0)
    assert [cell.config.V for cell in found.missing] == [10.0, 80.0]
    assert {cell.config.delta for cell in found.missing} == {0.0}


def test_mean_and_deviation():
    found = spread([90.0, 91.0, 95.0])
    assert found.mean == pytest.approx(92.0)
    assert found.sd == pytest.approx(math.sqrt((4 + 1 + 9) / 2))
    assert spread([5.0]).sd is None
    assert spread([]) is None


def test_paired_interval_by_hand():
    """Differences 1, 2, 3: mean 2, s.d. 1, t(0.975, 2) = 4.302653: 2 +- 4.302653/sqrt(3)."""
    found = paired({0: 11.0, 1: 22.0, 2: 33.0}, {2: 30.0, 1: 20.0, 0: 10.0})
    assert found.each == (1.0, 2.0, 3.0)
    assert found.mean == pytest.approx(2.0)
    assert (found.low, found.high) == pytest.approx(
        (2 - 4.302653 / math.sqrt(3), 2 + 4.302653 / math.sqrt(3)), abs=1e-5
    )


def test_pairs_are_those_of_common_seeds():
    assert paired({0: 1.0, 5: 9.0}, {0: 3.0, 7: 1.0}).each == (-2.0,)
    assert paired({0: 1.0, 5: 9.0}, {0: 3.0, 7: 1.0}).low is None
    assert paired({0: 1.0}, {1: 1.0}) is None


def test_ranking_leaves_out_bounds_reduced_and_incomplete_rows(tiny, table, tmp_path):
    tune(tiny, "finetune", tmp_path, 1.0, 2.0)
    finish(tiny, "finetune", tmp_path, {"lr": 1e-2}, [70.0, 71.0, 72.0], [0.3, 0.3, 0.3])
    finish(tiny, "er-plain", tmp_path, {}, [80.0, 82.0, 84.0], [0.2, 0.2, 0.2])
    finish(tiny, "joint", tmp_path, {}, [99.0, 99.0, 99.0])
    tune(tiny, "er-short", tmp_path, 1.0, 2.0, 1.0)
    write_row(final_runs(tiny, row_of(tiny, "er-short"), {"lr": 1e-2})[0], tmp_path, 98.0)
    one = table().comparisons[0]
    assert [line.row.key for line in one.ranking] == ["er-plain", "finetune"]
    assert {line.row.key for line in one.rows if one.best(line, "acc")} == {"er-plain"}
    assert {line.row.key for line in one.rows if one.best(line, "forgetting")} == {"er-plain"}
    assert one.gap(one.row("finetune")).each == (10.0, 11.0, 12.0)
    assert one.row("joint").forgetting == {}
    told = list(notes([one], table().stored))
    assert told[0].startswith(
        "best of the rows that are complete: ER, plain_1; to the runner-up, Fine-tune: +11.00 [+8.52"
    )
    assert "ER short: reduced, not ranked: one seed" in told
    assert "Joint: an upper bound, not ranked" in told


def test_rows_on_the_same_runs_are_no_runner_up_of_each_other(tiny, table, tmp_path):
    """ER whose tuning chose the plain settings is the plain row."""
    tune(tiny, "er", tmp_path, 60.0, 50.0, 50.0)
    finish(tiny, "er", tmp_path, {"lr": 1e-3}, [80.0, 82.0, 84.0])
    one = table().comparisons[0]
    assert one.row("er").ids == one.row("er-plain").ids != frozenset()
    assert one.row("er").ranked
    assert len(one.ranking) == 1
    assert not one.best(one.row("er"), "acc")  # nothing to be better than


def test_contrast_is_paired(tiny, table, tmp_path):
    tune(tiny, "er", tmp_path, 60.0, 50.0, 50.0)
    tune(tiny, "cold", tmp_path, 60.0, 50.0, 70.0, 50.0)
    finish(tiny, "er", tmp_path, {"lr": 1e-3}, [80.0, 82.0, 84.0])
    finish(tiny, "cold", tmp_path, {"lr": 1e-3, "V": 10.0}, [81.0, 84.0, 87.0])
    ((left, right, found),) = table().comparisons[0].contrasts
    assert (left.row.key, right.row.key, found.each) == ("cold", "er", (1.0, 2.0, 3.0))
    assert "COLD − ER: +2.00 [-0.48, +4.48] points (95 % interval, paired over 3 seeds: +1.00, +2.00, +3.00)" in list(
        notes(table().comparisons, table().stored)
    )


@pytest.mark.parametrize("damage", ["truncated", "other settings", "other format"])
def test_a_damaged_run_is_one_line_and_missing(tiny, table, tmp_path, damage):
    finish(tiny, "er-plain", tmp_path, {}, [80.0, 82.0, 84.0])
    cell = final_runs(tiny, row_of(tiny, "er-plain"), {})[1]
    path = tmp_path / cell.out / cell.run_id / RESULT
    content = json.loads(path.read_text())
    content["format" if damage == "other format" else "config"] = (
        "x/1" if damage == "other format" else {**content["config"], "lr": 0.5}
    )
    path.write_text(path.read_text()[:50] if damage == "truncated" else json.dumps(content))
    made = table()
    assert made.comparisons[0].row("er-plain").acc == {0: 80.0, 2: 84.0}
    (problem,) = made.stored.problems.values()
    assert cell.run_id in problem
    assert "\n" not in problem
    command = next(made.stored.command(one) for one in made.comparisons[0].missing if one.run_id == cell.run_id)
    assert command.endswith("--fresh")  # --resume would show the damaged one


def test_what_the_runs_took(tiny, table, tmp_path):
    """Processor time where a run kept it, else time on the clock; nothing is said where a run kept neither."""
    timings = [{"cpu_seconds": 3600.0, "train_seconds": 9e9}, {"train_seconds": 1000.0, "eval_seconds": 800.0}, {}]
    told = []
    for cell, timing in zip(final_runs(tiny, row_of(tiny, "er-plain"), {}), timings, strict=True):
        write_row(cell, tmp_path, 80.0, timing=timing)
        made = table()
        told.append([line for line in notes(made.comparisons, made.stored) if "core-hours" in line])
    assert told == [["the 1 runs took 1.0 core-hours"], ["the 2 runs took 1.5 core-hours"], []]
