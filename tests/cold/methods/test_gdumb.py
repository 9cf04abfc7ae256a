"""GDumb: greedy balance on streams made against it, the rate of each pass, CutMix, a network from the memory alone."""

from __future__ import annotations

import pytest
import torch

from cold.methods.gdumb import GreedyBalance, cutmix, draw_chances, pass_lr
from tests.cold.methods.method_cases import BENCHMARKS, in_second_task, trainer, two_widths


def generator():
    return torch.Generator().manual_seed(0)


def counts(balance):
    return {kind: len(slots) for kind, slots in balance.slots.items()}


def test_balance_by_hand_on_a_sorted_stream():
    """20 slots. Class 0 fills them; 1 comes once and takes one; 2 grows to 7, the first number >= 20/3; 3 has 3."""
    balance = GreedyBalance(20)
    balance.offer([0] * 1000 + [1] + [2] * 1000 + [3] * 3, generator())
    assert counts(balance) == {0: 9, 1: 1, 2: 7, 3: 3}


def test_no_stream_makes_a_class_starve():
    """The worst order: a huge class first, again between all others. No class that could have more is behind by > 1."""
    balance = GreedyBalance(50)
    stream = [0] * 5000
    for kind in range(1, 8):
        stream += [kind] * 60 + [0] * 500
    for piece in torch.tensor(stream).split(137):
        balance.offer(piece.tolist(), generator())
    held = counts(balance)
    assert sum(held.values()) == 50
    assert set(held) == set(range(8))
    assert max(held.values()) - min(held.values()) <= 2
    taken = [slot for slots in balance.slots.values() for slot in slots]
    assert sorted(taken) == list(range(50))


@pytest.mark.parametrize("size", [1, 3, 10])
def test_never_more_than_the_memory_and_never_less_than_it_could_be(size):
    balance = GreedyBalance(size)
    for step in range(40):
        balance.offer([step % 7], generator())
        assert sum(counts(balance).values()) == min(size, step + 1) or step >= size


def test_which_samples_the_slots_hold():
    """What `offer` returns is what a slow simulation of single offers leaves in the slots."""
    whole, single, stream = GreedyBalance(6), GreedyBalance(6), [0] * 9 + [1] * 9 + [2] * 9
    first, second = generator(), generator()
    slots, places = whole.offer(stream, first)
    held = {}
    for i, kind in enumerate(stream):
        slot, _ = single.offer([kind], second)
        held.update(dict.fromkeys(slot.tolist(), i))
    assert dict(zip(slots.tolist(), places.tolist(), strict=True)) == held
    assert all(stream[held[s]] == kind for kind, own in whole.slots.items() for s in own)


def test_rate_of_each_pass_is_that_of_warm_restarts():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=1, T_mult=2, eta_min=5e-4)
    assert pass_lr(0, 0.05, 5e-4) == pytest.approx(0.005)
    assert pass_lr(1, 0.05, 5e-4) == 0.05
    optimizer.step()
    for number in range(2, 256):
        schedule.step()
        assert pass_lr(number, 0.05, 5e-4) == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-9)


def test_cutmix_takes_a_box_from_the_same_task():
    owner = torch.tensor([0, 0, 0, 1, 1])
    x = torch.arange(5.0)[:, None, None, None].expand(5, 3, 8, 8)
    shares = []
    chances = draw_chances([5] * 40, torch.Generator().manual_seed(0), "cpu")
    for chance in chances:
        mixed, other, share = cutmix(x, owner, 0.5, chance)
        assert torch.equal(owner[other], owner)
        assert sorted(other.tolist()) == list(range(5))
        own = (mixed == x).float().mean(dim=(1, 2, 3))
        changed = other != torch.arange(5)
        if bool(changed.any()):
            torch.testing.assert_close(own[changed], torch.full_like(own[changed], share))
        shares.append(share)
    assert 8 < sum(share < 1 for share in shares) < 32
    grey = torch.zeros(5, 1, 8, 8)
    assert all(cutmix(grey, owner, 1.0, chance)[2] == 1.0 for chance in chances[:5])


def test_the_network_comes_from_the_memory_alone():
    made, batch = in_second_task("gdumb", two_widths(), options={"passes": 126}, memory=30)
    start = [p.detach().clone() for p in made.model.parameters()]
    made.method.step(batch)
    assert all(torch.equal(a, b) for a, b in zip(start, made.model.parameters(), strict=True))
    network = made.method.network_for_evaluation()  # labels are random: the memory has to be learnt by heart
    assert network is not made.model
    assert network is made.method.network_for_evaluation()  # trained once a task
    memory = made.method.memory
    slots = memory.everything(1)
    right = network(memory.raw[slots], [(0, len(slots))])[0].argmax(1) == memory.y[slots]
    assert float(right.float().mean()) > 0.9
    assert sorted(torch.bincount(memory.y[slots]).tolist()) == [10, 10, 10]


@pytest.mark.parametrize(("balance", "tasks"), [("task-class", 2), ("class", 1)])
def test_permuted_tasks_have_the_same_classes(balance, tasks):
    """With the classes of the head alone, the first permuted task keeps the whole memory."""
    made = trainer("gdumb", BENCHMARKS["permuted"](), options={"balance": balance, "final_only": True})
    made.run()
    assert len(set(made.method.memory.owner.tolist())) == tasks
