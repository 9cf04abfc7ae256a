"""The same run: the same settings, defaults and places aside, and the same data where both sides record them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cold.config import RunConfig, make_config
from cold.grid import Engine, fill
from cold.grid import worker as grid_worker
from cold.runs import (
    RESULT,
    by_run_id,
    check_same_run,
    comparable,
    difference,
    find_runs,
    identified,
    read_result,
    same_data,
    same_run,
    write_result,
)
from cold.trainer import Trainer
from coldtheory.ground.errors import ColdError
from tests.cold.grid.grid_cells import cells
from tests.cold.runs.small_runs import config, finished

SERIAL = Engine("serial")


def test_place_settings_and_defaults_do_not_count():
    run = finished()
    assert same_run(run, config(device="cpu", threads=3, eval_batch=7))
    assert same_run(run, config(V=20))  # the default, spelt
    assert not same_run(run, config(seed=1))
    assert not same_run(run, config(V=21.0))


def test_a_setting_that_the_stored_run_does_not_know_is_not_set(tmp_path):
    run = finished()
    older = {name: value for name, value in run.config.items() if name not in ("oracle", "idle")}
    assert comparable(older) == comparable(run.config)
    assert comparable({**older, "idle": "skip"}) != comparable(run.config)


def test_options_count_as_json_gives_them_back(tmp_path):
    given = config(dataset="synthetic", data_options={"shape": (1, 8, 8)})
    run = finished(dataset="synthetic", data_options={"shape": (1, 8, 8)})
    write_result(tmp_path / run.run_id, run)
    assert same_run(read_result(tmp_path / run.run_id), given)
    assert find_runs(tmp_path).of(given) is not None


@pytest.mark.parametrize(
    ("stored", "here", "same"),
    [("a", "a", True), ("a", "b", False), (None, "b", True), ("a", None, True), (None, None, True)],
)
def test_data_count_where_both_are_recorded(stored, here, same):
    run = finished(stored)
    assert same_data(stored, here) == same_run(run, config(), here) == same
    assert (difference(run, finished(here)) is None) == same
    if not same:
        with pytest.raises(ColdError, match=r"made from other data \(fingerprint a, the data here have b\)"):
            check_same_run(run, config(), here)


def test_a_result_with_other_settings_than_its_name():
    forged = finished()
    forged.config["lr"] = 0.5
    assert not same_run(forged, config())
    with pytest.raises(ColdError, match="settings do not match its name"):
        check_same_run(forged, config())


def test_one_rule_for_ids_in_grids_and_the_trainer():
    """A folder counts by its name, wherever it lies; the number of tasks is part of the settings."""
    here, there = (make_config({"dataset": f"folder:{place}/birds", "tasks": 2}) for place in ("/here", "~/there"))
    assert identified(here) == identified(there) == identified(replace(there, tasks=None), 2)
    assert identified(here).dataset == "folder:birds"
    assert list(by_run_id([here, there])) == [identified(here).run_id]
    with pytest.raises(ColdError, match="needs the number of tasks"):
        identified(replace(here, tasks=None))
    assert identified(RunConfig(dataset="split-cifar10")).tasks == 5
    for given in (*cells(0), *cells(1, tasks=None)):
        assert Trainer(given).config == identified(given)


def test_a_finished_run_of_other_data_is_not_reused(tmp_path, monkeypatch):
    wanted, out = cells(0), tmp_path / "out"
    (run_id,) = fill(wanted, out, engine=SERIAL).done
    recorded = find_runs(out)[run_id].data
    assert recorded is not None
    assert fill(wanted, out, engine=SERIAL).reused == (run_id,)
    monkeypatch.setattr(grid_worker, "data_at_hand", lambda config, root: "other")
    refused = fill(wanted, out, engine=SERIAL)
    assert f"made from other data (fingerprint {recorded}, the data here have other)" in refused.failed[run_id]
    assert not list(out.glob("*/error.json"))  # the finished run is as good as it was
    anew = fill(wanted, tmp_path / "elsewhere", engine=SERIAL, roots=[out])
    assert anew.done == (run_id,)
    assert (tmp_path / "elsewhere" / run_id / RESULT).is_file()
    monkeypatch.setattr(grid_worker, "data_at_hand", lambda config, root: None)  # the data are not here
    assert fill(wanted, out, engine=SERIAL).reused == (run_id,)


def test_the_data_at_hand(tmp_path):
    (one,) = cells(0)
    assert grid_worker.data_at_hand(one, None) == Trainer(one).data
    assert grid_worker.data_at_hand(make_config({"dataset": "pmnist", "tasks": 2}), tmp_path / "nowhere") is None
