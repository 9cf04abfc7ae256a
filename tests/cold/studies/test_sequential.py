"""The rule for looking again: what it spends, and that it is declared before."""

from __future__ import annotations

import pytest

from cold.studies import find_study, sequential, sequential_rule
from cold.studies.sequential import Look
from coldtheory.ground.errors import ColdError


@pytest.mark.parametrize("first", [3, 6])
def test_further_looks_spend_no_more_than_the_first(first):
    rule = sequential_rule()
    looks = rule.looks(first)
    assert looks[0] == Look(first, rule.alpha)
    assert sum(look.missed for look in looks[1:]) <= rule.alpha + 1e-12
    assert [look.seeds for look in looks] == [first, 2 * first, 4 * first, 8 * first]


def test_between_two_looks_the_earlier_one_counts():
    rule = sequential_rule()
    assert [rule.present(n, 6).seeds for n in (2, 6, 7, 11, 12, 23, 24, 47, 48, 1000)] == [
        2, 6, 6, 6, 12, 12, 24, 24, 48, 48,
    ]  # fmt: skip


def test_the_first_look_is_what_was_declared_or_stored_then():
    rule = sequential_rule()
    assert rule.first("V", "pmnist", 3) == 6
    assert rule.first("memory", "pmnist", 3) == 3
    assert rule.first("V", "split-cifar100", 6) == 6
    for study, datasets in rule.begun.items():
        for dataset, seeds in datasets.items():
            grids = [grid for grid in find_study(study).grids["cpu"] if grid.dataset == dataset]
            assert grids
            assert seeds > len(grids[0].seeds)


@pytest.mark.parametrize("text", [
    "version = 1\nalpha = 0.05\ngrowth = 2\nshares = [0.7, 0.7]\n",
    "version = 1\nalpha = 2\ngrowth = 2\nshares = [0.5]\n",
    "version = 1\nalpha = 0.05\ngrowth = 1\nshares = [0.5]\n",
])  # fmt: skip
def test_a_rule_that_spends_too_much_is_refused(tmp_path, monkeypatch, text):
    path = tmp_path / "sequential.toml"
    path.write_text(text)
    monkeypatch.setattr(sequential, "_FILE", path)
    sequential_rule.cache_clear()
    with pytest.raises(ColdError, match=r"sequential\.toml"):
        sequential_rule()
    monkeypatch.undo()
    assert sequential_rule().alpha == 0.05
