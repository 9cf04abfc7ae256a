"""What is searched, and between which ends."""

from __future__ import annotations

import math

import pytest

from cold.catalogue import METHODS
from cold.tables.terms import declarations
from cold.tuning.search import prepare
from cold.tuning.space import range_of
from coldtheory.ground.errors import ColdError
from tests.cold.tuning.tiny_search import TINY, tiny

UNTUNED = {"gem", "gdumb"}


def space(method, ranges=None, **changes):
    return {one.name: one for one in tiny(1, ranges, method=method, **changes).space}


@pytest.mark.parametrize("method", sorted(METHODS.keys() - UNTUNED))
def test_every_method_has_what_the_tables_tune(method):
    """The learning rate, and the parameter of comparisons.toml: every listed value is inside, with room beyond."""
    told = declarations()
    parameter = told["method"].get(method, {}).get("parameter")
    found = space(method)
    assert list(found) == ["lr", *([parameter.get("option", parameter.get("setting"))] if parameter else [])]
    listed = {"lr": told["tuning"]["lr"]}
    if parameter and "factors" not in parameter:
        listed[parameter["option"]] = [*parameter["others"], parameter.get("start", parameter.get("default"))]
    if parameter and "factors" in parameter:
        listed["V"] = [20 * factor for factor in (1, *parameter["factors"])]
    for name, values in listed.items():
        one = found[name]
        assert one.low < min(values) < max(values) < one.high
        assert one.low <= one.start <= one.high
        width, wide = math.log(max(values) / min(values)), math.log(one.high / one.low)
        assert wide == pytest.approx(max(2 * width, width + 2 * math.log(3)), rel=0.01)  # ends have three digits


def test_the_paper_s_preset_is_the_start():
    search = prepare({"dataset": "pmnist", "method": "cold", "preset": "paper"}, 1)
    assert {one.name: one.start for one in search.space} == {"lr": 1e-4, "V": 20.0}
    assert (search.start.delta, search.start.seed, search.start.validation) == (0.0, 100, 0.1)  # as in the tables
    assert search.start.evaluate_on == "validation"


def test_what_the_user_says_counts():
    search = tiny(1, method="cold", delta=0.5, seed=7, validation=0.25, evaluate_on="test")
    start = search.start
    assert (start.delta, start.seed, start.validation, start.evaluate_on) == (0.5, 7, 0.25, "validation")


def test_a_range_lies_around_a_value_outside():
    one = space("er", lr=0.1, optimizer="sgdm")["lr"]
    assert one.low < 0.1 < one.high
    assert math.sqrt(one.low * one.high) == pytest.approx(0.1, rel=0.01)
    assert one.high / one.low == pytest.approx(100, rel=0.02)


def test_other_ranges_and_further_names():
    found = space("derpp", {"lr": (0.01, 0.1), "beta": (0.1, 10.0)})
    assert list(found) == ["lr", "alpha", "beta"]
    assert (found["lr"].low, found["lr"].high, found["lr"].start) == (0.01, 0.1, 0.01)  # the start moves inside
    assert found["beta"].settings(2.0) == {"options": {"beta": 2.0}}
    delta = space("cold", {"delta": (0.1, 1.0)})["delta"]
    assert (delta.start, delta.settings(0.5)) == (0.1, {"delta": 0.5})  # from 0, which has no logarithm


def test_values_have_three_digits_and_stay_inside():
    one = space("er", {"lr": (0.00012345, 0.0098765)})["lr"]
    values = [one.at(share / 50) for share in range(51)]
    assert (values[0], values[-1]) == (0.00012345, 0.0098765)
    assert all(float(f"{value:.3g}") == value for value in values[1:-1])
    assert values == sorted(values)


def test_a_value_at_an_end_is_noticed():
    one = space("er", {"lr": (1e-4, 1e-2)})["lr"]
    assert [one.at_an_end(value) for value in (1e-4, 1.1e-4, 1e-3, 9e-3, 1e-2)] == [True, True, False, True, True]
    assert not space("er", {"lr": (1e-3, 1e-3)})["lr"].at_an_end(1e-3)  # no choice was given


@pytest.mark.parametrize("method", sorted(UNTUNED))
def test_what_the_tables_leave_untuned_needs_a_word(method):
    with pytest.raises(ColdError, match=f"comparisons.toml leaves {method} untuned; say what to search"):
        space(method)
    assert list(space(method, {"lr": (1e-4, 1e-2)})) == ["lr"]


@pytest.mark.parametrize(
    ("method", "ranges", "words"),
    [
        ("er", {"epochs": (1.0, 5.0)}, "epochs cannot be searched: only settings on a continuous scale can"),
        ("er", {"gamma": (1.0, 5.0)}, "unknown setting, or option of er, 'gamma'"),
    ],
)
def test_what_cannot_be_searched(method, ranges, words):
    with pytest.raises(ColdError, match=words):
        space(method, ranges)


@pytest.mark.parametrize("word", ["lr", "lr=", "lr=1", "lr=a:b", "=1:2", "lr=0:1", "lr=-1:1", "lr=2:1", "lr=1:inf"])
def test_a_range_that_is_none(word):
    with pytest.raises(ColdError, match=r"give NAME=LOW:HIGH|must have 0 < LOW <= HIGH"):
        range_of(word)


def test_a_method_of_one_s_own_has_its_learning_rate_searched(tmp_path):
    assert list(space(str(tmp_path / "mine.py"))) == ["lr"]
    assert TINY["method"] == "er"
