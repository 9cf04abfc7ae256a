"""What docs/tuning.md says of runs/tune-pmnist-1k, found again in the rows."""

from __future__ import annotations

import pytest

from cold.presets import build_config
from cold.runs import evidence, find_runs, identified
from cold.tables.terms import layered
from cold.tuning.settings_file import find_settings
from cold.tuning.stored import stored_settings
from coldtheory.ground.statistics import paired, spread
from tests.docs.pages import ROOT

FOLDER = evidence() / "tune-pmnist-1k"
PAGE = (ROOT / "docs" / "tuning.md").read_text()


@pytest.fixture(scope="module")
def rows():
    return find_runs(FOLDER)


@pytest.fixture(scope="module")
def found():
    return {one.config.method: one for one in find_settings([FOLDER])}


def accuracies(rows, settings):
    configs = [build_config(None, {**settings, "limit_test": 1000, "seed": seed}) for seed in range(5)]
    return {config.seed: rows[identified(config).run_id].metrics["acc"] for config in configs}


@pytest.mark.parametrize(
    ("method", "table"),
    [("er", "pmnist"), ("er", "pmnist-10k"), ("der", "pmnist"), ("der", "pmnist-10k"),
     ("cold", "pmnist"), ("cold", "pmnist-10k"), ("cold", "adaptivity")],
)  # fmt: skip
def test_what_was_found_is_not_worse_than_the_table_s_choice(rows, found, method, table):
    one = found[method]
    (other,) = (
        that for that in stored_settings([evidence()])
        if that.source == f"cold table {table}" and that.config.method == method
    )  # fmt: skip
    left, right = accuracies(rows, one.settings), accuracies(rows, layered(one.settings, other.origin.chosen))
    gain = paired(left, right)
    assert gain.low > 0
    (line,) = (line for line in PAGE.splitlines() if f"| `{table}` |" in line and f"{gain.mean:+.2f} [" in line)
    for side in (left, right):
        told = spread(side.values())
        assert f"{told.mean:.2f} ± {told.sd:.2f}" in PAGE
    assert f"{spread(right.values()).mean:.2f} ± " in line
    assert f"[{gain.low:+.2f}, {gain.high:+.2f}]" in line


@pytest.mark.parametrize("method", ["er", "der", "derpp", "cold", "cold-oracle"])
def test_the_rows_behind_a_settings_file(rows, found, method):
    """They are there, made by committed code; the chosen one is the best, and every trial's accuracy is its run's."""
    origin = found[method].origin
    assert (origin.budget, origin.seed) == (12, 100)
    assert origin.spent <= origin.budget
    behind = [rows[run_id] for run_id in origin.runs]
    assert {run.provenance["changed"] for run in behind} == {False}
    assert {run.data for run in behind} == {origin.data}
    assert behind[0].metrics["acc"] == origin.acc == max(run.metrics["acc"] for run in behind)
    assert behind[0].config["lr"] == found[method].settings["lr"]
    finished = {trial["run"]: trial["acc"] for trial in origin.trials if trial["state"] == "finished"}
    assert finished == {run.run_id: run.metrics["acc"] for run in behind}
