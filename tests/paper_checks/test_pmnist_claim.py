"""The verdict on Permuted-MNIST follows from the stored rows: other rows, another verdict."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from coldtheory.paper import paper
from paper_checks import tables_pmnist

SETTINGS = {"tasks": 20, "epochs": 5, "memory": 5000, "V": 20.0, "lr": 1e-4, "batch_size": 128}


def write(folder: Path, acc: dict[float, float]) -> None:
    """Three seeds of both methods; accuracy by tolerance, "printed" being the method's own."""
    for method, name in (("cold", "COLD"), ("cold-oracle", "COLD-ORACLE")):
        printed = paper().runs("pmnist", name)[0].delta
        for kind, value in acc.items():
            for seed in range(3):
                delta = printed if kind else 0.0
                place = folder / f"{method}-{delta:g}-{seed}"
                place.mkdir(parents=True)
                config = {**SETTINGS, "method": method, "delta": delta, "limit_train": None, "evaluate_on": "test"}
                metrics = {"acc": value + 0.01 * seed, "forgetting": 0.04}
                content = {"format": "cold-run/1", "config": {**config, "seed": seed}, "metrics": metrics}
                (place / "result.json").write_text(json.dumps(content))
                np.savez(place / "arrays.npz", accuracy=np.eye(20))


@pytest.mark.parametrize(("zero", "printed", "verdict"), [
    (91.3, 91.3, "holds"), (91.3, 85.0, "holds with correction"), (90.0, 85.0, "false"),
])  # fmt: skip
def test_verdict_from_rows(zero, printed, verdict, tmp_path, monkeypatch):
    write(tmp_path, {0: zero, 1: printed})
    monkeypatch.setattr(tables_pmnist, "RUNS", tmp_path)
    assert tables_pmnist.pmnist_ours().verdict == verdict


def test_without_rows_it_says_how_to_make_them(tmp_path, monkeypatch):
    monkeypatch.setattr(tables_pmnist, "RUNS", tmp_path)
    finding = tables_pmnist.pmnist_ours()
    assert finding.verdict == "not reproducible here"
    assert "cold run --dataset pmnist" in finding.evidence
