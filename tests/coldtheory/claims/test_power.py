"""How many seeds would settle a claim: against Student's interval itself, and by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from coldtheory.claims import CheckedClaim, Finding, Further, Power, Registry, RunSource, powers, together
from coldtheory.claims.power import power_of, seeds_needed
from coldtheory.cli.app import app
from coldtheory.ground.statistics import t_interval

LOOKS = ((4, 0.05), (8, 0.025), (16, 0.0125))


def spread_around(mean, sd, n):
    """n numbers with exactly this mean and standard deviation."""
    raw = np.linspace(-1, 1, n)
    return (mean + sd * (raw - raw.mean()) / raw.std(ddof=1)).tolist()


@pytest.mark.parametrize("mean", [2.0, 0.7, -0.4, 0.05])
@pytest.mark.parametrize("missed", [0.05, 0.0125, 0.05 / 12])
def test_the_interval_leaves_out_zero_from_that_number_on(mean, missed):
    needed = seeds_needed(mean, 1.0, missed)
    for n, settled in ((needed, True), (needed + 1, True), (needed - 1, False)):
        if n >= 2:
            low, high = t_interval(spread_around(mean, 1.0, n), 1 - missed)
            assert (low > 0 or high < 0) is settled


def test_nothing_settles_no_effect_or_no_number():
    assert seeds_needed(0.0, 1.0, 0.05) is None
    assert seeds_needed(1e-9, 1.0, 0.05) is None
    assert seeds_needed(math.nan, 1.0, 0.05) is None
    assert seeds_needed(1.0, math.inf, 0.05) is None
    assert seeds_needed(1.0, 0.0, 0.05) == 2


def open_claim(data, *, id="open", seconds=None, looks=LOOKS):
    """A claim that is not settled, with contrasts."""
    registry = Registry()
    source = RunSource(
        lambda: None,
        lambda _: {},
        lambda folder, checked: Further(looks, seconds or {"a": 30.0}, lambda have, want: f"make {have}-{want}"),
    )
    registry.claim(
        id=id, label="x:y", section="S", statement="It grows.", recorded="not settled", explain="", runs=source
    )(lambda folder: Finding("not settled", None, "see data", data))
    (claim,) = registry.claims
    return claim


def found(data, **more):
    (one,) = powers([open_claim(data, **more)])
    return one


def test_to_hold_every_contrast_must_be_above_zero():
    one = found({"easy": spread_around(1, 0.5, 4), "hard": spread_around(1, 0.85, 4)})
    assert (one.way, one.contrast, one.seeds) == ("holds", "hard", 4)
    assert one.needed == seeds_needed(1, 0.85, 0.025) <= 8
    assert one.look == 8
    assert one.minutes == pytest.approx(4 * 30 / 60)
    assert one.command == "make 4-8"


def test_to_be_false_one_contrast_suffices_but_by_a_wider_interval():
    one = found({"up": spread_around(9, 1, 4), "down": spread_around(-1, 0.8, 4), "flat": spread_around(-0.1, 1, 4)})
    assert (one.way, one.contrast) == ("false", "down")
    assert one.needed == seeds_needed(-1, 0.8, 0.0125 / 3)
    assert one.look == 16
    assert one.mean == pytest.approx(-1)


def test_what_no_allowed_look_would_settle_has_no_price():
    one = found({"weak": spread_around(0.1, 1, 4)})
    assert (one.look, one.minutes) == (None, None)
    assert one.needed == seeds_needed(0.1, 1, 0.0125)
    nothing = found({"none": [1.0, -1.0, 1.0, -1.0]})
    assert (nothing.needed, nothing.look) == (None, None)


def test_settled_claims_and_those_without_runs_are_left_out():
    settled = open_claim({"x": [1.0, 1.0]})
    object.__setattr__(settled, "check", lambda folder: Finding("holds", 1.0, "yes"))
    registry = Registry()
    registry.claim(id="plain", label="x:y", section="S", statement="s", recorded="not settled", explain="")(
        lambda: Finding("not settled", None, "no")
    )
    assert powers([settled, *registry.claims]) == []


def test_the_cheapest_comes_first_and_shared_runs_count_once():
    shared = {"a": 60.0, "b": 60.0}
    plan = powers(
        [
            open_claim({"x": spread_around(1, 0.85, 4)}, id="dear", seconds={**shared, "c": 600.0}),
            open_claim({"x": spread_around(1, 0.85, 4)}, id="cheap", seconds=shared),
            open_claim({"x": spread_around(0.7, 0.85, 4)}, id="longer", seconds=shared),
            open_claim({"x": spread_around(0.01, 1.0, 4)}, id="never", seconds=shared),
        ]
    )
    assert [one.claim for one in plan] == ["cheap", "longer", "dear", "never"]
    assert [one.minutes for one in plan] == [8, 24, 48, None]
    assert together(plan) == [8, 24, 24 + 40, 64]


def test_the_command(monkeypatch):
    from coldtheory.cli import check  # noqa: PLC0415

    monkeypatch.setattr(check, "all_claims", lambda: (open_claim({"x": spread_around(1, 0.85, 4)}),))
    shown = CliRunner().invoke(app, ["check", "--power"], env={"COLUMNS": "100"})
    assert shown.exit_code == 0
    assert "1 claims are not settled; 1 would be" in " ".join(shown.stdout.split())
    assert "make 4-8" in shown.stdout
    (row,) = json.loads(CliRunner().invoke(app, ["check", "--power", "--json"]).stdout)
    assert (row["claim"], row["needed"], row["look"], row["minutes"], row["minutes_together"]) == ("open", 7, 8, 2, 2)


def test_a_power_is_plain_data():
    checked = CheckedClaim(open_claim({}), Finding("not settled", None, "x", {"c": spread_around(1, 1, 4)}), 0.0)
    one = power_of(checked, Further(LOOKS, {}, lambda have, want: ""))
    assert isinstance(one, Power)
    assert json.loads(json.dumps(one.as_dict()))["sd"] == pytest.approx(1.0)
