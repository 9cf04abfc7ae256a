"""Advice on stored training runs: read back without torch, trusted in nothing, and shown like advice on tasks."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import cold.advice as module
from cold.cli.app import app
from cold.runs import find_runs, read_result
from coldtheory import ColdError
from coldtheory.advice.text import shown
from tests.coldtheory.without_torch import run_without_torch

SMALL = (
    "--dataset", "synthetic", "--tasks", "2", "--epochs", "2", "--batch-size", "20", "--memory", "20",
    "--memory-batch", "10", "--limit-train", "20", "--limit-test", "10", "--model", "mlp-4", "--threads", "1",
)  # fmt: skip
THEORY = (
    "--delta", "1e-3", "--weights", "mean", "--queue-update", "task", "--optimizer", "sgdm", "--momentum", "0",
    "--lr", "0.01",
)  # fmt: skip


def train(out, *words):
    done = CliRunner().invoke(app, ["run", *SMALL, *words, "--out", str(out)])
    assert done.exit_code == 0, done.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three runs that differ in V, one of another kind, and one without diagnostics."""
    out = tmp_path_factory.mktemp("runs")
    for V in ("1", "5", "50"):
        train(out, *THEORY, "--V", V, "--diagnostics")
    train(out, "--diagnostics")
    train(out, "--seed", "3")
    return out


def of(folder, **wanted):
    (found,) = [
        one for one in find_runs(folder).values()
        if all(one.config.get(name) == value for name, value in wanted.items())
    ]  # fmt: skip
    return found


def page(result):
    (found,) = module.advice(str(result.folder))
    return found


def test_a_run_in_the_theory_s_terms(folder):
    result = of(folder, V=5.0, optimizer="sgdm")
    found = page(result)
    text = found.text()
    assert max(map(len, text.splitlines())) <= 80
    assert [label for label, _ in found.answer] == ["V", "step size", "queues", "guarantee", "forgetting"]
    measured = result.diagnostics
    bounds = {one["statement"]: one for one in measured["bounds"]}
    assert bounds["thm3_sharp"]["outcome"] == "holds"
    assert f"gradient at most {shown(bounds['thm3_sharp']['rhs'])}, measured" in text
    assert found.data["lr_theorem"] == pytest.approx(1.0 / measured["alpha_max"])
    assert found.data["V_largest"] > 5.0
    hat = result.array("diag_hat")
    assert found.data["memory_loss_rise"] == pytest.approx(hat[2, 0] - hat[1, 0])
    assert json.dumps(found.data, allow_nan=False)


def test_runs_that_differ_in_V_are_the_sweep(folder):
    found = page(of(folder, V=5.0, optimizer="sgdm"))
    assert [row["V"] for row in found.data["sweep"]] == [1.0, 5.0, 50.0]
    gradients = {row["V"]: row["avg_grad_sq_before"] for row in found.data["sweep"]}
    assert found.data["V_best_gradient"] == min(gradients, key=gradients.get)
    assert f"{shown(found.data['V_best_gradient'])} for the next task" in dict(found.answer)["V"]
    alone = page(of(folder, optimizer="adam", seed=0))
    assert "the only one trained" in dict(alone.answer)["V"]


def test_what_to_change_is_said_in_flags(folder):
    text = " ".join(page(of(folder, optimizer="adam", seed=0)).text().split())
    assert "--queue-update task" in text
    assert "--delta 1e-3" in text
    assert "--optimizer sgdm --momentum 0" in text
    assert "none for the gradient: it misses queue per task" in text


def test_flags_exist():
    known = CliRunner().invoke(app, ["run", "--help"], env={"COLUMNS": "200"}).output
    for flags in module._FLAGS.values():
        for word in flags.split():
            if word.startswith("--"):
                assert word.strip(",()") in known, word


def test_what_cannot_be_advised_on_is_one_line(folder):
    with pytest.raises(ColdError, match="has no diagnostics; train it again with --diagnostics"):
        page(of(folder, seed=3))
    with pytest.raises(ColdError, match="holds 5 runs; name one of them"):
        list(module.advice(str(folder)))
    assert list(module.advice("high-and-dry")) == []
    assert list(module.advice("nothing")) == []


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("L", "steep"), ("bounds", [{"statement": "thm3"}]), ("bounds", 3.0), ("per_task", {"alpha": "x"}),
        ("notes", [1.0]),
    ],
)  # fmt: skip
def test_damaged_diagnostics_are_one_line(folder, tmp_path, entry, value):
    result = of(folder, V=5.0, optimizer="sgdm")
    copy = tmp_path / result.run_id
    copy.mkdir()
    record = json.loads((result.folder / "result.json").read_text())
    record["diagnostics"][entry] = value
    (copy / "result.json").write_text(json.dumps(record))
    (copy / "arrays.npz").write_bytes((result.folder / "arrays.npz").read_bytes())
    with pytest.raises(ColdError) as error:
        list(module.advice(str(copy)))
    assert "\n" not in str(error.value)
    assert "damaged" in str(error.value)


def test_arrays_of_a_wrong_shape_are_left_out(folder, tmp_path):
    result = of(folder, V=5.0, optimizer="sgdm")
    copy = tmp_path / result.run_id
    copy.mkdir()
    (copy / "result.json").write_bytes((result.folder / "result.json").read_bytes())
    arrays = {name: result.array(name) for name in result.arrays} | {"diag_hat": np.zeros(3)}
    np.savez(copy / "arrays.npz", **arrays)
    (found,) = module.advice(str(copy))
    assert found.data["memory_loss_rise"] is None
    assert read_result(copy).run_id == result.run_id


def test_torch_is_not_needed(folder):
    code = "import sys\nfrom cold.advice import advice\nprint(next(advice(sys.argv[1])).text())"
    done = run_without_torch(code, str(of(folder, V=5.0, optimizer="sgdm").folder))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("V  ")
