"""The paper's toy at its printed settings, 20 seeds: what its figures show, and what explains them."""

from __future__ import annotations

import numpy as np
import pytest

from coldtheory import make_tasks, simulate
from coldtheory.ground.statistics import minimum_of, slope_of
from coldtheory.measures import eta_alpha_max
from coldtheory.prediction import predicted_grad_sq_before
from coldtheory.tasks import base_and_drift

pytestmark = pytest.mark.kernels

SEEDS = range(20)
V = np.geomspace(10, 2400, 48)
NOISE = {"low": 0.0004, "high": 0.0064}


@pytest.fixture(scope="module")
def runs():
    return {regime: simulate(make_tasks(regime, SEEDS), V=V, eta=4e-4, delta=4e-7, steps=3) for regime in NOISE}


def slope(run, name, low, high):
    return slope_of(V, getattr(run, name), (low, high)).slope


def predicted(regime, V, *, T=150, w0=None):
    """(V, T), the mean over the seeds' bases and directions."""
    curves = []
    for seed in SEEDS:
        base, drift = base_and_drift(regime, seed)
        start = base if w0 == "base" else None
        options = {"w_base": base, "drift_vector": drift, "w0": start, "c2": NOISE[regime], "T": T}
        curves.append(predicted_grad_sq_before(V, **options, eta=4e-4, steps=3))
    return np.mean(curves, axis=0)


def test_after_gradient_falls_like_one_over_V_in_low_and_slower_in_high(runs):
    assert slope(runs["low"], "avg_grad_sq_after", 50, 200) == pytest.approx(-1.0, abs=0.1)
    assert -0.7 < slope(runs["high"], "avg_grad_sq_after", 50, 200) < -0.3


def test_queue_grows_with_V_saturates_and_is_steeper_in_high(runs):
    for run in runs.values():
        curve = run.avg_Qbar.mean(axis=0)
        filled = curve > 0  # at the smallest V of LOW every step stays within delta, and no queue fills
        assert (np.diff(curve[filled]) > 0).all()
        assert filled[V >= 50].all()
        assert slope(run, "avg_Qbar", 1000, 2400) < 0.5 < slope(run, "avg_Qbar", 50, 500)
    window = (V >= 50) & (V <= 500)
    rate = {r: np.polyfit(V[window], run.avg_Qbar.mean(axis=0)[window], 1)[0] for r, run in runs.items()}
    assert rate["high"] > 10 * rate["low"]


def test_before_gradient_of_high_turns_where_the_figure_turns(runs):
    turn = minimum_of(V, runs["high"].avg_grad_sq_before)
    assert 180 < turn.mean < 300
    steepest = np.interp(turn.mean, V, eta_alpha_max(runs["high"]).max(axis=0))
    assert 0.05 < steepest < 0.15  # far from the 1/2 that the paper blames
    assert minimum_of(V, runs["low"].avg_grad_sq_before).mean > 500


@pytest.mark.parametrize("regime", NOISE)
def test_closed_form_matches_the_simulation(runs, regime):
    measured = runs[regime].grad_sq_before.mean(axis=0)
    closed = predicted(regime, V)
    assert measured.mean(axis=1) == pytest.approx(closed.mean(axis=1), rel=0.03)
    assert measured[:, :5].mean(axis=1) == pytest.approx(closed[:, :5].mean(axis=1), rel=0.1)


def test_turning_point_moves_with_T_and_start_as_the_closed_form_says():
    grid = np.geomspace(30, 1200, 30)

    def turn(curve):
        return minimum_of(grid, curve[None]).mean

    closed = {T: turn(predicted("high", grid, T=T).mean(axis=1)) for T in (50, 150, 1500)}
    assert closed[50] > 1.4 * closed[150] > 1.4 * 2 * closed[1500]
    assert turn(predicted("high", grid, w0="base").mean(axis=1)) < 0.5 * closed[150]
    for T, seeds in ((50, 20), (150, 20), (1500, 3)):
        curve = simulate(make_tasks("high", range(seeds), T=T), V=grid).avg_grad_sq_before.mean(axis=0)
        assert turn(curve) == pytest.approx(closed[T], rel=0.1)
