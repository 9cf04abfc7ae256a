"""`cold methods`: every declared field, the paper's row beside it, and measurements that show what rules cost."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from cold.cli.app import app
from cold.cli.measure import fisher_speed
from cold.methods import all_methods
from coldtheory.paper import paper


def called(*words):
    return CliRunner().invoke(app, ["methods", *words])


def test_json_has_all_that_is_declared():
    done = called("--json")
    assert done.exit_code == 0, done.output
    rows = {row["name"]: row for row in json.loads(done.stdout)["methods"]}
    assert set(rows) == {method.name for method in all_methods()}
    assert rows["gem"]["options"] == {"fill": "task-end", "margin": 0.5, "samples": 0}
    assert rows["er"]["options"]["replay_weight"] == 1.0
    assert rows["nccl"]["settings"] == ["task", "class", "domain"]
    assert rows["er"]["settings"] == ["task", "class", "domain", "task-free"]
    assert "Buzzega et al. 2020" in rows["er"]["published_by"]
    assert rows["der"]["published_by"] == rows["der"]["paper"]
    printed = {row["title"]: row["printed"] for row in rows.values() if row["printed"]}
    # every row of the paper's table stands beside a method
    for row in paper().complexity:
        title = "COLD-ORACLE" if row.method == "COLD" and "t*m" in row.operations else row.method
        assert printed[title] == {"operations": row.operations, "storage": row.storage}


def test_table_and_help():
    done = called()
    assert done.exit_code == 0
    for method in all_methods():
        assert method.name in done.stdout
    assert "Example" in called("--help").stdout
    assert called("--method", "nothing").exit_code == 2


def test_measured_growth():
    """GEM's step grows with the number of tasks; COLD-ORACLE stores a model a task, EWC two in all, ER none."""
    words = [word for name in ("er", "gem", "ewc", "cold-oracle") for word in ("--method", name)]
    done = called(*words, "--measure", "--json")
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)
    found = {row["name"]: row["measured"] for row in content["methods"]}
    growth = {name: row["step_ms"][1] / row["step_ms"][0] for name, row in found.items()}
    assert growth["gem"] > 1.5  # the memory of seven past tasks in place of one
    assert growth["gem"] > growth["er"]
    stored = {name: row["stored"] for name, row in found.items()}
    assert stored["er"][0] == stored["er"][1]
    assert stored["ewc"][0] == stored["ewc"][1]
    assert stored["cold-oracle"][1] > 2 * stored["cold-oracle"][0]


def test_the_batched_fisher_is_that_of_a_loop():
    """How much faster it is depends on the machine: `cold methods --measure` prints it."""
    assert fisher_speed(samples=64, looped=16)["difference"] < 1e-5


@pytest.mark.parametrize("words", [("--method", "nowhere.py")])
def test_mistakes(words):
    done = called(*words)
    assert done.exit_code == 2
