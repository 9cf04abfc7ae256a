"""What reproduces: verdicts from made-up rows, every printed number in its place, the committed page."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cold.catalogue import METHODS
from cold.cli.app import app
from cold.studies import find_study, planned
from cold.tables.make import terms_of
from cold.tables.reproducibility import Line, Ours, against, lines, own_numbers, welch_half_width
from cold.tables.stored import RunsOnHand
from cold.tables.wanted import WantedRun, final_runs
from coldtheory.ground.statistics import Spread
from coldtheory.paper import PrintedResult, paper
from tests.cold.tables.made_rows import row_of, write_row

PAGE = Path(__file__).parents[3] / "docs" / "reproducibility.md"


def printed(acc, sd=0.2, rounding=0.005):
    return PrintedResult("COLD", "pmnist", 5000, acc, sd, None, None, "t", acc_rounding=rounding)


def ours(*acc, reduced=""):
    return Ours(dict(enumerate(acc)), "cold table pmnist", reduced)


def test_welch_by_hand():
    """Equal spreads of three seeds: s sqrt(2/3) times the quantile of t with four degrees of freedom."""
    half = welch_half_width(Spread(1.0, 0.5, 3), Spread(2.0, 0.5, 3))
    assert half == pytest.approx(2.7764451051977987 * 0.5 * (2 / 3) ** 0.5)
    assert welch_half_width(Spread(1.0, None, 1), Spread(2.0, None, 3)) == 0
    one_side = welch_half_width(Spread(1.0, 0.5, 3), Spread(2.0, None, 3))
    assert one_side == pytest.approx(4.302652729911275 * 0.5 / 3**0.5)


@pytest.mark.parametrize(
    ("mean", "verdict"), [(91.0, "reproduced"), (91.3, "reproduced"), (93, "above"), (89, "below")]
)
def test_against_a_printed_number(mean, verdict):
    assert against(ours(mean - 0.2, mean, mean + 0.2), printed(91.0)) == verdict


def test_a_number_without_spread_takes_ours():
    assert against(ours(90.0, 91.0, 92.0), printed(92.0, None)) == "reproduced"
    assert against(ours(90.9, 91.0, 91.1), printed(92.0, None)) == "below"
    assert against(ours(91.0), printed(91.004, None)) == "reproduced"  # one seed: what rounding allows
    assert against(ours(91.0), printed(91.1, None)) == "below"


def line(equal=None, published=None, cell=None):
    return Line("cold", "pmnist", 5000, cell, None, equal, published, "cold table main --rows cold --run")


def test_verdicts():
    near, far = ours(90.9, 91.0, 91.1), ours(80.9, 81.0, 81.1)
    small = ours(91.0, 91.0, reduced="few images")
    cell = printed(91.0)
    assert line(near, None, cell).verdict == "reproduced"
    assert line(near, far, cell).verdict == "reproduced (published: below)"
    assert line(far, far, cell).verdict == "below"
    assert line(None, far, cell).verdict == "below"
    assert line(small, near, cell).verdict == "reproduced"
    assert line(small, small, cell).verdict == "reduced"
    assert line(near, small, cell).verdict == "reproduced"
    assert line(None, small, cell).verdict == "reduced"
    assert line(None, None, cell).verdict == "not run"
    assert line(None, None, cell).command == "cold table main --rows cold --run"
    assert line(near, None, None).verdict == "not printed"


def test_rows_come_from_the_tables(tmp_path):
    """COLD's preset on all images is "as published" for this paper's own method."""
    (terms,) = terms_of("pmnist", "equal")
    for cell, acc in zip(final_runs(terms, row_of(terms, "cold-printed"), {}), (85.0, 86.0, 87.0), strict=True):
        write_row(cell, tmp_path, acc)
    found = {(one.method, one.dataset, one.memory): one for one in lines(RunsOnHand([tmp_path]))}
    cold = found["cold", "pmnist", 5000]
    assert cold.equal is None
    assert cold.published.acc == {0: 85.0, 1: 86.0, 2: 87.0}
    assert cold.published.command == "cold table pmnist --rows cold-printed"
    assert cold.verdict == "below"
    assert found["der", "pmnist", 5000].verdict == "not run"
    assert found["der", "split-cifar100", 5000].command == "cold table main --rows der --run"


def test_a_reduced_study_stands_in(tmp_path):
    cells = [one for one in planned(find_study("baselines"), "cpu")
             if one.config.dataset == "split-cifar100" and one.method == "der"]  # fmt: skip
    about = {"commit": "c0ffee", "data": {"about": "a part of CIFAR-100"}}
    for number, cell in enumerate(cells):
        wanted = WantedRun({name: value for name, value in cell.config.as_dict().items() if value is not None}, Path())
        write_row(wanted, tmp_path, 50.0 + number, provenance=about)
    (der,) = (one for one in lines(RunsOnHand([tmp_path]))
              if (one.method, one.dataset, one.memory) == ("der", "split-cifar100", 1000))  # fmt: skip
    assert len(der.equal.acc) == 6
    assert der.equal.reduced == "profile cpu, not tuned; a part of CIFAR-100"
    assert der.verdict == "reduced"


def call(*words, code=0):
    done = CliRunner().invoke(app, ["table", "reproducibility", *words], env={"COLUMNS": "80"})
    assert done.exit_code == code, done.output + str(done.exception)
    return done.stdout


def test_every_printed_number_is_there():
    found = json.loads(call("--json"))["lines"]
    told = {(METHODS[one["method"]].title, one["dataset"], one["memory"]): one["printed"] for one in found}
    for cell in paper().cells():
        assert told[cell.method, cell.dataset, cell.memory]["acc"] == cell.acc
    assert all(one["verdict"] and one["command"].startswith("cold ") for one in found)


def test_every_format():
    assert max(map(len, call().splitlines())) <= 80
    text = call("--format", "csv")
    rows = list(csv.DictReader(io.StringIO("\n".join(row for row in text.splitlines() if not row.startswith("#")))))
    cold = next(row for row in rows if row["method"] == "COLD")
    assert float(cold["equal terms low"]) < float(cold["equal terms"]) < float(cold["equal terms high"])
    assert r"\begin{tabular}" in call("--format", "latex")
    assert call("--kind", "published", code=2) == ""


def test_the_page_is_what_the_command_prints():
    def body(text):
        return [row for row in text.splitlines() if not row.startswith("<!--")]

    assert body(PAGE.read_text(encoding="utf-8")) == body(call("--format", "markdown"))


def test_numbers_of_other_papers_say_where_they_come_from():
    assert own_numbers()
    for one in own_numbers():
        assert one.method in METHODS
        assert 0 < one.acc < 100
        assert one.source
        assert one.setting
    text = call("--format", "markdown")
    assert "81.74?" in text  # not checked
    assert "taken from notes, not checked" in text
