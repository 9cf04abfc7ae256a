"""`coldtheory search` and `coldtheory replay`: what they print, keep, draw, and refuse."""

from __future__ import annotations

import json
import tomllib
from fractions import Fraction

import pytest
from typer.testing import CliRunner

from coldtheory.cli import app
from coldtheory.counterexamples import load_counterexample
from coldtheory.counterexamples import replay as evaluate_again
from coldtheory.ground.writing import to_toml
from coldtheory.search.rerun import rerun
from tests.calls import calls_of

pytestmark = pytest.mark.kernels


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "110"})


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """One search, its file, its picture and what it printed."""
    folder = tmp_path_factory.mktemp("search")
    out, plot = folder / "found.toml", folder / "found.png"
    done = call("search", "lemma1", "--rounds", 1, "--out", out, "--plot", plot, "--json")
    assert done.exit_code == 0, done.stderr
    return out, plot, json.loads(done.stdout)


def test_search_reports_both_sides(saved):
    _, _, report = saved
    assert report["statement"] == "lemma1"
    assert report["form"] == "printed"
    assert report["broken"] is True
    assert report["lhs"] > report["rhs"] == pytest.approx(sum(report["terms"].values()))
    assert all(report["premises"].values())
    assert report["search"]["seed"] == 0


def test_the_saved_file_is_a_counterexample_with_its_origin(saved):
    out, _, report = saved
    instance = load_counterexample(out)
    bound = evaluate_again(instance).worst()
    assert bool(bound.violated)
    assert float(bound.lhs) == report["lhs"]
    assert instance.holds == "corrected"
    data = tomllib.loads(out.read_text())
    assert data["provenance"]["packages"]["numpy"]
    assert data["search"]["plan"]["T"] == [3, 3]


def test_the_picture_is_drawn(saved):
    _, plot, _ = saved
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert plot.stat().st_size > 20_000


def test_a_waived_premise_is_kept_in_the_file(tmp_path):
    """Theorem 3's corrected form needs its step-size condition: near 2/alpha_t it fails."""
    premise, out = "eta <= 1/alpha_t", tmp_path / "waived.toml"
    words = ("--form", "corrected", "--without", premise, "--step-limit", 1.9, "--hessians", "identity", "--T", 2)
    done = call("search", "thm3", *words, "--until-broken", "--rounds", 1, "--out", out, "--json")
    report = json.loads(done.stdout)
    assert report["broken"] is True
    assert report["premises"][premise] is False
    assert load_counterexample(out).waives == (premise,)
    again = json.loads(call("replay", out, "--json").stdout)
    assert again["comes_out"] is True
    assert again["outcome"] == "violated"


def test_search_prints_for_people():
    done = call("search", "lemma1", "--rounds", 1)
    assert done.exit_code == 0
    for words in ("tightest", "left side", "right side", "residual", "premises", "breaks the statement", "optima"):
        assert words in done.stdout


def test_replay_of_the_saved_file(saved):
    out, _, _ = saved
    done = call("replay", out)
    assert done.exit_code == 0
    assert "both sides come out as stored" in done.stdout
    assert "form corrected: holds" in done.stdout


def test_replay_is_little_work():
    rerun("lemma1_main_text")  # imports are not counted
    printed = []
    assert calls_of(lambda: printed.append(call("replay", "thm1_sum_plane", "--json"))) < 200_000  # a fifth of a second
    (done,) = printed
    report = json.loads(done.stdout)
    assert report["outcome"] == "violated"
    assert report["other"]["outcome"] == "holds"


def test_replay_with_another_form():
    done = call("replay", "thm4_first_loss", "--form", "sharp", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["other"]["form"] == "sharp"


def test_a_changed_side_is_exit_code_1(saved, tmp_path):
    out, _, report = saved
    other = tmp_path / "other.toml"
    other.write_text(out.read_text().replace(f"lhs = {report['lhs']!r}", f"lhs = {report['lhs'] * 1.001!r}"))
    done = call("replay", other)
    assert done.exit_code == 1
    assert "lhs is off by" in done.stdout
    assert "rhs is off by" not in done.stdout


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 3],
        lambda text: "not a file of ours",
        lambda text: text.replace("[tasks]", "[jobs]"),
        lambda text: text.replace("optima", "optimum"),
        lambda text: text.replace("V = ", "W = "),
        lambda text: text.replace("rhs = ", "right = "),
        lambda text: text.replace('form = "printed"', 'form = "painted"'),
        lambda text: text.replace('solver = "exact"', "solver = 3"),
    ],
)
def test_a_damaged_file_is_exit_code_2_in_one_line(saved, tmp_path, damage):
    bad = tmp_path / "bad.toml"
    bad.write_text(damage(saved[0].read_text()))
    done = call("replay", bad)
    assert done.exit_code == 2
    assert done.stderr.startswith("error:")
    assert done.exception is None or isinstance(done.exception, SystemExit)


def test_bytes_that_are_no_text_are_a_damaged_file_too(tmp_path):
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe\x00\x80")
    assert call("replay", tmp_path / "bad.toml").exit_code == 2
    assert call("replay", tmp_path / "missing.toml").exit_code == 2


def test_replay_without_a_name_lists_the_stored_ones():
    done = call("replay")
    assert done.exit_code == 0
    assert "lemma1_main_text" in done.stdout
    names = {entry["name"] for entry in json.loads(call("replay", "--json").stdout)}
    assert {"thm1_sum", "thm1_sum_plane", "thm4_first_loss"} <= names


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("search", "lema1"), "lemma1"),
        (("search", "thm1", "--form", "corected"), "corrected"),
        (("search", "thm1", "--T", "three"), "3-8"),
        (("search", "thm1", "--out", "found.txt"), ".toml"),
        (("search", "thm1", "--seconds", "0"), "seconds must be > 0"),
        (("search", "thm4", "--reference", "best", "--rounds", "1", "--T", "2"), "no run of this family"),
        (("replay", "lemma1_main"), "lemma1_main_text"),
        (("replay", "lemma1_main_text", "--form", "correct"), "corrected"),
    ],
)
def test_bad_input_is_one_line_with_a_remedy(words, hint):
    done = call(*words)
    assert done.exit_code == 2
    assert hint in done.stderr


def test_toml_comes_back_as_it_went():
    data = {
        "text": 'with "quotes" and \\',
        "list": [[0.1, 1e-300], [2.0, -3.5]],
        "whole": 3,
        "yes": True,
        "nothing": None,
        "rows": [{"a": 1, "b": [2]}, {"a": 3}],
        "table": {"inner-name": {"odd key": 1.5}},
    }
    back = tomllib.loads(to_toml(data))
    assert back == {key: value for key, value in data.items() if value is not None}


def test_theorem_1_fails_with_identity_hessians_and_three_tasks_in_rationals():
    """The stored plane instance by hand: every number is a fraction, w* = (0,0), (5,0), (3,4) by its KKT conditions."""
    V, delta = Fraction(11, 8), Fraction(25, 2)
    a2, a3, w3 = (6, 0), (11, 15), (3, 4)

    def half_square(x, y):
        return sum((Fraction(p) - q) ** 2 for p, q in zip(x, y, strict=True)) / 2

    Q = half_square(a2, (0, 0)) - delta
    x3 = tuple(V * c / (V + Q) for c in a3)  # the other queue is empty
    d1, d2 = half_square(x3, (0, 0)) - delta, half_square(x3, a2) - delta
    # a3 - w3 is a positive combination of the outer normals of both discs at w3, which is on both circles.
    s, t = Fraction(65, 24), Fraction(1, 24)
    assert half_square(w3, (0, 0)) == half_square(w3, a2) == delta
    assert all(s * p + t * (p - q) == c - p for p, q, c in zip(w3, a2, a3, strict=True))
    gaps = -half_square(a2, (5, 0)) + half_square(x3, a3) - half_square(w3, a3)
    lhs, rhs = gaps / 3, (Q**2 / 2 + (d1**2 + d2**2) / 4) / (3 * V)
    assert lhs > rhs
    bound = rerun("thm1_sum_plane").stored
    assert float(bound.lhs) == pytest.approx(float(lhs), rel=1e-9)
    assert float(bound.rhs) == pytest.approx(float(rhs), rel=1e-12)
