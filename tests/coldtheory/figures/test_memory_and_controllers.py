"""What the figures of memory size and of controllers show: measured values below their bounds, Case 1 beside Case 3."""

from __future__ import annotations

import numpy as np
import pytest

from coldtheory.figures.controllers import controllers
from coldtheory.figures.memory import memory_lengths, memory_sizes

pytestmark = pytest.mark.kernels


def test_errors_fall_with_the_memory_and_stay_below_their_bounds() -> None:
    table = memory_sizes(sizes=(1, 4, 16), n=16, T=12, seeds=3, V=1.0, delta=0.7, p=0.05)
    assert (table["error"] <= table["bound"]).all()
    assert (table["error"] <= table["always"]).all()
    assert (table["largest"] <= table["largest_bound"]).all()
    assert (table["forgetting_stored"] <= table["forgetting_bound"]).all()
    assert (table["forgetting_stored"] < table["forgetting_previous"]).all()
    means = table.grid("M", "error")[1].mean(axis=0)
    assert means[0] > means[1] > means[2] == 0.0


def test_the_mean_error_comes_closer_to_its_bound_with_more_tasks() -> None:
    table = memory_lengths(lengths=(4, 64), n=32, m=4, seeds=3, p=0.05)
    assert (table["error"] <= table["bound"]).all()
    room = (table.grid("T", "bound")[1] / table.grid("T", "error")[1]).mean(axis=0)
    assert room[1] < 0.7 * room[0]
    largest = table.grid("T", "largest_bound")[1].mean(axis=0)
    assert largest[1] > largest[0]


def test_controllers_in_cases_1_and_3_and_one_task() -> None:
    table = controllers(T=200, V=1.0, delta=0.5, points=12)
    shown = table.where(stream="alternating", reference="stored")
    assert (shown["forgetting"] <= shown["bound"]).all()
    last = {
        (reference, name): table.where(stream="alternating", reference=reference, controller=name)["forgetting"][-1]
        for reference in ("previous", "stored")
        for name in table.values("controller")
    }
    assert all(last["stored", name] < last["previous", name] + 1e-9 for name in table.values("controller"))
    one = table.where(stream="one task")
    for name in ("queue", "yu-neely"):
        assert one.where(controller=name, weights="mean")["first_task"][-1] == pytest.approx(0.236, abs=0.01)
        assert abs(one.where(controller=name, weights="sum")["first_task"][-1]) < 0.01
    queue = shown.where(controller="queue")
    growth = queue["root_mean_square"][-1] / np.interp(50, queue["s"], queue["root_mean_square"])
    assert growth > 1.5 > queue["mean_queue"][-1] / np.interp(50, queue["s"], queue["mean_queue"])
