"""Measures of a run against their definitions, written out with loops."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from coldtheory import ColdError, DivergenceWarning, from_optima, from_regression, make_tasks, simulate
from coldtheory import _flat as flat_module
from coldtheory import measures as m
from coldtheory.geometry import (
    Ball,
    inf_inner_gradients,
    smallest_enclosing_ball,
    smallest_feasible_delta,
    sup_abs_difference,
)

pytestmark = pytest.mark.kernels


def one_task(q, s, t):
    """Loss t (from 0) of stream s, as a stream of one task."""
    return type(q)(q.optima[s, t : t + 1], q.hessians[s, t : t + 1], q.offsets[s, t : t + 1])


def matrix_tasks(rng, S, T, d):
    root = rng.standard_normal((2, S, T, d, d))
    H = root @ root.swapaxes(-1, -2) / d
    a, b = rng.standard_normal((2, S, T, d))
    return from_optima(a, H[0], memory_optima=b, memory_hessians=H[1])


@pytest.fixture(scope="module", params=["identity", "scalar", "matrix"])
def run(request):
    rng = np.random.default_rng(0)
    S, T, d = 2, 7, 3
    if request.param == "matrix":
        tasks = matrix_tasks(rng, S, T, d)
    else:
        a, b = rng.standard_normal((2, S, T, d))
        h, k = (None, None) if request.param == "identity" else rng.random((2, S, T)) + 0.1
        tasks = from_optima(a, h, memory_optima=b, memory_hessians=k)
    return simulate(tasks, V=np.array([[1.0, 20.0], [200.0, 300.0], [50.0, 1.0]]), eta=1e-3, w0=np.full(d, 3.0))


def each(run):
    """(index of the run, its stream) for every run of the batch."""
    return [((s, *i), s) for s in range(2) for i in np.ndindex(3, 2)]


def test_enclosing_ball_is_the_smallest_around_everything(run):
    ball = m.enclosing_ball(run)
    for index, s in each(run):
        points = np.concatenate([run.tasks.phi.optima[s], run.tasks.phi_hat.optima[s], run.w[index]])
        own = smallest_enclosing_ball(points)
        assert ball.radius[index] == pytest.approx(float(own.radius), rel=1e-10)
        assert np.allclose(ball.center[index], own.center, atol=1e-5)
        assert Ball(ball.center[index], ball.radius[index]).contains(points).all()


def test_runs_that_leave_the_common_ball_get_their_own():
    tasks = make_tasks("low", range(3), T=20, d=4)
    run = simulate(tasks, V=np.array([100.0, 4000.0]), steps=1)  # eta V = 1.6: it swings beyond the optima
    ball = m.enclosing_ball(run)
    assert (ball.radius[:, 1] > 1.1 * ball.radius[:, 0]).all()
    for s in range(3):
        own = smallest_enclosing_ball(np.concatenate([tasks.phi.optima[s], run.w[s, 1]]))
        assert ball.radius[s, 1] == pytest.approx(float(own.radius), rel=1e-10)


@pytest.mark.parametrize("memory", [False, True])
def test_variation_is_its_definition(run, memory):
    function = m.memory_variation if memory else m.loss_variation
    ball = m.enclosing_ball(run)
    phi, before = run.tasks.phi, run.tasks.phi_hat if memory else run.tasks.phi
    for index, s in each(run):
        w = run.w[index]
        sup = trajectory = hull = 0.0
        for t in range(1, run.tasks.T):
            now, last = one_task(phi, s, t), one_task(before, s, t - 1)
            sup += sup_abs_difference(now, last, Ball(ball.center[index], ball.radius[index]))[0]
            gap = np.abs(now.values(w) - last.values(w))[:, 0]
            trajectory += gap[t + 1 if memory else t]
            hull += gap.max()
        T = run.tasks.T
        assert function(run)[index] == pytest.approx(sup / T, rel=1e-11)
        assert function(run, "trajectory")[index] == pytest.approx(trajectory / T, rel=1e-11)
        assert function(run, "hull")[index] == pytest.approx(hull / T, rel=1e-11)
    assert (function(run, "trajectory") <= function(run, "hull") * (1 + 1e-12)).all()
    assert (function(run, "hull") <= function(run) * (1 + 1e-12)).all()
    assert np.array_equal(function(run), function(run, ball=ball))


def test_hull_is_exact_for_equal_hessians_only(run):
    identity = run.tasks.phi.isotropic and (run.tasks.phi.hessians == 1.0).all()
    assert (m.hull_is_exact(run) == identity).all()
    assert m.hull_is_exact(run, memory=True).shape == (2, 3, 2)


@pytest.mark.parametrize("radius", [None, 0.3])
def test_rho_is_its_definition(run, radius):
    ball = m.enclosing_ball(run) if radius is None else Ball(np.ones(3), radius)
    found = m.rho_minus(run, ball=ball)
    at_models = m.rho_minus(run, "trajectory")
    for index, s in each(run):
        own = Ball(ball.center[index], ball.radius[index]) if radius is None else ball
        phi, hat = run.tasks.phi[s], run.tasks.phi_hat[s]
        rho = inf_inner_gradients(phi, hat, own)
        assert np.allclose(found[index], np.tril(np.maximum(-rho, 0), -1).sum(axis=1), rtol=1e-10, atol=1e-10)
        w = run.w[index][:-1]
        g = np.stack([phi.gradients(w[t : t + 1])[0, t] for t in range(phi.T)])
        inner = np.einsum("td,tkd->tk", g, hat.gradients(w))
        assert np.allclose(at_models[index], np.tril(np.maximum(-inner, 0), -1).sum(axis=1), rtol=1e-10, atol=1e-10)
    assert np.allclose(m.rho_bar(run, ball=ball), found.mean(axis=-1))
    if radius is None:
        assert (at_models <= found * (1 + 1e-12) + 1e-12).all()


def test_measures_do_not_depend_on_the_size_of_a_block(run, monkeypatch):
    functions = [
        m.loss_variation, m.memory_variation, m.rho_minus, m.r_constant,
        lambda r: m.loss_variation(r, "hull"), lambda r: m.loss_variation(r, "trajectory"),
        lambda r: m.rho_minus(r, "trajectory"), lambda r: m.rho_minus(r, ball=Ball(np.zeros(3), 0.1)),
    ]  # fmt: skip
    whole = [f(run) for f in functions]
    monkeypatch.setattr(flat_module, "_BLOCK", 40)
    for f, value in zip(functions, whole, strict=True):
        assert np.allclose(f(run), value, rtol=1e-12, atol=1e-13)


def test_r_is_the_largest_distance_to_a_minimiser(run):
    ball = m.enclosing_ball(run)
    r = m.r_constant(run)
    for index, s in each(run):
        gap = run.tasks.phi_hat.optima[s] - ball.center[index]
        assert r[index] == pytest.approx(ball.radius[index] + np.linalg.norm(gap, axis=1).max(), rel=1e-12)
    assert (r <= 2 * ball.radius * (1 + 1e-12)).all()


def test_one_stream_equals_its_place_in_a_batch():
    tasks = make_tasks("high", range(3), T=20)
    V = np.array([50.0, 400.0])
    batch, one = simulate(tasks, V=V), simulate(tasks[1], V=400.0)
    for f in (m.loss_variation, m.memory_variation, m.rho_bar, m.r_constant, m.eta_alpha_max):
        assert f(one).shape == ()
        assert f(batch)[1, 1] == pytest.approx(float(f(one)), rel=1e-9)


def test_a_long_stream_needs_no_pairs():
    run = simulate(make_tasks("low", 0, T=3000, d=3), V=200.0, weights="none")
    found = m.rho_minus(run)
    a = run.tasks.phi.optima
    for t in (1, 10, 2999):
        assert found[t] == pytest.approx(np.square(a[t] - a[:t]).sum() / 4, rel=1e-11)
    assert found[0] == 0.0


def test_conditions():
    tasks = make_tasks("low", range(2), T=20)
    c = m.conditions(simulate(tasks, V=np.array([200.0, 1249.0, 1300.0, 2600.0])))
    assert c.step_half.tolist() == [[True, True, False, False]] * 2
    assert c.step_one.tolist() == [[True, True, True, False]] * 2
    assert c.models_inside.all()
    assert c.minimisers_inside.all()
    assert c.unprojected.all()
    assert c.bounded.all()
    assert np.array_equal(c.met, c.step_one)
    small = Ball(np.zeros(25), 0.1)
    c = m.conditions(simulate(tasks, V=200.0, ball=small), small)
    assert not c.unprojected.any()
    assert c.models_inside.all()
    assert not c.minimisers_inside.any()
    assert not c.met.any()
    assert m.conditions(simulate(tasks, V=1e5, eta="auto")).step_half.all()


def test_a_diverged_run_gives_nan_and_leaves_the_others_alone():
    tasks = make_tasks("high", range(2), T=40, d=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        run = simulate(tasks, V=np.array([200.0, 1e9]))
    alone = simulate(tasks, V=np.array([200.0]))
    assert run.diverged.tolist() == [[False, True]] * 2
    for f in (m.loss_variation, m.memory_variation, m.rho_bar, m.r_constant):
        assert np.isnan(f(run)[:, 1]).all()
        assert np.allclose(f(run)[:, 0], f(alone)[:, 0], rtol=1e-12)
    c = m.conditions(run)
    assert not c.bounded[:, 1].any()
    assert not c.models_inside[:, 1].any()
    assert not c.met[:, 1].any()
    for reading in ("trajectory", "hull"):
        m.loss_variation(run, reading)


def test_one_task_has_no_variation():
    run = simulate([[1.0, 2.0]], V=1.0)
    for reading in ("ball", "trajectory", "hull"):
        assert m.loss_variation(run, reading) == 0.0
    assert m.rho_bar(run) == 0.0


def test_regression_tasks_are_measured():
    rng = np.random.default_rng(1)
    run = simulate(from_regression(rng.standard_normal((5, 8, 3)), rng.standard_normal((5, 8)), m=4), V=10.0)
    assert m.loss_variation(run) >= m.loss_variation(run, "hull") > 0
    assert m.rho_bar(run) >= m.rho_bar(run, "trajectory") >= 0


def test_unknown_readings_are_refused(run):
    with pytest.raises(ColdError, match="did you mean"):
        m.loss_variation(run, "bal")
    with pytest.raises(ColdError, match="reading"):
        m.rho_minus(run, "hull")


@pytest.mark.parametrize(("regime", "around_all", "around_optima", "delta"), [
    ("low", 0.119, 0.0190, 0.00783), ("high", 0.590, 0.376, 0.189),
])  # fmt: skip
def test_the_papers_toy(regime, around_all, around_optima, delta):
    """Values found independently, with other random streams: they agree within the spread over seeds."""
    tasks = make_tasks(regime, range(8))
    run = simulate(tasks, V=200.0)
    balls = [smallest_enclosing_ball(a) for a in tasks.phi.optima]
    optima = Ball(np.stack([b.center for b in balls]), np.stack([b.radius for b in balls]))
    assert m.loss_variation(run).mean() == pytest.approx(around_all, rel=0.1)
    assert m.loss_variation(run, ball=optima).mean() == pytest.approx(around_optima, rel=0.05)
    assert np.mean([smallest_feasible_delta(tasks[s].phi_hat) for s in range(8)]) == pytest.approx(delta, rel=0.08)
