"""ER's weight, DER's logits and ER-ACE's mask, written out sample by sample."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from cold.methods import Batch
from tests.cold.methods.method_cases import STREAM, class_incremental, in_second_task, trainer, two_widths

pytestmark = pytest.mark.torch_kernels


def logits(made, raw, head):
    return made.model(raw, [(head, len(raw))])[0]


def ce(made, raw, y, head):
    return functional.cross_entropy(logits(made, raw, head), y, reduction="none")


def watched_draws(rule):
    """All draws from now on."""
    drawn, plain = [], rule.draw

    def draw(*args, **kwargs):
        drawn.append(plain(*args, **kwargs))
        return drawn[-1]

    rule.draw = draw
    return drawn


def third_task(method, **changes):
    """Two finished tasks with heads of 3 and 2 classes, and a batch of the third with 4."""
    made, _ = in_second_task(method, two_widths(), **changes)
    tasks = made.benchmark.tasks
    made.method.end_task(1, tasks[1].train)
    rows = torch.arange(7)
    return made, Batch(tasks[2].train.raw(rows), tasks[2].train.y[rows], 2, 2)


@pytest.mark.parametrize("weight", [0.0, 1.0, 3.0])
def test_er_weighs_each_memory_sample(weight):
    made, batch = third_task("er", options={"replay_weight": weight})
    drawn = watched_draws(made.method)
    loss = made.method.loss(batch)
    memory, total, count = made.method.memory, ce(made, batch.raw, batch.y, 2).sum(), 7.0
    for slot, owner in zip(drawn[0].slots, drawn[0].owner.tolist(), strict=True):
        total = total + weight * ce(made, memory.raw[slot][None], memory.y[slot][None], owner)[0]
        count += weight
    torch.testing.assert_close(loss, total / count)


def test_er_default_is_the_plain_mean_bit_by_bit():
    made, batch = third_task("er")
    state = made.context.streams.state()
    loss = made.method.loss(batch)
    made.context.streams.load(state)
    draw = made.method.draw(made.method.memory, batch.task)
    assert torch.equal(loss, made.method.losses_with_memory(batch, made.method.memory, draw).mean())


@pytest.mark.parametrize(("method", "beta", "same"), [("der", 0.0, True), ("derpp", 0.7, False), ("derpp", 0.7, True)])
def test_der_by_hand_with_heads_of_two_widths(method, beta, same):
    options = {"alpha": 0.4, **({"beta": beta, "same_draw": same} if method == "derpp" else {})}
    made, batch = third_task(method, options=options)
    rule = made.method
    with torch.no_grad():
        for p in made.model.parameters():  # the network has moved since the logits were stored
            p.add_(0.1)
    drawn = watched_draws(rule)
    loss = rule.loss(batch)
    memory = rule.memory
    expected = ce(made, batch.raw, batch.y, 2).mean()
    squares, elements = 0.0, 0
    for slot, owner in zip(drawn[0].slots, drawn[0].owner.tolist(), strict=True):
        now = logits(made, memory.raw[slot][None], owner)[0]
        squares = squares + ((now - memory.extra["logits"][slot, : len(now)]) ** 2).sum()
        elements += len(now)
    assert elements == 3 * 3 + 3 * 2  # three samples of each past task
    expected = expected + 0.4 * squares / elements
    if beta:
        assert same or not torch.equal(drawn[0].slots, drawn[1].slots)  # independent draws
        again = [ce(made, memory.raw[s][None], memory.y[s][None], k)[0]
                 for s, k in zip(drawn[-1].slots, drawn[-1].owner.tolist(), strict=True)]  # fmt: skip
        expected = expected + beta * torch.stack(again).mean()
    assert len(drawn) == (1 if same else 2)
    torch.testing.assert_close(loss, expected)


def test_der_by_hand_with_heads_of_one_width():
    """Where all heads are as wide, the distance is a plain mean over all logits: written out number by number."""
    made, batch = in_second_task("der", class_incremental(), options={"alpha": 0.4})
    rule = made.method
    assert rule.one_width
    with torch.no_grad():
        for p in made.model.parameters():
            p.add_(0.1)
    drawn = watched_draws(rule)
    loss = rule.loss(batch).item()
    memory, squares = rule.memory, []
    for slot in drawn[0].slots.tolist():
        now = logits(made, memory.raw[slot][None], 0)[0].tolist()
        squares += [(h - z) ** 2 for h, z in zip(now, memory.extra["logits"][slot].tolist(), strict=True)]
    assert len(squares) == 3 * 4  # three samples, four classes
    assert loss == pytest.approx(ce(made, batch.raw, batch.y, 0).mean().item() + 0.4 * sum(squares) / 12, rel=1e-5)


def test_der_keeps_the_logits_of_the_end_of_the_task():
    made, _ = in_second_task("der", two_widths())
    memory = made.method.memory
    slots = memory.everything(1)
    torch.testing.assert_close(memory.extra["logits"][slots, :3], logits(made, memory.raw[slots], 0).detach())


def test_der_along_the_stream_keeps_the_logits_of_the_step():
    """fill=stream: what is stored with a sample is what the training forward of its own step gave."""
    made = trainer("der", two_widths(), **{**STREAM, "memory": 40})
    rule, part = made.method, made.benchmark.tasks[0].train
    rows = torch.arange(10)
    batch = Batch(part.raw(rows), part.y[rows], 0, 0)
    expected = logits(made, batch.raw, 0).detach().clone()  # before the step moves the weights
    rule.step(batch)
    assert len(rule.memory) == 10
    torch.testing.assert_close(rule.memory.extra["logits"][:10, :3], expected)
    assert torch.equal(rule.memory.raw[:10], batch.raw)


def head_slopes(made, loss):
    return torch.autograd.grad(loss, made.model.heads[0].weight, retain_graph=True)[0]


def test_er_ace_leaves_absent_classes_alone():
    """The batch has classes 2 and 3: rows 0 and 1 of the head get the memory's gradient and nothing else."""
    made, batch = in_second_task("er-ace", class_incremental())
    drawn = watched_draws(made.method)
    whole = head_slopes(made, made.method.loss(batch))
    memory, slots = made.method.memory, drawn[0].slots
    assert set(batch.y.tolist()) == {2, 3}
    past = head_slopes(made, ce(made, memory.raw[slots], memory.y[slots], 0).mean())
    torch.testing.assert_close(whole[:2], past[:2])
    plain = head_slopes(made, ce(made, batch.raw, batch.y, 0).mean())
    assert float(plain[:2].abs().max()) > 1e-3  # without the mask there would be a gradient
    masked = logits(made, batch.raw, 0).masked_fill(torch.tensor([True, True, False, False]), -1e9)
    torch.testing.assert_close(whole, past + head_slopes(made, functional.cross_entropy(masked, batch.y)))


def test_er_ace_does_not_mask_what_was_never_seen():
    """Of classes 2 and 3 only 3 comes: 2 has not been seen yet and stays in the sum."""
    made, batch = in_second_task("er-ace", class_incremental())
    keep = batch.y == 3
    batch = Batch(batch.raw[keep], batch.y[keep], 1, 0)
    drawn = watched_draws(made.method)
    whole = head_slopes(made, made.method.loss(batch))
    slots, memory = drawn[0].slots, made.method.memory
    past = head_slopes(made, ce(made, memory.raw[slots], memory.y[slots], 0).mean())
    assert float((whole - past)[:2].abs().max()) < 1e-6
    assert float((whole - past)[2].abs().max()) > 1e-3
    # now that 2 is seen, a batch without it masks it too
    made.method.seen[0, 2] = True
    drawn.clear()
    again = head_slopes(made, made.method.loss(batch))
    slots = drawn[0].slots
    past = head_slopes(made, ce(made, memory.raw[slots], memory.y[slots], 0).mean())
    assert float((again - past)[2].abs().max()) < 1e-6


def test_er_ace_masks_the_first_task_only_if_asked():
    for always in (False, True):
        made = trainer("er-ace", class_incremental(), options={"always": always})
        part = made.benchmark.tasks[0].train
        rows = (part.y == 0).nonzero()[:4, 0]
        made.method.seen[0, 1] = True
        loss = made.method.loss(Batch(part.raw(rows), part.y[rows], 0, 0))
        assert bool(head_slopes(made, loss)[1].abs().max() < 1e-9) == always
