"""The simulator's options, shapes, invariances and complaints."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest

from coldtheory import Ball, ColdError, DivergenceWarning, from_optima, largest_stable_eta, make_tasks, simulate

pytestmark = pytest.mark.kernels

PER_TASK = ("grad_sq_before", "grad_sq_after", "Qbar", "Delta", "alpha", "cross")


def test_shapes_follow_streams_and_settings():
    plain = simulate(np.zeros((6, 2)), V=1.0)
    assert plain.w.shape == (7, 2)
    assert plain.Q.shape == (7, 6)
    assert plain.alpha.shape == (6,)
    assert plain.lyapunov.shape == (7,)
    assert plain.avg_Qbar.shape == ()
    batch = simulate(np.zeros((4, 6, 2)), V=np.ones((3, 5)))
    assert batch.w.shape == (4, 3, 5, 7, 2)
    assert batch.Q.shape == (4, 3, 5, 7, 6)
    assert batch.diverged.shape == (4, 3, 5)


def test_default_start_is_the_origin_and_w0_is_kept_exactly():
    optima = make_tasks("high", 0, T=5, d=3).phi.optima + 1e6
    assert (simulate(optima, V=1.0).w[0] == 0).all()
    start = np.array([0.1, 0.2, 0.3])
    assert (simulate(optima, V=[1.0, 2.0], w0=start).w[:, 0] == start).all()


@pytest.mark.parametrize("reference", ["previous", "best"])
@pytest.mark.parametrize("weights", ["mean", "sum"])
def test_a_run_does_not_depend_on_its_batch(reference, weights):
    tasks = make_tasks("high", seeds=range(3), T=40)
    V = np.array([30.0, 200.0, 700.0, 55.0, 90.0])
    options = {"reference": reference, "weights": weights}
    batch = simulate(tasks, V=V, **options)
    for s, p in ((0, 0), (2, 3), (1, 4)):
        alone = simulate(tasks[s], V=V[p], **options)
        for name in ("w", "Q", *PER_TASK):
            together = getattr(batch, name)[s, p]
            assert np.abs(getattr(alone, name) - together).max() <= 1e-13 * np.abs(together).max()


def test_streams_in_chunks_are_streams_at_once(monkeypatch):
    tasks = make_tasks("low", seeds=range(7), T=30)
    whole = simulate(tasks, V=[10.0, 100.0], noise=0.1)
    monkeypatch.setattr("coldtheory._batch._CHUNK", 1)
    parts = simulate(tasks, V=[10.0, 100.0], noise=0.1)
    assert (whole.w == parts.w).all()
    assert (whole.Q == parts.Q).all()


def test_eta_delta_and_steps_are_swept_like_V():
    tasks = make_tasks("high", 0, T=20)
    grid = simulate(tasks, V=100.0, eta=[1e-4, 4e-4], delta=[0.0, 1e-3], steps=[1, 5])
    for p, (eta, delta, steps) in enumerate([(1e-4, 0.0, 1), (4e-4, 1e-3, 5)]):
        one = simulate(tasks, V=100.0, eta=eta, delta=delta, steps=steps)
        assert np.abs(one.w - grid.w[p]).max() <= 1e-14
        assert np.abs(one.Q - grid.Q[p]).max() <= 1e-14


def test_far_from_the_origin_nothing_is_lost():
    optima = make_tasks("high", 0, T=30).phi.optima
    near = simulate(optima, V=300.0, w0=np.zeros(25))
    far = simulate(optima + 2.0**20, V=300.0, w0=np.full(25, 2.0**20))
    assert np.abs(near.Q - far.Q).max() <= 1e-8 * near.Q.max()  # the shift itself rounds optima to 2^-33


def test_auto_eta_is_half_the_inverse_smoothness():
    run = simulate(make_tasks("conflict", 0), V=100.0, eta="auto")
    assert run.eta == pytest.approx(0.5 / run.alpha, rel=1e-15)
    assert run.alpha.max() > 1.5 * run.alpha[0]  # the queue matters here
    assert not run.diverged


def test_queue_off_is_plain_descent_and_still_measured():
    optima = make_tasks("conflict", 0).phi.optima
    run = simulate(optima, V=100.0, weights="none")
    x, f = np.zeros(25), 1 - (1 - 4e-4 * 100.0) ** 3
    for a in optima:
        x = x + f * (a - x)
    assert run.w[-1] == pytest.approx(x, rel=1e-12)
    assert run.avg_Qbar > 0
    assert (run.alpha == 100.0).all()


def test_exact_solver_minimises_the_dpp_function():
    tasks = make_tasks("conflict", 0, T=30, d=4, block=5)
    for weights in ("mean", "sum"):
        run = simulate(tasks, V=3.0, delta=1e-3, solver="exact", weights=weights, reference="best")
        a = tasks.phi.optima
        for t in range(2, 31):
            beta = run.Q[t - 1, : t - 1] / ((t - 1) if weights == "mean" else 1)
            gradient = 3.0 * (run.w[t] - a[t - 1]) + beta @ (run.w[t] - a[: t - 1])
            assert np.abs(gradient).max() <= 1e-12 * (3.0 + beta.sum()) * np.abs(a).max()


def test_flat_losses_leave_the_model_alone():
    run = simulate(from_optima([[1.0], [2.0]], hessians=[0.0, 0.0]), V=1.0, eta=0.1, w0=[5.0])
    assert (run.w == 5.0).all()
    exact = simulate(from_optima([[1.0, 1.0]], hessians=np.diag([1.0, 0.0])), V=1.0, solver="exact", w0=[5.0, 7.0])
    assert exact.w[-1] == pytest.approx([1.0, 7.0])  # of several minimisers the nearest


def test_window_of_one_is_the_previous_model_and_a_long_one_is_best():
    tasks = make_tasks("conflict", seeds=[0, 1], T=40, block=7)
    one, five, long, best = (simulate(tasks, V=50.0, reference="best", window=n) for n in (1, 5, 40, None))
    previous = simulate(tasks, V=50.0)
    np.testing.assert_allclose(one.Q, previous.Q, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(long.Q, best.Q, rtol=1e-9, atol=1e-9)
    assert five.avg_Qbar.mean() > previous.avg_Qbar.mean()


def test_gradient_noise_has_the_variance_of_its_steps():
    optima = np.zeros((400, 1, 3000))  # one task in many dimensions and streams: a sample of the noise
    eta, V, steps, sigma = 0.05, 4.0, 3, 0.7
    run = simulate(optima, V=V, eta=eta, steps=steps, noise=sigma)
    q = 1 - eta * V
    expected = (eta * V * sigma) ** 2 * (1 + q**2 + q**4)
    assert run.w[:, 1].var() == pytest.approx(expected, rel=0.01)
    again, other = (simulate(optima[:2], V=V, eta=eta, steps=steps, noise=sigma, noise_seed=key) for key in (0, 1))
    assert (again.w == run.w[:2]).all()
    assert not np.allclose(other.w[:, 1], again.w[:, 1])
    matrices = from_optima(optima[:60, :, :30], hessians=np.diag(np.full(30, 1.0)))
    assert simulate(matrices, V=V, eta=eta, steps=steps, noise=sigma).w[:, 1].var() == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("hessian", [1.0, np.diag([1.0, 0.3])])
@pytest.mark.parametrize("solver", ["gd", "exact"])
def test_projection_keeps_every_model_in_the_ball(hessian, solver):
    ball = Ball(np.array([1.0, 0.0]), 0.5)
    tasks = from_optima([[4.0, 0.0], [0.0, 4.0], [-4.0, 1.0]], hessians=hessian)
    run = simulate(tasks, V=1.0, eta=0.3, ball=ball, w0=[1.0, 0.0], solver=solver)
    distance = np.linalg.norm(run.w - ball.center, axis=-1)
    assert distance.max() <= 0.5 * (1 + 1e-12)
    assert distance[1:] == pytest.approx(0.5, rel=1e-6)  # every optimum lies outside


def test_projected_noise_takes_every_step():
    ball = Ball(np.zeros(2), 100.0)  # never active: projected and free runs agree in law
    optima = np.zeros((2000, 1, 2))
    free, projected = (simulate(optima, V=1.0, eta=0.3, noise=1.0, ball=b).w[:, 1].var() for b in (None, ball))
    assert projected == pytest.approx(free, rel=0.1)


def test_divergence_is_reported_with_the_largest_stable_step():
    tasks = make_tasks("high", seeds=range(2), T=60)
    with pytest.warns(DivergenceWarning, match="largest stable eta"):
        run = simulate(tasks, V=[200.0, 6000.0])
    assert run.diverged.tolist() == [[False, True], [False, True]]
    limit = largest_stable_eta(run, (0, 1))
    assert limit == pytest.approx(2 / 6000, rel=0.01)
    stable = simulate(tasks[0], V=6000.0, eta=limit)
    assert not stable.diverged
    assert (limit * stable.alpha).max() <= 2.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        above = simulate(tasks[0], V=6000.0, eta=limit * 1.05)
    assert np.nanmax(limit * 1.05 * above.alpha) > 2.0


def test_ten_thousand_tasks_fit_in_memory():
    optima = make_tasks("high", seeds=0, T=10_000, d=5).phi.optima
    tracemalloc.start()
    run = simulate(optima, V=200.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert run.w.shape == (10_001, 5)
    assert peak < 100e6  # the full queue history alone would take 800 MB


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"V": 0.0}, "V must be"),
        ({"V": -1.0}, "V must be"),
        ({"V": np.nan}, "V must be"),
        ({"V": []}, "empty"),
        ({"V": "x"}, "numbers"),
        ({"V": [1.0, 2.0], "eta": [1.0, 2.0, 3.0]}, "one shape"),
        ({"V": 1.0, "eta": 0.0}, "eta must be"),
        ({"V": 1.0, "eta": "automatic"}, "'auto'"),
        ({"V": 1.0, "delta": -1e-9}, "delta must be"),
        ({"V": 1.0, "steps": 0}, "steps must be"),
        ({"V": 1.0, "steps": 1.5}, "whole"),
        ({"V": 1.0, "reference": "prevoius"}, "did you mean previous"),
        ({"V": 1.0, "weights": "summ"}, "did you mean sum"),
        ({"V": 1.0, "solver": "adam"}, "unknown solver"),
        ({"V": 1.0, "window": 3}, "reference='best'"),
        ({"V": 1.0, "noise": -1.0}, "noise"),
        ({"V": 1.0, "noise": 1.0, "solver": "exact"}, "noise"),
        ({"V": 1.0, "w0": [1.0, 2.0]}, "w0"),
        ({"V": 1.0, "w0": [np.inf]}, "finite"),
        ({"V": 1.0, "ball": Ball(np.zeros(3), 1.0)}, "ball"),
    ],
)
def test_bad_settings_are_named(options, words):
    with pytest.raises(ColdError, match=words):
        simulate([[0.0], [1.0]], **options)


def test_the_largest_stable_eta_of_a_run_that_overflows():
    with pytest.warns(DivergenceWarning, match="largest stable eta there is"):
        run = simulate(np.array([[0.0], [1.0]] * 100), V=1.0, eta=1e8, delta=0.0, steps=5)
    assert run.diverged


@pytest.mark.parametrize("when", ["before", "after"])
def test_old_names_work_and_say_what_replaced_them(when):
    run = simulate([[0.0], [1.0]], V=1.0)
    with pytest.warns(DeprecationWarning, match=f"avg_grad_sq_{when} now"):
        old = getattr(run, f"avg_grad_{when}")
    np.testing.assert_array_equal(old, getattr(run, f"avg_grad_sq_{when}"))
