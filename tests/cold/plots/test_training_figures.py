"""Training figures: from rows of the documented schema to pictures, with a watermark where the rows are made up."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text

from cold.plots.data import TrainingData
from cold.plots.draw import draw_training
from cold.plots.paper_figures import PAPER_FIGURES, Panel
from cold.plots.select import curves_of
from cold.runs import ARRAYS, RESULT, find_runs, read_result
from cold.studies import planned, studies
from coldtheory.figures import Wanted, registry, style
from coldtheory.figures.gallery import read_caption
from coldtheory.paper import paper
from tests.coldtheory.figures.looks import clipped, legends_over_data, outside, panels, smallest_type, unlabelled
from tests.coldtheory.figures.made_up import write_run, write_study
from tests.coldtheory.without_torch import run_without_torch

COMMITTED = Path(__file__).parents[3] / "figures"
BY_ID = {figure.id: figure for figure in PAPER_FIGURES}


def texts(figure, gid):
    return [text.get_text() for text in figure.findobj(lambda artist: artist.get_gid() == gid)]


def draw(folder, id_, **options):
    data = TrainingData(BY_ID[id_], **options)
    with style.styled():
        figure = draw_training({data.name: data.load(folder).table})
        style.settle(figure)
    return figure


@pytest.mark.parametrize("id_", BY_ID)
def test_every_figure_from_made_up_rows(tmp_path, id_):
    write_study(tmp_path, BY_ID[id_], seeds=(0, 1))
    assert TrainingData(BY_ID[id_]).state(tmp_path) == "present"
    figure = draw(tmp_path, id_, paper=True)
    assert texts(figure, "watermark") == ["made-up data"]
    assert "own settings · 2 seeds per point · 100 images per task · MADE-UP ROWS" in texts(figure, "small print")[0]
    words = [text.get_text() for text in figure.findobj(Text)]
    assert not [word for word in words if "nan" in word.lower()]
    with style.styled():
        assert figure.get_figwidth() == style.PAGE
        assert unlabelled(figure) == []
        assert legends_over_data(figure) == []
        assert outside(figure) == []
        assert clipped(figure) == []
        assert smallest_type(figure) >= 5.5


def test_lines_that_coincide_have_their_names_at_their_ends(tmp_path):
    for method in ("der", "der++", "cold"):
        for seed in (0, 1):
            write_run(tmp_path, dataset="pmnist", method=method, seed=seed)
    figure = draw(tmp_path, "pmnist_acc_forg")
    names = [note for note in figure.axes[0].texts if note.get_text() in ("DER", "DER++", "COLD")]
    boxes = [note.get_window_extent() for note in names]
    assert len(boxes) == 3
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_each_map_of_queues_has_its_own_scale_and_accuracies_share_one(tmp_path):
    """The made-up queues at delta = 10 are a tenth of those at 0; with all of them 0 the panel says so."""
    write_study(tmp_path, BY_ID["delta_cold"], seeds=(0,))
    figure = draw(tmp_path, "delta_cold")
    maps = [ax.collections[0] for ax in panels(figure)]
    tops = [one.get_clim()[1] for one in maps[:3]]
    assert tops == [pytest.approx(float(np.nanmax(one.get_array()))) for one in maps[:3]]
    assert tops[0] > 5 * tops[2]
    assert len({one.get_clim() for one in maps[3:]}) == 1
    for place in tmp_path.glob("*-10-0"):
        kept = dict(np.load(place / ARRAYS))
        np.savez(place / ARRAYS, **{**kept, "queues": np.zeros_like(kept["queues"])})
    again = draw(tmp_path, "delta_cold")
    assert "every queue is empty" in [text.get_text() for text in again.findobj(Text)]


def test_one_made_up_row_is_enough_for_the_watermark(tmp_path):
    for V in (1, 10, 100):
        for method in ("cold", "cold-oracle"):
            write_run(tmp_path, dataset="split-cifar100", method=method, V=V, made_up=False)
    figure = draw(tmp_path, "varying_V")
    assert texts(figure, "watermark") == []
    assert texts(figure, "small print") == ["own settings · 1 seed per point · 100 images per task"]
    write_run(tmp_path, dataset="split-cifar100", method="cold", V=1000, made_up=True)
    assert texts(draw(tmp_path, "varying_V"), "watermark") == ["made-up data"]


def test_command_line_without_torch(tmp_path):
    """The whole way in a process in which torch cannot be imported."""
    write_study(tmp_path / "runs", BY_ID["varying_V_c10"], seeds=(0,))
    done = run_without_torch(
        "from coldtheory.cli import app\n"
        "app(['plot', 'varying_V_c10', '--paper', '--out', sys.argv[1], '--to', sys.argv[2]])\n",
        str(tmp_path / "runs"),
        str(tmp_path / "to"),
    )
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in (tmp_path / "to").iterdir())
    assert names == [f"varying_V_c10.{kind}" for kind in ("csv", "json", "pdf", "png")]
    about = json.loads((tmp_path / "to" / "varying_V_c10.json").read_text())["data"]["varying_V_c10"]
    assert about["config"]["seeds"] == [0]
    assert about["config"]["shared"]["dataset"] == "split-cifar10"
    assert about["config"]["varied"]["V"] == [1, 10, 100, 1000, 10000, 100000]
    assert about["provenance"][0]["commit"] == "0" * 40


def test_printed_numbers_lie_where_the_paper_has_them(tmp_path):
    write_study(tmp_path, BY_ID["varying_V"], seeds=(0,))
    table = TrainingData(BY_ID["varying_V"], paper=True).load(tmp_path).table.where(source="paper", what="acc")
    found = {(row["method"], row["value"], row["y"]) for row in table.rows()}
    setting = ("split-cifar100", 5000)
    wanted = set()
    for method in ("COLD", "COLD-ORACLE"):
        (run,) = [one for one in paper().runs(setting[0], method) if one.memory == setting[1]]
        wanted.add((method.lower(), run.V, paper().table("tab:merged_main").cell(method, setting).acc))
    assert found == wanted
    plain = TrainingData(BY_ID["varying_V"]).load(tmp_path).table
    assert plain.values("source") == ["run"]


def test_memory_has_a_printed_number_for_each_buffer(tmp_path):
    write_study(tmp_path, BY_ID["varying_memory_supple"], seeds=(0,))
    table = TrainingData(BY_ID["varying_memory_supple"], paper=True).load(tmp_path).table
    stars = table.where(source="paper", what="forgetting", dataset="split-cifar10", method="cold")
    assert dict(zip(stars["value"], stars["y"], strict=True)) == {600.0: 0.07, 1000.0: 0.09}


def test_printed_numbers_of_another_number_of_tasks_are_left_out(tmp_path):
    write_study(tmp_path, BY_ID["baselines"], seeds=(0,))  # 6 tasks; the paper's are after 20
    figure = draw(tmp_path, "baselines", paper=True)
    assert "printed numbers left out" in texts(figure, "small print")[0]


def test_accuracy_and_forgetting_over_tasks_by_hand(tmp_path):
    matrix = np.array([[0.9, 0.2, 0.1], [0.6, 0.8, 0.3], [0.7, 0.5, 1.0]])
    place = write_run(tmp_path, dataset="pmnist", tasks=3)
    np.savez(place / ARRAYS, accuracy=matrix)
    run = read_result(place)
    np.testing.assert_allclose(run.over_tasks("acc"), [90.0, 70.0, 100 * 2.2 / 3])
    np.testing.assert_allclose(run.over_tasks("forgetting"), [np.nan, 0.3, (0.2 + 0.3) / 2])
    assert run.array("queues") is None


def test_runs_with_other_settings_are_not_mixed(tmp_path):
    panel = BY_ID["varying_V"].panels[1]
    for V in (1, 10, 100):
        for seed in (0, 1):
            write_run(tmp_path, dataset="split-cifar100", V=V, seed=seed)
    write_run(tmp_path, dataset="split-cifar100", V=10, seed=2, lr=0.1)  # another learning rate
    write_run(tmp_path, dataset="split-cifar100", V=10, seed=2, profile="paper")  # another profile
    write_run(tmp_path, dataset="split-cifar100", V=10, seed=2, iid=True)  # another dataset
    write_run(tmp_path, dataset="split-cifar10", V=10, seed=2)
    found = find_runs(tmp_path)
    assert found.problems == ()
    runs = list(found.values())
    (line,) = curves_of(panel, runs)
    assert [(run.config["V"], run.config["seed"]) for run in line.runs] == [
        (V, s) for V in (1, 10, 100) for s in (0, 1)
    ]
    (line,) = curves_of(panel, runs, profile="paper")
    assert [run.config["profile"] for run in line.runs] == ["paper"]


def test_compared_methods_share_their_terms(tmp_path):
    panel = Panel("tasks", "pmnist", ("finetune", "er", "cold"), "method", ())
    for method, lr in (("finetune", 0.1), ("er", 0.2), ("cold", 0.3)):  # their own learning rates are fine
        write_run(tmp_path, dataset="pmnist", method=method, lr=lr)
    write_run(tmp_path, dataset="pmnist", method="cold", epochs=50, lr=0.3)  # ten times the epochs are not
    runs = list(find_runs(tmp_path).values())
    lines = curves_of(panel, runs)
    assert [line.method for line in lines] == ["finetune", "er", "cold"]
    assert {run.config["epochs"] for line in lines for run in line.runs} == {5}


def test_compared_methods_share_their_seeds(tmp_path):
    """More runs of one method, with other settings and on seeds that the others lack, do not count."""
    panel = Panel("tasks", "pmnist", ("finetune", "er", "cold"), "method", ())
    for method in panel.methods:
        for seed in (0, 1):
            write_run(tmp_path, dataset="pmnist", method=method, seed=seed)
    for seed in (10, 11, 12):
        write_run(tmp_path, dataset="pmnist", method="er", seed=seed, lr=0.2)
    lines = curves_of(panel, list(find_runs(tmp_path).values()))
    assert [[run.config["seed"] for run in line.runs] for line in lines] == [[0, 1]] * 3


def test_the_newest_of_equal_runs_counts(tmp_path):
    for name, time in (("old", "2026-01-01"), ("new", "2026-06-01")):
        place = write_run(tmp_path, dataset="split-cifar100", V=10, run_id=name)
        content = json.loads((place / RESULT).read_text())
        content["provenance"]["time"] = time
        (place / RESULT).write_text(json.dumps(content))
    (line,) = curves_of(BY_ID["varying_V"].panels[1], list(find_runs(tmp_path).values()))
    assert [run.run_id for run in line.runs] == ["new"]


def test_gap_is_paired_by_seed(tmp_path):
    write_study(tmp_path, BY_ID["varying_epochs_batchsize_online"], seeds=(0, 1))
    table = TrainingData(BY_ID["varying_epochs_batchsize_online"]).load(tmp_path).table
    gap = table.where(kind="gap", what="acc", method="cold")
    figure = draw(tmp_path, "varying_epochs_batchsize_online")
    (axes,) = [ax for ax in figure.axes if ax.get_ylabel() == "ACC gap (points)"]
    drawn = next(line.get_ydata() for line in axes.lines if line.get_marker() == "o")
    by_hand = np.mean(
        [gap.where(value=5.0, seed=s)["y"] - gap.where(value=1.0, seed=s)["y"] for s in (0.0, 1.0)], axis=0
    )
    np.testing.assert_allclose(drawn, by_hand)


def test_another_dataset(call, tmp_path):
    for tasks in (5, 10):
        for method in ("cold", "cold-oracle"):
            write_run(tmp_path / "runs", dataset="pmnist", method=method, tasks=tasks)
    words = ("plot", "varying_tasks", "--results", tmp_path / "runs", "--figures", tmp_path / "to", "--format", "png")
    assert call(*words).exit_code == 2
    done = call(*words, "--dataset", "pmnist")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "to" / "varying_tasks-pmnist.png").is_file()
    merged = BY_ID["baselines_supple"].on("pmnist")
    assert len(merged.panels) == 1


def test_missing_stale_and_damaged_runs(call, tmp_path):
    to = ("--figures", tmp_path / "to")
    done = call("plot", "queue_V_C100", "--results", tmp_path, *to)
    assert done.exit_code == 2
    assert "no stored runs of COLD-ORACLE on Split-CIFAR100 over V" in done.stderr
    assert "make them with: cold study run queues --profile paper" in done.stderr
    place = write_run(tmp_path, dataset="split-cifar100", V=1)
    good = (place / RESULT).read_text()
    for bad, words in (
        (good.replace("cold-run/1", "cold-run/0"), "has format 'cold-run/0', this version reads 'cold-run/1'"),
        (good[:-9], "is damaged (truncated or not JSON)"),
        (json.dumps({"format": "cold-run/1"}), "has no config and no metrics"),
    ):
        (place / RESULT).write_text(bad)
        done = call("plot", "queue_V_C100", "--results", tmp_path, *to)
        assert done.exit_code == 2
        assert len(done.stderr.strip().splitlines()) == 1
        assert words in done.stderr
        listed = json.loads(call("figures", "--results", tmp_path, "--json").stdout)
        assert {entry["state"] for entry in listed if entry["kind"] == "training"} == {"stale"}
    (place / RESULT).write_text(good.replace('"method": "cold"', '"method": "cold-oracle"'))
    (place / ARRAYS).write_bytes(b"PK no zip")
    done = call("plot", "queue_V_C100", "--results", tmp_path, *to)
    assert done.exit_code == 2
    assert "arrays.npz is damaged" in done.stderr
    assert call("figures", "--results", tmp_path).exit_code == 0


def test_run_does_not_train(call, tmp_path):
    done = call("plot", "varying_V", "--run", "--results", tmp_path, "--figures", tmp_path / "to")
    assert done.exit_code == 2
    assert "make them with: cold study run V" in done.stderr


def test_same_bytes_twice(tmp_path):
    write_study(tmp_path, BY_ID["delta_cold"], seeds=(0,))
    figure = registry.find("delta_cold", registry.figures())
    tables = {name: one.table for name, one in figure.load(tmp_path).items()}
    for kind in ("png", "pdf"):
        first, second = (style.picture_bytes(figure.picture(tables), kind) for _ in range(2))
        assert first == second


def test_among_runs_with_a_setting_changed_the_plain_ones_are_compared(tmp_path):
    """Sweeps over V and delta lie in the same folder: a comparison of methods shows neither."""
    for seed in (0, 1):
        write_run(tmp_path, dataset="pmnist", method="er", seed=seed)
        write_run(tmp_path, dataset="pmnist", method="cold", seed=seed)
        for V in (1, 10, 1000):
            write_run(tmp_path, dataset="pmnist", method="cold", seed=seed, V=V)
        for delta in (0, 10):
            write_run(tmp_path, dataset="pmnist", method="cold", seed=seed, delta=delta)
    panel = Panel("tasks", "pmnist", ("er", "cold"), "method", ())
    for _ in range(2):
        er, cold = curves_of(panel, list(find_runs(tmp_path).values()))
        assert {(run.config["V"], run.config["delta"]) for run in cold.runs} == {(100, 0.5)}
        assert len(er.runs) == len(cold.runs) == 2
        write_run(tmp_path, dataset="pmnist", method="cold", seed=0, V=1, lr=0.5)  # one more, of another kind


def test_runs_on_all_images_come_before_more_runs_on_some(tmp_path):
    """But not before runs of more methods."""
    panel = Panel("tasks", "pmnist", ("er", "cold"), "method", ())
    for limit, seeds in ((100, (0, 1, 2)), (None, (0, 1))):
        for seed in seeds:
            write_run(tmp_path, dataset="pmnist", method="cold", seed=seed, limit_train=limit)
    write_run(tmp_path, dataset="pmnist", method="er", limit_train=100)

    def drawn():
        runs = list(find_runs(tmp_path).values())
        return [[run.config["limit_train"] for run in line.runs] for line in curves_of(panel, runs)]

    assert drawn() == [[100], [100] * 3]
    write_run(tmp_path, dataset="pmnist", method="er", limit_train=None)
    assert drawn() == [[None], [None] * 2]


def test_lines_over_tasks_are_those_of_the_panel_where_they_are_stored(tmp_path):
    for epochs in (1, 2, 5, 20):
        for method in ("cold", "cold-oracle"):
            write_run(tmp_path, dataset="split-cifar10", method=method, epochs=epochs)
    runs = list(find_runs(tmp_path).values())
    panel = BY_ID["online_batch_c10"].panels[0]
    assert {run.config["epochs"] for line in curves_of(panel, runs) for run in line.runs} == {1, 5}
    others = [run for run in runs if run.config["epochs"] != 5]
    assert {run.config["epochs"] for line in curves_of(panel, others) for run in line.runs} == {1, 2, 20}


def test_one_dataset_stands_in_for_one_of_two(tmp_path):
    memory, delta = BY_ID["memory_delta"].on("split-cifar100=split-cifar10").panels
    assert (memory.dataset, delta.dataset) == ("split-cifar10", "split-tinyimagenet")
    known = registry.figures(wanted=Wanted("split-cifar100=split-cifar10"))
    assert registry.find("memory_delta", known).id == "memory_delta-split-cifar10"


def test_runs_are_found_at_any_depth(tmp_path):
    write_run(tmp_path / "runs" / "deep", dataset="split-cifar100", V=10)
    assert len(list(find_runs(tmp_path).values())) == 1


def test_a_plain_figure_is_of_the_papers_size_and_a_reduced_one_says_so_in_its_name(call, tmp_path):
    for V in (1, 100):
        for method in ("cold", "cold-oracle"):
            write_run(tmp_path / "runs", dataset="split-cifar10", method=method, V=V, profile="cpu")
    words = ("plot", "varying_V_c10", "--results", tmp_path / "runs", "--figures", tmp_path / "to", "--format", "png")
    done = call(*words)
    assert done.exit_code == 2
    assert "draw the smaller runs that are there: --profile cpu" in done.stderr
    assert call(*words, "--profile", "cpu").exit_code == 0
    assert (tmp_path / "to" / "varying_V_c10-cpu.png").is_file()


def test_kept_runs_are_drawn_in_an_empty_folder(call, tmp_path, monkeypatch):
    """With the same numbers, and the same readings below, as in the gallery."""
    monkeypatch.chdir(tmp_path)
    done = call("plot", "varying_V-pmnist-cpu", "--format", "png")
    assert done.exit_code == 0, done.output
    drawn, kept = (folder / "varying_V-pmnist-cpu.csv" for folder in (tmp_path / "figures", COMMITTED))
    assert drawn.read_text() == kept.read_text()
    caption = read_caption(drawn.with_suffix(".json"))
    assert caption == read_caption(kept.with_suffix(".json"))
    assert "trend-v-accuracy-pmnist" in {reading.claim for reading in caption.readings}
    other = call("plot", "varying_V-pmnist-cpu", "--results", tmp_path / "elsewhere")
    assert other.exit_code == 2  # a folder that is named counts alone


def test_one_value_is_no_comparison(tmp_path):
    write_run(tmp_path, dataset="split-cifar10", method="cold", V=1)
    write_run(tmp_path, dataset="split-cifar10", method="cold-oracle", V=1)
    assert TrainingData(BY_ID["varying_V_c10"]).state(tmp_path) == "missing"
    write_run(tmp_path, dataset="split-cifar10", method="cold", V=10)
    write_run(tmp_path, dataset="split-cifar10", method="cold-oracle", V=10)
    assert TrainingData(BY_ID["varying_V_c10"]).state(tmp_path) == "present"


def test_every_picture_of_a_reduced_study_is_a_figure_of_its_own():
    pictures = {p for study in studies() for p in study.pictures["cpu"]}
    known = {figure.id: figure for figure in registry.figures() if figure.id.endswith("-cpu")}
    assert len(known) == len(pictures)
    figure = known["memory_delta-pmnist-cpu"]
    assert figure.command == "cold study run memory --profile cpu && cold study run delta --profile cpu"
    assert figure.title == (
        "Memory and tolerance, Permuted-MNIST (cpu profile; the paper: Split-CIFAR100 and Split-TinyImageNet)"
    )


@pytest.mark.parametrize("id_", [
    "varying_V", "queue_V_C100", "memory_delta", "varying_tasks", "baselines", "varying_V_tiny", "queue_V_tiny",
    "online_batch_tiny", "delta_cold", "delta_coldeff", "baselines_supple", "varying_memory_supple",
    "varying_epochs_supple", "varying_epochs_batchsize_online", "batchsize_supple", "varying_t_supple",
])  # fmt: skip
def test_reduced_figures_of_the_papers_own_datasets(tmp_path, id_):
    """The runs that the reduced studies plan are what these figures draw, and a part of a data set is named."""
    wanted = [study for study in studies() if any((p.figure, p.dataset) == (id_, None) for p in study.pictures["cpu"])]
    datasets = {panel.dataset for panel in BY_ID[id_].panels}
    about = {"provenance": {"commit": "0" * 40, "data": {"about": "a part of CIFAR-100 (1 of 2 images)"}}}
    for study in wanted:
        for one in planned(study, "cpu"):
            if one.config.dataset in datasets and one.seed < 5:
                place = write_run(tmp_path, run_id=one.config.run_id, **one.config.as_dict())
                content = json.loads((place / RESULT).read_text())
                (place / RESULT).write_text(json.dumps({**content, **about}))
    figure = registry.find(f"{id_}-cpu", registry.figures())
    (stored,) = figure.load(tmp_path).values()
    assert set(stored.table.values("dataset")) == datasets
    other = {"gdumb", "a-gem", "der++"}  # the first is not run, the others have two names
    for panel in BY_ID[id_].panels:
        drawn = stored.table.where(dataset=panel.dataset, field=panel.field)
        assert set(drawn.values("method")) >= set(panel.methods) - other
    assert stored.config["about"] == "a part of CIFAR-100 (1 of 2 images)"
    picture = figure.picture({"x": stored.table})
    assert " · a part of CIFAR-100" in texts(picture, "small print")[0]


def test_a_studys_picture_has_the_studys_own_points_and_any_seed(tmp_path):
    def write(config, name):
        write_run(tmp_path, run_id=name, **config)

    cells = [one.config.as_dict() for one in planned(next(s for s in studies() if s.id == "V"), "smoke")]
    for number, config in enumerate(cells):
        write(config, f"own-{number}")
        write({**config, "seed": config["seed"] + 10}, f"seed-{number}")
    write({**cells[0], "V": 7.0}, "beside")
    write({**cells[0], "memory": 48}, "other-memory")
    figure = registry.find("varying_V", registry.figures(wanted=Wanted("synthetic", "smoke")))
    (stored,) = figure.load(tmp_path).values()
    assert stored.table.values("value") == [1.0, 100.0, 10000.0]
    assert sorted(stored.table.values("seed")) == [0.0, 1.0, 10.0, 11.0]


def test_panels_of_two_datasets_become_one(tmp_path):
    (panel,) = BY_ID["varying_memory_supple"].on("pmnist").panels
    assert (panel.dataset, panel.field) == ("pmnist", "memory")
