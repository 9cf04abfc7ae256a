"""Proofs and worst cases at small size, and that the engines would notice a false statement."""

from __future__ import annotations

import importlib
import json
from fractions import Fraction

import pytest
from typer.testing import CliRunner

from coldtheory import certify
from coldtheory.certify import lemmas, queue_theorems, theorems
from coldtheory.certify.algebra import prove
from coldtheory.certify.worst_case import step_change, step_worst
from coldtheory.cli import app
from coldtheory.ground.errors import ColdError


def call(*words):
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "100"})


@pytest.mark.parametrize("id", certify.CERTIFICATES)
def test_certificate_holds(id):
    records = certify.run_certificate(id, "small")
    assert records
    for record in records:
        assert record.holds, record
        assert json.loads(json.dumps(certify.to_json(record), allow_nan=False))["id"] == record.id
    assert certify.CERTIFICATES[id].doc.strip()


def records(id):
    return certify.run_certificate(id, "small")


@pytest.mark.parametrize("id", ["pep.step.largest", "pep.smooth.mean", "pep.gap"])
def test_bounds_called_tight_are_reached(id):
    assert all(record.tight for record in records(id))


def test_sharper_theorem_3_is_tight_without_weights_and_close_with_them():
    two, quiet, rising = records("pep.thm3.sharp")
    assert two.tight
    assert quiet.tight
    assert 0.9 < rising.ratio < 1.0


def test_theorem_4_is_within_a_thousandth_of_its_worst_case():
    (record,) = records("pep.thm4.path")
    assert 1.0 <= record.ratio < 1.001  # both sides are negative


def test_printed_step_size_leaves_a_half_unused_and_sum_weights_can_climb():
    assert all(record.ratio == pytest.approx(1.5, rel=1e-6) for record in records("pep.step.mean"))
    assert all(record.worst_case > 0 for record in records("pep.step.sum"))


def test_worst_step_is_its_closed_form_for_unequal_queues():
    worst = step_worst(2.0, 0.5, 1.5, [0.3, 1.0, 0.0], "mean", 0.4)
    alpha = 2.0 * 0.5 + 1.5 * (0.3 + 1.0) / 3
    assert worst == pytest.approx(step_change(alpha, 0.4), rel=1e-6)


@pytest.mark.parametrize(
    "problem",
    [
        lemmas.drift_problem(2, cross=Fraction(1), kept=Fraction(0)),
        lemmas.drift_problem(3, cross=Fraction(1, 3), kept=Fraction(1, 2)),
        queue_theorems.theorem4(3, "mean", first=Fraction(0)),
        theorems.theorem3_sharp(2, "mean", start=Fraction(1, 2)),
    ],
    ids=["plain sum", "too much ageing", "no first loss", "half the first loss"],
)
def test_mutants_are_refuted_with_exact_numbers(problem):
    outcome = prove(problem, timeout=30.0)
    assert outcome.status == "refuted"
    assert problem.violated(outcome.model)


def test_refutations_carry_fractions_that_python_confirms():
    for id, item in certify.CERTIFICATES.items():
        if isinstance(item, certify.AlgebraicClaim) and item.refute:
            (record,) = records(id)
            assert all(isinstance(value, Fraction) for value in record.model.values())


def test_command_line():
    done = call("certify", "--only", "lemma1", "--only", "pep.gap")
    assert done.exit_code == 0
    assert "lemma1.mean" in done.stdout
    assert "7 certificates, all hold" in done.stdout
    rows = json.loads(call("certify", "--only", "lemma1.sum.printed", "--json").stdout)
    assert rows[0]["kind"] == "refutation"
    assert rows[0]["holds"] is True


def test_unknown_certificate_names_the_nearest():
    done = call("certify", "--only", "lema1.mean")
    assert done.exit_code == 2
    assert "lemma1.mean" in done.stderr


def test_a_failed_certificate_is_exit_code_1(monkeypatch):
    class Broken:
        def run(self, size):
            (record,) = records("pep.gap")
            return [type(record)(**{**vars(record), "worst_case": 2 * record.bound})]

    good = certify.CERTIFICATES["pep.gap"]
    monkeypatch.setitem(certify.CERTIFICATES, "pep.gap.broken", Broken())
    assert good.run("small")
    done = call("certify", "--only", "pep.gap.broken")
    assert done.exit_code == 1
    assert "FAIL" in done.stdout


@pytest.mark.parametrize(("module", "id"), [("z3", "lemma1.queue"), ("PEPit", "pep.gap")])
def test_missing_solver_is_one_line_with_the_remedy(monkeypatch, module, id):
    real = importlib.import_module

    def without(name, *rest):
        if name.split(".")[0] == module:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(ColdError, match=r"pip install 'cold-continual\[certify\]'"):
        certify.run_certificate(id)
    done = call("certify", "--only", id)
    assert done.exit_code == 2
    assert len(done.stderr.strip().splitlines()) == 1
