"""Packing changes no value, drops only the queues at single steps, and overwrites nothing."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from cold.runs import ARRAYS, MODEL, RESULT, ROWS, find_runs, only_writer, pack, read_result, unpack
from cold.runs.header import read_header, text_of_rows, whole
from coldtheory.ground.errors import ColdError
from tests.cold.runs.small_runs import content, finished, store
from tests.crash_states import contents, record, replayed, states

STEPS = {"queue_steps", "queue_steps_at"}


def without_steps(stored):
    return {**stored, "arrays": {name: array for name, array in stored["arrays"].items() if name not in STEPS}}


def test_values_stay_and_folders_go(tmp_path):
    ids = store(tmp_path / "a", 2, 0, 1, data="c0ffee") + store(tmp_path / "b", 0, V=5.0)
    before = {run_id: content(run) for run_id, run in find_runs(tmp_path).items()}
    done = pack(tmp_path)
    assert sorted(done.packed) == sorted(ids)
    assert (set(done.dropped), done.folders) == (STEPS, (tmp_path / "a", tmp_path / "b"))
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert files == [f"a/{ARRAYS}", f"a/{ROWS}", f"b/{ARRAYS}", f"b/{ROWS}"]  # and no lock
    after = find_runs(tmp_path)
    assert {run_id: content(run) for run_id, run in after.items()} == {i: without_steps(c) for i, c in before.items()}
    assert all(set(run.dropped) == STEPS for run in after.values())
    names = [json.loads(line)["run_id"] for line in (tmp_path / "a" / ROWS).read_text().splitlines()[1:]]
    assert names == sorted(names)


def test_steps_are_kept_on_request(tmp_path):
    (run_id,) = store(tmp_path, 0)
    before = content(read_result(tmp_path / run_id))
    assert pack(tmp_path, keep_steps=True).dropped == ()
    assert content(read_result(tmp_path / run_id)) == before


def test_packing_goes_on_and_repeats(tmp_path):
    here, again = tmp_path / "here", tmp_path / "again"
    first = store(here, 0, 1)
    pack(here)
    rows, arrays = (here / ROWS).read_bytes(), (here / ARRAYS).read_bytes()
    assert pack(here).packed == ()
    store(here, 1)  # the same run again, with all its steps
    assert (pack(here).same, (here / ROWS).read_bytes()) == ((first[1],), rows)
    assert not (here / first[1]).exists()
    (third,) = store(here, 2)
    assert pack(here).packed == (third,)
    assert sorted(find_runs(here)) == sorted([*first, third])
    store(again, 2, 1, 0)
    for run_id, run in find_runs(again).items():  # time is part of a row
        path = again / run_id / RESULT
        path.write_text(json.dumps({**run.as_json(), "provenance": find_runs(here)[run_id].provenance}))
    pack(again)
    assert (again / ARRAYS).read_bytes() == (here / ARRAYS).read_bytes() != arrays
    assert sorted((again / ROWS).read_text().splitlines()) == sorted((here / ROWS).read_text().splitlines())


def test_other_content_is_not_overwritten(tmp_path):
    (one,) = store(tmp_path, 0)
    pack(tmp_path)
    rows = (tmp_path / ROWS).read_bytes()
    store(tmp_path, 0, 1)
    arrays = dict(np.load(tmp_path / one / ARRAYS))
    arrays["accuracy"][0, 0] += 0.125
    np.savez(tmp_path / one / ARRAYS, **arrays)
    with pytest.raises(ColdError, match=r"differ in array accuracy; remove one of them"):
        pack(tmp_path)
    assert (tmp_path / ROWS).read_bytes() == rows
    assert len(list(tmp_path.glob(f"*/{RESULT}"))) == 2


def test_damaged_runs_and_those_at_work_stop_it(tmp_path):
    one, two = store(tmp_path, 0, 1)
    (tmp_path / two / ARRAYS).write_bytes(b"PK")
    with pytest.raises(ColdError, match="is damaged"):
        pack(tmp_path)
    store(tmp_path, 1)
    with only_writer(tmp_path), pytest.raises(ColdError, match="another program"):
        pack(tmp_path)
    assert {path.parent.name for path in tmp_path.glob(f"*/{RESULT}")} == {one, two}
    with pytest.raises(ColdError, match="no folder"):
        pack(tmp_path / "nowhere")
    with pytest.raises(ColdError, match="is a single run"):
        pack(tmp_path / one)


def test_a_renamed_folder_is_named(tmp_path):
    (one,) = store(tmp_path, 0)
    (tmp_path / one).rename(tmp_path / "mine")
    with pytest.raises(ColdError, match=f"holds the run {one}; give the folder this name first"):
        pack(tmp_path)


def test_weights_stay(tmp_path):
    (one,) = store(tmp_path, 0)
    (tmp_path / one / MODEL).write_bytes(b"weights")
    pack(tmp_path)
    run = find_runs(tmp_path)[one]
    assert (run.folder / MODEL).read_bytes() == b"weights"
    assert not (run.folder / RESULT).exists()


def test_unpack(tmp_path):
    ids = store(tmp_path, 0, 1, data="c0ffee")
    before = {run_id: content(run) for run_id, run in find_runs(tmp_path).items()}
    pack(tmp_path)
    assert unpack(tmp_path) == tuple(sorted(ids))
    assert unpack(tmp_path) == ()
    for run_id in ids:
        assert content(read_result(tmp_path / run_id)) == without_steps(before[run_id])
    assert pack(tmp_path).same == tuple(sorted(ids))
    assert unpack(tmp_path, tmp_path / "out") == tuple(sorted(ids))
    assert content(read_result(tmp_path / "out" / ids[0])) == without_steps(content(finished("c0ffee"))) | {
        "provenance": before[ids[0]]["provenance"]
    }


def test_further_rows_leave_the_lines_of_others(tmp_path):
    store(tmp_path, 1, 2, 3)
    pack(tmp_path)
    before = (tmp_path / ROWS).read_text().splitlines()
    store(tmp_path, 0, 4, V=7.0)
    pack(tmp_path)
    after = (tmp_path / ROWS).read_text().splitlines()
    assert [line for line in after if line in before] == before
    assert len(after) == len(before) + 2
    assert "V" in json.loads(after[0])["common"]["config"]


def test_a_first_line_that_no_longer_serves_is_replaced(tmp_path):
    (one,) = store(tmp_path, 0)
    pack(tmp_path)
    first = (tmp_path / ROWS).read_text().splitlines()[0]
    assert json.loads(first)["common"]["config"] == {}  # a single run shares nothing
    before = content(read_result(tmp_path / one))
    store(tmp_path, 1, 2, 3)
    pack(tmp_path)
    assert (tmp_path / ROWS).read_text().splitlines()[0] != first
    assert content(read_result(tmp_path / one)) == before


def a_record(run_id, **changes):
    parts = {"config": {"V": 1}, "timing": {"steps": 5}, "provenance": {"commit": "c0", "packages": {"numpy": "2"}}}
    return {"run_id": run_id, **parts, "data": None, "metrics": {}, "arrays": ["accuracy"], "dropped": [], **changes}


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"config": {}},
        {"config": {"V": 1.0}},
        {"config": {"V": True}},
        {"config": {"V": None, "lr": 0.5}},
        {"timing": {}, "provenance": {}},
        {"timing": {"steps": 5, "seconds": float("inf")}},
        {"timing": {"steps": -0.0}},
        {"provenance": {"packages": {}}},
        {"provenance": {"commit": "c1", "packages": {"numpy": "2", "scipy": "1"}}},
        {"data": "c0ffee", "arrays": [], "dropped": ["queue_steps"]},
        {"arrays": ["start", "accuracy"]},
    ],
)
def test_a_row_is_the_first_line_and_what_differs(other):
    """Nothing is lost between the two, whatever a row has, lacks, or has of another type."""
    records = [a_record("a"), a_record("b", **other), a_record("c")]
    first, *rows = map(json.loads, text_of_rows(records, None).splitlines())
    assert set(rows[0]) == {"run_id"}
    common = read_header(first, "line 1", remedy="")
    again = [whole(row, common, "line", remedy="") for row in rows]
    for made, stored in zip(again, records, strict=True):
        assert {name: json.dumps(made.get(name, {}), sort_keys=True) for name in stored} == {
            name: json.dumps(value, sort_keys=True) for name, value in stored.items()
        }


_PACKS = """
from cold.runs import pack
pack(folder)
done("packed")
"""


@pytest.mark.needs("gcc")
def test_a_loss_of_power_at_any_point_loses_no_run(tmp_path):
    """Loose, packed, or both: the same runs at every point, and packing can go on from there."""
    folder, before = tmp_path / "runs", tmp_path / "before"
    store(folder, 0, 1)
    pack(folder)  # so that a row is there already
    store(folder, 2, 3)
    shutil.copytree(folder, before)
    calls = record(_PACKS, folder, tmp_path / "scratch")
    assert replayed(before, calls, tmp_path / "again") == contents(folder)

    def found(folder):
        stored = {run_id: without_steps(content(run)) for run_id, run in find_runs(folder).items()}
        return {run_id: {**values, "dropped": None} for run_id, values in stored.items()}

    expected = found(before)
    assert len(expected) == 4
    for state in states(before, calls, tmp_path, chances=2):
        assert found(state.folder) == expected, state
        if state.kind == "killed":
            pack(state.folder)
            assert found(state.folder) == expected, state
            assert not list(state.folder.glob(f"*/{RESULT}")), state
