"""Verdicts on trained networks follow from stored rows: other rows, another verdict."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cold.presets import build_config
from cold.tables.make import terms_of
from coldtheory.claims import find_claims, run_claim
from coldtheory.paper import paper
from paper_checks import training
from tests.cold.tables.made_rows import finish, tune

ROWS = ("cold-oracle", "cold", "finetune", "ewc", "agem", "der", "derpp", "nccl")


def found(id_, folder):
    (claim,) = find_claims(id_)
    return run_claim(claim, folder).finding


@pytest.fixture
def write(tmp_path):
    """Rows of Permuted-MNIST, tuned, each with three seeds around an accuracy and a forgetting."""
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
def test_verdicts_from_rows(write, tmp_path, change, lead, forgetting, der):
    write({**OURS_AHEAD, **change})
    assert found("equal-pmnist-lead", tmp_path).verdict == lead
    assert found("equal-pmnist-forgetting", tmp_path).verdict == forgetting
    assert found("equal-pmnist-der", tmp_path).verdict == der


def test_evidence_is_the_smallest_difference(write, tmp_path):
    write(OURS_AHEAD)
    finding = found("equal-pmnist-lead", tmp_path)
    assert finding.evidence.startswith("COLD-ORACLE minus DER++ +12 [")
    assert len(finding.data) == 12


def test_what_is_missing_is_named(write, tmp_path):
    write(OURS_AHEAD, keys=ROWS[:-1])
    finding = found("equal-pmnist-lead", tmp_path)
    assert finding.verdict == "no runs here"
    assert finding.evidence == "NCCL: rows not complete; make them: cold table pmnist --run"
    assert found("equal-pmnist-der", tmp_path).verdict == "holds"  # needs no NCCL


@pytest.mark.parametrize(("refresh", "verdict"), [(70.0, "holds"), (77.0, "not settled"), (80.0, "false")])
def test_the_lead_on_split_cifar10(tmp_path, refresh, verdict):
    """Nothing is tuned there; COLD-ORACLE at 77, the others but REFRESH at 70."""
    (terms,) = terms_of("split-cifar10", "equal")
    for key in ("cold-oracle", "cold", *training._CIFAR10):
        acc = {"cold-oracle": 77.0, "refresh": refresh}.get(key, 70.0)
        finish(terms, key, tmp_path, {}, [acc - 0.2, acc + 0.1, acc])
    assert found("equal-cifar10-lead", tmp_path).verdict == verdict


def write_printed(folder, acc):
    """Three seeds of both methods with the paper's settings; accuracy with the tolerance 0 and with the printed one."""
    for method, name in (("cold", "COLD"), ("cold-oracle", "COLD-ORACLE")):
        printed = paper().runs("pmnist", name)[0].delta
        for delta, value in zip((0.0, printed), acc, strict=True):
            for seed in range(3):
                flags = {"preset": "paper", "dataset": "pmnist", "method": method, "delta": delta, "seed": seed}
                config = build_config(None, flags)
                place = folder / config.run_id
                place.mkdir(parents=True)
                content = {
                    "format": "cold-run/1", "run_id": config.run_id, "config": config.as_dict(), "made_up": True,
                    "metrics": {"acc": value + 0.01 * seed, "forgetting": 0.04},
                }  # fmt: skip
                (place / "result.json").write_text(json.dumps(content))
                np.savez(place / "arrays.npz")


@pytest.mark.parametrize(("zero", "printed", "verdict"), [
    (91.3, 91.3, "holds"), (91.3, 85.0, "holds with correction"), (90.0, 85.0, "false"),
])  # fmt: skip
def test_the_rows_of_permuted_mnist(zero, printed, verdict, tmp_path):
    write_printed(tmp_path, (zero, printed))
    assert found("train-pmnist-ours", tmp_path).verdict == verdict


def test_without_rows_of_permuted_mnist_it_says_how_to_make_them(tmp_path):
    finding = found("train-pmnist-ours", tmp_path)
    assert finding.verdict == "no runs here"
    assert "cold run --dataset pmnist" in finding.data["command"]


def test_runs_are_looked_for_here_and_then_beside_the_package(tmp_path, monkeypatch):
    (claim,) = find_claims("train-pmnist-ours")
    monkeypatch.chdir(tmp_path)
    assert run_claim(claim).finding.verdict == claim.recorded  # no folder runs: those of the package
    (tmp_path / "runs").mkdir()
    assert run_claim(claim).finding.verdict == claim.recorded  # an empty one holds no runs
    write_printed(tmp_path / "runs", (90.0, 85.0))
    assert run_claim(claim).finding.verdict == "false"
