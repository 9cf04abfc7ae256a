"""`cold table --run` on synthetic images: tuning, then final runs, interrupted and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from cold.cli.app import app
from cold.runs import RESULT
from tests.cold.tables.made_rows import TINY

#: Two rows, two seeds: 2 + 3 tuning runs, then 4 final ones.
SMALL = TINY.replace("seeds = [0, 1, 2]", "seeds = [0, 1]").replace(
    'equal = ["finetune", "er-plain", "er", "er-short", "cold", "joint"]', 'equal = ["finetune", "er"]'
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SMALL)
    return tmp_path


@pytest.fixture
def interruptible():
    """In the background a shell ignores SIGINT, and a child would inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def call(*words, code=0):
    done = CliRunner().invoke(app, ["table", "tiny", "--terms", "small.toml", *words], env={"COLUMNS": "200"})
    assert done.exit_code == code, done.output + str(done.exception)
    return done


def results(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob(RESULT)}


@pytest.mark.usefixtures("interruptible")
@pytest.mark.slow
def test_interrupted_and_resumed(here):
    """SIGINT after the first finished run ends with 130 and one line; the same call goes on and repeats nothing."""
    words = [sys.executable, "-m", "cold", "table", "tiny", "--terms", "small.toml", "--run", "--json"]
    with subprocess.Popen(words, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1"}) as process:  # fmt: skip
        first = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(120) == 130, first + rest
    assert " done (1 of 4)" in first
    assert rest.splitlines()[-1] == "stopped; finished runs stay, and the same command goes on with the rest"
    assert "Traceback" not in rest
    kept = results(here)
    assert 1 <= len(kept) < 9

    data = json.loads(call("--run", "--json", "--runs", ".").stdout)
    after = results(here)
    assert len(after) == 9
    assert kept.items() <= after.items()  # not written again
    assert (data["missing"], data["to_come"], data["problems"]) == ([], 0, [])
    assert not list(here.rglob("model.safetensors"))  # rows small enough to be committed
    rows = {row["row"]: row for row in data["comparisons"][0]["rows"]}
    for row in rows.values():
        best = max(row["tried"], key=lambda one: one["validation_acc"])
        assert row["settings"] == best["settings"]
        assert len(row["runs"]) == 2
    assert len(rows["er"]["tried"]) == 3
    assert {path.parent.parent.name for path in after} == {"select", "final"}

    call("--run", "--runs", ".")  # nothing to do
    assert results(here) == after


def test_a_failed_run_is_told_and_the_others_go_on(here):
    path = here / "small.toml"
    path.write_text(SMALL.replace("others = [3]", "others = [-1]"))
    done = call("--run", "--runs", ".", code=1)
    assert "failed (1 of 1): option replay_weight must be >= 0, got -1" in done.stderr
    assert "Traceback" not in done.stderr
    data = json.loads(call("--json", "--runs", ".").stdout)
    rows = {row["row"]: row for row in data["comparisons"][0]["rows"]}
    assert len(rows["finetune"]["runs"]) == 2
    assert (rows["er"]["settings"], len(rows["er"]["tried"]), len(data["missing"])) == (None, 2, 1)


def test_out_gathers_all_runs_in_one_folder(here):
    done = call("--missing", "--out", "elsewhere")
    assert all(" --out elsewhere " in line for line in done.stdout.splitlines())
