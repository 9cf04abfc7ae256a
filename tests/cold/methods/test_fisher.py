"""EWC: the Fisher diagonal against a closed form and a loop; penalty and consolidation by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from cold.data import from_tensors
from cold.methods.fisher import diagonal_fisher
from cold.models import HeadedModel
from cold.models.networks import mlp, resnet18, small_conv
from tests.cold.methods.method_cases import in_second_task, two_widths

pytestmark = pytest.mark.torch_kernels


def samples(shape, classes=3, count=23):
    x = torch.randn(count, *shape, generator=torch.Generator().manual_seed(1))
    y = torch.arange(count) % classes
    return from_tensors([(x, y, x, y)]).tasks[0].train


def loop(model, part, head, weighted):
    """One backward pass a sample."""
    total = [torch.zeros_like(p) for p in model.parameters()]
    model.eval()
    for i in range(len(part)):
        logits = model(part.raw(torch.tensor([i])), [(head, 1)])[0]
        value = functional.log_softmax(logits, dim=1)[0, part.y[i]]
        slopes = torch.autograd.grad(value, list(model.parameters()), allow_unused=True)
        factor = value.detach().exp() if weighted else 1.0
        for place, slope in zip(total, slopes, strict=True):
            if slope is not None:
                place.add_(factor * slope.square())
    return [value / len(part) for value in total]


@pytest.mark.parametrize("weighted", [True, False])
def test_closed_form_of_a_softmax_linear_model(weighted):
    """grad log p_y = (e_y - p) x^T."""
    part = samples((5,))
    torch.manual_seed(0)
    model = HeadedModel(nn.Flatten(), [nn.Linear(5, 3)])
    x, y = part.raw().double().numpy(), part.y.numpy()
    weight, bias = (p.detach().double().numpy() for p in model.heads[0].parameters())
    scores = x @ weight.T + bias
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    factor = p[np.arange(len(y)), y] if weighted else np.ones(len(y))
    away = (np.eye(3)[y] - p) ** 2 * factor[:, None]
    found = diagonal_fisher(model, part, 0, lambda raw: raw, weighted=weighted)
    np.testing.assert_allclose(found[0].numpy(), np.einsum("nc,nj->cj", away, x**2) / len(y), rtol=1e-5)
    np.testing.assert_allclose(found[1].numpy(), away.mean(axis=0), rtol=1e-5)


class Twice(nn.Module):
    """A layer that is used twice: the closed form for layers does not hold."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x):
        return self.layer(torch.tanh(self.layer(x)))


NETWORKS = {
    "mlp": lambda: (mlp((6,), [7, 5]), (6,)),
    "conv": lambda: (small_conv((2, 6, 6), 8), (2, 6, 6)),
    "resnet": lambda: (resnet18((1, 8, 8), 2), (1, 8, 8)),
    "a layer used twice": lambda: ((Twice(), 6), (6,)),
}


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("network", NETWORKS)
def test_batched_equals_a_loop_over_samples(network, weighted):
    torch.manual_seed(3)
    (backbone, features), shape = NETWORKS[network]()
    model = HeadedModel(backbone, [nn.Linear(features, 3), nn.Linear(features, 2)])
    part = samples(shape)
    found = diagonal_fisher(model, part, 0, lambda raw: raw, weighted=weighted)
    assert model.training
    for (name, _), ours, theirs in zip(model.named_parameters(), found, loop(model, part, 0, weighted), strict=True):
        scale = float(theirs.max()) or 1.0
        assert float((ours - theirs).abs().max()) <= 1e-5 * scale, name
        if name.startswith("heads.1"):
            assert not ours.any()


@pytest.mark.parametrize("method", ["ewc", "ewc-online"])
def test_step_has_the_gradient_of_the_penalty(method):
    """After one SGD step: theta - eta (grad CE + 2 strength F (theta - theta*))."""
    made, batch = in_second_task(method, two_widths(), options={"strength": 3.0})
    rule = made.method
    made.method.step(batch)  # away from theta*
    before = [p.detach().clone() for p in made.model.parameters()]
    loss = functional.cross_entropy(made.model(batch.raw, [(1, len(batch.raw))])[0], batch.y)
    slopes = torch.autograd.grad(loss, list(made.model.parameters()), allow_unused=True)
    made.method.step(batch)
    for p, start, slope, F, centre in zip(
        made.model.parameters(), before, slopes, rule.importance, rule.centre, strict=True
    ):
        if slope is None:
            assert torch.equal(p, start)
            continue
        expected = start - made.config.lr * (slope + 2 * 3.0 * F * (start - centre))
        torch.testing.assert_close(p.detach(), expected)
    pulls = [F * (b - c) for F, b, c in zip(rule.importance, before, rule.centre, strict=True)]
    assert any(bool(pull.abs().sum() > 1e-6) for pull in pulls)


def test_one_quadratic_stands_for_all_tasks():
    """EWC's kept curvature and centre give the gradient of the sum over tasks; online EWC's rule is another."""
    made, _ = in_second_task("ewc", two_widths())
    rule, generator = made.method, torch.Generator().manual_seed(0)
    shapes = [p.shape for p in made.model.parameters()]
    tasks = [
        ([torch.rand(s, generator=generator) for s in shapes], [torch.randn(s, generator=generator) for s in shapes])
        for _ in range(4)
    ]
    tasks[0][0][0].zero_()  # a tensor that one task does not use
    rule.importance, rule.centre = tasks[0]
    for importance, weights in tasks[1:]:
        rule.consolidate(importance, weights)
    theta = [torch.randn(s, generator=generator) for s in shapes]
    for i, value in enumerate(theta):
        expected = sum(F[i] * (value - w[i]) for F, w in tasks)
        torch.testing.assert_close(rule.importance[i] * (value - rule.centre[i]), expected, rtol=1e-5, atol=1e-5)


def test_online_consolidation():
    made, _ = in_second_task("ewc-online", two_widths(), options={"decay": 0.5})
    rule = made.method
    old = [value.clone() for value in rule.importance]
    new, weights = [torch.ones_like(v) for v in old], [torch.zeros_like(v) for v in old]
    rule.consolidate(new, weights)
    for value, before in zip(rule.importance, old, strict=True):
        torch.testing.assert_close(value, 0.5 * before + 1)
    assert rule.centre is weights
