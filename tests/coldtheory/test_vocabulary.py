"""One name per quantity and one place per default: old files are read under the present names."""

from __future__ import annotations

import io
import json
import re
import tokenize
from pathlib import Path

import pytest

from coldtheory import make_tasks, simulate
from coldtheory.paper import TOY
from coldtheory.rows import MEASURED_KEYS, measured
from coldtheory.sources import Source
from coldtheory.store import RowFile, read_rows
from coldtheory.sweep import Numbers, grid, run_cells
from coldtheory.vocabulary import OLD_COLUMNS, OLD_DIAGNOSTICS, OLD_ROW_KEYS, with_present_names

ROOT = Path(__file__).parents[2]
PACKAGES = ("coldtheory", "cold", "paper_checks", "benchmarks")
RENAMED = json.loads((ROOT / "tests" / "renamed_keys.json").read_text())


def test_the_committed_map_is_the_one_that_readers_use():
    assert RENAMED["rows"] == OLD_ROW_KEYS
    assert RENAMED["columns"] == OLD_COLUMNS
    assert RENAMED["diagnostics"] == OLD_DIAGNOSTICS


@pytest.mark.parametrize("old", [OLD_ROW_KEYS, OLD_COLUMNS, OLD_DIAGNOSTICS])
def test_no_present_name_is_an_old_one(old):
    """Else reading twice would not be reading once."""
    assert not set(old) & set(old.values())
    assert len(set(old.values())) == len(old)


def test_a_row_has_the_names_of_the_run():
    """What a run calls an average, a row calls it too; what it keeps per task is no key of a row."""
    run = simulate(make_tasks("high", 0, T=4), V=TOY.V)
    row = measured(run)
    assert list(row) == list(MEASURED_KEYS)
    for name in ("avg_grad_sq_before", "avg_grad_sq_after", "avg_Qbar", "Delta_bar"):
        assert row[name] == getattr(run, name)
    for name in ("grad_sq_before", "grad_sq_after", "Qbar", "Delta"):
        assert getattr(run, name).shape == (4,)
        assert name not in row


def test_rows_of_an_older_version_are_used_and_not_computed_again(tmp_path, monkeypatch):
    source = Source("low", {"T": 5, "d": 2})
    cells = grid(source, "V", [10.0, 100.0], 2)
    rows = run_cells(cells, tmp_path, engine="serial")
    path = tmp_path / f"{source.stem}.json"
    back = {new: old for old, new in OLD_ROW_KEYS.items()}
    content = read_rows(path)
    path.with_suffix(".sqlite").unlink()
    assert not set(OLD_ROW_KEYS) & set(content["rows"][0])
    path.write_text(json.dumps({**content, "rows": [with_present_names(row, back) for row in content["rows"]]}))
    assert "grad_before" in path.read_text()
    assert read_rows(path)["rows"] == content["rows"]
    monkeypatch.setattr("coldtheory.sweep._run_job", None)  # nothing may be simulated
    assert run_cells(cells, tmp_path, engine="serial") == rows
    with RowFile(path, source.config) as file:
        file.add([{**rows[0], "key": "another"}])
    assert not path.exists()
    assert b"grad_before" not in path.with_suffix(".sqlite").read_bytes()


def test_the_papers_settings_are_written_down_once():
    """eta and delta, as numbers or as texts of options, in one Python file and in no script of the page."""
    assert (Numbers().V, Numbers().eta, Numbers().delta, Numbers().steps) == (TOY.V, TOY.eta, TOY.delta, TOY.steps)
    spelled = re.compile(r"""^["']?4(\.0*)?e-0*[47]["']?$""", re.IGNORECASE)
    found = set()
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
        if any(spelled.match(t.string) for t in tokens if t.type in (tokenize.NUMBER, tokenize.STRING)):
            found.add(path.relative_to(ROOT).as_posix())
    assert found == {"coldtheory/paper/toy.py"}
    for script in (ROOT / "coldtheory" / "report").glob("*.js"):
        assert not re.search(r"\b4e-0*[47]\b", script.read_text(encoding="utf-8")), script.name
