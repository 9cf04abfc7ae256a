"""What a run says of its data: recorded by itself, or by a file beside rows that are too old for it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from cold.runs import data_notes, find_runs, of_one_data, pack, read_result, write_result
from coldtheory.ground.errors import ColdError
from tests.cold.runs.small_runs import finished, store

PART = "a part of MNIST"


def about(run, words, data="aa"):
    return replace(run, data=data, provenance={**run.provenance, "data": {"about": words}})


def test_rows_without_a_record_get_what_is_known(tmp_path):
    old, other = store(tmp_path, 0, 1)
    own, same = (finished(data, seed=seed) for seed, data in ((2, "ff"), (3, "c0")))
    for run in (own, same):
        write_result(tmp_path / run.run_id, run)
    told = about(finished(seed=4), "all of it", "c0")
    write_result(tmp_path / told.run_id, told)
    pack(tmp_path)
    assert {run.data for run in find_runs(tmp_path).values()} == {None, "ff", "c0"}
    (tmp_path / "unrecorded.toml").write_text(f'[pmnist]\ndata = "c0"\nabout = "{PART}"\n')
    found = find_runs(tmp_path)
    assert [(found[name].data, found[name].about_data) for name in (old, other)] == [("c0", PART)] * 2
    assert (found[own.run_id].data, found[own.run_id].about_data) == ("ff", "")  # other data: nothing is known
    assert (found[same.run_id].data, found[same.run_id].about_data) == ("c0", PART)
    assert found[told.run_id].about_data == "all of it"  # its own words count
    assert read_result(tmp_path / old).data == "c0"


@pytest.mark.parametrize("text", ["[pmnist]\ndata = 3\n", '[pmnist]\nwords = "x"\n', "pmnist = 1\n"])
def test_a_wrong_file_is_one_line(tmp_path, text):
    store(tmp_path, 0)
    pack(tmp_path)
    (tmp_path / "unrecorded.toml").write_text(text)
    (problem,) = find_runs(tmp_path).problems
    assert "unrecorded.toml does not follow its schema" in problem
    with pytest.raises(ColdError, match="does not follow its schema"):
        pack_again(tmp_path)


def pack_again(folder):
    store(folder, 9)
    pack(folder)


def test_notes():
    whole, part = about(finished(seed=0), ""), about(finished(seed=1), PART)
    assert list(data_notes([whole])) == []
    assert list(data_notes([part])) == [f"data: {PART}"]
    assert list(data_notes([whole, part])) == [f"data of 1 of the 2 runs: {PART}"]
    other = about(finished(seed=2), "", "bb")
    assert list(data_notes([whole, other])) == ["not comparable: runs on pmnist were made from different data (aa, bb)"]
    assert of_one_data([whole, part, other, finished(seed=3)])[-1].data is None
    assert other not in of_one_data([whole, part, other])
    assert of_one_data([other, whole]) == [other]
    assert of_one_data([]) == []


def test_provenance_of_another_kind_says_nothing():
    run = finished(seed=0)
    assert replace(run, provenance={**run.provenance, "data": "x"}).about_data == ""
