"""COLD-distill: the distance of the answers, its masks, V that follows the steps, and where queues start."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from cold.config import make_config
from cold.constraints import LogitDistance
from cold.dpp import COLD
from cold.memory import Draw, Memory, TensorSamples
from cold.presets import build_config
from cold.trainer import Trainer
from coldtheory.ground.errors import ColdError
from tests.cold.methods.method_cases import TINY, two_widths


def drawn(slots, owner):
    slots, owner = torch.tensor(slots), torch.tensor(owner)
    return Draw(slots, owner.unique().tolist(), torch.bincount(owner).tolist(), torch.ones(len(slots)), owner)


def memory_of(labels, task, size=8, tasks=2):
    memory = Memory(size, tasks)
    y = torch.tensor(labels)
    slots = memory.add_task(TensorSamples(torch.zeros(len(y), 1), y), task, torch.Generator().manual_seed(0))
    return memory, slots


@pytest.mark.parametrize("scale", [0.5, 3.0])  # the spread of the logits is below 1, and above it
@pytest.mark.parametrize("shift", [True, False])
def test_the_distance_by_hand(shift, scale):
    """Every number of the definition, sample by sample in plain Python."""
    memory, slots = memory_of([0, 2, 1], 0)
    z = scale * torch.tensor([[1.0, -0.5, 0.25], [0.0, 2.0, -1.0], [0.5, 0.5, 0.5]])
    distance = LogitDistance(memory, shift=shift)
    distance.see(torch.tensor([0, 1, 2]))
    distance.end_task(0)
    distance.store(slots, 0, z)
    h = torch.tensor([[0.9, -0.1, 0.3], [0.2, 1.0, -1.0], [3.0, 0.5, 0.0]])
    found = distance.values(h, drawn(slots.tolist(), [0, 0, 0]))
    spread = sum((v - sum(row) / 3) ** 2 for row in z.tolist() for v in row) / 9
    assert (spread < 1) == (scale < 1)
    s = max(spread, 1.0)
    for i, (row, now) in enumerate(zip(z.tolist(), h.tolist(), strict=True)):
        total = sum(math.exp(v) for v in row)
        label = int(memory.y[slots[i]])
        target = [v + shift * math.sqrt(s) * ((c == label) - math.exp(v) / total) for c, v in enumerate(row)]
        assert found[i].item() == pytest.approx(sum((a - b) ** 2 for a, b in zip(now, target, strict=True)) / (3 * s))


def test_unchanged_answers_are_at_distance_zero():
    memory, slots = memory_of([0, 1, 1, 0], 0)
    distance = LogitDistance(memory, shift=False)
    distance.see(memory.y[slots])
    distance.end_task(0)
    z = torch.randn(4, 2, generator=torch.Generator().manual_seed(1))
    distance.store(slots, 0, z)
    assert distance.values(z, drawn(slots.tolist(), [0] * 4)).abs().max() == 0


def test_classes_that_came_later_count_but_do_not_set_the_unit():
    """One head of four classes, of which the first task has two."""
    memory, slots = memory_of([0, 1], 0)
    distance = LogitDistance(memory, shift=False)
    distance.see(torch.tensor([0, 1]))
    distance.end_task(0)
    z = torch.tensor([[3.0, 0.0, 5.0, 5.0], [0.0, 3.0, -5.0, 7.0]])
    distance.store(slots, 0, z)
    moved = z.clone()
    moved[0, 1] += 1.0
    moved[1, 3] -= 3.0
    found = distance.values(moved, drawn(slots.tolist(), [0, 0]))
    assert found.tolist() == pytest.approx([1 / (2 * 2.25), 9 / (2 * 2.25)])


def test_what_a_narrow_head_lacks_has_no_distance_and_no_gradient():
    memory, slots = memory_of([0, 1], 0)
    distance = LogitDistance(memory, shift=False)
    for head, width in ((0, 2), (1, 4)):
        distance.see(torch.arange(width))
        distance.end_task(head)
        distance.store(slots, head, torch.eye(2, width))
    distance.store(slots[:1], 0, torch.eye(2)[:1])
    h = torch.tensor([[1.0, 0.0, -torch.inf, -torch.inf], [0.0, 1.0, 0.0, 2.0]], requires_grad=True)
    found = distance.values(h, drawn(slots.tolist(), [0, 0]))
    found.sum().backward()
    assert found[0] == 0
    assert found[1] > 0
    assert (h.grad[0] == 0).all()


def test_heads_of_several_widths_train():
    result = Trainer(make_config(TINY, {"method": "cold-distill"}), benchmark=two_widths()).run()
    assert (result.arrays["compared_with"][2, :2] == [0, 1]).all()
    assert result.metrics["forgetting_loss"] is not None


class Line(nn.Module):
    """Two classes from one number; the whole state is visible."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([0.3, -0.2]))

    def forward(self, x):
        return x * self.w


def tasks(count=3, n=24):
    generator = torch.Generator().manual_seed(5)
    for k in range(count):
        x = torch.randn(n, 1, generator=generator)
        yield x, ((x[:, 0] * (1 if k % 2 else -1)) > 0).long()


def loop(dpp, steps=(4, 9, 5)):
    model = Line()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for (x, y), count in zip(tasks(), steps, strict=True):
        dpp.begin_task(model, x, y)
        for _ in range(count):
            optimizer.zero_grad()
            dpp.loss(model, x, y).backward()
            optimizer.step()
        yield dpp
        dpp.end_task(model)


def test_v_follows_the_steps_of_the_task_before():
    seen = [dpp.V for dpp in loop(COLD(constraint="logits", memory=12, memory_batch=2))]
    assert seen[1:] == [25 * math.sqrt(4), 25 * math.sqrt(9)]


def test_v_is_smaller_where_classes_come_one_after_the_other_and_samples_are_drawn_often():
    """25 sqrt(N) min(1, 2 / r), where a stored sample is drawn r times during a task of N steps."""
    x = torch.zeros(6, 2)
    batches = [(x, torch.tensor([2 * k, 2 * k + 1] * 3)) for k in range(3)]
    model, dpp = nn.Linear(2, 6), COLD(constraint="logits", memory=6, memory_batch=1, tasks=3)
    seen = []
    for (x, y), steps in zip(batches, (3, 16, 1), strict=True):
        dpp.begin_task(model, x, y)
        seen.append(dpp.V)
        for _ in range(steps):
            dpp.loss(model, x, y)
        dpp.end_task(model)
    assert seen[1] == pytest.approx(25 * math.sqrt(3))  # r = 3/2
    assert seen[2] == pytest.approx(25 * math.sqrt(16) * 2 / (16 / 2))
    other = COLD(constraint="logits", memory=6, memory_batch=1, tasks=3)
    other.load(dpp.state())
    assert other.distance.grows


@pytest.mark.parametrize(
    ("constraint", "V", "outputs", "capped"),
    [("logits", "auto", 2, True), ("logits", "auto", 3, False), ("logits", 50.0, 2, False), ("loss", "auto", 2, False)],
)
def test_v_by_rule_has_a_ceiling_unless_classes_are_to_come(constraint, V, outputs, capped):
    x, y = torch.randn(6, 2, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 1] * 3)
    model, dpp = nn.Linear(2, outputs), COLD(constraint=constraint, V=V, memory=6, memory_batch=1, tasks=2)
    for _ in range(2):
        dpp.begin_task(model, x, y)
        dpp.loss(model, x, y)
        if dpp.task:
            dpp.queues.Q[0] = 40.0
            used = dpp.past_weights.item()
            assert used == pytest.approx(0.6 if capped else 40.0 / dpp.V)
        dpp.end_task(model)


@pytest.mark.parametrize(("outputs", "grows"), [(2, False), (3, True)])
def test_a_head_grows_if_classes_are_still_to_come(outputs, grows):
    memory, slots = memory_of([0, 1], 0)
    distance = LogitDistance(memory)
    distance.see(torch.tensor([0, 1]))
    distance.end_task(0)
    distance.store(slots, 0, torch.randn(2, outputs))
    assert distance.grows is grows
    distance.see(torch.tensor([0, 1]))
    distance.end_task(1)  # a head of its own
    assert distance.grows is grows
    distance.see(torch.tensor([1, 2]))
    distance.end_task(0)
    assert distance.grows


def test_the_objective_by_hand_and_the_start_of_a_queue():
    """CE + sum_k (Q_k / V) D_k with the queues before the step, which then grow by D_k; a new one is at the mean."""
    dpp = COLD(constraint="logits", V=7.0, memory=12, memory_batch=4, tasks=3)
    model = Line()
    data = list(tasks())
    for k, (x, y) in enumerate(data):
        dpp.begin_task(model, x, y)
        if k == 2:
            assert dpp.queues.Q[1] == dpp.queues.Q[0] > 0
        for _ in range(3):
            before = dpp.queues.Q.clone()
            loss = dpp.loss(model, x, y)
            present = nn.functional.cross_entropy(model(x), y)
            grown = dpp.queues.Q - before  # delta = 0: D_k of each past task
            expected = present + sum(before[j] / 7.0 * grown[j] for j in range(k))
            assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
            with torch.no_grad():
                model.w += 0.05
        dpp.end_task(model)


def test_queues_that_never_move_are_constant_weights():
    dpp = COLD(constraint="logits", V=2.0, queue_update="never", queue_start="0.8", memory=12, memory_batch=2)
    weights = [dpp.past_weights.tolist() for dpp in loop(dpp)]
    assert weights == [[], pytest.approx([0.4]), pytest.approx([0.4, 0.4])]


def test_one_name_for_one_run():
    by_part = make_config({"method": "cold", "constraint": "logits"})
    assert by_part.run_id == make_config({"method": "cold-distill"}).run_id
    assert (by_part.method, by_part.constraint, by_part.V) == ("cold-distill", None, "auto")
    assert make_config({"method": "cold-distill", "constraint": "loss"}) == make_config({"method": "cold"})
    assert make_config({"method": "cold"}).V == 20.0
    assert make_config({"method": "cold-distill", "reference": "stored"}).reference is None
    assert make_config({"method": "cold-distill", "V": 20}).run_id != make_config({"method": "cold-distill"}).run_id


def test_the_papers_preset_leaves_its_v_and_delta_to_the_papers_methods():
    assert build_config(None, {"preset": "paper", "method": "cold-distill"}).V == "auto"
    assert build_config(None, {"preset": "paper", "method": "cold", "constraint": "logits"}).delta == 0
    assert build_config(None, {"preset": "paper", "method": "cold"}).delta == 2.0


@pytest.mark.parametrize(("settings", "message"), [
    ({"method": "cold-distill", "reference": "best"}, "cold-distill is cold with"),
    ({"method": "cold", "constraint": "answers"}, "constraint must be loss, logits or"),
    ({"method": "cold-oracle", "constraint": "logits"}, "held to its loss"),
    ({"queue_start": "here"}, "queue-start"),
    ({"V": -1}, "V must be > 0"),
])  # fmt: skip
def test_what_does_not_go_together(settings, message):
    with pytest.raises(ColdError, match=message):
        make_config(settings)


def test_in_ones_own_loop_too():
    with pytest.raises(ColdError, match="leave reference and oracle out"):
        COLD(constraint="logits", reference="previous", memory=10)
