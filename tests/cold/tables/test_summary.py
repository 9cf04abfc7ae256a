"""A table that sums several benchmarks up: its differences are those of their own tables."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from cold.cli.app import app
from cold.tables.formats import markdown
from cold.tables.make import make, names, sheets, terms_of
from cold.tables.terms import benchmark, declarations, summaries, using
from coldtheory.ground.errors import ColdError
from tests.cold.tables.made_rows import TINY, finish, tune

_AGAIN = (
    TINY[TINY.index("[benchmark.tiny]") :]
    .replace("benchmark.tiny", "benchmark.other")
    .replace("tasks = 2", "tasks = 3")
)
_SUMMARY = """
[summary.both]
title = "COLD minus the others"
of = "cold"
columns = { tiny = "Tiny", other = "Other" }
"""


@pytest.fixture
def both(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "both.toml"
    contrasts = 'contrasts = [["cold", "er"], ["cold", "finetune"], ["er", "finetune"]]\nholm = true'
    path.write_text(TINY + _AGAIN.replace('contrasts = [["cold", "er"]]', contrasts) + _SUMMARY)
    with using(path):
        yield path


def filled(tmp_path, *, finetune):
    """Rows of both benchmarks: COLD from 70 %, ER 10 points below in every seed, and fine-tuning as given."""
    accuracies = {"cold": (70.0, 71.0, 72.5), "er": (60.0, 61.0, 62.5), "finetune": finetune}
    for terms in terms_of("both", "equal"):
        for key, found in accuracies.items():
            tune(terms, key, tmp_path, 50.0, 40.0)  # the two rates
            further = len(tune(terms, key, tmp_path).missing)
            finish(terms, key, tmp_path, tune(terms, key, tmp_path, *[30.0] * further).settings, found)


def entry(sheet, label, column):
    place = [one.name for one in sheet.columns].index(column)
    return next(row[place] for row in sheet.rows if row[0].value == label)


def test_entries_are_the_contrasts_of_each_benchmark(both, tmp_path):
    filled(tmp_path, finetune=(69.0, 71.5, 70.0))
    made = make("both", terms_of("both", "equal"), [tmp_path])
    (sheet,) = sheets(made, "cold table both")
    assert [column.name for column in sheet.columns] == ["minus", "Tiny", "Other"]
    assert [row[0].value for row in sheet.rows] == ["ER", "Fine-tune"]  # er minus finetune is not COLD's
    for comparison, column in zip(made.comparisons, ("Tiny", "Other"), strict=True):
        for left, right, found in comparison.contrasts:
            if left.row.key == "cold":
                assert entry(sheet, right.row.label, column).value == found
    assert entry(sheet, "Fine-tune", "Tiny").value is None  # not a contrast of that benchmark
    assert entry(sheet, "ER", "Other").value.mean == pytest.approx(10.0)
    assert any(note.startswith("Tiny: COLD 71.17 ± 1.26 %, 3 seeds") for note in sheet.notes)
    assert "+10.00 [+10.00, +10.00]" in markdown(sheet)


def test_bold_is_significant_by_holm(both, tmp_path):
    filled(tmp_path, finetune=(69.0, 71.5, 70.0))
    made = make("both", terms_of("both", "equal"), [tmp_path])
    (sheet,) = sheets(made, "cold table both")
    assert entry(sheet, "ER", "Other").bold
    assert not entry(sheet, "Fine-tune", "Other").bold
    assert not entry(sheet, "ER", "Tiny").bold  # which asks for no correction, so nothing is said
    behind = make("both", terms_of("both", "equal"), [tmp_path / "nothing"])
    (empty,) = sheets(behind, "cold table both")
    assert empty.rows == ()
    assert "Tiny: no runs" in empty.notes
    assert empty.commands


def test_the_command(both, tmp_path):
    filled(tmp_path, finetune=(69.0, 71.5, 70.0))
    call = ["table", "both", "--terms", str(both), "--runs", str(tmp_path)]
    done = CliRunner().invoke(app, [*call, "--json"])
    assert done.exit_code == 0, done.output
    assert [one["benchmark"] for one in json.loads(done.stdout)["comparisons"]] == ["tiny", "other"]
    assert "COLD minus the others" in CliRunner().invoke(app, call).stdout
    assert len(CliRunner().invoke(app, [*call, "--missing"]).stdout.splitlines()) > 0


def test_a_summary_of_what_is_not_there(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(TINY + _SUMMARY)
    with using(path), pytest.raises(ColdError, match="benchmark"):
        terms_of("both", "equal")
    path.write_text(TINY + "[summary.both]\ntitle = 3\n")
    with using(path), pytest.raises(ColdError, match=r"bad.toml does not follow its schema at both"):
        terms_of("both", "equal")


def test_the_declared_summary_covers_every_table_without_tuning():
    assert "untuned" in names()
    untuned = [name for name in declarations()["benchmark"] if name.startswith("untuned-")]
    assert sorted(summaries()["untuned"].columns) == sorted(untuned)
    for name in untuned:
        terms = benchmark(name, "equal")
        assert terms.holm
        assert all(summaries()["untuned"].of in pair for pair in terms.contrasts)
