"""All studies in small, from the runs to the pictures."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from cold.cli.app import app
from cold.grid import Engine, fill
from cold.plots.paper_figures import PAPER_FIGURES
from cold.studies import planned, studies
from coldtheory.figures import Wanted, registry, style


def call(*words):
    return CliRunner().invoke(app, ["study", *map(str, words)], env={"COLUMNS": "160"})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The runs of all studies in the smoke profile."""
    out = tmp_path_factory.mktemp("smoke")
    configs = [run.config for study in studies() for run in planned(study, "smoke")]
    report = fill(configs, out / "deep" / "runs", engine=Engine("serial"), weights=False)
    assert report.complete, report.failed
    assert len(report.done) == len({config.run_id for config in configs}) < len(configs)
    return out


@pytest.mark.parametrize("id_", [figure.id for figure in PAPER_FIGURES])
def test_every_figure_is_drawn_from_the_rows_and_says_which_profile_made_it(made, id_):
    known = registry.figures(wanted=Wanted("synthetic", "smoke"))
    figure = registry.find(id_, known)
    assert figure.state(made) == "present"
    tables = {name: stored.table for name, stored in figure.load(made).items()}
    picture = figure.picture(tables)
    small = [text.get_text() for text in picture.findobj(lambda artist: artist.get_gid() == "small print")]
    (table,) = tables.values()
    place = (
        "synthetic · " if set(table.values("kind")) <= {"queues", "accuracy"} else ""
    )  # heatmaps have no title for it
    assert small == [f"{place}smoke profile · 2 seeds a point · 24 images a task · synthetic images"]
    assert style.picture_bytes(picture, "png").startswith(b"\x89PNG")
    study = next(one for one in PAPER_FIGURES if one.id == id_).on("synthetic")
    assert set(table.values("panel")) == set(range(len(study.panels)))
    for number, panel in enumerate(study.panels):
        here = table.where(panel=float(number))
        assert len(here.values("method" if panel.field == "method" else "value")) > 1  # something is varied


def test_status_and_a_second_call(made):
    done = call("status", "all", "--profile", "smoke", "--runs", made, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [one["study"] for one in found] == [study.id for study in studies()]
    assert all(not one["failed"] and not one["missing"] and one["finished"] for one in found)
    again = call("run", "V", "--profile", "smoke", "--out", made, "--engine", "serial", "--json")
    assert again.exit_code == 0, again.output
    report = json.loads(again.stdout)
    assert (report["done"], len(report["reused"])) == ([], len(planned(studies()[0], "smoke")))
    assert all("deep" in folder for folder in report["folders"].values())


def test_an_own_study_fails_in_part_and_says_so(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'methods = ["er"]\nfield = "memory"\nvalues = [24, 1]\n'
        '[[smoke]]\ndataset = "synthetic"\nseeds = [0]\n'  # one sample cannot be kept of each of three tasks
    )
    words = (path, "--profile", "smoke")
    done = call("run", *words, "--out", tmp_path / "runs", "--engine", "serial")
    assert done.exit_code == 1
    assert "1 runs made, 0 were there, 1 failed" in done.stdout
    assert "a memory of M = 1 holds less than one sample" in done.stdout
    words = (*words, "--runs", tmp_path / "runs")
    status = call("status", *words)
    assert status.exit_code == 0
    assert "a memory of M = 1" in status.stdout
    assert len(json.loads(call("status", *words, "--json").stdout)[0]["failed"]) == 1


def test_list_and_show():
    listed = [one["id"] for one in json.loads(call("list", "--json").stdout)]
    assert listed == [*(study.id for study in studies()), "class-incremental", "forward"]
    listed, shown = call("list"), call("show", "delta")
    assert "forward" in listed.stdout
    assert "batchsize_supple" in listed.stdout
    assert "cold plot delta_cold --profile paper" in shown.stdout
    about = json.loads(call("show", "V", "--json").stdout)
    assert about["profiles"]["paper"]["runs"] == 108
    assert call("show", "VV").exit_code == 2


def test_dry_runs(tmp_path):
    full = json.loads(call("run", "all", "--profile", "paper", "--dry-run", "--json").stdout)
    half = json.loads(
        call("run", "all", "--profile", "paper", "--dry-run", "--throughput", 2 * full["throughput"], "--json").stdout
    )
    assert full["estimate"] is True
    for left, right in zip(full["studies"], half["studies"], strict=True):
        assert left["gpu_hours"] == pytest.approx(2 * right["gpu_hours"])
    assert {one["study"]: one["new"] for one in full["studies"]}["queues"] == 0  # V has them
    words = call("run", "all", "--profile", "paper", "--dry-run").stdout
    assert "an estimate, not a measurement" in words
    small = json.loads(call("run", "V", "--profile", "smoke", "--out", tmp_path, "--dry-run", "--json").stdout)
    (one,) = small["studies"]
    assert one["runs"] == one["new"] == 12
    assert 0 < one["core_hours"] < 1
    assert one["memory_bytes"] > 2**20
    assert not list(tmp_path.iterdir())
    assert call("run", "V", "--throughput", 10).exit_code == 2
    assert call("run", "V", "--profile", "gpu").exit_code == 2


def test_other_seeds(tmp_path):
    words = ("run", "V", "--profile", "smoke", "--out", tmp_path, "--dry-run", "--json")
    (all_of_them,) = json.loads(call(*words).stdout)["studies"]
    (one,) = json.loads(call(*words, "--seeds", "7").stdout)["studies"]
    assert one["runs"] == all_of_them["runs"] / 2  # the study has two seeds
    status = call("status", "V", "--profile", "smoke", "--runs", tmp_path, "--seeds", "7, 8,8", "--json")
    assert len(json.loads(status.stdout)[0]["missing"]) == all_of_them["runs"]
    for wrong in ("a", "3-1", "1-", "1-2-3", "", "-1"):
        done = call(*words, "--seeds", wrong)
        assert done.exit_code == 2, wrong


def test_merge_command(made, tmp_path):
    done = call("merge", made, "--out", tmp_path, "--json")
    assert done.exit_code == 0, done.output
    runs = {run.config.run_id for study in studies() for run in planned(study, "smoke")}
    assert set(json.loads(done.stdout)["copied"]) == runs == {path.name for path in tmp_path.iterdir()}


@pytest.mark.slow
def test_the_command_line_of_figures_finds_the_runs(made, tmp_path):
    words = [
        "-c",
        "from cold.cli import main; main()",
        "plot",
        "online_batch_c10",
        "--dataset",
        "synthetic",
        "--profile",
        "smoke",
        "--runs",
    ]
    done = subprocess.run(
        [sys.executable, *words, str(made), "--figures", str(tmp_path), "--format", "png"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "online_batch_c10-synthetic-smoke.png").is_file()
