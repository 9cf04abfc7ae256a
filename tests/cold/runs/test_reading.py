"""Both formats are read as they were written, by this version or an older one; whatever is damaged, foreign or hostile
is one line with a remedy."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import cold
from cold.runs import ARRAYS, RESULT, ROWS, evidence, find_runs, identified, pack, read_result, same_run, stored_config
from cold.runs.schema import safe_name
from coldtheory.ground.errors import ColdError
from tests.cold.runs.small_runs import as_earlier, content, finished, store

OLD = Path(__file__).parent / "fixtures" / "split-mnist-cold-s0-5cf18e77"
COMMITTED = find_runs(evidence())


def test_a_run_that_an_older_version_wrote_is_read():
    """Bytes of the version before there were packed runs, fingerprints and the present names of quantities."""
    run = cold.read_result(OLD)
    assert isinstance(run, cold.Result)
    stored = json.loads((OLD / RESULT).read_text())
    assert run.run_id == stored["run_id"] == OLD.name
    for part in ("config", "metrics", "per_task", "timing", "provenance"):
        assert getattr(run, part) == stored[part]
    assert run.diagnostics["avg_grad_sq_before"] == stored["diagnostics"]["avg_grad_sq"]
    assert (run.data, run.synthetic, run.made_up, run.dropped) == (None, False, False, ())
    with np.load(OLD / ARRAYS) as arrays:
        assert list(run.arrays) == arrays.files
        assert all(np.array_equal(run.arrays[name], arrays[name], equal_nan=True) for name in arrays.files)
    assert run.array("queue_steps").shape == (len(run.array("queue_steps_at")), 5)
    assert same_run(run, stored_config(run), "a fingerprint")
    assert read_result(OLD / RESULT) is read_result(OLD)  # read once as long as no file changes


def test_the_old_run_is_a_committed_row_now():
    packed, old = COMMITTED[OLD.name], read_result(OLD)
    assert set(packed.dropped) == set(old.arrays) - set(packed.arrays) == {"queue_steps", "queue_steps_at"}
    assert (packed.data, packed.about_data, old.data) == ("b51e66440adf89bd", "", None)  # by unrecorded.toml
    told = {**packed.provenance}
    del told["data"]
    assert {**packed.as_json(), "data": None, "provenance": told} == old.as_json()
    assert all(np.array_equal(packed.arrays[name], old.arrays[name], equal_nan=True) for name in packed.arrays)


def test_every_committed_run_is_read_and_keeps_its_id():
    assert COMMITTED.problems == ()
    assert len(COMMITTED) >= 2749  # rows are added or replaced, and none is lost
    for run_id, run in COMMITTED.items():
        config = stored_config(run)
        assert run_id == run.run_id == config.run_id == identified(config).run_id
        assert same_run(run, config)
        assert run.array("accuracy").shape == (config.tasks, config.tasks)
        assert ("queues" in run.arrays) == ("queues" in dict(run.arrays))


def test_what_is_written_is_read(tmp_path):
    (run_id,) = store(tmp_path, 0, data="c0ffee")
    run, made = read_result(tmp_path / run_id), finished("c0ffee")
    assert content(run) == {**content(made), "provenance": run.provenance}
    assert (run.data, run.seconds, run.dataset, run.folder) == ("c0ffee", 2.0, "pmnist", tmp_path / run_id)
    assert run.array("nothing") is None
    (tmp_path / run_id / RESULT).write_text(json.dumps({**run.as_json(), "data": "other"}))
    assert read_result(tmp_path / run_id).data == "other"  # a changed file is read again


def test_numbers_that_are_none_are_read(tmp_path):
    """Python writes NaN where a loss was no number; that is no JSON, but such files are there."""
    (run_id,) = store(tmp_path, 0)
    path = tmp_path / run_id / RESULT
    path.write_text(path.read_text().replace('"Delta_bar": 0.25', '"Delta_bar": NaN'))
    assert np.isnan(read_result(path).diagnostics["Delta_bar"])


def changed(**changes):
    return lambda text: json.dumps({**json.loads(text), **changes}).encode()


def part(name, **changes):
    return lambda text: json.dumps({**(all_ := json.loads(text)), name: {**all_[name], **changes}}).encode()


DEEP = b'{"a":' * 100_000


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda text: text[:-9].encode(), "is damaged (truncated or not JSON)"),
        (lambda text: b"", "is damaged (truncated or not JSON)"),
        (lambda text: b"\xff\xfe\x00", "is damaged (truncated or not JSON)"),
        (lambda text: DEEP, "is damaged (truncated or not JSON)"),
        (lambda text: b"[" * 100_000 + b"NaN", "is damaged (truncated or not JSON)"),
        (lambda text: b"[]", "has format 'None'"),
        (changed(format="cold-run/0"), "has format 'cold-run/0', this version reads 'cold-run/1'"),
        (changed(format={"a": 1}), "this version reads 'cold-run/1'"),
        (changed(config=None, metrics=[]), "has no config and no metrics"),
        (changed(metrics={"acc": "good"}), "has a wrong entry: Expected `float | null`, got `str`"),
        (changed(per_task={"acc": 3}), "has a wrong entry: Expected `array`, got `int`"),
        (changed(diagnostics={"Delta_bar": "big"}), "at `diagnostics"),
        (changed(timing={"cpu_seconds": [1]}), "at `timing"),
        (changed(provenance=7), "Expected `object`, got `int`"),
        (changed(data=["x"]), "at `$.data`"),
        (changed(made_up="yes"), "at `$.made_up`"),
        (changed(run_id=5), "at `$.run_id`"),
        (part("config", seed="zero"), "at `config.seed`"),
        (part("config", epochs=0), "epochs must be > 0"),
        (part("config", optimizer="sgd"), "unknown optimizer 'sgd'"),
        (part("config", method=["cold"]), "at `config.method`"),
        (changed(run_id="../../x"), "has the run id '../../x', which cannot name a folder"),
        (changed(run_id=".."), "cannot name a folder"),
        (changed(run_id="/etc/x"), "cannot name a folder"),
        (changed(run_id="a\\b"), "cannot name a folder"),
        (changed(run_id="a\nb"), "cannot name a folder"),
        (changed(run_id=""), "cannot name a folder"),
        (changed(run_id="x" * 201), "cannot name a folder"),
    ],
)
def test_bad_records(tmp_path, damage, words):
    (run_id,) = store(tmp_path, 0)
    path = tmp_path / run_id / RESULT
    path.write_bytes(damage(path.read_text()))
    with pytest.raises(ColdError) as caught:
        read_result(path.parent)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000
    found = find_runs(tmp_path)
    assert not found
    assert found.problems == (str(caught.value),)
    assert found.damaged == {run_id: str(caught.value)}


@pytest.mark.parametrize(
    "name", ["..", ".", "", "a/b", "../a", "a\\b", "a\0b", "a\n", ".hidden", "x" * 201, "a b", "a:b"]
)
def test_unsafe_names(name):
    assert not safe_name(name)


@pytest.mark.parametrize("name", ["pmnist-cold-s0-1a2b3c4d", "Vögel-er-s12-0", "a..b", "0.5", "der++", "x" * 200])
def test_safe_names(name):
    assert safe_name(name)


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, data in members.items():
            file.writestr(name.replace("__", "/"), data)
    return buffer.getvalue()


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


HUGE = (
    b"\x93NUMPY\x01\x00v\x00"
    + b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,), }".ljust(117)
    + b"\n"
)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda raw: raw[: len(raw) // 2], "is damaged"),
        (lambda raw: b"", "is damaged"),
        (lambda raw: b"PK no zip", "is damaged"),
        (lambda raw: npz(accuracy=np.eye(3)).replace(b"\xf0?", b"\xf1?"), "is damaged"),
        (lambda raw: zipped(**{"accuracy.npy": b"no array"}), "is damaged"),
        (lambda raw: zipped(**{"accuracy.npy": HUGE}), "is damaged"),
        (lambda raw: zipped(accuracy=b"text"), "is damaged"),
        (lambda raw: npz(accuracy=np.array(["good"])), "does not hold numbers"),
        (lambda raw: npz(accuracy=np.array([{"a": 1}])), "is damaged"),  # a pickle is not opened
        (lambda raw: npz(accuracy=np.zeros(3)), "has the shape (3,)"),
        (lambda raw: npz(accuracy=np.zeros((3, 4))), "has the shape (3, 4)"),
        (lambda raw: zipped(**{"..__x.npy": b"", "accuracy.npy": b""}), "has an array named '../x'"),
    ],
)
def test_bad_arrays(tmp_path, damage, words):
    (run_id,) = store(tmp_path, 0)
    path = tmp_path / run_id / ARRAYS
    path.write_bytes(damage(path.read_bytes()))
    run = read_result(path.parent)  # arrays are read when they are asked for
    with pytest.raises(ColdError) as caught:
        run.array("accuracy")
    assert words in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_files(tmp_path):
    (run_id,) = store(tmp_path, 0)
    (tmp_path / run_id / ARRAYS).unlink()
    for folder in (tmp_path / run_id, tmp_path / "nowhere"):
        with pytest.raises(ColdError, match="no finished run in"):
            read_result(folder)
    assert find_runs(tmp_path).problems == (f"no finished run in {tmp_path / run_id}: {ARRAYS} is missing",)


def row(**changes):
    return lambda line: json.dumps({**json.loads(line), **changes})


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda line: line[:-9], "line 3 is damaged (truncated or not JSON)"),
        (lambda line: "7", "line 3 has format 'None'"),
        (row(format="cold-rows/2"), "line 3 has a format of its own, but line 1 has that of all rows"),
        (row(arrays=["../accuracy"]), "has an array named '../"),
        (row(arrays={"accuracy": "x"}), "line 3 has a wrong entry"),
        (row(arrays=None), "line 3 has a wrong entry"),
        (row(config=7), "line 3 has no config"),
        (row(config={"epochs": 0}), "epochs must be > 0"),
        (row(timing=[1]), "at `$.timing`"),
        (row(provenance=None), "at `$.provenance`"),
        (row(absent=["config"]), "Expected `object`, got `array` - at `$.absent`"),
        (row(absent={"metrics": ["acc"]}), "Invalid enum value 'metrics'"),
        (row(absent={"config": "V"}), "Expected `array`, got `str`"),
        (row(absent={"config": [["V"]]}), "Expected `str`, got `array`"),
        (row(absent={"config": ["x" * 1000]}), "which line 1 does not have"),
        (row(run_id="../x"), "cannot name a folder"),
    ],
)
def test_a_bad_row_leaves_the_others(tmp_path, damage, words):
    ids = store(tmp_path, 0, 1, 2)
    pack(tmp_path)
    path = tmp_path / ROWS
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], damage(lines[2]), lines[3]]) + "\n")
    found = find_runs(tmp_path)
    assert list(found) == [ids[0], ids[2]]
    (problem,) = found.problems
    assert f"{path}, line 3" in problem
    assert words in problem
    assert "; restore the file" in problem
    assert "\n" not in problem
    assert len(problem) < 1000
    store(tmp_path, 3)
    with pytest.raises(ColdError, match="line 3"):  # nothing is packed on top of a damaged file
        pack(tmp_path)
    assert path.read_text().splitlines()[:2] == lines[:2]


def common(**changes):
    return lambda text: json.dumps({**(all_ := json.loads(text)), "common": {**all_["common"], **changes}}).encode()


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda text: text[:-9].encode(), "is damaged (truncated or not JSON)"),
        (lambda text: b"", "is damaged (truncated or not JSON)"),
        (lambda text: DEEP, "is damaged (truncated or not JSON)"),
        (lambda text: b"7", "has format 'None'"),
        (changed(format="cold-rows/4"), "has format 'cold-rows/4', this version reads 'cold-rows/3' and 'cold-rows/2'"),
        (changed(format=["cold-rows/3"]), "this version reads 'cold-rows/3'"),
        (lambda text: b'{"format":"cold-rows/3"}', "missing required field `common`"),
        (changed(common=[]), "Expected `object`, got `array` - at `$.common`"),
        (changed(common={}), "missing required field `config`"),
        (common(config=None), "at `$.common.config`"),
        (common(timing=[1]), "at `$.common.timing`"),
        (common(provenance="here"), "at `$.common.provenance`"),
        (common(data=7), "at `$.common.data`"),
        (common(arrays={"accuracy": 1}), "at `$.common.arrays`"),
        (common(dropped=[1]), "at `$.common.dropped[0]`"),
    ],
)
def test_a_bad_first_line_is_one_problem(tmp_path, damage, words):
    store(tmp_path, 0, 1, 2)
    pack(tmp_path)
    path = tmp_path / ROWS
    first, rest = path.read_text().split("\n", 1)
    path.write_bytes(damage(first) + b"\n" + rest.encode())
    found = find_runs(tmp_path)
    assert not found
    (problem,) = found.problems
    assert f"{path}, line 1 " in problem
    assert words in problem
    assert "; restore the file" in problem
    assert "\n" not in problem
    store(tmp_path, 3)
    before = path.read_bytes()
    with pytest.raises(ColdError, match="line 1"):
        pack(tmp_path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"config": {"epochs": 0}}, "epochs must be > 0"),
        ({"timing": {"steps": [1]}}, "at `timing"),
        ({"provenance": {"commit": None, "time": {}}, "arrays": ["../x"]}, "has an array named '../x'"),
    ],
)
def test_what_rows_take_over_is_checked_in_each(tmp_path, changes, words):
    store(tmp_path, 0, 1, 2)
    pack(tmp_path)
    path = tmp_path / ROWS
    first, rest = path.read_text().split("\n", 1)
    path.write_bytes(common(**changes)(first) + b"\n" + rest.encode())
    found = find_runs(tmp_path)
    assert not found
    assert [f"line {number} has" in problem for number, problem in enumerate(found.problems, start=2)] == [True] * 3
    assert all(words in problem for problem in found.problems)


def test_a_first_line_in_the_middle(tmp_path):
    """As where two files were written one after the other: only what stands below its own first line is read."""
    ids = store(tmp_path, 0, 1)
    pack(tmp_path)
    path = tmp_path / ROWS
    text = path.read_text()
    path.write_text(text + text.splitlines()[0] + "\n")
    found = find_runs(tmp_path)
    assert list(found) == ids
    assert "line 4 has a format of its own" in found.problems[0]


def test_rows_whose_arrays_are_gone(tmp_path):
    ids = store(tmp_path, 0, 1)
    pack(tmp_path)
    (tmp_path / ARRAYS).write_bytes(b"PK")
    with pytest.raises(ColdError, match=r"arrays.npz is damaged"):
        find_runs(tmp_path)[ids[0]].array("accuracy")
    (tmp_path / ARRAYS).unlink()
    found = find_runs(tmp_path)
    assert not found
    assert "arrays.npz is missing" in found.problems[0]


def test_a_repeated_row_counts_once(tmp_path):
    (run_id,) = store(tmp_path, 0)
    pack(tmp_path)
    first, line = (tmp_path / ROWS).read_text().splitlines()
    (tmp_path / ROWS).write_text(f"{first}\n{line}\n{line}\n")
    found = find_runs(tmp_path)
    assert list(found) == [run_id]
    assert "a second time" in found.problems[0]


@pytest.mark.parametrize("number", [1, 2])
def test_rows_of_the_earlier_formats_are_read(tmp_path, number):
    ids = store(tmp_path, 0, 1)
    before = {run_id: content(run) for run_id, run in find_runs(tmp_path).items()}
    pack(tmp_path, keep_steps=True)
    as_earlier(tmp_path, number)
    assert {run_id: content(run) for run_id, run in find_runs(tmp_path).items()} == before
    first, second = (tmp_path / ROWS).read_text().splitlines()
    (tmp_path / ROWS).write_text(f"{first[:-9]}\n{second}\n")  # lines of these formats stand for themselves
    assert list(find_runs(tmp_path)) == ids[1:]
    (tmp_path / ROWS).write_text(f"{first}\n{second}\n")
    (new,) = store(tmp_path, 2)
    pack(tmp_path, keep_steps=True)
    lines = [json.loads(line) for line in (tmp_path / ROWS).read_text().splitlines()]
    assert [line.get("format") for line in lines] == ["cold-rows/3", None, None, None]
    found = find_runs(tmp_path)
    assert list(found) == [*ids, new]
    assert {run_id: content(found[run_id]) for run_id in ids} == before


@pytest.mark.parametrize("row", [2, -1, 10**6])
def test_a_row_that_a_stack_does_not_have(tmp_path, row):
    store(tmp_path, 0, 1)
    pack(tmp_path)
    as_earlier(tmp_path, 2)
    path = tmp_path / ROWS
    path.write_text(path.read_text().replace('"accuracy": ["accuracy/0", 1]', f'"accuracy": ["accuracy/0", {row}]'))
    second = list(find_runs(tmp_path).values())[1]
    with pytest.raises(ColdError, match=f"accuracy/0 has no row {row}"):
        second.array("accuracy")


def in_table(value):
    """The arrays of a packed file, with another row for the first array of the second run."""

    def change(arrays):
        table = arrays["rows"].copy()
        table[1, 0] = value
        return {**arrays, "rows": table}

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (in_table(2), "accuracy/0 has no row 2"),
        (in_table(10**6), "accuracy/0 has no row 1000000"),
        (in_table(-1), "it has no array accuracy of"),
        (lambda arrays: {**arrays, "runs": arrays["runs"][::-1] + "x"}, "it has no array accuracy of"),
        (lambda arrays: {**arrays, "runs": np.arange(2)}, "it does not say whose its arrays are"),
        (lambda arrays: {**arrays, "runs": arrays["runs"][:1]}, "it does not say whose its arrays are"),
        (lambda arrays: {**arrays, "runs": arrays["runs"][0]}, "it does not say whose its arrays are"),
        (lambda arrays: {**arrays, "rows": arrays["rows"][:, 1:]}, "it does not say whose its arrays are"),
        (lambda arrays: {**arrays, "rows": arrays["rows"] + 0.5}, "it does not say whose its arrays are"),
        (lambda arrays: {**arrays, "more/0": np.zeros(2)}, "it does not say whose its arrays are"),
        (lambda arrays: {name: arrays[name] for name in arrays if name != "rows"}, "is damaged"),
        (lambda arrays: {name: arrays[name] for name in arrays if name != "runs"}, "is damaged"),
        (lambda arrays: {**arrays, "runs": np.array([{}, {}])}, "is damaged"),
    ],
)
def test_packed_arrays_that_do_not_say_whose_they_are(tmp_path, change, words):
    store(tmp_path, 0, 1)
    pack(tmp_path)
    path = tmp_path / ARRAYS
    with np.load(path) as arrays:
        path.write_bytes(npz(**change(dict(arrays))))
    second = list(find_runs(tmp_path).values())[1]
    with pytest.raises(ColdError) as caught:
        second.array("accuracy")
    assert words in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
