"""Figures of requested forgetting: their rows from finished runs, and that all of them can be drawn."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from cold.config import make_config
from cold.plots.data import RunsFoundOnce
from cold.plots.requested import requested_figures
from cold.plots.robust import robust_rows
from cold.runs import write_result
from cold.runs.schema import Result
from cold.studies import find_study, planned
from coldtheory.figures.table import Table
from coldtheory.ground.errors import ColdError

LATER = "2100-01-01T00:00:00+00:00"  # than every change of a rule
FIGURES = {figure.id: figure for figure in requested_figures(RunsFoundOnce(), kept=False)}


def finished(config, forgotten, time=LATER):
    """A run of three tasks that forgot so much, by test and gauge alike, when the third one ended."""
    loss = np.array([[0.5, 2.0, 2.0], [0.5 + forgotten, 0.4, 2.0], [0.5 + forgotten, 0.4 + forgotten, 0.3]])
    gauge = np.where(np.tri(3) > 0, loss, np.nan)
    arrays = {"accuracy": np.full((3, 3), 0.8), "start": np.full(3, 0.1), "loss": loss}
    if config.forget is not None:
        arrays |= {"gauge_loss": gauge, "gauge_accuracy": gauge, "requested_weight": np.array([0.0, 0.1, 0.1])}
    metrics = {"acc": 80.0, "learning_acc": 85.0, "forgetting_loss": forgotten}
    about = {"provenance": {"time": time}, "made_up": True}
    return Result(run_id=config.run_id, config=config.as_dict(), metrics=metrics, arrays=arrays, **about)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name in ("forget", "front", "robust"):
        for run in planned(find_study(name), "cpu"):
            if run.seed in (20, 21, 30, 40, 41):
                result = finished(run.config, run.config.forget or 0.3)
                write_result(folder / result.run_id, result)
    return folder


@pytest.mark.parametrize("name", FIGURES)
def test_drawn_from_the_runs_of_its_studies(stored, name):
    figure = FIGURES[name]
    data = figure.data[0]
    assert data.state(stored) == "present"
    table = data.load(stored).table
    module, _, function = figure.draw.partition(":")
    picture = getattr(importlib.import_module(module), function)({data.name: table})
    assert picture.axes


def test_what_was_delivered(stored):
    rows = FIGURES["requested_forgetting"].data[0].load(stored).table.rows()
    seeds = {"Permuted-MNIST": (20, 21), "Rotated-MNIST": (20, 21), "Split-MNIST, class-incremental": (40, 41)}
    assert {(row["title"], row["seed"]) for row in rows} == {(title, s) for title, own in seeds.items() for s in own}
    assert all(row["delivered"] == pytest.approx(row["requested"]) == row["gauge"] for row in rows)


def test_the_front_has_the_methods_of_every_benchmark(stored):
    rows = list(FIGURES["plasticity_forgetting"].data[0].load(stored).table.rows())
    of = {
        name: {row["method"] for row in rows if row["dataset"] == name} for name in ("pmnist", "rmnist", "split-mnist")
    }
    assert of["rmnist"] == of["split-mnist"] == {"cold-distill", "der", "derpp", "er", "cold", "finetune"}
    assert of["pmnist"] == of["rmnist"] | {"ewc-online"}
    assert len({row["title"] for row in rows}) == 3


def test_runs_of_an_earlier_rule_are_left_out(tmp_path):
    one = next(run.config for run in planned(find_study("forget").on("split-mnist"), "cpu"))
    data = FIGURES["requested_forgetting"].data[0]
    for time, state in (("2026-11-18T09:00:00+00:00", "missing"), (LATER, "present")):
        folder = tmp_path / state
        write_result(folder / one.run_id, finished(one, 0.3, time=time))
        assert data.state(folder) == state


def test_without_runs_the_command_is_named(tmp_path):
    data = FIGURES["gauge"].data[0]
    assert data.state(tmp_path) == "missing"
    with pytest.raises(ColdError, match="cold study run forget --profile cpu"):
        data.load(tmp_path)


def test_runs_that_requested_nothing_have_no_row():
    assert Table.of([]) is not None
    config = make_config({"method": "cold-distill", "tasks": 3})
    assert FIGURES["gauge"].data[0].rows([finished(config, 0.2)]) == []


def test_robustness_has_every_method_at_every_size_and_factor(stored):
    rows = list(FIGURES["robustness"].data[0].load(stored).table.rows())
    assert len(rows) == 3 * 5 * 3
    assert {row["limit_train"] for row in rows} == {250, 1000, 4000}
    for method in ("cold-distill", "cold", "er", "der", "derpp"):
        assert sorted(row["factor"] for row in rows if row["method"] == method) == sorted(3 * [0.25, 1.0, 4.0])


def test_places_without_all_three_values_are_left_out():
    runs = [finished(make_config({"method": "cold-distill", "V": V}), 0.2) for V in ("auto", 10.0)]
    assert robust_rows(runs) == []
    runs.append(finished(make_config({"method": "cold-distill", "V": 160.0}), 0.2))
    assert [row["factor"] for row in robust_rows(runs)] == [1.0, 0.25, 4.0]
