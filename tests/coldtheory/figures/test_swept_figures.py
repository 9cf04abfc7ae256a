"""`coldtheory plot gradient|queues|tradeoff` draws the sweep that was made last, or the one that is named."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from coldtheory.cli import app
from coldtheory.figures.swept import FIGURE_IDS
from coldtheory.figures.table import Table
from coldtheory.ground.errors import ColdError
from coldtheory.store import stored_sweeps

QUICK = ("--engine", "serial", "--seeds", "0-2")
SMALL = ("--T", "8", "--d", "3", *QUICK)


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        done = CliRunner().invoke(app, [str(word) for word in words])
        assert "Traceback" not in done.output
        return done

    return run


def drawn(call, *words):
    """The id of the picture that a call draws, and its table."""
    done = call("plot", *words, "--format", "png", "--json")
    assert done.exit_code == 0, done.output
    (entry,) = json.loads(done.stdout)["drawn"]
    assert Path(f"figures/{entry['id']}.png").is_file()
    return entry["id"], Table.from_csv(Path(f"figures/{entry['id']}.csv").read_text())


def test_the_newest_sweep_is_drawn_with_all_of_its_rows(call):
    call("sweep", "V", "--V", "5,50,500", *SMALL)
    rows = json.loads(call("sweep", "delta", "--regime", "low", "--delta", "0,1e-3,1", *SMALL, "--json").stdout)
    for id_ in FIGURE_IDS:
        name, table = drawn(call, id_)
        assert name == f"{id_}-delta-low"
        assert set(table.values("axis")) == {"delta"}
        assert {(s, v, q) for s, v, q in zip(table["seed"], table["value"], table["avg_Qbar"], strict=True)} == {
            (row["seed"], row["delta"], float(f"{row['avg_Qbar']:.8g}")) for row in rows
        }
    call("sweep", "V", "--V", "5,50,500", *SMALL)  # nothing to compute, and yet the newest
    assert drawn(call, "trade-off")[0] == "tradeoff-V-high"
    about = json.loads(Path("figures/tradeoff-V-high.json").read_text())
    assert about["command"] == "coldtheory plot tradeoff V-high"
    (data,) = about["data"].values()
    assert data["config"]["command"] == ("coldtheory sweep V --V 5,50,500 --tasks 8 --d 3 --seeds 0-2 --engine serial")


def test_own_tasks_by_file_by_name_and_without_a_word(call, tmp_path):
    np.savez(tmp_path / "mine.npz", optima=np.random.default_rng(0).normal(size=(6, 2)))
    call("sweep-V", "--regime", "mine.npz", "--V", "1:100:5log", "--engine", "serial")
    call("sweep-V", "--regime", "low", "--V", "5,50", *SMALL)
    for words in (("gradient", "--regime", "mine.npz"), ("gradient", "V-mine")):
        name, table = drawn(call, *words)
        assert name == "gradient-V-mine"
        assert table.values("regime") == ["mine"]
        assert table.values("value") == [1.0, 3.1622777, 10.0, 31.622777, 100.0]
    assert drawn(call, "gradient")[0] == "gradient-V-low"
    np.savez(tmp_path / "mine.npz", optima=np.zeros((6, 2)))  # other tasks of the same name: their sweep is made
    _, table = drawn(call, "gradient", "--regime", "mine.npz")
    assert len(table.values("value")) == 20


def test_a_regime_without_a_sweep_is_swept_first_and_all_are_the_gallery(call, monkeypatch):
    assert call("sweep", "V", "--V", "5,50", *SMALL).exit_code == 0
    name, table = drawn(call, "queues", "--regime", "low")
    assert (name, len(table.values("value")), len(table.values("seed"))) == ("queues-V-low", 20, 20)
    asked = []
    monkeypatch.setattr("coldtheory.cli.figures.draw", lambda chosen, *_, **__: asked.extend(chosen))
    for words in (("queues", "paper"), ("queue", "--regime", "all"), ("queues", "--results", "nothing-here")):
        call("plot", *words)
    assert [figure.id for figure in asked] == ["queues"] * 3
    assert {figure.drawn_by for figure in asked} == {"coldtheory plot queues paper"}


def test_a_sweep_of_all_regimes_has_a_panel_for_each(call):
    call("sweep", "steps", "--regime", "all", "--steps", "1,3", *SMALL)
    name, table = drawn(call, "gradient")
    assert name == "gradient-steps-all"
    assert table.values("regime") == ["low", "high", "conflict"]
    assert drawn(call, "gradient", "--regime", "all")[0] == name


@pytest.mark.parametrize(
    ("axis", "words"),
    [
        ("reference", ("--reference", "previous,stored")),
        ("controller", ("--controller", "queue,leaky")),
        ("controller", ("--controller", "leaky:a=1e-3:0.1:3log")),
        ("T", ("--T", "4,8")),
        ("noise", ("--noise", "0,0.1")),
        ("eta", ("--eta", "4e-4,1e3")),  # the larger one diverges
    ],
)
def test_whatever_was_varied_can_be_drawn(call, axis, words):
    sizes = ("--d", "3", *QUICK) if axis == "T" else SMALL
    assert call("sweep", axis, *words, *sizes).exit_code == 0
    for id_ in FIGURE_IDS:
        drawn(call, id_)


def test_what_is_wrong_is_one_line(call):
    assert call("sweep", "V", "--V", "5,50", *SMALL).exit_code == 0
    for words, problem in (
        (("gradient", "V-hihg"), "unknown sweep 'V-hihg'; did you mean V-high?"),
        (("gradient", "V-high", "--regime", "high"), "give one of the two"),
        (("trajectory", "--regime", "high"), "--regime goes with the figures of a sweep"),
        (("gradient", "--regime", "hihg"), "did you mean high"),
    ):
        done = call("plot", *words)
        assert done.exit_code == 2
        assert problem in done.stderr
    (path,) = Path("results").glob("*.sqlite")
    path.unlink()
    done = call("plot", "gradient")
    assert done.exit_code == 2
    assert "make them again with: coldtheory sweep V --V 5,50 --tasks 8 --d 3" in done.stderr


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: "{",
        lambda text: text.replace("coldtheory-sweep/1", "other/1"),
        lambda text: text.replace('"keys": {"', '"keys": {"../'),
        lambda text: text.replace('"number": 1', '"number": "one"'),
    ],
)
def test_a_damaged_record_is_refused(call, spoil):
    call("sweep", "V", "--V", "5,50", *SMALL)
    path = Path("results/sweeps/V-high.json")
    path.write_text(spoil(path.read_text()))
    with pytest.raises(ColdError, match="damaged"):
        stored_sweeps(Path("results"))
    done = call("plot", "gradient")
    assert done.exit_code == 2
    assert "remove it, or make the sweep again" in done.stderr


def test_a_file_of_several_streams_and_lists_of_seeds(call, tmp_path):
    np.savez(tmp_path / "many.npz", optima=np.random.default_rng(0).normal(size=(3, 5, 2)))
    words = ("sweep", "V", "--regime", "many.npz", "--V", "5", "--engine", "serial", "--json")
    assert [row["seed"] for row in json.loads(call(*words).stdout)] == [0, 1, 2]
    assert [row["seed"] for row in json.loads(call(*words, "--seeds", "1-2").stdout)] == [1, 2]
    done = call(*words, "--seeds", "1-3")
    assert done.exit_code == 2
    assert "many holds 3 streams, of the seeds 0 to 2, but the seeds include 3" in done.stderr
