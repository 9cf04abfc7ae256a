"""A-GEM and GEM: the step is the solution of its quadratic programme, found here by trying every active set."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from torch.nn import functional

from cold.data import from_tensors
from cold.methods import agem, gem
from cold.methods.gradients import flat, gradient, present, weights_of
from tests.cold.methods.method_cases import in_second_task, two_widths

pytestmark = pytest.mark.torch_kernels


def nearest_in_cone(g: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """argmin |x - g| over rows @ x >= 0: the best feasible point among the projections for all sets of tight rows."""
    best, found = np.inf, g
    for tight in product([False, True], repeat=len(rows)):
        chosen = rows[list(tight)]
        x = g - chosen.T @ np.linalg.lstsq(chosen @ chosen.T, chosen @ g, rcond=None)[0] if len(chosen) else g
        if (rows @ x >= -1e-9).all() and np.linalg.norm(x - g) < best:
            best, found = np.linalg.norm(x - g), x
    assert np.isfinite(best)
    return found


def smallest_over_box(form: np.ndarray, slopes: np.ndarray, margin: float) -> np.ndarray:
    """argmin 1/2 v^T form v + slopes^T v over v >= margin, over all sets of components at the margin."""
    best, found = np.inf, None
    for free in product([False, True], repeat=len(form)):
        mask = np.array(free)
        v = np.full(len(form), margin)
        if mask.any():
            v[mask] = np.linalg.solve(form[mask][:, mask], -slopes[mask] - form[mask][:, ~mask] @ v[~mask])
        value = 0.5 * v @ form @ v + slopes @ v
        if (v >= margin - 1e-12).all() and value < best:
            best, found = value, v
    return found


@pytest.mark.parametrize("seed", range(20))
def test_agem_is_the_nearest_vector_in_the_half_space(seed):
    rng = np.random.default_rng(seed)
    g, r = rng.standard_normal((2, 6))
    parts = [[torch.tensor(v[:2]), None, torch.tensor(v[2:])] for v in (g, r)]
    found = agem.projected(*parts)
    assert found[1] is None
    np.testing.assert_allclose(torch.cat([found[0], found[2]]).numpy(), nearest_in_cone(g, r[None]), atol=1e-12)


@pytest.mark.parametrize("margin", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(15))
def test_gem_weights_solve_the_dual(seed, margin):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((1 + seed % 4, 5))
    g = rng.standard_normal(5) - rows.sum(axis=0)
    gram = rows @ rows.T
    expected = smallest_over_box(gram + 1e-3 * np.eye(len(rows)), rows @ g, margin)
    np.testing.assert_allclose(gem.cone_weights(gram, rows @ g, margin), expected, atol=1e-9)
    moved = gem.projected(torch.from_numpy(g), torch.from_numpy(rows), margin).numpy()
    np.testing.assert_allclose(moved, g + rows.T @ expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(15))
def test_gem_without_margin_is_the_nearest_vector_in_the_cone(seed):
    """Up to the ridge of 1e-3, which bends the projection by as much, relatively."""
    rng = np.random.default_rng(100 + seed)
    rows = 10 * rng.standard_normal((3, 6))
    g = rng.standard_normal(6) - 0.3 * rows.sum(axis=0)
    assert (rows @ g < 0).any()
    moved = gem.projected(torch.from_numpy(g), torch.from_numpy(rows), 0.0).numpy()
    np.testing.assert_allclose(moved, nearest_in_cone(g, rows), atol=1e-3 * np.linalg.norm(g))


def flipped():
    """The same images with the labels exchanged: what helps one task harms the other."""
    x = torch.randn(40, 6, generator=torch.Generator().manual_seed(0))
    y = (x[:, 0] > 0).long()
    return from_tensors([(x, y, x, y), (x, 1 - y, x, 1 - y)], scenario="domain")


def by_hand(made, raw, y, head):
    logits = made.model(raw, [(head, len(raw))])[0]
    return gradient(functional.cross_entropy(logits, y), weights_of(made.model))


@pytest.mark.parametrize("benchmark", [flipped, two_widths])
@pytest.mark.parametrize("method", ["agem", "gem"])
def test_gradients_in_the_loop(method, benchmark):
    """The gradient that the optimiser gets, from gradients taken one by one through each sample's own head."""
    options = {"margin": 0.0} if method == "gem" else {}
    made, batch = in_second_task(method, benchmark(), lr=0.5, memory=60, memory_batch=20, options=options)
    rule, weights = made.method, weights_of(made.model)
    loss = rule.loss(batch)
    loss.backward()
    g = flat(present(weights), weights).double().numpy()
    memory = rule.memory
    slots = rule._draw.slots if method == "agem" else memory.everything(1)
    rule.adjust_gradients()
    r = flat(by_hand(made, memory.raw[slots], memory.y[slots], made.context.heads[0]), weights).double().numpy()
    if benchmark is flipped:
        assert g @ r < 0  # else nothing is shown
    got = flat(present(weights), weights).double().numpy()
    expected = nearest_in_cone(g, r[None])
    np.testing.assert_allclose(got, expected, atol=1e-5 if method == "agem" else 1e-2 * np.linalg.norm(g))
    if benchmark is two_widths:
        assert made.model.heads[2].weight.grad is None  # a head of no task so far


def test_gem_memory_gradients_use_their_own_heads():
    """Two past tasks with heads of 3 and 2 classes; the present one has 4."""
    made, _ = in_second_task("gem", two_widths())
    rule, tasks = made.method, made.benchmark.tasks
    rule.end_task(1, tasks[1].train)
    rule._past = 2
    parts = rule._draws()
    assert [part.tasks for part in parts] == [[0], [1]]
    for k, part in enumerate(parts):
        assert len(part) == rule.memory.counts[k]
        ours = gradient(rule.memory_loss(part), weights_of(made.model))
        theirs = by_hand(made, rule.memory.raw[part.slots], rule.memory.y[part.slots], k)
        for left, right in zip(ours, theirs, strict=True):
            assert (left is None) == (right is None)
            if left is not None:
                torch.testing.assert_close(left, right)
