"""Every claim about the theory and the toy: its recorded verdict is found again, and could be otherwise."""

from __future__ import annotations

import json

import pytest

from coldtheory.bounds import STATEMENTS, evaluate
from coldtheory.claims import all_claims, run_claim
from paper_checks import _evidence
from tests.paper_checks.claims_page import check_on_the_page, rows_on_the_page

pytestmark = pytest.mark.kernels

# The claims on tables and text have tests of their own, which also change the data under them.
OTHERS = ("paper_checks.tables_", "paper_checks.text_")
CLAIMS = [c for c in all_claims() if c.module.startswith("paper_checks.") and not c.module.startswith(OTHERS)]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda c: c.id)
def test_recorded_verdict_is_found_again(claim):
    outcome = run_claim(claim)
    assert not outcome.changed, outcome.finding.evidence
    check_on_the_page(outcome.as_json())
    row = json.loads(json.dumps(outcome.as_json(), allow_nan=False))
    assert row["id"] == claim.id
    assert ":" in claim.label
    assert len(claim.explain) > 100
    if claim.recorded == "false" and row["margin"] is not None:
        assert row["margin"] <= 0
    if claim.recorded == "holds":
        assert row["margin"] is not None
        assert row["margin"] >= 0


def test_every_statement_is_claimed():
    labels = {c.label for c in CLAIMS}
    assert {statement.label for statement in STATEMENTS.values()} <= labels
    named = {"lemma1", "lemma2", "thm1", "thm2", "thm3", "thm4", "cor1", "cor2-gradient", "cor2-queue", "gap",
             "dpp-average", "constraint", "queue-lindley"}  # fmt: skip
    assert named <= {c.id for c in CLAIMS}


def test_ids_are_unique_and_ordered_as_the_paper():
    ids = [c.id for c in all_claims()]
    assert len(ids) == len(set(ids))
    assert ids.index("lemma1") < ids.index("thm1") < ids.index("thm3") < ids.index("cor1") < ids.index("gap")
    assert (
        ids.index("gap") < ids.index("toy-slope-low") < ids.index("text-cifar100-tasks") < ids.index("tab-accf-bound")
    )


def test_batches_meet_the_premises_of_the_corrected_forms():
    """A verdict from runs to which a statement does not apply would be worth nothing."""
    for id, form, batches in (
        ("thm3", "corrected", _evidence.descents()),
        ("thm4", "corrected", _evidence.descents(reference="previous")),
        ("thm1", "corrected", _evidence.minimisers()),
        ("thm2", "trajectory", _evidence.minimisers()),
    ):
        found = _evidence.tally(id, form, batches)
        assert found.applicable == found.runs > 100


def test_printed_theorem_2_is_left_out_only_where_an_ideal_model_is_outside_W():
    bounds = [evaluate("thm2", "printed", facts) for facts in _evidence.minimisers()]
    for bound in bounds:
        assert [name for name, met in bound.assumptions.items() if not met.all()] in ([], ["w* in W"])
    assert sum(int(bound.applicable.sum()) for bound in bounds) > 80


def test_batches_are_not_trivial():
    """Queues fill in most runs, for all weights and references."""
    for facts in (*_evidence.descents(), *_evidence.minimisers()):
        filled = (facts.Qbar.max(axis=-1) > 0).mean()
        assert filled > 0.5, (facts.weights, facts.reference, filled)


def test_tally_sees_a_false_statement():
    found = _evidence.tally("lemma1", "printed", _evidence.descents())
    assert found.violated > 0
    assert not found.holds
    assert found.margin < 0
    assert _evidence.supported(found).verdict == "false"


def test_no_run_is_no_support():
    empty = _evidence.tally("cor1", "mean", _evidence.descents("sum"))  # not applicable to sum weights
    assert empty.applicable == 0
    assert _evidence.supported(empty).verdict == "false"


# Claims that hold by definition unless something is wrong: a planted change of what they look at makes them fail.
def _lost_references(*_: object, **__: object):
    return [_evidence.mixed("mean", "best", window=1)]


def _scaled_queues(regime: str):
    facts = _evidence.facts_of(_evidence.simulate(_evidence.make_tasks(regime, range(1)), V=200.0))
    facts.Q = 2.0 * facts.Q
    return facts


def _huge_tolerance(regime: str):
    """All d_k are near -delta: the classical constant is no worse than Delta_t then."""
    return _evidence.facts_of(_evidence.simulate(_evidence.make_tasks(regime, range(1)), V=200.0, delta=1e6))


PLANTED = {
    "case2-reference": ("descents", _lost_references, "false"),
    "text-no-dual-updates": ("toy", _scaled_queues, "holds"),
    "lemma1-data-dependent": ("toy", _huge_tolerance, "false"),
}


@pytest.mark.parametrize("id", PLANTED)
def test_a_planted_change_is_noticed(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = next(c for c in all_claims() if c.id == id)
    name, planted, verdict = PLANTED[id]
    monkeypatch.setattr(_evidence, name, planted)
    assert claim.check().verdict == verdict != claim.recorded


def test_what_holds_with_a_correction_has_no_negative_margin():
    rows = rows_on_the_page()
    assert not {
        id for id, (verdict, margin) in rows.items() if verdict == "holds with correction" and (margin or 0) < 0
    }


def test_open_is_for_mathematics_only():
    found = {c.id for c in all_claims() if c.recorded == "open"}
    assert found == {"open-thm3-sum-alpha", "open-cor1-sum-alpha", "mean-violation"}
