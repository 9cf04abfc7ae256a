"""`cold table --run --again`: runs of an earlier rule are made anew, and nothing else is touched."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from cold.cli.app import app
from cold.runs import RuleChange, find_runs, pack, rules, write_result
from tests.cold.tables.test_table_run import SMALL

CHANGE = RuleChange(method="er", before=dt.datetime(2020, 1, 1, tzinfo=dt.UTC), commit="c0ffee", what="it was wrong")


def call(*words, code=0):
    done = CliRunner().invoke(app, ["table", "tiny", "--terms", "small.toml", *words], env={"COLUMNS": "200"})
    assert done.exit_code == code, done.output + str(done.exception)
    return done


@pytest.fixture
def here(tmp_path, monkeypatch):
    """All runs of the table, packed; those of ER look as if an earlier rule had made them in 2019."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rules, "_changes", lambda: (CHANGE,))
    (tmp_path / "small.toml").write_text(SMALL)
    call("--run", "--runs", ".")
    true = {run_id: (run.metrics, run.time) for run_id, run in find_runs(tmp_path).items()}
    for run in find_runs(tmp_path).values():
        if run.config["method"] == "er":
            old = {**run.provenance, "time": "2019-12-31T00:00:00+00:00"}
            write_result(
                run.folder, replace(run, provenance=old, metrics={**run.metrics, "acc": run.metrics["acc"] - 1})
            )
    pack(tmp_path)
    return tmp_path, true


@pytest.mark.slow
def test_runs_of_an_earlier_rule_are_made_anew(here):
    folder, true = here
    shown = " ".join(call("--runs", ".").stdout.split())
    assert "er: 5 runs" in shown
    assert "were made by an earlier rule: it was wrong; --run --again makes them anew" in shown
    call("--again", code=2)

    done = call("--run", "--again", "--runs", ".", "--json")
    rows = {row["row"]: row for row in json.loads(done.stdout)["comparisons"][0]["rows"]}
    found = find_runs(folder)
    assert found.keys() == true.keys()
    assert len(done.stderr.splitlines()) == 5
    for run_id, run in found.items():
        metrics, time = true[run_id]
        assert run.metrics == metrics  # the same code: the same numbers as before they were changed
        assert (run.time == time) is (run.config["method"] == "finetune")
    assert set(rows["er"]["acc"].values()) == {run.metrics["acc"] for run in found.values()
                                               if run.run_id in rows["er"]["runs"].values()}  # fmt: skip
    assert {path.name for path in folder.rglob("*") if path.is_dir()} == {"final", "select"}
    assert "earlier rule" not in call("--runs", ".").stdout
    assert not call("--run", "--again", "--runs", ".").stderr  # nothing left to do
