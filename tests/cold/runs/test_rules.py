"""Runs of earlier rules: told by method, settings and time; replaced in the form in which they are stored."""

from __future__ import annotations

import datetime as dt

import pytest
from msgspec.structs import replace

from cold.runs import OtherData, RuleChange, earlier_rule, find_runs, pack, replace_run, rules, write_result
from coldtheory.ground.errors import ColdError
from tests.cold.runs.small_runs import content, finished, store

CHANGE = RuleChange(
    method="er", before=dt.datetime(2026, 1, 2, tzinfo=dt.UTC), commit="c0ffee", what="all differed",
    where={"options": {"fill": "stream"}},
)  # fmt: skip


def made(time, **changes):
    result = finished(**{"method": "er", "options": {"fill": "stream", "replay_weight": 2}, **changes})
    return replace(result, provenance={**result.provenance, "time": time})


@pytest.mark.parametrize(
    ("run", "concerned"),
    [
        (made("2026-01-01T23:59:59+00:00"), True),
        (made("2026-01-02T01:59:59+02:00"), True),  # the same moment, elsewhere
        (made("2026-01-02T00:00:00+00:00"), False),
        (made("2026-01-01T00:00:00"), True),
        (made(""), True),  # no time: older than those that have one
        (made("soon"), True),
        (made("2026-01-01T00:00:00+00:00", options={}), False),
        (made("2026-01-01T00:00:00+00:00", options={"fill": "task"}), False),
        (made("2026-01-01T00:00:00+00:00", method="der"), False),
    ],
)
def test_what_a_change_concerns(monkeypatch, run, concerned):
    monkeypatch.setattr(rules, "_changes", lambda: (CHANGE,))
    assert (earlier_rule(run) is CHANGE) is concerned


def test_the_stored_changes_are_read():
    assert {change.method for change in rules._changes()} >= {"agem", "cba"}
    assert all(change.before.tzinfo is not None and change.what and change.commit for change in rules._changes())


@pytest.mark.parametrize("packed", [True, False])
def test_replaced_in_its_own_form(tmp_path, packed):
    first, second = store(tmp_path, 0, 1)
    (tmp_path / first / "model.safetensors").write_bytes(b"old weights")
    if packed:
        (tmp_path / first / "model.safetensors").unlink()
        pack(tmp_path)
    before = find_runs(tmp_path)
    other = content(before[second])
    new = replace(finished(seed=0), metrics={"acc": 12.5})
    now = replace_run(before[first], new)
    assert now.metrics == {"acc": 12.5}
    after = find_runs(tmp_path)
    assert content(after[second]) == other
    assert after[first].metrics == {"acc": 12.5}
    assert after[first].dropped == (("queue_steps", "queue_steps_at") if packed else ())
    assert ("queue_steps" in after[first].arrays) is not packed
    assert (tmp_path / "rows.jsonl").exists() is packed
    assert not list(tmp_path.rglob("model.safetensors"))


def test_another_run_replaces_nothing(tmp_path):
    run = finished("aaaa", seed=0)
    write_result(tmp_path / run.run_id, run)
    stored = find_runs(tmp_path)[run.run_id]
    before = content(stored)
    with pytest.raises(ColdError, match="another run"):
        replace_run(stored, finished("aaaa", seed=1))
    with pytest.raises(OtherData, match="other data"):
        replace_run(stored, finished("bbbb", seed=0))
    with pytest.raises(ColdError, match="not on disk"):
        replace_run(run, run)
    assert content(find_runs(tmp_path)[run.run_id]) == before
