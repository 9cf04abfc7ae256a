"""Results of several machines in one folder."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest

from cold.grid import Engine, fill
from cold.runs import ARRAYS, MODEL, RESULT, merge, pack
from coldtheory.ground.errors import ColdError
from tests.cold.grid.grid_cells import cells, rows
from tests.cold.runs.small_runs import store

SERIAL = Engine("serial")


def test_merge(tmp_path):
    left, right, out = tmp_path / "left", tmp_path / "deep" / "right", tmp_path / "out"
    fill(cells(0, 1, 2), left, engine=SERIAL)
    fill(cells(1, 2, 3), right, engine=SERIAL)
    zero, one, two, three = (config.run_id for config in cells(0, 1, 2, 3))
    path = right / one / RESULT  # time and place may differ
    content = json.loads(path.read_text())
    content["timing"]["train_seconds"] = 1e9
    content["config"]["threads"] = 7
    path.write_text(json.dumps(content))
    arrays = dict(np.load(right / two / ARRAYS))  # numbers may not
    arrays["accuracy"][-1, 0] += 0.125
    np.savez(right / two / ARRAYS, **arrays)
    merged = merge([left, tmp_path / "deep"], out)
    assert merged.copied == (zero, one, two, three)
    assert merged.same == (one,)
    assert list(merged.different) == [two]
    assert "array accuracy" in merged.different[two]
    assert rows(out.glob("*-*")) == {**rows(left.glob("*-*")), **rows([right / three])}
    again = merge([left], out)
    assert (again.copied, again.same, again.different) == ((), (zero, one, two), {})


def test_settings_and_metrics_count(tmp_path):
    fill(cells(0), tmp_path / "a", engine=SERIAL)
    (run_id,) = fill(cells(0), tmp_path / "b", engine=SERIAL).done
    path = tmp_path / "b" / run_id / RESULT
    content = json.loads(path.read_text())
    content["config"]["lr"] *= 2
    path.write_text(json.dumps(content))
    assert "config (lr)" in merge([tmp_path / "b"], tmp_path / "a").different[run_id]


def test_damaged_runs_are_not_spread(tmp_path):
    (run_id,) = fill(cells(0), tmp_path / "a", engine=SERIAL).done
    (tmp_path / "a" / run_id / ARRAYS).write_bytes(b"PK")
    merged = merge([tmp_path / "a"], tmp_path / "out")
    assert list(merged.damaged) == [run_id]
    assert merged.copied == ()
    with pytest.raises(ColdError, match="no folder"):
        merge([tmp_path / "nowhere"], tmp_path / "out")


def test_packed_and_loose_runs_are_merged(tmp_path):
    ids = store(tmp_path / "packed", 0, 1)
    pack(tmp_path / "packed")
    store(tmp_path / "loose", 1, 2)
    (tmp_path / "loose" / ids[1] / MODEL).write_bytes(b"weights")
    merged = merge([tmp_path / "loose", tmp_path / "packed"], tmp_path / "out")
    assert len(merged.copied) == 3
    assert merged.same == (ids[1],)  # what one side dropped when it was packed is no difference
    assert {path.name for path in (tmp_path / "out").iterdir()} == set(merged.copied)
    assert (tmp_path / "out" / ids[1] / MODEL).read_bytes() == b"weights"
    pack(tmp_path / "out")
    assert merge([tmp_path / "packed"], tmp_path / "out").same == tuple(ids)


def test_nothing_is_written_outside(tmp_path):
    """A foreign result with a path for a name, and one with strange names of arrays."""
    one, two = store(tmp_path / "in", 0, 1)
    for run_id, name in ((one, "../../escaped"), (two, str(tmp_path / "escaped"))):
        path = tmp_path / "in" / run_id / RESULT
        path.write_text(json.dumps({**json.loads(path.read_text()), "run_id": name}))
    (three,) = store(tmp_path / "in", 2)
    with zipfile.ZipFile(tmp_path / "in" / three / ARRAYS, "a") as file:
        file.writestr("../../escaped.npy", b"")
    (four,) = store(tmp_path / "in", 3)
    np.savez(tmp_path / "in" / four / ARRAYS, accuracy=np.eye(3), **{"self": np.eye(3)})
    before = sorted(tmp_path.rglob("*"))
    merged = merge([tmp_path / "in"], tmp_path / "deep" / "out")
    assert set(merged.damaged) == {one, two, three}
    assert merged.copied == (four,)
    written = {path for path in tmp_path.rglob("*") if path not in before}
    assert all(path.is_relative_to(tmp_path / "deep") for path in written)
    assert not list(tmp_path.parent.glob("escaped*"))


def test_data_count(tmp_path):
    (one,) = store(tmp_path / "a", 0, data="one")
    store(tmp_path / "b", 0, data="two")
    store(tmp_path / "c", 0)
    assert "differ in data" in merge([tmp_path / "b"], tmp_path / "a").different[one]
    assert merge([tmp_path / "c"], tmp_path / "a").same == (one,)
