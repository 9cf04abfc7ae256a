"""`cold verify`: stored runs come out again, and what does not is told, with the commit that made it."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from cold.cli.app import app
from cold.runs import RuleChange, find_runs, pack, rules
from cold.trainer import Trainer
from cold.verify import Again, verified
from tests.cold.runs.small_runs import finished
from tests.cold.tiny_runs import tiny


def call(*words, code=0):
    done = CliRunner().invoke(app, ["verify", *map(str, words)], env={"COLUMNS": "200"})
    assert done.exit_code == code, done.output + str(done.exception)
    return done


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Three true runs, packed."""
    folder = tmp_path_factory.mktemp("true")
    for method, seed in (("finetune", 0), ("er", 0), ("er", 1)):
        Trainer(tiny(method=method, seed=seed), out=folder).run()
    pack(folder)
    return folder


@pytest.fixture
def runs(made, tmp_path):
    """The same runs, for one test to change."""
    folder = tmp_path / "runs"
    folder.mkdir()
    for name in ("rows.jsonl", "arrays.npz"):
        (folder / name).write_bytes((made / name).read_bytes())
    return folder


def change(folder, run_id, **entries):
    """Change entries of a packed run, as a damaged or foreign file has them."""
    lines = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    for row in lines:
        if row.get("run_id") == run_id:
            for name, new in entries.items():
                row[name] = {**row.get(name, {}), **new}
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in lines))


def states(done):
    return {row["run_id"]: row["state"] for row in json.loads(done.stdout)["runs"]}


def test_runs_come_out_again(runs):
    before = (runs / "rows.jsonl").read_bytes()
    done = call(runs, "--json")
    assert set(states(done).values()) == {"identical"}
    assert json.loads(done.stdout)["counts"] == {"identical": 3}
    assert (runs / "rows.jsonl").read_bytes() == before
    assert {path.name for path in runs.iterdir()} == {"rows.jsonl", "arrays.npz"}
    shown = call(runs, "--sample", 1, "--seed", 3).stdout
    assert "1 runs made again: 1 identical" in shown


def test_what_differs_is_told_with_the_commit_that_made_it(runs):
    finetune, first, second = sorted(find_runs(runs), key=lambda name: ("er" in name, name))
    truth = {name: run.metrics["acc"] for name, run in find_runs(runs).items()}
    change(runs, finetune, metrics={"acc": truth[finetune] + 0.5}, provenance={"commit": "c0ffee" * 6})
    change(runs, first, metrics={"acc": truth[first] + 0.5}, provenance={"kernels": {"aten": "other"}})
    change(runs, second, metrics={"acc": truth[second] - 2}, provenance={"kernels": None})
    done = call(runs, "--json", code=1)
    assert states(done) == {finetune: "differs", first: "close", second: "differs"}
    why = {row["run_id"]: row["why"] for row in json.loads(done.stdout)["runs"]}
    assert why[finetune] == "metrics (acc), with the same versions and kernels"
    assert why[first].startswith("other processor, aten")
    assert why[second] == "more than 1 points; kernels unrecorded"
    shown = call(runs / finetune, code=1).stdout
    assert "commit c0ffeec0ffee made it" in shown
    assert "differs" in shown
    call(runs / first, "--tolerance", "0.1", code=1)

    call(runs, "--replace", code=1)  # as they were; now they are what the present code makes
    assert {name: run.metrics["acc"] for name, run in find_runs(runs).items()} == truth
    assert set(states(call(runs, "--json")).values()) == {"identical"}


def test_runs_of_an_earlier_rule(runs, monkeypatch):
    before = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    monkeypatch.setattr(
        rules, "_changes", lambda: (RuleChange(method="er", before=before, commit="c0", what="it was wrong"),)
    )
    assert "no such runs" in call(runs, "--earlier").stdout
    names = [name for name, run in find_runs(runs).items() if run.config["method"] == "er"]
    for name in names:
        change(runs, name, metrics={"acc": 1.0}, provenance={"time": "2019-01-01T00:00:00+00:00"})
    done = call(runs, "--earlier", "--replace", "--json", code=1)
    assert states(done) == dict.fromkeys(names, "earlier rule")
    assert "no such runs" in call(runs, "--earlier").stdout
    assert all(run.metrics["acc"] > 1 for run in find_runs(runs).values())


def test_new_runs_are_kept_on_request(runs, tmp_path):
    call(runs, "--sample", 1, "--out", tmp_path / "kept")
    assert len(find_runs(tmp_path / "kept")) == 1


def test_what_cannot_be_made_is_told_and_the_rest_goes_on(runs):
    renamed = next(iter(find_runs(runs)))
    change(runs, renamed, config={"V": 77.0})
    done = call(runs, "--json", code=1)
    assert sorted(states(done).values()) == ["failed", "identical", "identical"]
    (why,) = (row["why"] for row in json.loads(done.stdout)["runs"] if row["state"] == "failed")
    assert why.startswith("its settings are called synthetic-")


def test_other_data_are_not_compared(runs):
    name = next(iter(find_runs(runs)))
    text = (runs / "rows.jsonl").read_text()
    data = find_runs(runs)[name].data
    (runs / "rows.jsonl").write_text(text.replace(data, "0123456789abcdef"))
    done = call(runs, "--json", code=1)
    assert set(states(done).values()) == {"failed"}
    assert "was made from other data" in json.loads(done.stdout)["runs"][0]["why"]


def test_a_run_without_accuracy_is_not_close():
    run = finished(seed=0)
    bare = replace(run, metrics={"acc": None})
    assert verified(Again(bare, run)).state == "differs"


@pytest.mark.parametrize("words", [["--sample", "0"], ["--tolerance", "-1"], ["--jobs", "0"]])
def test_wrong_words(runs, words):
    done = call(runs, *words, code=2)
    assert done.stderr.splitlines()[-1].startswith("error: ")


def test_an_empty_folder(tmp_path):
    assert "no finished run there" in call(tmp_path, code=2).stderr
