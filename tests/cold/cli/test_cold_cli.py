"""The `cold` command: run, show, compare, eval, export; one-line errors with exit code 2."""

from __future__ import annotations

import json

import pytest
from safetensors import safe_open
from typer.testing import CliRunner

from cold.cli.app import app

RUN = ["run", "--dataset", "synthetic", "--tasks", "2", "--limit-train", "60", "--limit-test", "20", "--epochs", "1",
       "--memory", "20", "--memory-batch", "2", "--batch-size", "20", "--lr", "1e-3", "--threads", "1"]  # fmt: skip


def call(*words: str, code: int = 0):
    done = CliRunner().invoke(app, list(words), env={"COLUMNS": "200"})
    assert done.exit_code == code, done.output + str(done.exception)
    return done


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for method in ("cold", "er"):
        for seed in ("0", "1"):
            call(*RUN, "--method", method, "--seed", seed, "--out", str(folder))
    return folder


@pytest.fixture
def run(out):
    return str(next(out.glob("synthetic-cold-s0-*")))


def test_json_is_the_stored_result(out, run):
    printed = json.loads(call(*RUN, "--method", "cold", "--out", str(out), "--resume", "--json").stdout)
    stored = json.loads(call("show", run, "--json").stdout)
    assert printed == stored
    assert printed["config"]["V"] == 20.0


def test_show(run):
    text = call("show", run).stdout
    assert "accuracy (%) on each task (across) after each task (down)" in text
    assert "forgetting_after" in text


def test_compare_groups_seeds_and_pairs_them(out):
    rows = json.loads(call("compare", str(out), "--json").stdout)
    assert {(row["config"]["method"], tuple(row["seeds"])) for row in rows} == {("cold", (0, 1)), ("er", (0, 1))}
    text = call("compare", str(out), "--against", "er").stdout
    assert "cold - er: " in text
    assert "±" in text


def test_eval_gives_the_stored_accuracies(run):
    again = json.loads(call("eval", run, "--json").stdout)
    assert again["largest_difference"] == 0.0


def test_export_carries_settings(run, tmp_path):
    path = tmp_path / "model.safetensors"
    assert json.loads(call("export", run, str(path), "--json").stdout)["tensors"] > 2
    with safe_open(str(path), framework="pt") as file:
        assert json.loads(file.metadata()["config"])["method"] == "cold"
        assert "backbone.1.weight" in set(file.keys())


def test_a_finished_run_is_not_overwritten_unasked(out):
    done = call(*RUN, "--method", "cold", "--out", str(out), code=2)
    assert "is finished" in done.stderr
    call(*RUN, "--method", "cold", "--out", str(out), "--fresh")


def test_config_file_preset_and_online(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('dataset = "synthetic"\ntasks = 2\nlimit_train = 40\nmemory = 10\nepochs = 3\n')
    done = call("run", "--config", str(path), "--online", "--out", str(tmp_path), "--json", "--threads", "1")
    assert json.loads(done.stdout)["config"]["epochs"] == 1


@pytest.mark.parametrize(("words", "message"), [
    (["--method", "colt"], "did you mean cold"),
    (["--memory", "1"], "less than one sample"),
    (["--memory-batch", "11"], "larger than the 10 samples"),
    (["--option", "alpha"], "NAME=VALUE"),
    (["--preset", "paper"], "prints no settings for synthetic"),
    (["--dataset", "synthetics"], "unknown benchmark"),
    (["--config", "nowhere.toml"], "cannot read"),
    (["--lr", "1e30", "--optimizer", "sgdm"], "the loss is"),
    (["--out", "/proc/nowhere"], "cannot write"),
    (["--dataset", "pmnist", "--data-root", "/nowhere"], "/nowhere"),
])  # fmt: skip
def test_one_line_errors(words, message, tmp_path):
    done = call(*RUN, "--out", str(tmp_path), *words, code=2)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.output


@pytest.mark.parametrize("words", [["show", "nowhere"], ["compare", "nowhere"], ["eval", "nowhere"]])
def test_missing_runs(words):
    assert "no finished run" in call(*words, code=2).stderr


def test_every_command_has_help_with_an_example():
    for command in ("run", "show", "compare", "eval", "export"):
        assert f"cold {command} " in call(command, "--help").stdout


def test_damaged_result(run, tmp_path):
    (tmp_path / "result.json").write_text("{")
    (tmp_path / "arrays.npz").write_bytes(b"")
    assert "damaged" in call("show", str(tmp_path), code=2).stderr
