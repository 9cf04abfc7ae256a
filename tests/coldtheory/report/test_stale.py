"""A stored verdict is stale exactly when what it depends on has changed: its code, its statements, its rows."""

from __future__ import annotations

import json
import shutil
from importlib.machinery import PathFinder
from pathlib import Path

import numpy as np
import pytest

from cold.studies import find_study, planned
from coldtheory.claims import find_claims, run_claim
from coldtheory.ground import code
from coldtheory.report import outcomes as stored
from coldtheory.report import read_outcomes, run_checks, store_outcomes

ROOT = Path(__file__).parents[3]
DRIFT, EXACT, COROLLARY = "lemma1-main-text", "thm2", "cor1"
TOY, PRINTED, TREND = "toy-one-step", "tab-oracle-highest", "trend-tasks-stable-pmnist"
EVALUATED = {DRIFT, EXACT, COROLLARY}


def write_rows(folder, study, seeds=None):
    chosen = find_study(study)
    for one in planned(chosen if seeds is None else chosen.with_seeds(seeds), "cpu"):
        place = folder / one.config.run_id
        place.mkdir(parents=True, exist_ok=True)
        metrics = {"acc": 80.0 - one.seed, "forgetting": 0.1 + 0.01 * one.seed}
        content = {"format": "cold-run/1", "run_id": one.config.run_id, "config": one.config.as_dict()}
        (place / "result.json").write_text(json.dumps({**content, "metrics": metrics, "made_up": True}))
        np.savez(place / "arrays.npz", queues=np.zeros((3, 2)))


@pytest.fixture(scope="module")
def rows_(tmp_path_factory):
    """Rows of two studies; the claims here read one of them."""
    folder = tmp_path_factory.mktemp("rows")
    write_rows(folder, "tasks")
    write_rows(folder, "epochs")
    return folder


@pytest.fixture(scope="module")
def checked(rows_):
    wanted = [next(c for c in find_claims(id_) if c.id == id_) for id_ in (*EVALUATED, TOY, PRINTED, TREND)]
    return wanted, run_checks(wanted, rows_)


@pytest.fixture
def world(checked, rows_, tmp_path, monkeypatch):
    """Stored verdicts beside a copy of the code and of the rows; gives (copy of code, copy of rows, stale claims)."""
    claims, outcomes = checked
    for package in ("coldtheory", "cold", "paper_checks"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(rows_, tmp_path / "rows")
    store_outcomes(outcomes, tmp_path / "outcomes.json")
    monkeypatch.setattr(code, "find_spec", lambda package: PathFinder.find_spec(package, [str(tmp_path)]))
    monkeypatch.setattr(stored, "all_claims", lambda: tuple(claims))

    def stale():
        return read_outcomes(tmp_path / "outcomes.json", tmp_path / "rows").stale

    return tmp_path, tmp_path / "rows", stale


def test_nothing_is_stale_where_nothing_has_changed(world):
    assert world[2]() == {}


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("coldtheory/bounds/thm2_queue.py", {EXACT}),
        ("coldtheory/bounds/lemma1_drift.py", {DRIFT}),
        ("coldtheory/bounds/thm3_gradient.py", {COROLLARY}),  # which Corollary 1 imports
        ("coldtheory/bounds/lemma_gap.py", set()),  # nobody evaluates it
        ("coldtheory/bounds/base.py", EVALUATED),
        ("coldtheory/simulation.py", {*EVALUATED, TOY}),  # `from coldtheory import simulate` loads it when asked
        ("coldtheory/counterexamples/lemma1_main_text.toml", EVALUATED),
        ("coldtheory/paper/paper_tables.toml", {PRINTED, TREND}),  # the settings of the runs are printed, too
        ("paper_checks/drift.py", {DRIFT}),
        ("paper_checks/_evidence.py", EVALUATED),
        ("paper_checks/_contrasts.py", {TREND}),
        ("cold/studies/5-tasks.toml", {TREND}),
        ("cold/trainer.py", set()),
        ("coldtheory/ground/errors.py", {*EVALUATED, TOY, PRINTED, TREND}),
        ("coldtheory/report/builder.py", set()),
        ("coldtheory/cli/check.py", set()),
        ("coldtheory/figures/style.py", set()),
    ],
)
def test_a_changed_file_makes_its_dependents_stale(world, file, expected):
    path, _, stale = world
    with (path / file).open("a") as text:
        text.write("\n# changed\n")
    assert set(stale()) == expected


def test_a_module_that_is_gone_makes_its_claims_stale(world):
    path, _, stale = world
    (path / "paper_checks" / "drift.py").unlink()
    assert stale() == {DRIFT: "code paper_checks.drift"}


def cells(study, seed=None):
    chosen = find_study(study)
    return [one.config.run_id for one in planned(chosen if seed is None else chosen.with_seeds([seed]), "cpu")]


def test_a_changed_row_makes_the_verdicts_stale_that_read_it(world):
    _, rows, stale = world
    for run_id, expected in ((cells("epochs")[0], {}), (cells("tasks")[0], {TREND: f"run {cells('tasks')[0]}"})):
        path = rows / run_id / "result.json"
        content = json.loads(path.read_text())
        content["metrics"]["acc"] += 1.0
        path.write_text(json.dumps(content))
        assert stale() == expected


def test_a_changed_matrix_counts_and_the_time_of_a_run_does_not(world):
    _, rows, stale = world
    folder = rows / cells("tasks")[0]
    content = json.loads((folder / "result.json").read_text())
    (folder / "result.json").write_text(json.dumps({**content, "timing": {"train_seconds": 3.0}}))
    assert stale() == {}
    np.savez(folder / "arrays.npz", queues=np.ones((3, 2)))
    assert set(stale()) == {TREND}


def test_a_row_that_goes_and_a_seed_that_comes_make_stale(world):
    _, rows, stale = world
    seed = max(one.seed for one in planned(find_study("tasks"), "cpu")) + 1
    write_rows(rows, "tasks", [seed + 1])  # does not follow on the others: no verdict asks for it
    assert stale() == {}
    write_rows(rows, "tasks", [seed])
    assert set(stale()) == {TREND}
    for run_id in cells("tasks", seed):
        shutil.rmtree(rows / run_id)
    assert stale() == {}
    shutil.rmtree(rows / cells("tasks")[0])
    assert set(stale()) == {TREND}


def test_a_verdict_without_runs_is_stale_once_they_are_there(world, tmp_path):
    _, _, stale = world
    empty = tmp_path / "empty"
    empty.mkdir()
    (claim,) = find_claims(TREND)
    found = run_checks([claim], empty)
    assert found.rows[0]["verdict"] == "no runs here"
    store_outcomes(found, tmp_path / "outcomes.json")
    assert read_outcomes(tmp_path / "outcomes.json", empty).stale == {}
    assert set(stale()) == {TREND}


def test_a_failed_check_and_a_claim_that_is_gone_are_stale(world, checked):
    path, _, stale = world
    first, second, *others = checked[1].rows
    rows = (first | {"verdict": stored.FAILED}, second | {"id": "gone"}, *others)
    store_outcomes(stored.Outcomes(rows, checked[1].origin), path / "outcomes.json")
    assert stale() == {first["id"]: "the check failed", "gone": "the claim is gone"}


def test_a_check_that_is_answered_from_memory_notes_the_same(rows_):
    (claim,) = find_claims(DRIFT)
    notes = run_claim(claim).notes
    assert "code coldtheory.bounds.lemma1_drift" in notes
    assert run_claim(claim).notes == notes
