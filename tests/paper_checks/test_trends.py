"""Verdicts on trends follow from the stored rows: other rows, another verdict."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cold.studies import find_study, planned, studies
from coldtheory.claims import all_claims, find_claims, run_claim, seen_in
from coldtheory.figures import registry
from coldtheory.ground.errors import ColdError
from paper_checks import _runs
from paper_checks._contrasts import Contrast, settle

TRENDS = [claim for claim in all_claims() if claim.id.startswith("trend-")]


def contrasts(*means, seeds=3, spread=0.1):
    noise = spread * np.linspace(-1, 1, seeds)
    return [Contrast(f"c{i}", mean + noise) for i, mean in enumerate(means)]


@pytest.mark.parametrize(("means", "verdict"), [
    ((1.0,), "holds"), ((1.0, 2.0), "holds"), ((-1.0,), "false"), ((1.0, -1.0), "false"),
    ((0.0,), "not settled"), ((1.0, 0.0), "not settled"),
])  # fmt: skip
def test_a_verdict_from_intervals(means, verdict):
    found = settle(contrasts(*means))
    assert found.verdict == verdict
    assert (found.margin is None) == (verdict == "not settled")
    if found.margin is not None:
        assert np.sign(found.margin) == (1 if verdict == "holds" else -1)


def test_the_interval_is_students():
    values = np.array([1.0, 2.0, 4.0])
    half = 4.302652729911275 * values.std(ddof=1) / np.sqrt(3)  # the 97.5 % quantile of t with 2 degrees of freedom
    assert Contrast("c", values).interval(0.05) == pytest.approx((values.mean() - half, values.mean() + half))


def test_refuting_takes_more_where_there_are_many_contrasts():
    """A contrast just below zero refutes a claim of one contrast, but not one of twenty."""
    (just,) = contrasts(-0.3)
    assert just.interval(0.05)[1] < 0
    assert settle([just]).verdict == "false"
    assert settle([just, *contrasts(*[5.0] * 19)]).verdict == "not settled"


def test_evidence_names_the_smallest_of_many():
    found = settle(contrasts(5.0, 4.0, 3.0, 2.0, 1.0, 6.0))
    assert found.evidence.startswith("c4 +1 [")
    assert found.evidence.endswith("2 more are larger (3 seeds)")
    assert len(found.data) == 6


def test_what_is_no_number_is_no_evidence():
    with pytest.raises(ColdError, match="not all numbers"):
        Contrast("c", np.array([1.0, np.nan]))


def write(folder, study, make, seeds=None, profile="cpu"):
    """Rows of a study; `make(planned cell)` gives metrics, and arrays."""
    chosen = find_study(study)
    for one in planned(chosen if seeds is None else chosen.with_seeds(seeds), profile):
        place = folder / one.config.run_id
        place.mkdir(parents=True, exist_ok=True)
        metrics, arrays = make(one)
        content = {
            "format": "cold-run/1", "run_id": one.config.run_id, "config": one.config.as_dict(), "metrics": metrics,
            "made_up": True,
        }  # fmt: skip
        (place / "result.json").write_text(json.dumps(content))
        np.savez(place / "arrays.npz", **arrays)


def rows(acc, forgetting, queue=lambda V: V):
    """Metrics as functions of the value; seeds differ a little."""

    def make(one):
        noise = 0.01 * one.seed
        T = 4
        queues = np.tril(np.ones((T + 1, T)), -1) * queue(one.value) * (1 + noise)
        return {"acc": acc(one.value) + noise, "forgetting": forgetting(one.value) + noise / 100}, {"queues": queues}

    return make


def verdict(id_, folder):
    (claim,) = find_claims(id_)
    return run_claim(claim, folder).finding.verdict


@pytest.mark.parametrize(("sign", "expected"), [(1, "holds"), (-1, "false")])
def test_V_and_queues(tmp_path, sign, expected):
    log = np.log10
    make = rows(lambda V: 60 + 5 * sign * log(V), lambda V: 0.2 + 0.02 * sign * log(V), lambda V: V**sign)
    write(tmp_path, "V", make)
    for id_ in ("trend-v-accuracy", "trend-v-least-forgetting", "trend-v-large-forgets", "trend-queues-grow"):
        for dataset in ("pmnist", "cifar10"):
            assert verdict(f"{id_}-{dataset}", tmp_path) == expected
    assert verdict("trend-queues-cold-lower-pmnist", tmp_path) == "not settled"  # both methods have the same


@pytest.mark.parametrize(("sign", "expected"), [(1, "holds"), (-1, "false")])
def test_memory(tmp_path, sign, expected):
    make = rows(lambda m: 60 + sign * np.log2(m), lambda m: 0.2 - 0.01 * sign * np.log2(m))
    write(tmp_path, "memory", make)
    for id_ in ("trend-memory-accuracy", "trend-memory-forgetting"):
        assert verdict(f"{id_}-pmnist", tmp_path) == verdict(f"{id_}-cifar10", tmp_path) == expected


def test_slopes_are_those_of_the_rows(tmp_path):
    write(tmp_path, "memory", rows(lambda m: 60 + 1.5 * np.log2(m), lambda m: 0.2))
    runs = _runs.StoredRuns(tmp_path).study("memory", "pmnist")
    np.testing.assert_allclose(runs.slope("cold", _runs.acc), 1.5)


@pytest.mark.parametrize(("fall", "expected"), [(1.0, "holds"), (9.0, "false")])
def test_stable_is_less_than_five_points(tmp_path, fall, expected):
    write(tmp_path, "tasks", rows(lambda T: 80 - fall * (T - 5) / 15, lambda T: 0.1))
    assert verdict("trend-tasks-stable-pmnist", tmp_path) == expected


def test_more_seeds_count_when_they_are_complete(tmp_path):
    make = rows(lambda V: 60 + V, lambda V: 0.2)
    write(tmp_path, "V", make)
    assert _runs.StoredRuns(tmp_path).study("V", "pmnist").seeds == (3, 4, 5)
    write(tmp_path, "V", make, seeds=[6, 8])  # 7 is not there, so 8 does not follow
    assert _runs.StoredRuns(tmp_path).study("V", "pmnist").seeds == (3, 4, 5, 6)
    gone = next(one for one in planned(find_study("V").with_seeds([6]), "cpu") if one.config.dataset == "pmnist")
    (tmp_path / gone.config.run_id / "result.json").unlink()
    assert _runs.StoredRuns(tmp_path).study("V", "pmnist").seeds == (3, 4, 5)


@pytest.mark.parametrize("claim", TRENDS, ids=lambda c: c.id)
def test_without_rows_it_says_how_to_make_them(claim, tmp_path):
    checked = run_claim(claim, tmp_path)
    assert checked.finding.verdict == "no runs here"
    assert not checked.changed
    assert checked.finding.data["command"].startswith("cold study run")
    assert checked.finding.evidence.endswith(checked.finding.data["command"])


def test_queue_measures_by_hand(tmp_path):
    class Stored:
        id = "r"

        def array(self, name):
            # T = 3; rows: start, after task 1, 2, 3
            return np.array([[0, 0, 0], [0, 0, 0], [4.0, 0, 0], [1.0, 3.0, 0]])

    assert _runs.queue(Stored()) == pytest.approx((4 + 1 + 3) / 3)
    assert _runs.newest_share(Stored()) == pytest.approx(3 / 4)


def test_shares():
    np.testing.assert_array_equal(_runs.share(np.array([3.0, 0.0, 0.0]), np.array([1.0, 2.0, 0.0])), [0.5, -1.0, 0.0])


def test_every_picture_of_a_reduced_study_has_a_claim_and_the_other_way_round():
    pictures = {figure.id for figure in registry.figures() if figure.id.endswith("-cpu")}
    assert {name for claim in TRENDS for name in claim.pictures} == pictures
    labels = {claim.label for claim in TRENDS}
    assert {study.label for study in studies()} <= labels


def test_a_run_without_the_number_is_said(tmp_path):
    write(tmp_path, "V", lambda one: ({"acc": None, "forgetting": 0.1}, {}))
    with pytest.raises(ColdError, match="has no acc; run it again"):
        verdict("trend-v-accuracy-pmnist", tmp_path)


def test_what_is_seen_in_a_picture_is_checked_once(tmp_path):
    write(tmp_path, "tasks", rows(lambda T: 80 - T, lambda T: 0.1))
    found = seen_in("varying_tasks-pmnist-cpu", tmp_path)
    assert [one.claim.id for one in found] == ["trend-tasks-stable-pmnist", "trend-tasks-cold-less-stable-pmnist"]
    assert found[0].finding.verdict == "false"
    again = seen_in("varying_tasks-pmnist-cpu", tmp_path)
    assert all(one is other for one, other in zip(found, again, strict=True))
    assert seen_in("no-such-picture") == []
