"""Results of several machines in one folder."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cold.grid import Engine, fill
from cold.runs import ARRAYS, RESULT, merge
from coldtheory.ground.errors import ColdError
from tests.cold.grid.grid_cells import cells, rows

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
