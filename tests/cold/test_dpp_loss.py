"""The drift-plus-penalty loss: what it is, what it costs, and that the queue measures forgetting and nothing else."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from cold.dpp import COLD
from cold.losses import merged, per_sample_losses
from cold.models import HeadedModel
from coldtheory.ground.errors import ColdError

pytestmark = pytest.mark.torch_kernels

CLASSES, WIDTH, PIXELS = 3, 16, 10


def data(seed: int, n: int = 60) -> tuple[torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(CLASSES, (n,), generator=g)
    centres = torch.randn(CLASSES, PIXELS, generator=g) * 2
    return centres[y] + torch.randn(n, PIXELS, generator=g), y


def network(*, batch_norm: bool = False, heads: int = 1, seed: int = 0) -> HeadedModel:
    torch.manual_seed(seed)
    layers = [nn.Linear(PIXELS, WIDTH), *([nn.BatchNorm1d(WIDTH)] if batch_norm else []), nn.ReLU()]
    return HeadedModel(nn.Sequential(*layers), [nn.Linear(WIDTH, CLASSES) for _ in range(heads)])


def make(tasks: int = 3, heads: int = 1, **settings) -> COLD:
    defaults = {"V": 2.0, "delta": 0.1, "memory": 30, "memory_batch": 4, "batch_size": 20}
    return COLD(
        tasks=tasks,
        heads=[k % heads for k in range(tasks)],
        forward=lambda m, x, runs: m(x, runs),
        **(defaults | settings),
    )


def trained(cold: COLD, model: nn.Module, tasks: int, steps: int = 15) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for t in range(tasks):
        x, y = data(t)
        cold.begin_task(model, x)
        for i in range(steps):
            rows = torch.arange(20) + 20 * (i % 3)
            optimizer.zero_grad()
            cold.loss(model, x[rows], y[rows]).backward()
            optimizer.step()
        cold.end_epoch(model)
        cold.end_task(model, x, y)


# ---------------------------------------------------------------------------------------------- same quantity


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("replay", ["per-task", "mixed"])
def test_with_the_model_unchanged_the_increment_is_minus_delta(heads, replay):
    """No BatchNorm, no augmentation: exactly, up to rounding; a mixed draw leaves tasks out, whose increment is too."""
    cold, model = make(heads=heads, replay=replay), network(heads=heads)
    trained(cold, model, 2)
    x, y = data(2)
    cold.begin_task(model, x)
    cold.queues.Q[:2] = 5.0
    for i in range(1, 6):
        cold.loss(model, x[:20], y[:20])
        assert torch.allclose(cold.queues.Q[:2], torch.full((2,), 5.0 - 0.1 * i), atol=1e-5)


@pytest.mark.parametrize("augments", [False, True])
def test_with_batchnorm_the_mean_increment_is_minus_delta(augments):
    """In a training forward the batch statistics, and with them every loss, depend on the batch: the reference
    losses were measured in batches of the same kind, so that nothing but noise is left."""

    def jitter(raw, generator):
        return raw + 0.3 * torch.randn(raw.shape, generator=generator)

    settings = {"prepare": jitter, "augments": True} if augments else {}
    cold, model = make(reference_passes=60, delta=0.0, **settings), network(batch_norm=True)
    trained(cold, model, 2)
    x, y = data(2)
    before = copy.deepcopy(model.state_dict())
    cold.begin_task(model, x)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())  # statistics too
    increments = []
    g = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for _ in range(400):
            cold.queues.Q[:2] = 100.0
            rows = torch.randperm(60, generator=g)[:20]
            cold.loss(model, x[rows], y[rows])
            increments.append(cold.queues.Q[:2] - 100.0)
    found = torch.stack(increments)
    noise = found.std(0) / 20
    assert (found.mean(0).abs() < 5 * noise + 0.02 * cold.memory.reference[cold.memory.everything(2)].mean()).all()
    # the same samples measured in evaluation mode would have moved the queue by much more than that
    model.load_state_dict(before)
    slots = cold.memory.everything(2)
    model.eval()
    with torch.no_grad():
        plain = per_sample_losses(model(cold.memory.raw[slots], [(0, len(slots))]), cold.memory.y[slots])
    gap = (cold.memory.task_means(slots, plain - cold.memory.reference[slots], 2)).abs().max()
    assert gap > 5 * found.mean(0).abs().max()


# ---------------------------------------------------------------------------------------------- the objective


@pytest.mark.parametrize("weights", ["sum", "mean"])
@pytest.mark.parametrize("idle", ["joint", "skip"])
def test_objective_and_gradient_by_hand(weights, idle):
    """With all of a task's memory in every draw, the estimate is the mean itself."""
    cold, model = make(memory_batch=10, weights=weights, idle=idle, heads=3), network(heads=3)
    trained(cold, model, 2)
    x, y = data(2)
    cold.begin_task(model, x)
    cold.queues.Q[:] = torch.tensor([0.0, 3.0, 0.0])
    loss = cold.loss(model, x[:20], y[:20])
    got = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    task1 = cold.memory.everything(2)[10:]
    expected = 2.0 * functional.cross_entropy(model(x[:20], [(2, 20)])[0], y[:20])
    past = functional.cross_entropy(model(cold.memory.raw[task1], [(1, 10)])[0], cold.memory.y[task1])
    expected = expected + (3.0 if weights == "sum" else 1.5) * past
    wanted = torch.autograd.grad(expected, list(model.parameters()), allow_unused=True)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    for a, b in zip(got, wanted, strict=True):
        assert (0.0 if a is None else a.abs().max()) == 0.0 if b is None else torch.allclose(a, b, atol=1e-5)


@pytest.mark.parametrize("queue_update", ["step", "epoch", "task"])
def test_when_queues_move(queue_update):
    cold, model = make(queue_update=queue_update, delta=0.0), network()
    trained(cold, model, 1)
    x, y = data(1)
    cold.begin_task(model, x)
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(-1.0)  # a model that has forgotten
    moves = {"step": 0, "epoch": 0, "task": 0}
    for name, call in (
        ("step", lambda: cold.loss(model, x[:20], y[:20])),
        ("epoch", lambda: cold.end_epoch(model)),
        ("task", lambda: cold.end_task(model, x, y)),
    ):
        before = cold.queues.Q.clone()
        call()
        moves[name] = int(not torch.equal(before, cold.queues.Q))
    assert moves == {name: int(name == queue_update) for name in moves}


# ---------------------------------------------------------------------------------------------- cost


class Counting(nn.Module):
    """Counts samples of forward and backward passes."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model, self.forwards, self.backwards = model, [], []
        model.backbone[0].register_forward_hook(self._watch)

    def _watch(self, module, inputs, output):
        if output.requires_grad:
            output.register_hook(lambda gradient: self.backwards.append(len(gradient)))

    def forward(self, x, runs):
        self.forwards.append(len(x))
        return self.model(x, runs)


@pytest.mark.parametrize(("Q", "idle", "backward"), [
    ([0.0, 0.0], "skip", 20), ([0.0, 1.0], "skip", 24), ([2.0, 1.0], "skip", 28),
    ([0.0, 0.0], "auto", 20), ([0.0, 1.0], "auto", 28),  # 4 samples of 28: a second forward would cost more
    ([0.0, 0.0], "joint", 28),
])  # fmt: skip
def test_an_empty_queue_costs_no_backward_pass(Q, idle, backward):
    cold, model = make(idle=idle), network()
    trained(cold, model, 2)
    x, y = data(2)
    cold.begin_task(model, x)
    cold.queues.Q[:2] = torch.tensor(Q)
    counting = Counting(model)
    cold.loss(counting, x[:20], y[:20]).backward()
    assert counting.backwards == [backward]
    assert sum(counting.forwards) == 28  # every drawn sample was measured once
    assert len(counting.forwards) == (1 if backward == 28 else 2)


@pytest.mark.parametrize(("idle", "backward"), [("auto", 28), ("skip", 20)])
def test_batchnorm_keeps_the_joint_forward_unless_told(idle, backward):
    cold, model = make(idle=idle), network(batch_norm=True)
    trained(cold, model, 2)
    x, y = data(2)
    cold.begin_task(model, x)
    cold.queues.Q[:2] = 0.0
    counting = Counting(model)
    cold.loss(counting, x[:20], y[:20]).backward()
    assert counting.backwards == [backward]


def test_queues_that_do_not_move_now_need_no_forward_either():
    cold, model = make(queue_update="task"), network()
    trained(cold, model, 2)
    x, y = data(2)
    cold.begin_task(model, x)
    cold.queues.Q[:2] = torch.tensor([0.0, 1.0])
    counting = Counting(model)
    cold.loss(counting, x[:20], y[:20]).backward()
    assert counting.forwards == [24]


# ---------------------------------------------------------------------------------------------- oracles


@pytest.mark.parametrize(
    ("oracle", "candidates"),
    [(None, {2}), ("exact", {0, 1}), ("window:1", {2}), ("window:2", {1}), ("streaming", {0, 1})],
)
def test_oracle_takes_the_best_model_on_each_memory(oracle, candidates):
    """Task 3 spoils the model (model 2): the best of models 0 and 1 stays the reference, where it is still known."""
    cold, model = make(tasks=4, oracle=oracle), network()
    trained(cold, model, 2)
    x, y = data(2)
    cold.begin_task(model, x)
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(-1.0)
    cold.end_task(model, x, y)
    cold.begin_task(model, data(3)[0])
    assert set(cold.compared_with[3, :2].tolist()) <= candidates
    slots = cold.memory.everything(2)
    with torch.no_grad():
        now = per_sample_losses(model(cold.memory.raw[slots], [(0, len(slots))]), cold.memory.y[slots])
    same = torch.allclose(cold.memory.reference[slots], now, atol=1e-5)
    assert same == (candidates == {2})
    if not same:
        assert (cold.memory.task_means(slots, cold.memory.reference[slots] - now, 2) < 0).all()


@pytest.mark.parametrize("policy", ["uniform", "reservoir"])
def test_a_stored_reference_is_measured_once(policy):
    """Whatever becomes of the model: samples that stay keep the loss at the end of their own task."""
    cold, model = make(tasks=4, reference="stored", policy=policy), network()
    trained(cold, model, 1)
    cold.begin_task(model, data(1)[0])
    slots = cold.memory.everything(1)
    with torch.no_grad():
        then = per_sample_losses(model(cold.memory.raw[slots], [(0, len(slots))]), cold.memory.y[slots])
    assert torch.allclose(cold.memory.reference[slots], then, atol=1e-6)
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(-1.0)
    cold.end_task(model, *data(1))
    cold.begin_task(model, data(2)[0])
    assert cold.compared_with[2, :2].tolist() == [0, 1]
    stayed = cold.memory.owner[slots] == 0
    assert stayed.any()
    assert torch.allclose(cold.memory.reference[slots][stayed], then[stayed], atol=1e-6)
    newest = (cold.memory.owner == 1).nonzero()[:, 0]
    with torch.no_grad():
        now = per_sample_losses(model(cold.memory.raw[newest], [(0, len(newest))]), cold.memory.y[newest])
    assert torch.allclose(cold.memory.reference[newest], now, atol=1e-6)


@pytest.mark.parametrize("oracle", ["exactly", "window", "window:0", "window:x"])
def test_unknown_oracle(oracle):
    with pytest.raises(ColdError, match="exact, streaming or window:N"):
        make(oracle=oracle)


def test_streaming_refuses_a_memory_that_changes():
    with pytest.raises(ColdError, match="uniform"):
        make(oracle="streaming", policy="reservoir")


def test_bad_calls():
    with pytest.raises(ColdError, match="before begin_task"):
        make().loss(network(), *data(0))
    with pytest.raises(ColdError, match="V must be > 0"):
        make(V=0.0)
    with pytest.raises(ColdError, match="memory batch of 11 is larger than the 10"):
        make(memory_batch=11)
    with pytest.raises(ColdError, match="did you mean step"):
        make(queue_update="steps")


def test_heads_of_different_widths():
    torch.manual_seed(0)
    logits = [torch.randn(2, 3), torch.randn(4, 5)]
    y = torch.tensor([0, 2, 4, 1, 0, 3])
    got = per_sample_losses(logits, y)
    wanted = torch.cat(
        [functional.cross_entropy(a, b, reduction="none") for a, b in zip(logits, y.split([2, 4]), strict=True)]
    )
    assert torch.allclose(got, wanted)
    assert merged([(0, 2), (0, 0), (1, 1), (1, 3)]) == [(0, 2), (1, 4)]
