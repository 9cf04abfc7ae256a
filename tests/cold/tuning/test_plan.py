"""How a budget is spent."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cold.tuning.plan import best, planned, stops
from coldtheory.ground.errors import ColdError


@given(budget=st.integers(1, 60), tasks=st.integers(1, 40))
def test_what_is_planned_fits_the_budget(budget, tasks):
    rounds = planned(budget, tasks)
    learned = {number: 0 for one in rounds for number in one.numbers}
    for one in rounds:  # spent once more, trial by trial
        for rung in one.rungs:
            for number in list(one.numbers)[: rung.trials]:
                learned[number] = rung.tasks
    assert sum(learned.values()) == sum(one.cost for one in rounds) <= budget * tasks
    assert sorted(learned) == list(range(len(learned)))  # no number twice, none left out
    assert max(learned.values()) == tasks  # something comes to the end
    for one in rounds:
        counts = [rung.trials for rung in one.rungs]
        assert counts == sorted(counts, reverse=True)
        assert all(after == max(1, before // 2) for before, after in pairwise(counts))


@given(budget=st.integers(1, 60), tasks=st.integers(1, 40))
def test_one_more_setting_in_the_last_round_would_be_too_dear(budget, tasks):
    rounds = planned(budget, tasks)
    spent = sum(one.cost for one in rounds)
    larger = planned(budget + 1, tasks)
    assert budget * tasks - spent < max(one.cost for one in larger) <= (budget + 1) * tasks


@pytest.mark.parametrize(("tasks", "expected"), [(1, (1,)), (3, (2, 3)), (5, (2, 3, 5)), (20, (5, 10, 20))])
def test_no_look_before_something_can_be_forgotten(tasks, expected):
    assert stops(tasks) == expected


def test_of_equal_trials_the_first_is_better():
    assert best({3: 50.0, 1: 50.0, 2: 60.0}, 2) == [2, 1]


@pytest.mark.parametrize("budget", [0, -1, 2.5, 10**9])
def test_a_budget_is_a_number_of_runs(budget):
    with pytest.raises(ColdError, match="budget must be a whole number"):
        planned(budget, 5)
