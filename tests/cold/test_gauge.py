"""The gauge of real forgetting, and forgetting on request."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from rich.console import Console
from torch import nn
from torch.utils.data import TensorDataset

from cold.cli.show import _print_request
from cold.config import make_config
from cold.dpp import COLD
from cold.forgetting import CEILING, CEILING_WITH_NEW_CLASSES, FLOOR, LOOK_COST, Request, looks_of, request_of
from cold.gauge import RequestedWeight
from cold.memory import TensorSamples
from cold.runs import Result, delivered
from cold.trainer import Stopped, Trainer
from coldtheory.ground.errors import ColdError
from tests.cold.methods.method_cases import TINY, two_widths


def data(seed=0, n=60):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 3, generator=generator)
    return x, (x.sum(1) > 0).long()


def network():
    torch.manual_seed(3)
    return nn.Linear(3, 2)


def test_what_is_set_aside_is_not_trained_on_and_not_replayed():
    dpp = COLD(memory=20, gauge=0.25, tasks=2, V=1.0)
    model = network()
    x, y = data()
    rest, labels = dpp.set_aside(x, y)
    assert (len(rest), len(labels)) == (58, 58)  # 5 gauge samples for two tasks: two of each
    dpp.begin_task(model, rest, labels)
    dpp.loss(model, rest, labels)
    dpp.end_task(model)
    held = dpp.gauge.memory
    aside = {tuple(row) for row in held.raw[held.owner == 0].tolist()}
    assert len(aside) == 2
    assert not aside & {tuple(row) for row in rest.tolist()}
    assert aside | {tuple(row) for row in rest.tolist()} == {tuple(row) for row in x.tolist()}
    assert dpp.memory.size + held.size == 20


def test_a_data_set_gives_a_data_set():
    dpp = COLD(memory=20, gauge=0.5, tasks=2)
    left = dpp.set_aside(TensorDataset(*data()))
    assert len(left) == 55
    dpp.begin_task(network(), left)


def test_the_same_samples_after_a_restart():
    chosen = [COLD(memory=20, gauge=0.5, tasks=2, seed=4).set_aside(*data())[0] for _ in range(2)]
    assert torch.equal(*chosen)
    assert not torch.equal(chosen[0], COLD(memory=20, gauge=0.5, tasks=2, seed=5).set_aside(*data())[0])


def rows_of(dpp, tasks):
    """(rows that measure, rows that are trained on) of each task, found by their first pixel."""
    found = []
    for task, (x, y) in enumerate(tasks):
        aside, rest = dpp.gauge.choose(TensorSamples(x, y), task)
        found.append((set(aside.tolist()), set(rest.tolist())))
    return found


def test_tasks_made_from_the_same_images_share_a_pool_and_are_measured_by_parts_of_their_own():
    x, y = data(n=1000)
    dpp = COLD(memory=80, gauge=0.5, tasks=8)
    (first, trained), *others = rows_of(dpp, [(x.roll(task, 1), y) for task in range(8)])
    pool = set(range(1000)) - trained
    assert len(pool) == 20  # a fiftieth of 1,000 images, for 8 tasks with 5 gauge samples each
    assert len(first) == 5
    assert all(rest == trained and len(aside) == 5 and aside < pool for aside, rest in others)
    measuring = [first, *(aside for aside, _ in others)]
    assert set.union(*measuring[:4]) == pool  # different ones until the pool is used up
    assert measuring[4] == first
    assert rows_of(COLD(memory=80, gauge=0.5, tasks=8), [(x, y)])[0] == (first, trained)


def test_no_more_is_set_aside_than_the_gauge_holds():
    for images, pool in ((2000, 20), (200, 5)):  # all that it holds, and what one task needs
        x, y = data(n=images)
        for aside, rest in rows_of(COLD(memory=40, gauge=0.5, tasks=4), [(x, y)] * 4):
            assert len(aside) == 5
            assert len(rest) == images - pool


def test_tasks_with_images_of_their_own_set_aside_only_what_measures_them():
    first, *others = rows_of(COLD(memory=80, gauge=0.5, tasks=4), [data(seed, 1000) for seed in range(4)])
    assert len(first[1]) == 980  # whether others share its images is not known yet
    assert all(len(aside) == 10 and not aside & rest and len(rest) == 990 for aside, rest in others)


def test_the_pool_is_kept_in_the_state():
    tasks = [data(n=1000)] * 3
    dpp, again = COLD(memory=80, gauge=0.5, tasks=8), COLD(memory=80, gauge=0.5, tasks=8)
    before = rows_of(dpp, tasks)
    again.load(dpp.state())
    assert rows_of(again, [*tasks, data(1, 1000)])[:3] == before


def test_forgetting_by_hand():
    """Loss and accuracy of the held-out samples now, less those at the end of the task; in parts and all at once."""
    dpp = COLD(memory=24, gauge=0.5, tasks=2)
    model = network()
    x, y = data()
    rest, labels = dpp.set_aside(x, y)
    dpp.begin_task(model, rest, labels)
    dpp.loss(model, rest, labels)
    dpp.end_task(model)
    held = dpp.gauge.memory
    slots = (held.owner == 0).nonzero()[:, 0]
    gx, gy = held.raw[slots], held.y[slots]
    before = nn.functional.cross_entropy(model(gx), gy)
    right = (model(gx).argmax(1) == gy).float().mean()
    with torch.no_grad():
        model.weight.mul_(-1.0)
    lost, missed = dpp.gauge.forgetting(model)
    assert lost.item() == pytest.approx((nn.functional.cross_entropy(model(gx), gy) - before).item(), rel=1e-5)
    assert missed.item() == pytest.approx((right - (model(gx).argmax(1) == gy).float().mean()).item())
    parts = [dpp.gauge.forgetting(model, 2)[0].item() for _ in range(3)]  # 6 samples in turn
    assert np.mean(parts) == pytest.approx(lost.item(), rel=1e-5)
    assert model.training


def test_without_being_told_a_gauge_is_an_error():
    dpp = COLD(memory=20, gauge=0.5, tasks=2)
    with pytest.raises(ColdError, match="set_aside"):
        dpp.begin_task(network(), *data())


def test_a_gauge_needs_a_sample_of_every_task():
    with pytest.raises(ColdError, match="less than one of each of 9 tasks"):
        COLD(memory=20, gauge=0.1, tasks=9)


@pytest.mark.parametrize("forgetting", [-0.5, 0.0, 0.05, 0.1, 0.2, 5.0])
def test_the_weight_moves_the_right_way_and_stays_in_its_bounds(forgetting):
    request, weight = Request(0.1), RequestedWeight(Request(0.1))
    start = weight.weight.item()
    for _ in range(200):
        weight.move(torch.tensor([forgetting]), torch.tensor([0.0]), 1.0, 20)
    end = weight.weight.item()
    if forgetting < 0.1:
        assert end == 0.0  # nothing holds the past where nothing has to
    elif forgetting > 0.1:
        assert end == pytest.approx(CEILING)
    else:
        assert end == pytest.approx(start)
    assert request.moved(np.array(1e9), np.array(9.0), 1.0, 1) == CEILING
    assert request.moved(np.array(0.0), np.array(-9.0), 1.0, 1) == FLOOR


def test_the_ceiling_is_higher_where_classes_come_one_after_the_other():
    weight = RequestedWeight(Request(0.1))
    for new_classes, ceiling in ((True, CEILING_WITH_NEW_CLASSES), (False, CEILING)):
        for _ in range(200):
            weight.move(torch.tensor([5.0]), torch.tensor([0.0]), 1.0, 20, new_classes=new_classes)
        assert weight.weight.item() == pytest.approx(ceiling)


@pytest.mark.parametrize("requested", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("gain", [0.01, 0.02])
def test_a_plant_that_forgets_by_a_power_law_is_brought_to_the_request(requested, gain):
    """Forgetting c w^(-3/4) that follows the weight slowly, larger at the start of a task than at its end."""
    weight = RequestedWeight(Request(requested))
    state, ends = 0.0, []
    for _ in range(10):
        for look in range(1, 21):
            p = look / 20
            target = gain * max(weight.weight.item(), FLOOR) ** -0.75
            state += 0.3 * (target - state)
            weight.move(torch.tensor([state * (2 - p)]), torch.tensor([0.0]), p, 20)
        weight.end_task(torch.tensor([state]), torch.tensor([0.0]))
        ends.append(state)
    assert np.mean(ends[5:]) == pytest.approx(requested, rel=0.2)


def test_looks_cost_what_they_may():
    for steps in (1, 7, 40, 390, 5000):
        for batch in (10, 137):
            every, samples = looks_of(steps, batch, 3)
            cost = (steps // every) * samples / (3 * steps * batch)
            assert cost <= LOOK_COST + 3 * (steps // every) / (3 * steps * batch)


@pytest.mark.parametrize("method", ["cold", "cold-distill"])
def test_a_run_keeps_what_it_measured(method):
    settings = {"method": method, "forget": 0.2, "epochs": 4, "memory": 60, "memory_batch": 2, "batch_size": 8}
    result = Trainer(make_config(TINY, settings), benchmark=two_widths()).run()
    found = delivered(result)
    tasks = len(result.arrays["accuracy"])
    assert result.config["gauge"] == 0.2
    assert result.arrays["gauge_loss"].shape == (tasks, tasks)
    assert found.requested == 0.2
    assert len(found.gauge) == len(found.test) == len(found.weight) == tasks - 1
    assert found.test[-1] == pytest.approx(result.metrics["forgetting_loss"])
    by_hand = np.nanmean(
        [result.arrays["gauge_loss"][-1, k] - result.arrays["gauge_loss"][k, k] for k in range(tasks - 1)]
    )
    assert found.gauge[-1] == pytest.approx(by_hand, rel=1e-5)


def test_stopped_in_the_middle_of_a_task_it_ends_the_same(tmp_path):
    settings = make_config(
        TINY, {"method": "cold-distill", "forget": 0.05, "epochs": 3, "memory": 60, "memory_batch": 2, "batch_size": 8}
    )
    whole = Trainer(settings, benchmark=two_widths()).run()
    left = [0]

    def stop():
        left[0] += 1
        return left[0] == 13

    with pytest.raises(Stopped):
        Trainer(settings, benchmark=two_widths(), out=tmp_path, should_stop=stop).run()
    resumed = Trainer(settings, benchmark=two_widths(), out=tmp_path).run(resume=True)
    for name, array in whole.arrays.items():
        assert np.array_equal(array, resumed.arrays[name], equal_nan=array.dtype.kind == "f"), name


def made_up(gauge, weight, forget=0.1):
    T = len(gauge) + 1
    table = np.full((T, T), np.nan)
    for t in range(T):
        table[t, : t + 1] = 0.5
        if t:
            table[t, :t] += gauge[t - 1]
    arrays = {"gauge_loss": table, "gauge_accuracy": table, "loss": np.nan_to_num(table, nan=2.0),
              "accuracy": np.ones((T, T)), "requested_weight": np.array([0.0, *weight])}  # fmt: skip
    config = make_config({"method": "cold-distill", "forget": forget}).as_dict()
    return Result(run_id="made-up", config=config, metrics={}, arrays=arrays)


def test_a_request_that_cannot_be_met_names_what_can():
    assert delivered(made_up([0.3, 0.2, 0.2], [0.4, CEILING, CEILING])).smallest == pytest.approx(0.2)
    assert delivered(made_up([0.3, 0.2, 0.03], [0.4, CEILING, CEILING])).smallest is None  # 0.115 on average
    assert delivered(made_up([0.3, 0.2, 0.2], [0.4, 0.4, 0.4])).smallest is None  # more weight could be had
    high = CEILING_WITH_NEW_CLASSES
    assert delivered(made_up([0.3, 0.2, 0.2], [2.0, high, high])).smallest == pytest.approx(0.2)
    assert delivered(made_up([0.3, 0.2, 0.2], [2.0, 2.0, 2.5])).smallest is None
    assert delivered(Result(run_id="x", config=make_config({}).as_dict(), metrics={}, arrays={})) is None


@pytest.mark.parametrize(
    ("forgotten", "weights", "said"),
    [
        ([0.3, 0.1, 0.11], [0.4, 0.4, 0.4], None),
        ([0.3, 0.2, 0.2], [0.4, CEILING, CEILING], "the smallest forgetting is about 0.200 nats"),
        ([0.0, 0.3, 0.3], [FLOOR, FLOOR, 0.02], "0.300 nats on the gauge"),
    ],
)
def test_a_run_says_why_a_request_was_not_met(forgotten, weights, said, capsys):
    _print_request(Console(width=300), made_up(forgotten, weights))
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith("forgetting requested 0.100 nats")
    assert (said is None) == (not rest)
    assert said is None or said in rest[0]


def test_one_way_to_ask():
    with pytest.raises(ColdError, match="two ways to say one thing"):
        make_config({"forget": 0.1, "forget_acc": 0.1})
    with pytest.raises(ColdError, match="forget"):
        make_config({"forget": -0.1})
    assert request_of(None, 0.02) == Request(0.02, "accuracy")
    assert request_of(None, None) is None
