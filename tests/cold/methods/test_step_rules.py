"""NCCL's step sizes, CBA's two levels, REFRESH's unlearning and the joint order, by hand."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from cold.methods import Batch
from cold.methods.nccl import step_sizes
from coldtheory.ground.errors import ColdError
from tests.cold.methods.method_cases import class_incremental, in_second_task, trainer, two_widths, weights

pytestmark = pytest.mark.torch_kernels

# ---------------------------------------------------------------------------------------------- NCCL


@pytest.mark.parametrize(("s", "ff", "gg", "a", "b"), [
    (-3.0, 6.0, 9.0, 0.15, 0.1),   # conflict: a = 0.1 (1 + 3/6), b = 0.1
    (0.0, 6.0, 9.0, 0.1, 0.1),
    (2.0, 6.0, 10.0, 0.1, 0.08),   # (1 - 0.1 * 2) 2 / (2 * 10) = 0.08, below the limit
    (9.0, 6.0, 10.0, 0.1, 0.09),   # 0.36 is above the limit 0.1 (1 - 0.1)
])  # fmt: skip
def test_nccl_step_sizes(s, ff, gg, a, b):
    assert step_sizes(s, ff, gg, alpha=0.1, L=2.0, limit=0.09) == pytest.approx((a, b))


@pytest.mark.parametrize("seed", range(5))
def test_nccl_free_step_size_minimises_the_forgetting_term(seed):
    """Without the limit, b is where Gamma(b) = b^2 L |g|^2 / 2 - b (1 - alpha L) s has its minimum."""
    s, gg, alpha, L = 1.5 + seed, 4.0, 0.05, 3.0
    _, b = step_sizes(s, 2.0, gg, alpha, L, math.inf)

    def gamma(b):
        return 0.5 * b**2 * L * gg - b * (1 - alpha * L) * s

    assert gamma(b) <= min(gamma(b * f) for f in (0.9, 0.99, 1.01, 1.1)) + 1e-9


def test_nccl_step():
    made, batch = in_second_task("nccl", two_widths(), options={"L": 2.0, "delta": 0.1})
    rule, alpha = made.method, made.config.lr
    before = weights(made)
    rule.step(batch)
    after = weights(made)
    for p, value in zip(made.model.parameters(), before, strict=True):
        p.data.copy_(value)
    slots, parameters = rule._draw.slots, list(made.model.parameters())
    past = functional.cross_entropy(made.model(rule.memory.raw[slots], [(0, 3)])[0], rule.memory.y[slots])
    now = functional.cross_entropy(made.model(batch.raw, [(1, 6)])[0], batch.y)
    f, g = (torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True) for loss in (past, now))
    s = sum(float((a * b).sum()) for a, b in zip(f, g, strict=True))
    ff, gg = (sum(float(v.square().sum()) for v in vectors) for vectors in (f, g))
    if s <= 0:
        a, b = alpha * (1 - s / ff), alpha
    else:
        a, b = alpha, min(alpha * 0.9, (1 - alpha * 2.0) * s / (2.0 * gg))
    for value, start, x, y in zip(after, before, f, g, strict=True):
        torch.testing.assert_close(value, start - a * x - b * y, rtol=1e-4, atol=1e-6)
    gamma = 0.5 * b**2 * 2.0 * gg - b * (1 - a * 2.0) * s
    assert float(rule.arrays()["nccl_gamma"][1]) == pytest.approx(gamma, rel=1e-3)


# ---------------------------------------------------------------------------------------------- CBA


def doubled(made):
    """Everything in double precision, so that finite differences tell."""
    made.model.double()
    made.method.adaptors.double()
    made.method.memory.raw = made.method.memory.raw.double()
    made.context.inputs = lambda raw, generator=None: raw.double()
    return made


def bias(rule, h):
    first, _, second = rule.adaptors.of_width[str(h.shape[1])]
    p = functional.softmax(h.detach(), dim=1)
    return torch.relu(p @ first.weight.T + first.bias) @ second.weight.T + second.bias


def test_cba_inner_loss_adapts_with_a_constant():
    made, batch = in_second_task("cba", two_widths(), options={"every": 10**6})
    rule = made.method
    rule.steps = 1  # not the turn of the outer level
    state = made.context.streams.state()
    loss = rule.loss(batch)
    made.context.streams.load(state)
    slots = rule.draw(rule.memory, 1).slots
    now, past = made.model(batch.raw, [(1, 6)])[0], made.model(rule.memory.raw[slots], [(0, 3)])[0]
    with torch.no_grad():
        shifts = bias(rule, now), bias(rule, past)
    expected = functional.cross_entropy(now + shifts[0], batch.y)
    expected = expected + functional.cross_entropy(past + shifts[1], rule.memory.y[slots])
    torch.testing.assert_close(loss, expected)
    assert float(shifts[0].abs().max()) > 0.01
    parameters = list(made.model.parameters())
    ours = torch.autograd.grad(loss, parameters, allow_unused=True)
    theirs = torch.autograd.grad(expected, parameters, allow_unused=True)
    for left, right in zip(ours, theirs, strict=True):
        assert (left is None) == (right is None)
        if left is not None:
            torch.testing.assert_close(left, right)


def test_cba_outer_gradient_by_the_closed_form_of_the_virtual_step():
    """One shared head W: W' = W - eta (softmax(h + omega) - onehot)^T phi / n; then CE of phi W'^T on fresh samples.

    The gradient for omega is compared with central differences of this expression.
    """
    made, batch = in_second_task("cba", class_incremental(), lr=0.7)
    doubled(made)
    rule, head = made.method, made.model.heads[0]
    generator = made.context.streams.cpu("replay")
    state = generator.get_state()
    slots, fresh = (rule.memory.draw_per_task(3, 1, generator).slots for _ in range(2))
    generator.set_state(state)
    rule.outer.step = lambda: None  # keep omega, look at its gradient
    made.method.loss(batch)
    memory, backbone = rule.memory, made.model.backbone
    with torch.no_grad():
        parts = [(backbone(batch.raw.double()), batch.y), (backbone(memory.raw[slots]), memory.y[slots])]
        later = backbone(memory.raw[fresh])

    @torch.no_grad()
    def outer_loss():
        W, b = head.weight.clone(), head.bias.clone()
        for phi, y in parts:
            h = phi @ head.weight.T + head.bias
            error = functional.softmax(h + bias(rule, h), dim=1) - functional.one_hot(y, 4)
            W -= made.config.lr * error.T @ phi / len(y)
            b -= made.config.lr * error.mean(0)
        return float(functional.cross_entropy(later @ W.T + b, memory.y[fresh]))

    shown = 0.0
    for p in rule.adaptors.parameters():
        for place in (0, p.numel() // 2, p.numel() - 1):
            entry, step = p.data.view(-1), 1e-5
            entry[place] += step
            up = outer_loss()
            entry[place] -= 2 * step
            down = outer_loss()
            entry[place] += step
            slope = float(p.grad.view(-1)[place])
            assert slope == pytest.approx((up - down) / (2 * step), rel=1e-4, abs=1e-9)
            shown = max(shown, abs(slope))
    assert shown > 1e-6


@pytest.mark.parametrize("base", ["er", "der++"])
def test_cba_outer_level_has_its_turn_every_fifth_step_of_later_tasks(base):
    made, batch = in_second_task("cba", two_widths(), options={"base": base})
    turns, plain = [], made.method._learn_adaptor
    made.method._learn_adaptor = lambda *args: (turns.append(made.method.steps), plain(*args))
    before = [p.detach().clone() for p in made.method.adaptors.of_width["2"].parameters()]
    for _ in range(11):
        made.method.step(batch)
    assert turns == [0, 5, 10]
    after = list(made.method.adaptors.of_width["2"].parameters())
    # the present head (2 classes) is not among the fresh past samples: omega of its width is not learnt from them
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_cba_distillation_form_by_hand():
    made, batch = in_second_task("cba", two_widths(), options={"base": "der++", "every": 10**6})
    rule = made.method
    rule.steps = 1
    state = made.context.streams.state()
    loss = rule.loss(batch)
    made.context.streams.load(state)
    first, second = (rule.draw(rule.memory, 1).slots for _ in range(2))
    memory = rule.memory
    h, one, two = made.model(batch.raw, [(1, 6)])[0], *(made.model(memory.raw[s], [(0, 3)])[0] for s in (first, second))
    a, a1, a2 = (logits + bias(rule, logits) for logits in (h, one, two))
    expected = functional.cross_entropy(a, batch.y)
    expected = expected + 0.2 * functional.mse_loss(a1, memory.extra["logits"][first, :3])
    expected = expected + 0.5 * functional.cross_entropy(a2, memory.y[second])
    torch.testing.assert_close(loss, expected)
    # nothing moved since the task's end: plain and adapted logits are those of now
    torch.testing.assert_close(memory.extra["plain logits"][first, :3], one.detach())
    torch.testing.assert_close(memory.extra["logits"][first, :3], a1.detach())


def test_cba_needs_a_head():
    module = torch.nn.Linear(6, 4)
    made = trainer("finetune", class_incremental())
    with pytest.raises(ColdError, match="cba needs heads"):
        type(made)(made.config.__class__(**{**made.config.as_dict(), "method": "cba", "model": None}),
                   benchmark=class_incremental(), module=module)  # fmt: skip


# ---------------------------------------------------------------------------------------------- REFRESH


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_refresh_unlearns_by_hand(noise):
    made, batch = in_second_task("refresh", two_widths(), options={"rate": 0.01, "noise": noise, "fisher_weight": 2.0})
    rule, parameters = made.method, list(made.model.parameters())
    assert any(bool(F.any()) for F in rule.importance)
    before = weights(made)
    loss = functional.cross_entropy(made.model(batch.raw, [(1, 6)])[0], batch.y)
    slopes = torch.autograd.grad(loss, parameters, allow_unused=True)
    generator = made.context.streams.device("refresh")
    state = generator.get_state()
    rule._unlearn(batch)
    after = weights(made)
    generator.set_state(state)
    for value, start, slope, F in zip(after, before, slopes, rule.importance, strict=True):
        if slope is None:
            assert torch.equal(value, start)
            continue
        # the direction of the gradient at the length of the weights
        n = slope / slope.norm() * start.norm()
        random = torch.randn(start.shape, generator=generator)
        torch.testing.assert_close(value, start + 0.01 * (n + noise * random) / (1 + 2.0 * F))
    if not noise:
        again = functional.cross_entropy(made.model(batch.raw, [(1, 6)])[0], batch.y)
        assert float(again.detach()) > float(loss.detach())  # unlearnt


def test_refresh_is_der_plus_plus_after_unlearning():
    options = {"alpha": 0.4, "beta": 0.7}
    made, batch = in_second_task("refresh", two_widths(), options=options)
    other, _ = in_second_task("derpp", two_widths(), options=options)
    other.method.memory.load(made.method.memory.state())
    other.context.streams.load(made.context.streams.state())
    state = made.context.streams.device("refresh").get_state()
    made.method._unlearn(batch)  # by itself
    other.model.load_state_dict(made.model.state_dict())
    expected = other.method.loss(batch)
    assert torch.equal(made.method.loss(batch), expected)
    assert not torch.equal(state, made.context.streams.device("refresh").get_state())


def test_refresh_fisher_fades():
    made, _ = in_second_task("refresh", two_widths(), options={"fisher_decay": 0.0})
    train = made.benchmark.tasks[1].train
    made.method.end_task(1, train)
    assert not made.method.importance[-6].any()  # the first head's weight: nothing of task 1 is left at decay 0


# ---------------------------------------------------------------------------------------------- joint


def test_joint_sees_everything_once_a_pass():
    made = trainer("joint", two_widths(), epochs=2)
    seen, plain = [], made.method._gather

    def gather(batch):
        seen.append(batch.places)
        return plain(batch)

    made.method._gather = gather
    made.run()
    places = torch.cat(seen)
    total = sum(len(task.train) for task in made.benchmark.tasks)
    assert torch.equal(torch.bincount(places, minlength=total), torch.full((total,), 2))
    first = torch.cat(seen[: len(seen) // 6])  # a third of the first pass: all tasks are in it
    assert len(torch.unique(first // 36)) == 3


def test_joint_gathers_the_right_rows():
    made = trainer("joint", two_widths())
    raw, y, runs = made.method._gather(*made.method._placed(torch.tensor([[0, 35, 36, 72, 107]])))
    parts = [task.train for task in made.benchmark.tasks]
    assert runs == [(0, 2), (1, 1), (2, 2)]
    rows = [(0, 0), (0, 35), (1, 0), (2, 0), (2, 35)]
    assert torch.equal(raw, torch.cat([parts[k].raw(torch.tensor([i])) for k, i in rows]))
    assert y.tolist() == [int(parts[k].y[i]) for k, i in rows]


def test_batches_are_not_changed_by_methods():
    """A step leaves the trainer's batch as it was."""
    for method in ("cba", "refresh", "mer", "joint"):
        made, batch = in_second_task(method, two_widths())
        copy = Batch(batch.raw.clone(), batch.y.clone(), batch.task, batch.head)
        made.method.step(batch)
        assert torch.equal(copy.raw, batch.raw)
        assert torch.equal(copy.y, batch.y)
