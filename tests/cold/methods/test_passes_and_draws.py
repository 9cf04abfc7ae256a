"""Which samples go through the network together, how many are drawn while the memory is small, and CBA's turns."""

from __future__ import annotations

import pytest
import torch

from cold.config import make_config
from cold.data import load_benchmark
from cold.trainer import Trainer
from tests.cold.methods.method_cases import STREAM, TINY, in_second_task, two_widths

NORMED = {
    **TINY, "epochs": 1, "dataset": "synthetic", "tasks": 2, "limit_train": 20, "limit_test": 8, "model": "resnet18",
    "width": 2, "data_options": {"shape": [3, 8, 8], "classes": 4},
}  # fmt: skip


def images():
    return load_benchmark("synthetic", tasks=2, limit_train=20, limit_test=8, shape=(3, 8, 8), classes=4)


def sizes_of_passes(method, forward, **changes):
    """How many samples go through the backbone in each pass of one step of the second task."""
    made, batch = in_second_task(
        method, images(), model="resnet18", width=2, forward=forward, options=changes.pop("options", {}), **changes
    )
    passed = []
    made.model.backbone.register_forward_pre_hook(lambda module, args: passed.append(len(args[0])))
    made.method.step(batch)
    return passed


@pytest.mark.parametrize(("method", "options", "joint", "separate"), [
    ("er", {}, [9], [6, 3]), ("derpp", {}, [12], [6, 3, 3]), ("er-ace", {}, [9], [6, 3]), ("cold", {}, [9], [6, 3]),
    ("mer", {"form": "mini-batch", "batches": 1}, [9], [6, 3]),
    ("cba", {}, [9, 3, 9], [6, 3, 3, 6, 3]),  # the virtual step, the fresh samples, the step
    ("cls-er", {}, [9], [6, 3]), ("star", {}, [12, 3, 3, 3], [6, 3, 3, 3, 3, 3]),
    ("refresh", {}, [6, 12], [6, 6, 3, 3]), ("agem", {}, [6, 3], [6, 3]),
])  # fmt: skip
def test_one_pass_or_one_for_each(method, options, joint, separate):
    assert sizes_of_passes(method, "joint", options=options) == joint
    assert sizes_of_passes(method, "separate", options=options) == separate


@pytest.mark.parametrize("method", ["er", "derpp", "er-ace", "cba", "cold"])
def test_without_batchnorm_the_passes_make_no_difference(method):
    changes = {"options": {"base": "der++"}} if method == "cba" else {}
    losses = []
    for forward in ("joint", "separate"):
        made, batch = in_second_task(method, two_widths(), forward=forward, **changes)
        losses.append(made.method.loss(batch).detach())
    torch.testing.assert_close(*losses)


def test_statistics_are_shared_or_not():
    """With BatchNorm the loss of the batch depends on the memory samples that go with it, or does not."""
    found = {}
    for forward in ("joint", "separate"):
        made, batch = in_second_task("er", images(), model="resnet18", width=2, forward=forward)
        state = made.context.streams.state()
        for brightness in (1, 200):
            made.context.streams.load(state)
            made.method.memory.raw[:] = brightness
            drawn = made.method.sample(batch)
            with torch.no_grad():
                found[forward, brightness] = made.method.losses_with_memory(batch, made.method.memory, drawn)[:6]
    assert torch.equal(found["separate", 1], found["separate", 200])
    assert not torch.allclose(found["joint", 1], found["joint", 200])


@pytest.mark.parametrize("method", ["cold", "cold-oracle"])
def test_reference_losses_are_measured_as_a_step_measures(method):
    """Nothing learnt, so present and reference loss agree on the average: queues stay near 0 in both forms."""
    for forward in ("joint", "separate"):
        config = make_config(NORMED, {"method": method, "forward": forward, "lr": 1e-9, "memory_batch": 8})
        result = Trainer(config).run()
        assert result.arrays["queues"].max() < 0.1


# ---------------------------------------------------------------------------------------------- draws


@pytest.mark.parametrize("method", ["agem", "er", "nccl", "derpp"])
def test_a_memory_batch_of_all_past_tasks_fits_the_memory(method, capsys):
    """10 samples of each of three tasks are kept: 12 are drawn from the third task on, all 10 in the second."""
    made = Trainer(
        make_config(TINY, {"method": method, "memory": 30, "memory_batch": 12, "replay": "mixed", "epochs": 1}),
        benchmark=two_widths(),
    )
    assert "up to task 2 a memory batch is all samples of past tasks, fewer than 12" in capsys.readouterr().err
    drawn, plain = {}, made.method.draw

    def draw(*args, **kwargs):
        found = plain(*args, **kwargs)
        drawn.setdefault(made.position.task, set()).add(len(found))
        return found

    made.method.draw = draw
    made.run()
    assert drawn == {1: {10}, 2: {12}}


def test_nothing_is_said_where_draws_fit(capsys):
    Trainer(
        make_config(TINY, {"method": "er", "memory": 30, "memory_batch": 10, "replay": "mixed"}), benchmark=two_widths()
    )
    assert not capsys.readouterr().err


def test_so_does_colds(capsys):
    made = Trainer(
        make_config(TINY, {"method": "cold", "memory": 30, "memory_batch": 12, "replay": "mixed", "epochs": 1}),
        benchmark=two_widths(),
    )
    assert "fewer than 12" in capsys.readouterr().err
    drawn, plain = {}, made.method.dpp._next_draw

    def next_draw(y):
        found = plain(y)
        if found is not None:
            drawn.setdefault(made.position.task, set()).add(len(found))
        return found

    made.method.dpp._next_draw = next_draw
    made.run()
    assert drawn == {1: {10}, 2: {12}}


@pytest.mark.parametrize(("method", "present"), [("agem", False), ("er", True), ("er-ace", True), ("derpp", True)])
def test_whether_the_present_task_is_drawn_where_it_is_stored_already(method, present):
    made = Trainer(
        make_config(TINY, {**STREAM, "method": method, "memory": 30, "memory_batch": 8, "epochs": 2}),
        benchmark=two_widths(),
    )
    seen, plain = set(), made.method.draw

    def draw(*args, **kwargs):
        found = plain(*args, **kwargs)
        seen.update((made.position.task, task) for task in found.tasks)
        return found

    made.method.draw = draw
    made.run()
    first = {(0, 0)} if method in ("er", "derpp") else set()  # ER-ACE begins to replay with the second task
    now = {(1, 1), (2, 2)} if present else set()
    assert seen == first | now | {(1, 0), (2, 0), (2, 1)}


# ---------------------------------------------------------------------------------------------- CBA


def test_cba_counts_the_steps_of_an_epoch():
    """36 samples in batches of 5: steps 0 and 5 of each epoch of the second and third task, whatever came before."""
    made = Trainer(make_config(TINY, {"method": "cba", "batch_size": 5, "epochs": 3}), benchmark=two_widths())
    turns, plain = [], made.method._learn_adaptor
    made.method._learn_adaptor = lambda *args: (turns.append((made.position.epoch, made.position.step)), plain(*args))
    made.run()
    assert turns == 2 * [(epoch, step) for epoch in range(3) for step in (0, 5)]
