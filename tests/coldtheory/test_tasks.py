"""Task streams: what the paper says they are, and the same everywhere."""

from __future__ import annotations

import hashlib
from itertools import combinations

import numpy as np
import pytest

from coldtheory import ColdError, from_optima, from_points, from_regression, make_tasks, simulate
from coldtheory.tasks import REGIMES, base_and_drift

pytestmark = pytest.mark.kernels

# Of the stream's bytes, and of those of its sampled tasks: the same with all kernels and numpy versions tested.
STREAM_DIGESTS = {
    "low": ("25c72916c389e168", "0666d60158452ca7"),
    "high": ("57d2ecc439ec191b", "2b6559221137005f"),
    "conflict": ("a4924925a01025cc", "9ac8ced07010124c"),
}


def digest(*arrays):
    return hashlib.sha256(b"".join(array.astype("<f8").tobytes() for array in arrays)).hexdigest()[:16]


@pytest.mark.parametrize("regime", REGIMES)
def test_stream_is_the_same_on_every_machine(regime):
    whole, sampled = make_tasks(regime, seeds=7).phi, make_tasks(regime, seeds=7, n=12, m=5)
    parts = [getattr(q, name) for q in (sampled.phi, sampled.phi_hat) for name in ("optima", "offsets")]
    assert (digest(whole.optima), digest(*parts)) == STREAM_DIGESTS[regime]


@pytest.mark.parametrize(("regime", "c2"), [("low", 0.0004), ("high", 0.0064)])
def test_moments_are_those_of_the_paper(regime, c2):
    seeds = range(40)
    optima = make_tasks(regime, seeds).phi.optima
    assert optima.shape == (40, 150, 25)
    base = np.stack([base_and_drift(regime, seed)[0] for seed in seeds])
    assert base.var() == pytest.approx(0.09, rel=0.1)
    drifts = [base_and_drift(regime, seed)[1] for seed in seeds]
    t = np.arange(1, 151)[:, None] / 150
    path = [b + (0.0 if drift is None else t * drift) for b, drift in zip(base, drifts, strict=True)]
    noise = optima - np.stack([np.broadcast_to(p, (150, 25)) for p in path])
    assert noise.var() == pytest.approx(c2, rel=0.02)
    assert noise.mean() == pytest.approx(0.0, abs=4 * np.sqrt(c2 / noise.size))
    if regime == "high":
        assert np.linalg.norm(drifts, axis=1) == pytest.approx(0.8, rel=1e-12)


def test_stream_depends_on_seed_and_regime_alone():
    one = make_tasks("high", seeds=3).phi.optima
    assert (make_tasks("high", seeds=[5, 3]).phi.optima[1] == one).all()
    assert not np.allclose(make_tasks("high", seeds=4).phi.optima, one)
    noise = [make_tasks("low", seeds=1, T=T, c1=0.0).phi.optima for T in (20, 50)]
    assert (noise[0] == noise[1][:20]).all()


def test_conflict_tasks_return_and_pull_apart():
    optima = make_tasks("conflict", seeds=0, c2=0.0, block=10, T=40, separation=6.0).phi.optima
    assert (optima[:10] == optima[20:30]).all()
    assert np.linalg.norm(optima[0] - optima[10]) == pytest.approx(6.0)


def test_the_queue_matters_in_conflict_and_not_in_the_papers_regimes():
    V = np.geomspace(10, 1000, 9)
    change = {}
    for regime in REGIMES:
        tasks = make_tasks(regime, seeds=range(5))
        on, off = (
            simulate(tasks, V=V, weights=weights).avg_grad_sq_before.mean(axis=0) for weights in ("mean", "none")
        )
        change[regime] = np.abs(on / off - 1).max()
    assert change["conflict"] > 0.20
    assert change["low"] < 0.003
    assert change["high"] < 0.003


def test_sampled_tasks_are_means_over_points():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(4, 9, 3))
    tasks = from_points(points, m=4, seed=1)
    w = rng.normal(size=(5, 3))
    direct = 0.5 * ((w[:, None, None] - points) ** 2).sum(-1).mean(-1)
    assert tasks.phi.values(w) == pytest.approx(direct, rel=1e-12)
    # the memory's loss is that of 4 of the 9 points: find them
    for t in range(4):
        value = tasks.phi_hat.values(w)[:, t]
        losses = 0.5 * ((w[:, None] - points[t]) ** 2).sum(-1)  # (5, 9): of every point
        fits = [np.allclose(losses[:, list(pick)].mean(-1), value) for pick in combinations(range(9), 4)]
        assert sum(fits) == 1


def test_memories_are_nested_uniform_and_without_replacement():
    small, large = (make_tasks("low", seeds=0, n=20, m=m, spread=1.0) for m in (5, 20))
    assert large.phi_hat is large.phi
    assert small.phi_hat.optima.shape == small.phi.optima.shape
    # a mean of m of n points varies around the full mean by (1/m - 1/n) of the points' variance
    gap = small.phi_hat.optima - small.phi.optima
    assert gap.var() == pytest.approx(1.0 * (1 / 5 - 1 / 20), rel=0.1)


def test_regression_tasks():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(3, 12, 4)), rng.normal(size=(3, 12))
    tasks = from_regression(X, y, m=6)
    w = rng.normal(size=(2, 4))
    direct = 0.5 * ((X @ w.T - y[..., None]) ** 2).mean(axis=1).T
    assert tasks.phi.values(w) == pytest.approx(direct, rel=1e-10)
    assert not tasks.phi.isotropic
    assert simulate(tasks, V=1.0, eta="auto").w.shape == (4, 4)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: make_tasks("hihg"), "did you mean high"),
        (lambda: make_tasks("high", c3=1.0), "c3"),
        (lambda: make_tasks("high", T=0), "at least 1"),
        (lambda: make_tasks("low", c2=-1.0), "variance"),
        (lambda: make_tasks("low", c2=float("nan")), "finite"),
        (lambda: make_tasks("low", seeds=-1), "seeds must be a whole number of at least 0"),
        (lambda: make_tasks("low", m=3), "number of points n"),
        (lambda: make_tasks("low", n=3, m=4), "between 1 and n=3"),
        (lambda: from_optima([1.0, 2.0]), "shape"),
        (lambda: from_optima([[1.0, np.nan]]), "finite"),
        (lambda: from_optima([[1.0], [np.inf]]), "finite"),
        (lambda: from_optima([[1.0], [2.0, 3.0]]), "rectangular"),
        (lambda: from_optima(np.zeros((2, 2)), [[1.0, 2.0, 3.0]]), "Hessians"),
        (lambda: from_optima(np.zeros((3, 2)), np.diag([1.0, -1.0])), "semidefinite"),
        (lambda: from_optima(np.zeros((3, 2)), [[1.0, 2.0], [0.0, 1.0]]), "symmetric"),
        (lambda: from_optima(np.zeros((3, 2)), memory_optima=np.zeros((2, 2))), "memory optima"),
        (lambda: from_optima(np.zeros((4, 3)), np.ones((5, 3, 3))), "the optima have 4 tasks with 3 parameters"),
        (lambda: from_optima(np.zeros((4, 3)), np.ones((4, 2, 2))), "one matrix per task"),
        (lambda: from_optima(np.zeros((4, 3)), np.ones((4, 3))), "if these are diagonals"),
        (lambda: from_optima(np.zeros((4, 3)), np.ones(3)), "if these are diagonals"),
        (lambda: from_optima(np.zeros((4, 3)), memory_hessians=np.ones((4, 2, 2))), "memory Hessians must have shape"),
        (lambda: from_optima(np.zeros((3, 2)), [1.0, 2.0, -1.0]), "task 3 has the curvature -1"),
        (lambda: from_optima(np.zeros((2, 2)), [np.eye(2), -np.eye(2)]), "that of task 2 has a negative eigenvalue"),
        (
            lambda: from_optima(np.zeros((2, 2, 2)), [[np.eye(2)] * 2, [np.eye(2), [[1.0, 2.0], [0.0, 1.0]]]]),
            "that of task 2 of stream 1 is not",
        ),
    ],
)
def test_bad_tasks_are_named(call, words):
    with pytest.raises(ColdError, match=words):
        call()
