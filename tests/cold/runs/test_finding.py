"""Runs are found at any depth, loose and packed, the first root's first, by id or by the path that names them."""

from __future__ import annotations

import json
import os

import pytest

from cold.runs import RESULT, default_roots, evidence, find_run, find_runs, pack, read_result
from coldtheory.ground.errors import ColdError
from tests.cold.runs.small_runs import config, finished, store


def test_any_depth_packed_and_loose_in_the_order_of_paths(tmp_path):
    b, d = store(tmp_path / "deep" / "er", 1, 3)
    pack(tmp_path / "deep")
    a, c = store(tmp_path / "deep" / "er", 0, 2)
    (e,) = store(tmp_path, 4)
    found = find_runs(tmp_path)
    assert list(found) == [a, b, c, d, e]
    assert [run.folder for run in found.values()][1] == tmp_path / "deep" / "er" / b
    assert found.problems == ()
    assert find_runs(tmp_path / "nowhere") == {}
    assert list(find_runs(tmp_path / e)) == list(find_runs(tmp_path / e / RESULT)) == [e]
    assert list(find_runs(tmp_path / "deep" / "er" / b)) == [b]  # the path of a packed run


def test_of_equal_ids_the_first_root_counts(tmp_path):
    (one,) = store(tmp_path / "one", 0, data="one")
    store(tmp_path / "two", 0, data="two")
    assert find_runs(tmp_path / "one", tmp_path / "two")[one].data == "one"
    assert find_runs(tmp_path / "two", tmp_path / "one")[one].data == "two"
    (tmp_path / "one" / one / RESULT).write_text("{")  # a damaged one gives way, and is told
    found = find_runs(tmp_path / "one", tmp_path / "two")
    assert found[one].data == "two"
    assert len(found.problems) == 1


def test_a_folder_of_its_own_is_newer_than_a_row(tmp_path):
    """--fresh writes a folder beside the rows."""
    (one,) = store(tmp_path, 0, data="old")
    pack(tmp_path)
    assert read_result(tmp_path / one).data == find_runs(tmp_path)[one].data == "old"
    store(tmp_path, 0, data="new")
    assert read_result(tmp_path / one).data == find_runs(tmp_path)[one].data == "new"


def test_by_settings_and_data(tmp_path):
    store(tmp_path, 0, data="one")
    found = find_runs(tmp_path)
    assert found.of(config(seed=0)) is found.of(config(seed=0, device="cpu"), "one") is not None
    assert found.of(config(seed=0), "two") is None
    assert found.of(config(seed=1)) is None


def test_unchanged_files_are_read_once(tmp_path, monkeypatch):
    (one, two) = store(tmp_path, 0, 1)
    first = find_runs(tmp_path)
    os.utime(tmp_path / two / RESULT, ns=(1, 1))
    second = find_runs(tmp_path)
    assert first[one] is second[one]
    assert first[two] is not second[two]


def test_by_id(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (one,) = store(tmp_path / "results" / "runs" / "deep", 0)
    assert find_run(one).run_id == one
    assert find_run(f"results/runs/deep/{one}").run_id == one
    pack(tmp_path / "results")
    assert find_run(one).folder == find_run(f"results/runs/deep/{one}").folder
    committed = "pmnist-agem-s0-683df4e3"
    assert find_run(committed).folder == evidence() / "pmnist" / committed
    with pytest.raises(ColdError, match="no finished run nobody"):
        find_run("nobody")
    (two,) = store(tmp_path / "runs", 1)
    (tmp_path / "runs" / two / RESULT).write_text("{")
    with pytest.raises(ColdError, match="is damaged"):
        find_run(two)


def test_default_places(tmp_path, monkeypatch):
    monkeypatch.chdir(evidence().parent)
    assert [str(root) for root in default_roots()] == ["runs", "results/runs"]
    monkeypatch.chdir(tmp_path)
    assert [str(root) for root in default_roots()] == ["runs", "results/runs", str(evidence())]


def test_runs_without_recorded_data_say_null(tmp_path):
    store(tmp_path, 0)
    (run,) = find_runs(tmp_path).values()
    assert json.loads(json.dumps(run.as_json()))["data"] is None
    assert finished().as_json().keys() == run.as_json().keys()
