"""Verdicts on the paper's comparisons follow from the rows on equal terms: other rows, another verdict."""

from __future__ import annotations

import pytest

from cold.tables.make import terms_of
from paper_checks import tables_equal
from tests.cold.tables.made_rows import finish, tune

ROWS = ("cold-oracle", "cold", "finetune", "ewc", "agem", "der", "derpp", "nccl")


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Rows of Permuted-MNIST, tuned, each with three seeds around an accuracy and a forgetting."""
    monkeypatch.setattr(tables_equal, "RUNS", tmp_path)
    (terms,) = terms_of("pmnist", "equal")

    def write(numbers, keys=ROWS):
        for key in keys:
            acc, drop = numbers.get(key, (60.0, 0.3))
            choice = tune(terms, key, tmp_path, *[50.0] * (2 if key in ("finetune", "agem") else 4))
            finish(terms, key, tmp_path, choice.settings, [acc - 0.2, acc + 0.1, acc], [drop, drop + 0.001, drop])

    return write


OURS_AHEAD = {"cold-oracle": (91.0, 0.04), "cold": (91.1, 0.04), "der": (78.0, 0.1), "derpp": (79.0, 0.1)}


@pytest.mark.parametrize(
    ("change", "lead", "forgetting", "der"),
    [
        ({}, "holds", "holds", "holds"),
        ({"der": (93.5, 0.02)}, "false", "false", "holds"),
        ({"nccl": (91.0, 0.3)}, "not settled", "holds", "holds"),
        ({"agem": (80.0, 0.04)}, "holds", "not settled", "false"),
    ],
)
def test_verdicts_from_rows(write, change, lead, forgetting, der):
    write({**OURS_AHEAD, **change})
    assert tables_equal.pmnist_lead().verdict == lead
    assert tables_equal.pmnist_forgetting().verdict == forgetting
    assert tables_equal.pmnist_der().verdict == der


def test_evidence_is_the_smallest_difference(write):
    write(OURS_AHEAD)
    finding = tables_equal.pmnist_lead()
    assert finding.evidence.startswith("COLD-ORACLE minus DER++ +12 [")
    assert len(finding.data) == 12


def test_what_is_missing_is_named(write):
    write(OURS_AHEAD, keys=ROWS[:-1])
    finding = tables_equal.pmnist_lead()
    assert finding.verdict == "not reproducible here"
    assert finding.evidence == "NCCL: rows not complete; make them: cold table pmnist --run"
    assert tables_equal.pmnist_der().verdict == "holds"  # needs no NCCL


@pytest.mark.parametrize(("refresh", "verdict"), [(70.0, "holds"), (77.0, "not settled"), (80.0, "false")])
def test_the_lead_on_split_cifar10(tmp_path, monkeypatch, refresh, verdict):
    """Nothing is tuned there; COLD-ORACLE at 77, the others but REFRESH at 70."""
    monkeypatch.setattr(tables_equal, "RUNS", tmp_path)
    (terms,) = terms_of("split-cifar10", "equal")
    for key in ("cold-oracle", "cold", *tables_equal._CIFAR10):
        acc = {"cold-oracle": 77.0, "refresh": refresh}.get(key, 70.0)
        finish(terms, key, tmp_path, {}, [acc - 0.2, acc + 0.1, acc])
    assert tables_equal.cifar10_lead().verdict == verdict
