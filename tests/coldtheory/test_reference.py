"""The batched simulator against plain-Python loops, on random settings of every kind."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest

from coldtheory import DivergenceWarning, from_optima, simulate
from coldtheory.controllers import CONTROLLERS
from tests.coldtheory.reference import cold

pytestmark = pytest.mark.kernels

RTOL = 1e-10  # of each array's largest entry


def random_psd(rng, d):
    root = rng.normal(size=(d, rng.integers(1, d + 1)))
    return root @ root.T / d


def random_case(seed, *, new=False):
    """One random setting: tasks, memory, start and every option of `simulate`; `new` for what goes beyond the paper."""
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
    if not new:
        return tasks, options, (as_matrix, a, as_matrix, a_hat, L)
    options["reference"] = str(rng.choice(["previous", "best", "stored"]))
    if options["reference"] != "best":
        options.pop("window", None)
    if options["eta"] == "auto":
        options["eta_factor"] = float(rng.uniform(0.1, 1.5))
    if rng.random() < 0.5:
        options["V_schedule"] = np.exp(rng.normal(size=T)).tolist()
    name = str(rng.choice(["queue", "leaky", "nupi", "yu-neely", *(["augmented"] if solver == "gd" else [])]))
    options["controller"] = CONTROLLERS[name](**{
        field.name: float(rng.uniform(0, 1)) for field in dataclasses.fields(CONTROLLERS[name])
    })  # fmt: skip
    return tasks, options, (as_matrix, a, as_matrix, a_hat, L)


@pytest.mark.parametrize("seed", range(300))
def test_equals_plain_python(seed):
    compare(*random_case(seed))


@pytest.mark.parametrize("seed", range(1000, 1400))
def test_references_controllers_and_moving_V_equal_plain_python(seed):
    compare(*random_case(seed, new=True))


def compare(tasks, options, losses):
    H, a, H_hat, a_hat, L = losses
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        run = simulate(tasks, **options)
    if run.diverged:  # rounding errors would grow with the models: take a step size that holds them
        options |= {"eta": "auto", "steps": 1, "eta_factor": 0.01} if "controller" in options else {"eta": "auto"}
        run = simulate(tasks, **options)
    as_lists = {"w0": options["w0"].tolist()}
    if "controller" in options:
        as_lists |= {"controller": options["controller"].name, "parameters": vars(options["controller"])}
    convex = bool(np.linalg.eigvalsh(H).min() > 0.01)
    plain = cold(
        H.tolist(), a.tolist(), H_hat.tolist(), a_hat.tolist(), L=L, l=L, convex=convex, **(options | as_lists)
    )
    size = np.abs(np.concatenate([a, a_hat, run.w])).max()
    largest_loss = 0.5 * L * np.square(run.w[:, None] - a_hat).sum(axis=-1).max()
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
        "weight": (run.weight, plain.weight),
        "V_t": (run.V_t, plain.V_t),
        # the losses whose differences they are
        "forgetting": (run.forgetting, plain.forgetting, largest_loss),
    }
    if convex and run.settings.controller.looks != "always":
        pairs["eps"] = (run.eps, plain.eps, (run.alpha * size**2).max())
    for name, (ours, theirs, *scale) in pairs.items():
        wanted = np.array(theirs)
        assert ours.shape == wanted.shape
        assert np.abs(ours - wanted).max() <= RTOL * max(np.abs(wanted).max(), *scale, 0.0), name
    F = np.array(plain.forgetting)[np.tri(len(a), k=-1, dtype=bool)]
    assert abs(run.avg_forgetting - F.mean()) <= RTOL * max(np.abs(F).max(), largest_loss)
    assert abs(run.max_forgetting - F.max()) <= RTOL * max(np.abs(F).max(), largest_loss)
