"""The closed form of the gradient before a task, against the recursion and against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from coldtheory import ColdError, simulate
from coldtheory.prediction import predicted_grad_sq_before
from coldtheory.tasks import from_optima

pytestmark = pytest.mark.kernels


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("drift", [False, True])
def test_closed_form_against_its_recursion(steps, drift):
    rng = np.random.default_rng(0)
    V, eta, T, c2 = np.array([1e-9, 1.0, 50.0, 1000.0, 2400.0, 5000.0]), 4e-4, 30, 0.01
    base, way, w0 = rng.standard_normal((3, 4))
    found = predicted_grad_sq_before(
        V, w_base=base, drift_vector=way if drift else None, w0=w0, c2=c2, T=T, eta=eta, steps=steps
    )
    f = 1 - (1 - eta * V) ** steps
    g = way / T if drift else np.zeros(4)
    mean, variance = np.tile(w0, (6, 1)), np.zeros(6)
    for t in range(1, T + 1):
        centre = base + t * g
        assert np.allclose(found[:, t - 1], ((centre - mean) ** 2).sum(axis=1) + 4 * (c2 + variance), rtol=1e-10)
        mean += f[:, None] * (centre - mean)
        variance = (1 - f) ** 2 * variance + f**2 * c2


def test_closed_form_against_simulation():
    """Many streams around one base: their mean has a standard error of about 1 %."""
    rng = np.random.default_rng(1)
    T, d, S, c2, V = 60, 5, 400, 0.02, np.array([50.0, 200.0, 1000.0])
    base, way = rng.standard_normal(d), rng.standard_normal(d)
    t = np.arange(1, T + 1)[:, None]
    optima = base + t / T * way + np.sqrt(c2) * rng.standard_normal((S, T, d))
    run = simulate(from_optima(optima), V=V, weights="none")
    found = predicted_grad_sq_before(V, w_base=base, drift_vector=way, c2=c2, T=T, eta=4e-4, steps=3)
    assert np.allclose(run.grad_sq_before.mean(axis=0).mean(axis=-1), found.mean(axis=-1), rtol=0.01)
    assert np.allclose(run.grad_sq_before.mean(axis=0), found, rtol=0.25)


@pytest.mark.parametrize(
    "bad", [{"T": 0}, {"eta": 0.0}, {"V": [-1.0]}, {"c2": -1.0}, {"steps": 0}, {"w_base": [[1.0]]}]
)
def test_bad_arguments_are_refused(bad):
    good = {"V": [1.0], "w_base": [1.0], "c2": 0.0, "T": 3, "eta": 0.1, "steps": 1}
    with pytest.raises(ColdError):
        predicted_grad_sq_before(**(good | bad))
