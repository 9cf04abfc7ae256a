"""The batched simulator against plain-Python loops, on random settings of every kind."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from coldtheory import DivergenceWarning, from_optima, simulate
from tests.coldtheory.reference import cold

pytestmark = pytest.mark.kernels

RTOL = 1e-10  # of each array's largest entry


def random_psd(rng, d):
    root = rng.normal(size=(d, rng.integers(1, d + 1)))
    return root @ root.T / d


def random_case(seed):
    """One random setting: tasks, memory, start and every option of `simulate`."""
    rng = np.random.default_rng(seed)
    T, d = int(rng.integers(2, 9)), int(rng.integers(1, 5))
    solver = "exact" if rng.random() < 0.3 else "gd"
    kind = rng.choice(["identity", "scalar", "matrix"])
    a = rng.normal(size=(T, d)) * 10 ** rng.uniform(-1, 1) + rng.normal(size=d) * rng.choice([0, 100])
    if kind == "matrix":
        H = np.stack([random_psd(rng, d) for _ in range(T)])
        if solver == "exact":
            H += 0.05 * np.eye(d)  # one minimiser, so that both solvers must find the same
    elif kind == "scalar":
        H = rng.uniform(0.1, 3, size=T)
    else:
        H = np.ones(T)
    own_memory = rng.random() < 0.5
    a_hat = a + 0.3 * rng.normal(size=a.shape) if own_memory else a
    V = 10 ** rng.uniform(-2, 3)
    as_matrix = H if kind == "matrix" else H[:, None, None] * np.eye(d)
    L = max(np.linalg.norm(h, 2) for h in as_matrix)
    options = {
        "V": V,
        "eta": "auto" if rng.random() < 0.2 else rng.uniform(0.05, 1.0) / (V * L),
        "delta": float(rng.choice([0.0, 1e-6, 1e-2, 1.0])),
        "steps": int(rng.integers(1, 6)),
        "reference": str(rng.choice(["previous", "best"])),
        "weights": str(rng.choice(["mean", "sum", "none"])),
        "solver": solver,
        "w0": rng.normal(size=d),
    }
    if options["reference"] == "best" and rng.random() < 0.4:
        options["window"] = int(rng.integers(1, T + 1))
    tasks = from_optima(a, H, memory_optima=a_hat if own_memory else None)
    return tasks, options, (as_matrix, a, as_matrix, a_hat, L)


@pytest.mark.parametrize("seed", range(300))
def test_equals_plain_python(seed):
    tasks, options, (H, a, H_hat, a_hat, L) = random_case(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        run = simulate(tasks, **options)
    if run.diverged:  # rounding errors would grow with the models: take a step size that holds them
        options["eta"] = "auto"
        run = simulate(tasks, **options)
    plain = cold(
        H.tolist(), a.tolist(), H_hat.tolist(), a_hat.tolist(), L=L, l=L,
        **(options | {"w0": options["w0"].tolist()}),
    )  # fmt: skip
    pairs = {
        "w": (run.w, plain.w),
        "Q": (run.Q, plain.Q),
        # one array, as an exact minimiser leaves nothing but rounding after the step
        "gradients": (np.stack([run.grad_sq_before, run.grad_sq_after]), [plain.grad_sq_before, plain.grad_sq_after]),
        "Qbar": (run.Qbar, plain.Qbar),
        "Delta": (run.Delta, plain.Delta),
        "alpha": (run.alpha, plain.alpha),
        "lyapunov": (run.lyapunov, plain.lyapunov),
        "cross": (run.cross, plain.cross),
    }
    for name, (ours, theirs) in pairs.items():
        wanted = np.array(theirs)
        assert ours.shape == wanted.shape
        assert np.abs(ours - wanted).max() <= RTOL * np.abs(wanted).max(), name
