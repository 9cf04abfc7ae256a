"""V: the closed form without queues, when it is said to apply, and what happens at the ends."""

from __future__ import annotations

import numpy as np
import pytest

from coldtheory import ColdError, from_optima, make_tasks, simulate
from coldtheory.advice.balance import APPLIES, avg_seen_loss, balance
from coldtheory.advice.setting import Setting, significant
from coldtheory.prediction import grad_sq_before_without_queues, has_common_hessian

V = np.geomspace(0.5, 40.0, 12)


def shared_matrix(T, d, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d, d))
    return from_optima(rng.standard_normal((T, d)), np.broadcast_to(A @ A.T / d, (T, d, d)))


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize(
    "tasks",
    [
        make_tasks("high", seeds=0, T=12, d=3),
        make_tasks("conflict", seeds=range(3), T=12, d=3),
        from_optima(np.random.default_rng(1).standard_normal((9, 2)), np.full(9, 0.3)),
        shared_matrix(9, 3),
    ],
    ids=["high", "streams", "numbers", "matrices"],
)
def test_the_closed_form_is_the_simulation_without_queues(tasks, steps):
    start = np.full(tasks.d, 0.7)
    formula = grad_sq_before_without_queues(tasks, V, eta=0.02, steps=steps, w0=start)
    run = simulate(tasks, V=V, eta=0.02, steps=steps, w0=start, weights="none")
    assert formula.shape == (*tasks.streams, len(V))
    assert np.abs(formula / run.avg_grad_sq_before - 1.0).max() < 1e-11


def test_only_eta_times_V_matters_without_queues():
    tasks = make_tasks("high", seeds=0, T=12, d=3)
    one = grad_sq_before_without_queues(tasks, V, eta=0.02, steps=3)
    two = grad_sq_before_without_queues(tasks, V * 5, eta=0.004, steps=3)
    assert np.abs(one / two - 1).max() < 1e-12


def test_different_hessians_have_no_closed_form():
    tasks = from_optima(np.zeros((3, 2)), [1.0, 2.0, 1.0])
    assert not has_common_hessian(tasks.phi)
    with pytest.raises(ColdError, match="one Hessian in common"):
        grad_sq_before_without_queues(tasks, V, eta=0.1, steps=1)
    found = balance(from_optima(np.random.default_rng(0).normal(size=(8, 2)), np.linspace(1, 2, 8)), Setting(eta=0.01))
    assert (found.how, found.why) == ("sweep", "the tasks have different Hessians")


def test_the_closed_form_applies_where_queues_do_not_act():
    """It is compared with runs that have queues, at every V of the sweep."""
    tasks = make_tasks("conflict", seeds=0, T=60, d=4)
    idle, busy = (balance(tasks, Setting(weights=weights)) for weights in ("none", "mean"))
    assert (idle.how, idle.why) == ("closed form", "")
    assert busy.how == "sweep"
    assert "queues change the gradient by up to" in busy.why
    off = np.abs(busy.sweep.avg_grad_sq_before / busy.closed_form - 1.0)[busy.allowed]
    assert off.max() > APPLIES


def test_loss_on_all_tasks_seen_is_what_was_left_and_what_was_forgotten():
    tasks = make_tasks("high", seeds=range(2), T=9, d=3, n=6, m=3)
    run = simulate(tasks, V=[2.0, 50.0])
    for s in range(2):
        for i in range(2):
            values = tasks.phi_hat[s].values(run.w[s, i, 1:])
            assert avg_seen_loss(run)[s, i] == pytest.approx(values[np.tri(9, dtype=bool)].mean())


def test_ends_are_told():
    still = balance(from_optima(np.array([[1.0], [-1.0]] * 6)), Setting(eta=0.01))  # x_0 = 0 is in the middle
    assert still.at_end == "low"
    far = balance(from_optima(np.arange(12.0)[:, None] * 10), Setting(eta=0.01, weights="none"))
    assert far.at_end == "high"
    assert 99.0 < far.V <= 100.0


@pytest.mark.parametrize("setting", [Setting(solver="exact", delta=0.1), Setting(eta="auto")])
def test_where_the_step_follows_V_only_queues_matter(setting):
    tasks = from_optima(np.random.default_rng(2).standard_normal((10, 2)))
    found = balance(tasks, setting)
    assert found.how == "sweep"
    assert "through the queues alone" in found.why
    wide = setting.run(tasks, np.geomspace(found.low, found.high, 300)).avg_grad_sq_before
    assert float(setting.run(tasks, found.V).avg_grad_sq_before) <= 1.01 * wide.min()


def test_long_queues_leave_small_V_only():
    tasks = from_optima(30.0 * np.random.default_rng(2).standard_normal((20, 2)))
    setting = Setting(eta=0.1, weights="sum", reference="best")
    found = balance(tasks, setting)
    assert found.high < 1.0 / 0.1
    run = setting.run(tasks, found.V)
    assert float((run.eta * run.alpha).max()) <= 1.0


def test_flat_losses_are_refused():
    with pytest.raises(ColdError, match="nothing to learn"):
        balance(from_optima(np.ones((3, 2)), np.zeros(3)), Setting())


@pytest.mark.parametrize(
    ("value", "up", "expected"),
    [(0.12345, None, 0.123), (0.12345, True, 0.124), (99999.0, False, 99900.0), (0.0, None, 0.0)],
)
def test_few_digits(value, up, expected):
    assert significant(value, up=up) == expected
