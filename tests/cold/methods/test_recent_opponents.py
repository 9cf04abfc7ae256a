"""STAR's perturbed divergence and CLS-ER's two averages, by hand."""

from __future__ import annotations

import copy

import pytest
import torch
from torch.nn import functional

from cold.methods.base import find_method
from tests.cold.methods.method_cases import in_second_task, two_widths

pytestmark = pytest.mark.torch_kernels


def replayed_twice(made, batch):
    """The slots that a DER++ step with one draw takes, and those of the draw that STAR takes after it."""
    rule = made.method
    state = made.context.streams.state()
    slots = [rule.sample(batch).slots for _ in range(2)]
    made.context.streams.load(state)
    return slots


def doubled(made):
    """Everything in double precision, so that the rule and the hand calculation round alike."""
    made.model.double()
    made.method.memory.raw = made.method.memory.raw.double()
    made.context.inputs = lambda raw, generator=None: raw.double()
    return made


def test_star_adds_the_divergence_at_perturbed_weights():
    options = {"strength": 0.7, "radius": 0.05, "noise": 1e-3, "same_draw": True}
    made, batch = in_second_task("star", two_widths(), options=options)
    doubled(made)
    rule, model = made.method, made.model
    own, slots = replayed_twice(made, batch)
    guessed = model(rule.memory.raw[slots], [(0, 3)])[0].argmax(dim=1)
    rule.memory.y[slots] = torch.cat([guessed[:2], (guessed[2:] + 1) % 3]).to(rule.memory.y.dtype)  # two are right
    generator = torch.Generator()
    generator.set_state(made.context.streams.device("star").get_state())
    loss = rule.loss(batch)

    x, y = rule.memory.raw[slots], rule.memory.y[slots]
    p = functional.softmax(model(x, [(0, 3)])[0], dim=1).detach()
    right = p.argmax(dim=1) == y
    assert int(right.sum()) == 2

    def divergence(network):
        log_q = functional.log_softmax(network(x, [(0, 3)])[0], dim=1)
        return (p * (p.log() - log_q)).sum(dim=1)[right].mean()

    moved = copy.deepcopy(model)
    noises = {}
    with torch.no_grad():
        for name, weight in moved.named_parameters():
            if weight.dim() > 1:
                noise = torch.randn(weight.shape, generator=generator, dtype=weight.dtype) * (1e-3 * weight.norm())
                noises[name] = noise
                weight.add_(noise)
    divergence(moved).backward()
    with torch.no_grad():
        for (_, weight), (_, there) in zip(model.named_parameters(), moved.named_parameters(), strict=True):
            if weight.dim() > 1 and there.grad is not None:
                there.add_(0.05 * weight.norm() * there.grad / there.grad.norm())
            elif weight.dim() > 1:
                there.copy_(weight)  # a head that takes no part stays
    moved.zero_grad()
    added = divergence(moved)
    plain = in_hand_der(rule, model, batch, own)
    torch.testing.assert_close(loss, plain + 0.7 * added.to(plain.dtype), rtol=1e-5, atol=1e-7)
    assert float(added.detach()) > 1e-4

    ours = torch.autograd.grad(loss - plain, list(model.parameters()), allow_unused=True)
    theirs = torch.autograd.grad(added, list(moved.parameters()), allow_unused=True)
    for left, right_ in zip(ours, theirs, strict=True):
        if right_ is not None:
            torch.testing.assert_close(left, 0.7 * right_, rtol=1e-3, atol=1e-6)


def in_hand_der(rule, model, batch, slots):
    now = model(batch.raw.double(), [(1, 6)])[0]
    past = model(rule.memory.raw[slots], [(0, 3)])[0]
    stored = rule.stored()[slots, :3]
    loss = functional.cross_entropy(now, batch.y)
    distance = (past.float() - stored).square().mean()
    return (
        loss + rule.options.alpha * distance + rule.options.beta * functional.cross_entropy(past, rule.memory.y[slots])
    )


def test_star_adds_nothing_while_fewer_than_two_samples_are_right():
    made, batch = in_second_task("star", two_widths(), options={"strength": 0.7})
    rule = made.method
    draw = rule.sample(batch)
    logits = made.model(rule.memory.raw[draw.slots], [(0, 3)])[0]
    rule.memory.y[draw.slots] = logits.argmin(dim=1).to(rule.memory.y.dtype)
    assert float(rule.worst_divergence(draw).detach()) == 0.0


def test_cls_er_listens_to_the_surer_average():
    made, batch = in_second_task("cls-er", two_widths(), options={"strength": 0.6})
    rule, model = made.method, made.model
    with torch.no_grad():
        for number, network in enumerate((rule.plastic, rule.stable)):
            generator = torch.Generator().manual_seed(number)
            for weight in network.parameters():
                weight.add_(torch.randn(weight.shape, generator=generator))
    state = made.context.streams.state()
    loss = rule.loss(batch)
    made.context.streams.load(state)
    slots = rule.sample(batch).slots
    x, y = rule.memory.raw[slots], rule.memory.y[slots]
    now, past = model(batch.raw, [(1, 6)])[0], model(x, [(0, 3)])[0]
    target = []
    for i in range(len(slots)):
        options = [network(x, [(0, 3)])[0][i] for network in (rule.plastic, rule.stable)]
        target.append(max(options, key=lambda z: float(torch.softmax(z, 0)[int(y[i])])))
    losses = [
        *functional.cross_entropy(now, batch.y, reduction="none"),
        *functional.cross_entropy(past, y, reduction="none"),
    ]
    expected = sum(losses) / len(losses) + 0.6 * (past - torch.stack(target)).square().mean()
    torch.testing.assert_close(loss, expected)


def test_cls_er_moves_its_averages_by_chance_and_evaluates_the_stable_one():
    options = {"plastic_rate": 1.0, "plastic_decay": 0.75, "stable_rate": 0.0}
    made, batch = in_second_task("cls-er", two_widths(), options=options)
    rule = made.method
    assert rule.network_for_evaluation() is rule.stable
    stable = copy.deepcopy(rule.stable.state_dict())
    before = [p.clone() for p in rule.plastic.parameters()]
    rule.steps = 1
    rule.step(batch)
    for ours, old, new in zip(rule.plastic.parameters(), before, made.model.parameters(), strict=True):
        torch.testing.assert_close(ours, 0.5 * old + 0.5 * new)  # 1 - 1/(1 + 1) is below the limit of 0.75
    for name, value in rule.stable.state_dict().items():
        assert torch.equal(value, stable[name])
    before = [p.clone() for p in rule.plastic.parameters()]
    rule.steps = 99
    rule.step(batch)
    for ours, old, new in zip(rule.plastic.parameters(), before, made.model.parameters(), strict=True):
        torch.testing.assert_close(ours, 0.75 * old + 0.25 * new)


@pytest.mark.parametrize("name", ["star", "cls-er"])
def test_published_settings_pass_their_own_checks(name):
    for settings in find_method(name).published.values():
        find_method(name).Options(**settings["options"])
