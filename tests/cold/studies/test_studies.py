"""The specs: what they ask for is what the paper prints, or a reduction of stated size."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from cold.catalogue import same
from cold.config import RunConfig, read_config
from cold.plots.paper_figures import PAPER_FIGURES
from cold.runs import find_runs, identified
from cold.studies import PROFILES, find_study, planned, read_study, studies
from cold.studies.passes import sizes, work
from cold.studies.spec import PER_TASK, further_studies
from coldtheory.ground.errors import ColdError
from coldtheory.paper import reader
from tests.coldtheory.without_torch import run_without_torch

RAW = read_config(reader.HERE / "paper_tables.toml")
BY_FIGURE = {figure.id: figure for figure in PAPER_FIGURES}
PAPER = [study for study in studies() if "paper" in study.grids]
OWN = """
title = "Mine"
claim = "Larger is better."
methods = ["er"]
field = "lr"
values = [0.1, 0.01]
[[cpu]]
dataset = "synthetic"
seeds = [5]
settings = { tasks = 2 }
"""


def printed(dataset, method, memory):
    """A column of the hyper-parameter tables, straight from the file: setting of a run -> printed value."""
    (table,) = (
        t for t in RAW["hyperparameters"] if t["method"] == ("COLD-ORACLE" if method == "cold-oracle" else "COLD")
    )
    at = table["columns"].index([dataset, memory])
    names = {
        "learning_rate": "lr", "epochs": "epochs", "tasks": "tasks", "V": "V", "delta": "delta",
        "task_batch_size": "batch_size", "memory_batch_size": "memory_batch",
    }  # fmt: skip
    column = {ours: table[theirs][at] for theirs, ours in names.items()}
    return {**column, "memory": memory, "optimizer": {"ADAM": "adam", "SGD-M": "sgdm"}[table["optimizer"][at]]}


@pytest.mark.parametrize("study", PAPER, ids=lambda study: study.id)
def test_every_paper_run_is_the_printed_column_but_for_what_is_swept(study):
    plain = RunConfig()
    for run in planned(study, "paper"):
        grid, config = study.grids["paper"][run.grid], run.config
        swept = {"memory" if grid.field == PER_TASK else grid.field}
        column = printed(grid.dataset, run.method, grid.memory)
        for name, value in column.items():
            if name not in swept:
                assert getattr(config, name) == value, (config.run_id, name)
        named = {"dataset": grid.dataset, "method": run.method, "profile": "paper", "preset": "paper", "seed": run.seed}
        for name, value in named.items():
            assert getattr(config, name) == value
        own = {"options"} if grid.of.get(run.method) else set()  # of other methods nothing is printed
        for name in {f.name for f in dataclasses.fields(config)} - set(column) - set(named) - swept - own:
            assert getattr(config, name) == getattr(plain, name), (config.run_id, name)
        if grid.field == PER_TASK:
            assert config.memory == config.tasks * run.value
        elif grid.field != "method":
            assert getattr(config, grid.field) == run.value
    assert {run.seed for run in planned(study, "paper")} == set(range(RAW["setup"]["seeds"]))


@pytest.mark.parametrize("study", PAPER, ids=lambda study: study.id)
def test_paper_runs_are_those_that_the_paper_draws(study):
    """Each panel of the study's figures that varies its field has all of its runs, and no others are made."""
    wanted = set()
    for picture in study.pictures["paper"]:
        for panel in BY_FIGURE[picture.figure].panels:
            field = study.grids["paper"][0].field
            if panel.field == ("memory" if field == PER_TASK else field) or (panel.field, field) == (
                "method",
                "method",
            ):
                wanted |= {(panel.dataset, _key(m), str(float(v)) if m != v else _key(m)) for m, v in panel.cells()}
    made = set()
    for run in planned(study, "paper"):
        grid = study.grids["paper"][run.grid]
        value = run.config.memory if grid.field == PER_TASK else run.value
        made.add((grid.dataset, _key(run.method), _key(value) if grid.field == "method" else str(float(value))))
    assert wanted >= made
    if study.id not in ("online", "epochs"):  # these two share a field and a figure
        assert made == wanted


def _key(name):
    return next((m for m in ("a-gem", "der++") if same(m, name)), name)


@pytest.mark.parametrize("study", studies(), ids=lambda study: study.id)
def test_the_reduced_profile_is_small_and_has_its_seeds(study):
    """Three, and six for V, its queues, the tolerance and methods on the paper's own datasets."""
    own = study.id in ("V", "queues", "delta", "baselines")
    for run in planned(study, "cpu"):
        tasks, train, _ = sizes(run.config)
        assert tasks * train * run.config.epochs <= (20_000 if study.id != "gradient" else 25_000), run.config.run_id
        assert run.config.threads == 1
        assert run.config.profile == "cpu"
    for grid in study.grids["cpu"]:
        six = own and grid.dataset in ("split-cifar100", "split-tinyimagenet")
        wanted = (0, 1, 2) if study.id == "gradient" else (3, 4, 5, 6, 7, 8) if six else (3, 4, 5)
        assert grid.seeds == wanted


def test_studies_share_their_runs():
    for profile in ("paper", "cpu"):
        runs = {
            study.id: {r.config.run_id for r in planned(study, profile)}
            for study in studies()
            if profile in study.grids
        }
        assert runs["queues"] < runs["V"]
        assert runs["online"] < runs["epochs"]


def test_every_training_figure_has_a_study():
    for profile in ("smoke", "paper"):
        drawn = {picture.figure for study in studies() for picture in study.pictures.get(profile, ())}
        missing = {"Average_gradient_vs_V"} if profile == "paper" else set()
        assert drawn == set(BY_FIGURE) - missing
    for study in studies():
        assert study.label.startswith("fig:")
        assert study.claim.endswith(".")
        assert set(study.grids) | set(study.absent) == set(PROFILES)


def test_work_is_counted_by_hand():
    config = planned(find_study("batch-size"), "cpu")[0].config
    job = work(dataclasses.replace(config, limit_train=95, limit_test=10, epochs=3, memory_batch=2))
    assert job.steps == (30,) * 5
    assert job.samples == (10, 12, 14, 16, 18)
    assert job.forward == 6 * 5 * 10 + 2 * 120 * (0 + 1 + 2 + 3 + 4)
    assert job.units == 30 * (10 + 12 + 14 + 16 + 18) + job.forward / 3


def test_a_study_of_ones_own(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(OWN)
    study = find_study(str(path))
    configs = [run.config for run in planned(study, "cpu")]
    assert [(c.lr, c.seed, c.tasks, c.method, c.profile) for c in configs] == [
        (0.1, 5, 2, "er", "cpu"), (0.01, 5, 2, "er", "cpu"),
    ]  # fmt: skip
    assert study.id == "mine"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("values =", "vaules ="), "did you mean values"),
        (('field = "lr"', 'field = "learning_rate"'), "unknown setting in mine.toml 'learning_rate'"),
        (("tasks = 2", "task = 2"), "did you mean tasks"),
        (('dataset = "synthetic"', ""), "lacks dataset"),
        (("[[cpu]]", "[cpu]"), r"write the grids of cpu as \[\[cpu\]\]"),
        (("values = [0.1, 0.01]", ""), "lacks values"),
        (("title", "ti tle"), "is not valid TOML"),
    ],
)
def test_mistakes_in_a_file_are_named(tmp_path, change, words):
    path = tmp_path / "mine.toml"
    path.write_text(OWN.replace(*change))
    with pytest.raises(ColdError, match=words):
        read_study(path)


def test_unknown_names():
    with pytest.raises(ColdError, match="did you mean epochs"):
        find_study("epoch")
    with pytest.raises(ColdError, match="no settings for Split-MNIST are printed"):
        planned(find_study("gradient"), "paper")
    with pytest.raises(ColdError, match="did you mean smoke"):
        planned(find_study("V"), "smok")


def test_listing_planning_and_status_need_no_torch():
    done = run_without_torch(
        "from cold.cli.app import app\n"
        "from cold.grid import fill\nfrom cold.runs import merge, pack\n"
        "for words in (['list'], ['status'], ['run', 'all', '--profile', 'paper', '--dry-run']):\n"
        "    app(['study', *words], standalone_mode=False)\n"
    )
    assert done.returncode == 0, done.stderr
    assert "GPU hours" in done.stdout


@pytest.mark.parametrize("study", further_studies(), ids=lambda study: study.id)
def test_studies_beyond_the_paper_can_be_planned(study):
    assert find_study(study.id) is study
    assert study not in studies()
    two_rounds = (*range(20, 26), *range(40, 46))
    seeds = {"split-5x20": range(3, 9), "forget": (*two_rounds, *range(60, 66)), "front": two_rounds,
             "weight": two_rounds, "corners": range(30, 32), "robust": range(30, 33)}  # fmt: skip
    assert {run.seed for run in planned(study, "cpu")} == set(seeds.get(study.id, range(3)))
    assert set(study.grids) | set(study.absent) == set(PROFILES)


def test_the_joint_half_of_the_forward_study_is_stored():
    stored = find_runs(Path(__file__).parents[3] / "runs" / "split-cifar10")
    runs = [run for run in planned(find_study("forward"), "cpu") if run.value == "joint"]
    assert len(runs) == 9
    assert all(stored.of(identified(run.config)) is not None for run in runs)


def test_the_class_incremental_study_has_both_data_sets_at_their_stated_size():
    runs = planned(find_study("class-incremental"), "cpu")
    assert {run.config.scenario for run in runs} == {"class"}
    assert len(runs) == 2 * 7 * 3
    (full,) = {sizes(run.config)[1] for run in runs if run.config.dataset == "split-mnist"}
    assert full == 60_000 // 5
