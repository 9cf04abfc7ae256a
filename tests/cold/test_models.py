"""Networks: sizes as the paper gives them, heads that do not disturb each other, seeds that leave no trace."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from cold.data import Benchmark, Part, Task, Transform, from_tensors, load_benchmark
from cold.models import build_model, default_model
from cold.models.networks import resnet18
from coldtheory.ground.errors import ColdError


def blank(name, shape, widths, scenario="task"):
    """A benchmark of which only names and shapes matter."""
    part = Part(torch.zeros(1, *shape, dtype=torch.uint8), torch.zeros(1, dtype=torch.int64), torch.zeros(1).long())
    tasks = tuple(Task(str(h), h, part, part, None, tuple(map(str, range(w)))) for h, w in enumerate(widths))
    return Benchmark(name, tasks, tuple(widths), shape, scenario, Transform())


def parameters(model):
    return sum(p.numel() for p in model.parameters())


CIFAR10 = blank("split-cifar10", (3, 32, 32), (2,) * 5)


def test_paper_networks_have_the_sizes_that_arithmetic_gives():
    split = build_model(blank("split-mnist", (1, 28, 28), (2,) * 5), seed=0)
    assert parameters(split) == (784 * 256 + 256) + 5 * (256 * 2 + 2)
    permuted = build_model(blank("pmnist", (1, 28, 28), (10,), "domain"), seed=0)
    assert parameters(permuted) == (784 * 256 + 256) + (256 * 256 + 256) + (256 * 10 + 10)


def _resnet18_size(width, outputs):
    """Counted by hand: 3x3 convolutions without bias, two numbers per channel for each BatchNorm, 1x1 shortcuts."""
    w = [width, 2 * width, 4 * width, 8 * width]
    total = 27 * width + 2 * width
    for before, here in zip([width, *w], w, strict=False):
        total += 9 * before * here + 3 * 9 * here * here + 4 * 2 * here
        total += before * here + 2 * here if before != here else 0
    return total + 8 * width * outputs + outputs


@pytest.mark.parametrize("width", [64, 20, 8])
def test_resnet18_size(width):
    assert parameters(build_model(CIFAR10, width=width, seed=0)) == _resnet18_size(width, 10)


def test_resnet18_of_width_64_has_11_2_million_parameters():
    assert parameters(build_model(CIFAR10, width=64, seed=0)) == 11_173_962


@pytest.mark.parametrize("side", [32, 64])
def test_resnet18_keeps_the_resolution_of_the_first_stage(side):
    backbone, features = resnet18((3, side, side), 8)
    backbone.eval()
    stage = backbone[:5](torch.zeros(2, 3, side, side))
    assert stage.shape == (2, 8, side, side)  # no stride, no max-pool
    assert backbone(torch.zeros(2, 3, side, side)).shape == (2, features) == (2, 64)


def test_runs_equal_one_head_at_a_time():
    model = build_model(CIFAR10, width=4, seed=0).eval()
    x = torch.randn(9, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    pieces = model(x, [(2, 4), (0, 2), (0, 1), (4, 2)])
    assert [tuple(piece.shape) for piece in pieces] == [(4, 2), (2, 2), (1, 2), (2, 2)]
    start = 0
    for head, piece in zip((2, 0, 0, 4), pieces, strict=True):
        alone = model.heads[head](model.backbone(x[start : start + len(piece)]))
        torch.testing.assert_close(piece, alone)
        start += len(piece)


def test_runs_must_cover_the_batch():
    model = build_model(CIFAR10, width=4, seed=0).eval()
    with pytest.raises(ValueError, match="cover 3 samples of a batch of 4"):
        model(torch.zeros(4, 3, 32, 32), [(0, 3)])


@pytest.mark.parametrize(
    "optimizer", [torch.optim.Adam, lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.1)]
)
def test_a_head_that_no_run_names_has_no_gradient_and_does_not_move(optimizer):
    model = build_model(CIFAR10, width=4, seed=0)
    steps = optimizer(model.parameters())
    before = [head.weight.detach().clone() for head in model.heads]
    for _ in range(2):
        steps.zero_grad(set_to_none=True)
        pieces = model(torch.randn(4, 3, 32, 32), [(1, 2), (3, 2)])
        sum(piece.square().mean() for piece in pieces).backward()
        assert [head.weight.grad is None for head in model.heads] == [True, False, True, False, True]
        steps.step()
    moved = [not torch.equal(head.weight, old) for head, old in zip(model.heads, before, strict=True)]
    assert moved == [False, True, False, True, False]


def test_the_seed_decides_the_weights_and_global_state_stays():
    before = torch.random.get_rng_state()
    first, again, other = (build_model(CIFAR10, width=4, seed=s) for s in (3, 3, 4))
    assert torch.equal(before, torch.random.get_rng_state())
    same = [torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True)]
    assert all(same)
    assert not torch.equal(next(first.parameters()), next(other.parameters()))


def test_global_state_does_not_decide_the_weights():
    torch.manual_seed(0)
    first = build_model(CIFAR10, width=4, seed=3)
    torch.manual_seed(1)
    again = build_model(CIFAR10, width=4, seed=3)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))


def test_defaults_follow_the_data():
    assert default_model(load_benchmark("synthetic")) == "mlp-256"
    assert default_model(load_benchmark("synthetic", shape=(3, 8, 8))) == "conv"
    assert default_model(blank("folder:flowers", (3, 64, 64), (2, 2))) == "resnet18"
    assert default_model(blank("own", (5,), (2, 2))) == "mlp-256"


@pytest.mark.parametrize("shape", [(1, 16, 16), (3, 8, 8), (3, 5, 7)])
def test_default_networks_learn_synthetic_images(shape):
    benchmark = load_benchmark("synthetic", shape=shape, tasks=5, noise=0.3)
    model, task = build_model(benchmark, seed=0), benchmark.tasks[0]
    steps = torch.optim.Adam(model.parameters(), 3e-3)
    x, y = benchmark.transform(task.train.raw()), task.train.y
    for _ in range(60):
        steps.zero_grad()
        nn.functional.cross_entropy(model(x, [(0, len(x))])[0], y).backward()
        steps.step()
    test = benchmark.transform(task.test.raw())
    assert float((model(test, [(0, len(test))])[0].argmax(1) == task.test.y).float().mean()) > 0.9


# ---------------------------------------------------------------------------------------------------
# A user's own module


class Features(nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Dropout(), nn.Linear(8, outputs))

    def forward(self, x):
        return self.layers(x)


def own(scenario, classes=3):
    x, y = torch.randn(12, 5), torch.arange(12) % classes
    return from_tensors([(x, y, x, y)] * 2, scenario=scenario)


def test_own_backbone_gets_heads():
    module = Features(7)
    model = build_model(own("task"), seed=0, module=module)
    assert model.backbone is module
    assert [tuple(head.weight.shape) for head in model.heads] == [(3, 7), (3, 7)]


def test_own_whole_network_is_used_as_it_is():
    module = Features(3)
    model = build_model(own("domain"), seed=0, module=module).eval()
    x = torch.randn(4, 5)
    assert torch.equal(model(x, [(0, 4)])[0], module(x))
    assert sum(1 for _ in model.heads.parameters()) == 0
    with_head = build_model(own("domain"), seed=0, module=module, has_head=False)
    assert tuple(with_head.heads[0].weight.shape) == (3, 3)


def test_looking_at_a_module_leaves_no_trace():
    module = Features(7)
    module.layers[2].eval()
    weights = {name: value.clone() for name, value in module.state_dict().items()}
    build_model(own("task"), seed=0, module=module)
    assert module.training
    assert not module.layers[2].training
    assert all(torch.equal(weights[name], value) for name, value in module.state_dict().items())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: build_model(own("task"), seed=0, module=nn.Linear(4, 2)), r"does not take samples of shape \(5,\)"),
        (lambda: build_model(own("task"), seed=0, module=nn.Unflatten(1, (5, 1))), "one row of features"),
        (lambda: build_model(own("task"), seed=0, module=Features(3), has_head=True), "needs scenario 'domain'"),
        (lambda: build_model(own("task"), seed=0, module=Features(3), name="conv"), "not both"),
        (lambda: build_model(own("task"), seed=0, name="resnet18"), "takes images"),
        (lambda: build_model(CIFAR10, seed=0, name="resnet"), "did you mean resnet18"),
        (lambda: build_model(CIFAR10, seed=0, name="mlp-0"), "unknown model"),
        (lambda: build_model(CIFAR10, seed=0, width=0), "at least 1"),
    ],
)
def test_bad_input_is_one_line(call, message):
    with pytest.raises(ColdError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
