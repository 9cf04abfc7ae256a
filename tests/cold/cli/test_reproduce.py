"""`cold reproduce`: everything from one command, resumable; at a size of seconds."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from cold.cli import reproduce
from cold.cli.app import app
from cold.runs import RESULT, find_runs
from cold.studies import find_study
from cold.tables.terms import using
from coldtheory.ground.errors import ColdError
from tests.cold.tables.test_table_run import SMALL


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Two studies and one small table."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduce, "studies", lambda: (find_study("V"), find_study("queues")))
    (tmp_path / "small.toml").write_text(SMALL)
    return tmp_path


def call(*words, code=0):
    done = CliRunner().invoke(app, ["reproduce", *map(str, words)], env={"COLUMNS": "100"})
    assert done.exit_code == code, done.output + str(done.exception)
    return done


def steps(done):
    return {step["name"]: step for step in json.loads(done.stdout)["steps"]}


def written(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob(RESULT)}


@pytest.mark.slow
def test_all_of_it_and_again(here):
    words = ("--profile", "smoke", "--terms", "small.toml", "--engine", "serial", "--json")
    before = steps(call(*words, "--dry-run"))
    assert [(one["runs"], one["finished"], one["new"]) for one in before.values()] == [
        (9, 0, 9),
        (12, 0, 12),
        (12, 0, 0),
    ]
    assert not (here / "results").exists()

    done = call(*words)
    after = steps(done)
    assert [(one["runs"], one["finished"], one["new"]) for one in after.values()] == [
        (9, 9, 0),
        (12, 12, 0),
        (12, 12, 0),
    ]
    outputs = [path for one in after.values() for path in one["outputs"].items()]
    assert len(outputs) == 6
    assert all(there for _, there in outputs)
    assert "A tiny stream" in (here / "reproduction/tables/tiny-equal.md").read_text()
    assert len(find_runs(here / "results/runs")) == 21
    kept = written(here)

    again = call(*words)  # nothing is made twice
    assert written(here) == kept
    assert steps(again).keys() == after.keys()
    assert call("--profile", "smoke", "--terms", "small.toml", "--engine", "serial").stdout.count("(written)") == 6


def test_a_run_that_fails_is_told_and_the_rest_is_made(here):
    (here / "small.toml").write_text(SMALL.replace("others = [3]", "others = [-1]"))
    done = call("--profile", "smoke", "--terms", "small.toml", "--engine", "serial", code=1)
    assert "failed: option replay_weight must be >= 0" in done.stderr
    assert (here / "reproduction/figures/varying_V-synthetic-smoke.png").exists()


def test_the_papers_size_is_planned_and_needs_its_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = call("--dry-run", "--json")
    found = steps(done)
    assert json.loads(done.stdout)["estimate"] is True
    assert found["V"]["runs"] == 108
    assert found["queues"]["new"] == 0  # V has them
    assert found["m-large, equal"]["new"] == 0  # the main table has them
    assert sum(one["gpu_hours"] for one in found.values()) > 100
    assert "what reproduces" in found
    halved = steps(call("--dry-run", "--json", "--throughput", "10000"))
    assert halved["V"]["gpu_hours"] == pytest.approx(found["V"]["gpu_hours"] / 2)
    missing = call("--data-root", tmp_path, code=2)
    assert "cold data fetch cifar10 cifar100 tinyimagenet" in missing.stderr


def test_a_part_of_a_data_set_is_not_the_papers_size(tmp_path):
    folder = tmp_path / "cifar-100-binary"
    folder.mkdir()
    for name in ("train.bin", "test.bin"):
        (folder / name).write_bytes(bytes(3074))
    step = reproduce.Step("study", "V", 1, 0, 1, 1.0, ("cifar100",), ())
    with pytest.raises(ColdError, match=r"is a part of CIFAR-100 .* go on with --parts"):
        reproduce._check_data([step], tmp_path, parts=False)
    reproduce._check_data([step], tmp_path, parts=True)


def test_what_belongs_to_a_profile(here):
    with using(None):
        assert reproduce._tables("smoke", own=False) == []
        assert ("pmnist", "equal") in reproduce._tables("paper", own=False)
        assert ("main", "published") in reproduce._tables("paper", own=False)
        reduced = reproduce._tables("cpu", own=False)
        assert ("pmnist-10k", "published") in reduced
        assert not any(name in ("main", "pmnist") for name, _ in reduced)


def test_wrong_words(here):
    assert "unknown profile" in call("--profile", "huge", code=2).stderr
