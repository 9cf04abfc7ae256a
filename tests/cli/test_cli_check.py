"""`coldtheory check`: verdicts, filters, explanations, and the alarm when one changes."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from coldtheory.cli import app
from paper_checks import base


def call(*words):
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "100"})


@pytest.fixture(scope="module")
def everything():
    return call("check", "--json")


def test_every_claim_keeps_its_recorded_verdict(everything):
    outcomes = json.loads(everything.stdout)
    assert [outcome["id"] for outcome in outcomes if outcome["changed"]] == []
    assert everything.exit_code == 0
    assert len(outcomes) == len(base.all_claims())
    assert all({"id", "verdict", "margin", "evidence", "label"} <= set(outcome) for outcome in outcomes)


def test_only_and_table():
    done = call("check", "--only", "toy-queue")
    assert done.exit_code == 0
    for name in ("toy-queue-linear", "toy-queue-variation", "toy-queue-matters", "3 claims:"):
        assert name in done.stdout
    assert "tab-" not in done.stdout


def test_explain():
    done = call("check", "--explain", "toy-turning-cause")
    assert done.exit_code == 0
    assert "fig:plot4_theory" in done.stdout
    assert "eta alpha" in done.stdout
    assert json.loads(call("check", "--explain", "toy-one-step", "--json").stdout)[0]["recorded"] == "holds"


def test_unknown_claim_gives_the_nearest_names():
    done = call("check", "--only", "toy-turnin-cause")
    assert done.exit_code == 2
    assert "toy-turning-cause" in done.stderr


def test_a_changed_verdict_is_exit_code_1(monkeypatch):
    (claim,) = base.find_claims("toy-one-step")
    other = base.Claim(**{**vars(claim), "recorded": "false"})
    monkeypatch.setattr(base, "find_claims", lambda _: (other,))
    done = call("check", "--only", "toy-one-step")
    assert done.exit_code == 1
    assert "was: false" in done.stdout
    assert "changed from the record: toy-one-step" in done.stdout
