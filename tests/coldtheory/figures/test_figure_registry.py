"""The registry: every figure of the paper is there, under its id, its label and its short names."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from importlib import metadata

import pytest

from coldtheory.figures import registry
from coldtheory.figures.catalogue import theory_figures
from coldtheory.ground.errors import ColdError

THEORY = ("theory_plots", "plot4_theory")
TRAINING = (
    "Average_gradient_vs_V", "baselines", "varying_V", "memory_delta", "varying_tasks", "queue_V_C100",
    "pmnist_acc_forg", "baselines_supple", "varying_memory_supple", "varying_epochs_supple",
    "varying_epochs_batchsize_online",
    "varying_V_c10", "varying_V_tiny", "batchsize_supple", "varying_t_supple", "online_batch_c10", "online_batch_tiny",
    "queue_V_tiny", "delta_cold", "delta_coldeff",
)  # fmt: skip
SHORT = {"queues": "queues", "gradient": "gradient", "trajectory": "trajectory", "eta": "plot4_theory",
         "tradeoff": "tradeoff", "bounds": "bounds", "picture": "picture", "variation": "variation",
         "turning": "turning"}  # fmt: skip


@pytest.fixture(scope="module")
def known():
    return registry.figures()


def test_every_figure_of_the_paper(known):
    by_id = {figure.id: figure for figure in known}
    for id_ in (*THEORY, *TRAINING):
        assert by_id[id_].label == f"fig:{id_}"
        assert by_id[id_].kind == ("theory" if id_ in THEORY else "training")
    names = [name for figure in known for name in (figure.id, *figure.aliases)]
    assert len(set(names)) == len(names)


def test_the_oracles_figure_despite_its_name(known):
    by_id = {figure.id: figure for figure in known}
    for id_, method in (("delta_cold", "cold-oracle"), ("delta_coldeff", "cold")):
        assert {name for panel in by_id[id_].data[0].figure.panels for name in panel.methods} == {method}


@pytest.mark.parametrize(("short", "id_"), SHORT.items())
def test_short_names(known, short, id_):
    assert registry.find(short, known).id == id_


def test_a_label_finds_its_figure(known):
    assert registry.find("fig:queue_V_tiny", known).id == "queue_V_tiny"


@pytest.mark.parametrize(("wrong", "near"), [("gradeint", "gradient"), ("varyingV", "varying_V"), ("queus", "queues")])
def test_unknown_names_give_the_nearest(known, wrong, near):
    with pytest.raises(ColdError, match=near):
        registry.find(wrong, known)


def test_listing(call, stored, tmp_path):
    done = call("figures", "--results", stored, "--figures", tmp_path, "--json")
    entries = {entry["id"]: entry for entry in json.loads(done.stdout)}
    assert entries["gradient"]["state"] == "present"
    assert entries["gradient"]["picture"] is None
    assert entries["varying_V"]["state"] == "missing"
    commands = entries["varying_V"]["data"][0]["commands"]
    assert len(commands) == len(set(commands)) == 2 * 6 * 3  # methods, values of V, seeds
    assert commands[0] == (
        "cold run --preset paper --dataset split-cifar100 --method cold-oracle --memory 5000 --V 1 --seed 0"
    )
    table = call("figures", "--results", stored, "--figures", tmp_path)
    assert table.exit_code == 0
    for word in ("theory_plots", "varying_epochs_batchsize_online", "present", "missing", "coldtheory plot FIGURE"):
        assert word in table.stdout


def test_the_list_fits_80_columns_with_commands_that_can_be_copied(call, tmp_path):
    done = call("figures", "--results", tmp_path, "--figures", tmp_path)
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "…" not in done.stdout
    commands = {entry["command"] for entry in json.loads(call("figures", "--results", tmp_path, "--json").stdout)}
    for command in commands:
        assert command.startswith("coldtheory plot ") or command.replace(" && ", " &&\n") + "\n" in done.stdout


def _entry_points(monkeypatch, **values):
    points = [metadata.EntryPoint(name, value, registry.GROUP) for name, value in values.items()]
    monkeypatch.setattr(metadata, "entry_points", lambda group: points if group == registry.GROUP else [])


def some_figures(_wanted):
    yield replace(theory_figures()[0], id="mine")


def twice(_wanted):
    yield theory_figures()[0]


def no_figures(_wanted):
    yield "a word"


def broken(_wanted):
    raise RuntimeError("two\nlines")


def test_figures_of_another_package(monkeypatch):
    _entry_points(monkeypatch, mine=f"{__name__}:some_figures")
    assert [figure.id for figure in registry.figures()][-1] == "mine"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("no_such_package:figures", "no_such_package:figures) cannot be loaded: ModuleNotFoundError"),
        (f"{__name__}:nothing", "cannot be loaded: AttributeError"),
        (f"{__name__}:broken", "cannot be loaded: RuntimeError: two lines"),
        (f"{__name__}:no_figures", "contain a str, which is not a Figure"),
        (f"{__name__}:twice", "two figures are called picture"),
    ],
)
def test_a_broken_plug_in_is_one_clear_line(monkeypatch, call, value, words):
    _entry_points(monkeypatch, bad=value)
    done = call("figures")
    assert done.exit_code == 2
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("id_", ["../up", "a/b", "", ".hidden", "a b"])
def test_an_id_is_a_name_of_files(id_):
    with pytest.raises(ColdError, match="cannot be the name of a figure's files"):
        replace(theory_figures()[0], id=id_)


def test_a_list_loads_no_matplotlib_and_imports_nothing_from_above():
    code = "import sys; from coldtheory.figures import registry; registry.theory_figures()\n"
    code += "print([m for m in ('matplotlib', 'cold', 'paper_checks', 'torch') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_torch_is_loaded():
    code = "import sys; from coldtheory.figures import registry; import cold.plots.draw, coldtheory.cli\n"
    code += "registry.figures(); assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_title_ends_with_the_data(known):
    """So that other data can stand in their place."""
    for figure in known:
        if figure.kind == "training" and "profile" not in figure.title:
            assert figure.title.rpartition(", ")[2].startswith(("Split-", "Permuted-")), figure.title
