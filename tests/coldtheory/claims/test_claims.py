"""The frame of claims: what is refused, how a check is run, how claims are found, and how they are told."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from coldtheory.claims import (
    Claim,
    Finding,
    NoRuns,
    Registry,
    RunSource,
    all_claims,
    find_claims,
    known,
    plain,
    run_claim,
    table_of,
)
from coldtheory.ground.errors import ColdError

TEXTS = {"label": "l:l", "section": "s", "statement": "it  says", "explain": "because"}


def registered(check, **more):
    registry = Registry()
    registry.claim(**{"id": "one", "recorded": "holds", **TEXTS, **more})(check)
    return registry.claims[0]


def test_all_claims_are_unique_and_those_of_a_module_stand_together():
    claims = all_claims()
    assert claims == all_claims()
    assert len({claim.id for claim in claims}) == len(claims)
    modules = list(dict.fromkeys(claim.module for claim in claims))
    starts = [index for index, claim in enumerate(claims) if index == 0 or claims[index - 1].module != claim.module]
    assert len(starts) == len(modules)


def test_find_claims():
    assert [c.id for c in find_claims("text-v-direction")] == ["text-v-direction"]
    assert {c.id for c in find_claims("tab-accf")} >= {"tab-accf-bound", "tab-accf-cifar100-t5"}
    assert [c.id for c in find_claims("cifar100-tasks")] == ["text-cifar100-tasks"]
    assert all(c.label == "tab:pmnist" for c in find_claims("tab:pmnist"))
    with pytest.raises(ColdError, match="did you mean text-v-direction"):
        find_claims("text-v-directoin")
    with pytest.raises(ColdError, match="unknown claim"):
        find_claims("")


def test_registry_refuses_what_would_confuse():
    registry = Registry()

    def register(id, check=lambda: Finding("false", -1.0, "no"), **more):
        registry.claim(**{"id": id, "recorded": "holds", **TEXTS, **more})(check)

    register("one")
    with pytest.raises(ColdError, match="two claims are called 'one'"):
        register("one")
    with pytest.raises(ColdError, match="lower case"):
        register("Two")
    with pytest.raises(ColdError, match="unknown verdict"):
        register("two", recorded="true")
    with pytest.raises(ColdError, match="cannot be recorded"):
        register("two", recorded="no runs here")
    with pytest.raises(ColdError, match="must take nothing; it has 1 parameters"):
        register("two", lambda folder: Finding("holds", None, "yes"))
    with pytest.raises(ColdError, match="must take the folder of runs; it has 0 parameters"):
        register("two", runs=RunSource(Path, lambda folder: {}))
    assert [claim.id for claim in registry.claims] == ["one"]


def test_another_verdict_is_a_change():
    checked = run_claim(registered(lambda: Finding("false", -1.0, "no")))
    assert checked.changed
    assert checked.as_json()["changed"] is True
    assert checked.as_json()["statement"] == "it says"


def test_a_check_gets_the_folder_of_runs(tmp_path):
    own = RunSource(lambda: Path("own"), lambda folder: {})
    claim = registered(lambda folder: Finding("holds", None, folder.name), runs=own)
    assert run_claim(claim).finding.evidence == "own"
    assert run_claim(claim, tmp_path).finding.evidence == tmp_path.name


def test_absent_runs_are_no_change():
    def check(folder):
        raise NoRuns("3 runs are not stored", "cold run")

    checked = run_claim(registered(check, runs=RunSource(Path, lambda folder: {})))
    assert checked.finding == Finding(
        "no runs here", None, "3 runs are not stored; make them: cold run", {"command": "cold run"}
    )
    assert not checked.changed


def test_findings_refuse_nonsense():
    with pytest.raises(ColdError, match="unknown verdict"):
        Finding("true", None, "x")
    with pytest.raises(ColdError, match="finite"):
        Finding("holds", float("nan"), "x")
    with pytest.raises(ColdError, match="one non-empty line"):
        Finding("holds", None, "two\nlines")


def test_plain_gives_json_types():
    value = plain({1: np.float64(2.0), "a": np.arange(2), "b": (float("inf"), None, True), "c": Path("x")})
    assert json.dumps(value) == '{"1": 2.0, "a": [0, 1], "b": [null, null, true], "c": "x"}'


# ------------------------------------------------------------------------------------------------------------- plug-ins


def gives(monkeypatch, value, function=None):
    """As if one package were installed whose entry point is `value`."""
    entry = metadata.EntryPoint("mine", value, known.GROUP)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [entry] if group == known.GROUP else [])
    if function is not None:
        monkeypatch.setattr(metadata.EntryPoint, "load", lambda self: function)


def fails():
    raise RuntimeError("two\nlines")


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (fails, "RuntimeError: two lines"),
        (lambda: ["no claim"], "contain a str, which is not a Claim"),
        (3, "TypeError: 'int' object is not callable"),
        (lambda: None, "TypeError"),
    ],
)
def test_a_broken_plug_in_is_one_line_that_names_it(monkeypatch, function, words):
    gives(monkeypatch, "broken_package.claims:all", function)
    with pytest.raises(ColdError, match=r"broken_package\.claims") as caught:
        all_claims()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_package_that_is_gone_is_named(monkeypatch):
    gives(monkeypatch, "no_such_package:claims")
    with pytest.raises(ColdError, match=r"no_such_package .*No module named 'no_such_package'; reinstall it"):
        all_claims()


def test_two_packages_may_not_share_an_id(monkeypatch):
    claim = registered(lambda: Finding("holds", None, "yes"))
    gives(monkeypatch, "mine:claims", lambda: [claim, claim])
    with pytest.raises(ColdError, match="two claims are called 'one'"):
        all_claims()


def test_a_claim_is_plain_data():
    claim = registered(lambda: Finding("holds", None, "yes"))
    assert isinstance(claim, Claim)
    assert hash(claim) == hash(claim)


# ------------------------------------------------------------------------------------------------------------- the page


def test_the_page_prints_text_as_it_is():
    row = {
        "id": "one", "label": "l:l", "section": "S_1", "verdict": "false", "margin": -0.01234,
        "statement": "a|b *c* <d>",
        "evidence": "x_1 > `y_2` $z$",
    }  # fmt: skip
    page = table_of([row, {**row, "id": "two", "margin": None}])
    assert "2 claims: 2 false." in page
    assert "\n## S\\_1\n" in page
    cell = r"a\|b \*c\* \<d\><br>**Found:** x\_1 \> `y_2` \$z\$"
    assert f"| `one` | `l:l` | false | -0.012 | {cell} |" in page
    assert f"| `two` | `l:l` | false |  | {cell} |" in page
