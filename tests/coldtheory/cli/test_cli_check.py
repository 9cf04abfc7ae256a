"""`coldtheory check`: verdicts, filters, explanations, and the alarm when one changes."""

from __future__ import annotations

import dataclasses
import json

import pytest
from typer.testing import CliRunner

from coldtheory.claims import VERDICTS, all_claims, find_claims
from coldtheory.cli import app
from coldtheory.cli import check as command
from coldtheory.report import outcomes as stored
from coldtheory.report import read_outcomes
from coldtheory.report.outcomes import place
from paper_checks import _evidence


def call(*words, columns=100):
    return CliRunner().invoke(app, list(words), env={"COLUMNS": str(columns)})


def test_json_is_a_list_of_outcomes():
    done = call("check", "--only", "text-", "--json")
    assert done.exit_code == 0
    outcomes = json.loads(done.stdout)
    assert [o["id"] for o in outcomes] == [c.id for c in all_claims() if c.id.startswith("text-")]
    for outcome in outcomes:
        assert set(outcome) == {
            "id", "label", "section", "statement", "verdict", "recorded", "changed", "margin", "evidence", "data",
            "seconds",
        }  # fmt: skip
        assert outcome["verdict"] in VERDICTS
        assert outcome["margin"] is None or isinstance(outcome["margin"], float)
        assert outcome["evidence"]
        assert not outcome["changed"]


def test_a_statement_comes_with_its_readings_and_its_label_finds_them_too():
    shown = {c.id for c in find_claims("thm4")}
    assert {"thm4", "thm4-step-size", "thm4-o-of-v", "thm4-identity"} <= shown
    assert "open-thm4-zero-start" not in shown
    assert {c.id for c in find_claims("thm:avg_queue_bound_case2")} >= {
        "thm4",
        "open-thm4-zero-start",
        "loose-thm4",
    }


def test_table_is_readable_at_100_columns():
    done = call("check", "--only", "lemma1")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0].split() == ["claim", "verdict", "margin", "evidence"]
    assert lines[1].startswith("lemma1 ")


def test_only_and_table():
    done = call("check", "--only", "toy-queue")
    assert done.exit_code == 0
    for name in ("toy-queue-linear", "toy-queue-variation", "toy-queue-matters", "5 claims:"):
        assert name in done.stdout
    assert "tab-" not in done.stdout


def test_explain():
    done = call("check", "--explain", "toy-turning-cause")
    assert done.exit_code == 0
    assert "fig:plot4_theory" in done.stdout
    assert "eta alpha" in done.stdout
    assert json.loads(call("check", "--explain", "toy-one-step", "--json").stdout)[0]["recorded"] == "holds"


def test_explain_gives_statement_conventions_proof_and_terms():
    done = call("check", "--explain", "thm3")
    assert done.exit_code == 0
    assert done.stdout.count("recorded:") == 1  # the theorem alone, not its readings
    for part in (
        "thm:gradient_norm_bound",
        "As printed:",
        "What is wrong:",
        "Conventions:",
        "Proof:",
        "Where each term",
    ):
        assert part in done.stdout
    for term in ("first loss", "variation", "conflict", "queues"):
        assert term in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_unknown_claim_gives_the_nearest_names():
    done = call("check", "--only", "toy-turnin-cause")
    assert done.exit_code == 2
    assert "toy-turning-cause" in done.stderr


def test_a_changed_verdict_is_exit_code_1(monkeypatch):
    (claim,) = find_claims("toy-one-step")
    other = dataclasses.replace(claim, recorded="false")
    monkeypatch.setattr(command, "find_claims", lambda _: (other,))
    done = call("check", "--only", "toy-one-step")
    assert done.exit_code == 1
    assert "was: false" in done.stdout
    assert "changed from the record: toy-one-step" in done.stdout


def test_a_changed_check_is_exit_code_1(monkeypatch):
    """As if the counterexample no longer broke the statement, or the corrected form were broken."""
    found = _evidence.replayed("lemma1_main_text")
    monkeypatch.setattr(_evidence, "replayed", lambda name: dataclasses.replace(found, violated=False))
    assert call("check", "--only", "lemma1-main-text").exit_code == 1
    monkeypatch.undo()
    monkeypatch.setattr(_evidence, "tally", lambda *_, **__: _evidence.Tally(5, 5, 1, -0.1))
    done = call("check", "--only", "lemma1-appendix", "--json")
    assert done.exit_code == 1
    (outcome,) = json.loads(done.stdout)
    assert outcome["verdict"] == "false"
    assert outcome["changed"]
    assert outcome["margin"] == pytest.approx(-0.1)


@pytest.fixture
def few(monkeypatch):
    """Three claims in place of all: one of the printed numbers, one that reads runs, one that evaluates a statement."""
    ids = ("tab-oracle-highest", "trend-tasks-stable-pmnist", "lemma1-main-text")
    claims = tuple(claim for id_ in ids for claim in find_claims(id_))

    def use(claims):
        for module in (command, stored):
            monkeypatch.setattr(module, "all_claims", lambda: claims)

    use(claims)
    return claims, use


def test_verdicts_are_kept_for_the_report(few, tmp_path):
    assert call("check", "--out", str(tmp_path)).exit_code == 0
    kept = read_outcomes(place(tmp_path))
    assert [row["id"] for row in kept.rows] == [claim.id for claim in few[0]]
    assert kept.current
    for words in (("--out", str(tmp_path)), ("--stale",)):
        refused = call("check", "--only", "thm3", *words)
        assert refused.exit_code == 2
        assert "leave --only out" in refused.stderr


def test_only_stale_verdicts_are_found_again(few, tmp_path):
    claims, use = few
    results = str(tmp_path / "results")
    missing = call("check", "--stale", "--out", results)
    assert missing.exit_code == 2
    assert f"'coldtheory check --out {results}' stores some" in missing.stderr.replace("\n", " ")
    use(claims[:2])
    assert call("check", "--out", results).exit_code == 0
    assert call("check", "--stale", "--out", results).stdout == "no stored verdict is stale\n"
    use(claims)  # a claim that was not there
    (tmp_path / "runs").mkdir()  # and no rows any more
    words = ("check", "--stale", "--out", results, "--runs", str(tmp_path / "runs"), "--json")
    done = call(*words)
    assert done.exit_code == 0
    assert {row["id"]: row["verdict"] for row in json.loads(done.stdout)} == {
        "trend-tasks-stable-pmnist": "no runs here",
        "lemma1-main-text": "false",
    }
    kept = read_outcomes(place(tmp_path / "results"), tmp_path / "runs")
    assert [row["id"] for row in kept.rows] == [claim.id for claim in claims]
    assert kept.current
    assert json.loads(call(*words).stdout) == []


def test_absent_runs_are_told_and_are_no_alarm(few, tmp_path):
    done = call("check", "--runs", str(tmp_path), columns=300)
    assert done.exit_code == 0
    assert "no runs here" in done.stdout
    assert "make them: cold study run tasks" in done.stdout
    assert "changed from the record" not in done.stdout
    refused = call("check", "--runs", str(tmp_path / "nowhere"))
    assert refused.exit_code == 2
    assert "there is no folder" in refused.stderr


def test_a_check_that_breaks_is_exit_code_1_and_hides_no_other(few):
    claims, use = few

    def breaks():
        raise ZeroDivisionError("by nothing")

    use((dataclasses.replace(claims[0], id="broken", check=breaks), claims[0]))
    done = call("check", "--json")
    assert done.exit_code == 1
    rows = json.loads(done.stdout)
    assert [row["verdict"] for row in rows] == ["check failed", "false"]
    assert rows[0]["evidence"] == "ZeroDivisionError: by nothing"
    assert set(rows[0]) == set(rows[1])


def test_the_page_of_all_claims_is_printed(few):
    done = call("check", "--markdown")
    assert done.exit_code == 0
    assert done.stdout.startswith("# Every claim\n")
    assert all(f"| `{claim.id}` | `{claim.label}` | {claim.recorded} |" in done.stdout for claim in few[0])
