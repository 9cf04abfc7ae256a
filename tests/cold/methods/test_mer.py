"""MER: sequential Reptile steps on quadratics, where SGD has a closed form."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from tests.cold.methods.method_cases import in_second_task, two_widths

BETA, GAMMA = 0.3, 0.6


def on_quadratics(made):
    """The loss of a sample becomes 1/2 |w - x|^2: one SGD step is w <- (1 - eta) w + eta x."""
    w = torch.nn.Parameter(torch.zeros(6))
    rule = made.method
    rule.weights = [w]
    rule.losses = lambda raw, y, runs: 0.5 * (w - raw).square().sum(1)
    return w


def replayed(made, times):
    """The samples that `times` inner loops will replay, in order, from the same random stream."""
    rule, generator = made.method, made.context.streams.cpu("replay")
    before = generator.get_state()
    batches = []
    for _ in range(times):
        draw = rule.memory.draw_per_task(3, 1, generator)
        batches.append(rule.memory.raw[draw.slots[torch.randperm(len(draw), generator=generator)]])
    generator.set_state(before)
    return batches


def test_sequential_reptile_by_hand():
    made, batch = in_second_task("mer", two_widths(), options={"batches": 2, "beta": BETA, "gamma": GAMMA})
    w, eta = on_quadratics(made), made.config.lr
    past = replayed(made, 2 * len(batch.raw))
    theta = np.zeros(6)
    for i, x in enumerate(batch.raw):
        start = theta
        for inner in past[2 * i : 2 * i + 2]:
            sequence = [x, *inner]
            n = len(sequence)
            assert n == 1 + 3
            end = (1 - eta) ** n * theta
            for j, sample in enumerate(sequence):
                end = end + eta * (1 - eta) ** (n - 1 - j) * sample.numpy()
            theta = theta + BETA * (end - theta)
        theta = start + GAMMA * (theta - start)
    made.method.step(batch)
    np.testing.assert_allclose(w.detach().numpy(), theta, rtol=1e-5, atol=1e-6)


def test_mini_batch_form_by_hand():
    """One optimiser step on batch and replay batch in place of the sequence, here on the network itself."""
    options = {"batches": 1, "beta": BETA, "gamma": GAMMA, "form": "mini-batch"}
    made, batch = in_second_task("mer", two_widths(), options=options)
    rule, generator = made.method, made.context.streams.cpu("replay")
    state = generator.get_state()
    slots = rule.memory.draw_per_task(3, 1, generator).slots
    generator.set_state(state)
    before = [p.detach().clone() for p in rule.weights]
    now = functional.cross_entropy(made.model(batch.raw, [(1, 6)])[0], batch.y, reduction="sum")
    past = functional.cross_entropy(
        made.model(rule.memory.raw[slots], [(0, 3)])[0], rule.memory.y[slots], reduction="sum"
    )
    slopes = torch.autograd.grad((now + past) / 9, rule.weights, allow_unused=True)
    rule.step(batch)
    for p, start, slope in zip(rule.weights, before, slopes, strict=True):
        moved = start if slope is None else start - GAMMA * BETA * made.config.lr * slope
        torch.testing.assert_close(p.detach(), moved)


@pytest.mark.parametrize("rate", [1.0, 0.25])
def test_interpolation(rate):
    made, _ = in_second_task("mer", two_widths())
    rule = made.method
    before = [p.detach().clone() for p in rule.weights]
    with rule._reptile(rate), torch.no_grad():
        for p in rule.weights:
            p.add_(4.0)
    for p, start in zip(rule.weights, before, strict=True):
        torch.testing.assert_close(p.detach(), start + 4 * rate)
