"""The `cold` command: run, show, compare, eval, export; one-line errors with exit code 2."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from safetensors import safe_open
from typer.testing import CliRunner

from cold.cli.app import app
from coldtheory.ground.statistics import t_interval
from tests.options import all_commands

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


def test_show_says_which_theorems_apply(tmp_path):
    words = (
        "--method",
        "cold",
        "--reference",
        "stored",
        "--queue-update",
        "task",
        "--diagnostics",
        "--out",
        str(tmp_path),
    )
    shown = call(*RUN, *words).stdout
    assert "forgetting (queues): holds, measured " in shown
    assert "on the test data, mean over the same pairs of tasks: " in shown
    assert "thm3 (trajectory): not applicable; premises that fail: " in shown
    (file,) = tmp_path.glob("*/result.json")
    stored = json.loads(file.read_text())
    stored["diagnostics"]["bounds"][-1]["lhs"] = "many"
    file.write_text(json.dumps(stored))
    assert "(queues)" not in call("show", str(file.parent)).stdout  # what does not follow its form is left out


def test_show_by_id_and_packed(out, run, tmp_path, monkeypatch):
    shown = call("show", run, "--json").stdout
    assert f"data {json.loads(shown)['data']}" in call("show", run).stdout
    run_id = Path(run).name
    monkeypatch.chdir(tmp_path)
    shutil.copytree(run, tmp_path / "results" / "runs" / run_id, ignore=shutil.ignore_patterns("*.safetensors"))
    assert call("show", run_id, "--json").stdout == shown
    call("study", "pack", "results/runs")
    assert not (tmp_path / "results" / "runs" / run_id).exists()
    for name in (run_id, f"results/runs/{run_id}"):
        assert call("show", name, "--json").stdout == shown
        assert "accuracy (%) on each task" in call("show", name).stdout
        for words in (("eval", name), ("export", name, "model.safetensors")):
            assert "was kept without its weights" in call(*words, code=2).stderr
    assert "data b51e66440adf89bd" in call("show", "pmnist-agem-s0-683df4e3").stdout  # a committed run, from anywhere


def test_compare_groups_seeds_and_pairs_them(out):
    rows = json.loads(call("compare", str(out), "--json").stdout)
    assert {(row["config"]["method"], tuple(row["seeds"])) for row in rows} == {("cold", (0, 1)), ("er", (0, 1))}
    assert rows[0]["data"] == rows[1]["data"] != [None]
    text = call("compare", str(out), "--against", "er").stdout
    gains = [a - b for a, b in zip(*(row["metrics"]["acc"] for row in rows), strict=True)]
    low, high = t_interval(gains)
    assert f"cold - er: {sum(gains) / 2:+.2f} [{low:+.2f}, {high:+.2f}] points (95 % interval, paired over 2" in text
    assert "±" in text
    assert "unrecorded" not in text


def test_compare_leaves_out_what_is_damaged_and_says_once_what_is_unrecorded(run, tmp_path):
    for name in ("good", "bad"):
        shutil.copytree(run, tmp_path / name)
    (tmp_path / "bad" / "result.json").write_text("{")
    stored = json.loads((tmp_path / "good" / "result.json").read_text())
    (tmp_path / "good" / "result.json").write_text(json.dumps({**stored, "data": None}))
    done = call("compare", str(tmp_path))
    assert done.stderr.count("\n") == 1
    assert "left out: " in done.stderr
    assert done.stdout.count("data unrecorded in all runs") == 1
    (tmp_path / "good" / "result.json").write_text("[")
    assert "damaged" in call("compare", str(tmp_path), code=2).stderr


def test_eval_gives_the_stored_accuracies(run):
    again = json.loads(call("eval", run, "--json").stdout)
    assert again["largest_difference"] == 0.0


EVIL = """
from pathlib import Path
from cold.methods.er import ER
Path('{mark}').touch()
class Own(ER):
    name = 'own'
"""


def test_eval_executes_no_file_that_a_result_names(run, tmp_path):
    """A foreign result may name any method; its file is loaded only if the user names it."""
    mark, file = tmp_path / "executed", tmp_path / "method.py"
    file.write_text(EVIL.format(mark=mark))
    shutil.copytree(run, tmp_path / "run")
    stored = json.loads((tmp_path / "run" / "result.json").read_text())
    for method in (str(file), f"{file}:Own", "nobody"):
        content = {**stored, "config": {**stored["config"], "method": method}}
        (tmp_path / "run" / "result.json").write_text(json.dumps(content))
        done = call("eval", str(tmp_path / "run"), code=2)
        assert "which is not built in; give its file with --method FILE.py" in done.stderr
        for words in (("show", str(tmp_path / "run")), ("compare", str(tmp_path / "run"))):
            call(*words)
        assert not mark.exists()
    again = json.loads(call("eval", str(tmp_path / "run"), "--method", str(file), "--json").stdout)
    assert again["largest_difference"] == 0.0
    assert mark.exists()


def test_eval_asks_where_a_folder_of_images_is(run, tmp_path):
    shutil.copytree(run, tmp_path / "run")
    stored = json.loads((tmp_path / "run" / "result.json").read_text())
    content = {**stored, "config": {**stored["config"], "dataset": "folder:/somewhere"}}
    (tmp_path / "run" / "result.json").write_text(json.dumps(content))
    assert "--dataset folder:PATH" in call("eval", str(tmp_path / "run"), code=2).stderr


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


@pytest.mark.parametrize("words", [["show", "nowhere"], ["eval", "nowhere"]])
def test_missing_runs(words):
    assert "no finished run" in call(*words, code=2).stderr


def test_a_missing_or_empty_folder_to_compare_is_one_line_with_a_remedy(run, tmp_path):
    (tmp_path / "empty").mkdir()
    for folders, words in (
        (("nowhere",), "there is no folder nowhere; name folders that 'cold run' or 'cold study run' wrote"),
        ((str(run), "nowhere"), "there is no folder nowhere;"),
        ((str(tmp_path / "empty"),), "makes one"),
    ):
        done = call("compare", *folders, code=2)
        assert words in done.stderr
        assert done.stderr.count("\n") == 1


def test_every_command_has_help_with_an_example():
    for words in all_commands():
        program, *command = words.split()
        if program == "cold":
            shown = call(*command, "--help").stdout
            assert "Example" in shown, words
            assert f"{words} " in shown, words


def test_damaged_result(run, tmp_path):
    (tmp_path / "result.json").write_text("{")
    (tmp_path / "arrays.npz").write_bytes(b"")
    assert "damaged" in call("show", str(tmp_path), code=2).stderr
