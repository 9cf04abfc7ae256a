"""`cold tune`, `cold settings` and `cold run --settings` as a user types them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from cold.cli.app import app
from cold.runs import find_runs
from cold.tuning.search import JOURNAL
from cold.tuning.settings_file import read_settings
from tests.cold.tuning.tiny_search import WORDS

needs_optuna = pytest.mark.skipif("not __import__('importlib.util').util.find_spec('optuna')", reason="needs optuna")


def call(*words, code=0):
    done = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "80"})
    assert done.exit_code == code, done.output + str(done.exception)
    return done


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@needs_optuna
def test_from_tuning_to_a_run(here):
    """Tune, look, go on; run with the file and with "best"; hold the choice against another one."""
    done = call("tune", "der", *WORDS, "--budget", "3")
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if not line.startswith("cold run"))
    last = done.stdout.splitlines()[-1]
    assert last.startswith("cold run --settings results/tuning/synthetic-der-s100-b3-")
    path = here / last.split()[3]
    chosen = read_settings(path)
    assert "about 0 s left" in done.stderr.splitlines()[-1]

    again = call("tune", "der", *WORDS, "--budget", "3", "--json")
    found = json.loads(again.stdout)
    assert found["file"] == str(path)
    assert found["provenance"]["chosen"] == chosen.origin.chosen
    assert found["provenance"]["trials"][0]["lr"] == 1e-4
    assert again.stderr == ""  # nothing was left to do

    for words in (("--settings", path), ("--method", "der", *WORDS, "--settings", "best")):
        run = call("run", *words, "--seed", "1", "--limit-test", "20", "--json", "--out", f"out-{len(words)}")
        config = json.loads(run.stdout)["config"]
        assert (config["lr"], config["options"]) == (chosen.settings["lr"], chosen.settings["options"])
        assert (config["seed"], config["evaluate_on"], config["epochs"]) == (1, "test", 1)
        assert f"chosen by: {chosen.origin.command}" in run.stderr
        assert chosen.origin.runs[0] in run.stderr
    assert len(find_runs(here / "out-2", here / "out-22")) == 1  # the same run, whichever way it was said

    listed = call("settings", "--dataset", "synthetic")
    assert "der" in listed.stdout
    assert all(len(line) <= 80 for line in listed.stdout.splitlines() if "/" not in line)
    (entry,) = json.loads(call("settings", "--dataset", "synthetic", "--json").stdout)
    assert entry["provenance"]["command"] == chosen.origin.command

    other = here / "other.toml"
    other.write_text(path.read_text().replace(f"lr = {chosen.settings['lr']}", "lr = 0.005"))
    told = call("settings", "compare", path, other, "--seeds", "0,1")
    assert "1 - 2: " in told.stdout
    assert "95 % interval" in told.stdout
    numbers = json.loads(call("settings", "compare", path, other, "--seeds", "0,1", "--json").stdout)
    assert numbers["second"]["settings"]["lr"] == 0.005
    assert len(numbers["difference"]["each"]) == 2


@needs_optuna
def test_settings_beyond_the_options(here):
    (here / "base.toml").write_text("lr = 0.01\nepochs = 3\n[options]\nbeta = 0.5\n")
    words = ("tune", "derpp", *WORDS, "--config", "base.toml", "--set", "optimizer=sgdm", "--budget", "1",
             "--search", "beta=0.1:1", "--json")  # fmt: skip
    found = json.loads(call(*words).stdout)
    assert (found["epochs"], found["optimizer"]) == (1, "sgdm")  # an option counts more than the file
    assert found["options"]["same_draw"] is True  # as in the tables
    (trial,) = found["provenance"]["trials"]
    assert (trial["lr"], trial["alpha"], trial["beta"]) == (0.01, 0.5, 0.5)
    assert "--set optimizer=sgdm" in found["provenance"]["command"]
    assert found["provenance"]["command"].endswith("--budget 1 --search beta=0.1:1")


def test_without_optuna_one_line_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    done = call("tune", "er", "--dataset", "synthetic", code=2)
    assert done.stderr == "error: cold tune needs Optuna: pip install 'cold-continual[tune]'\n"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("run", "--dataset", "pmnist", "--method", "er", "--limit-train", "1234", "--settings", "best"),
         "make them with cold tune er --dataset pmnist --limit-train 1234"),
        (("run", "--settings", "none.toml"), "cannot read none.toml"),
        (("settings", "--method", "nothing"), "no stored tuning runs chose such settings"),
        (("settings", "compare", "none.toml", "pmnist"), "cannot read none.toml"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_with_a_remedy(here, words, hint):
    done = call(*words, code=2)
    assert hint in done.stderr
    assert len(done.stderr.splitlines()) == 1


@needs_optuna
@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--budget", "0"), "budget must be a whole number of at least 1"),
        (("--search", "lr"), "give NAME=LOW:HIGH"),
        (("--set", "learning_rate=1"), "unknown setting"),
        (("--engine", "cloud"), "unknown engine"),
        (("--validation", "0"), "to evaluate on validation data, keep some"),
    ],
)
def test_a_search_that_cannot_be(here, words, hint):
    done = call("tune", "er", *WORDS, *words, code=2)
    assert hint in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list(here.iterdir())


def test_the_committed_settings_fit_80_columns():
    shown = call("settings").stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert "replay_weight=" in shown


@needs_optuna
@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_killed_and_started_again(here, how):
    """The program itself, ended in the midst of its work: the same command goes on, to the same settings."""
    words = [sys.executable, "-m", "cold", "tune", "er", *WORDS, "--budget", "8"]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(words, cwd=here, stderr=subprocess.PIPE, text=True, env=env) as process:
        for _ in range(7):
            process.stderr.readline()
        process.send_signal(how)
        rest = process.stderr.read()
        assert process.wait(120) == (130 if how == signal.SIGINT else -how)
    assert "Traceback" not in rest
    (journal,) = here.rglob(JOURNAL)
    before = journal.read_text()
    for _ in range(50):  # the lock of the dead
        if not list(here.rglob("*.lock")):
            break
        time.sleep(0.1)
    tuned = json.loads(call("tune", "er", *WORDS, "--budget", "8", "--json").stdout)
    assert journal.read_text().startswith(before.rpartition("\n")[0])
    straight = json.loads(call("tune", "er", *WORDS, "--budget", "8", "--json", "--out", "straight").stdout)
    for one in (tuned, straight):
        del one["file"], one["provenance"]["made"]
    assert tuned == straight
