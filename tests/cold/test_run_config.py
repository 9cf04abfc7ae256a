"""Settings: layers, types, names on disk, and the paper's presets."""

from __future__ import annotations

import pytest

from cold.cli.run import build_config
from cold.config import RunConfig, make_config, read_config
from cold.presets import preset_settings
from coldtheory.ground.errors import ColdError
from coldtheory.paper import paper


def test_preset_then_file_then_flags(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('dataset = "split-cifar100"\npreset = "paper"\nmemory = 1000\nV = 9\n[options]\nalpha = 0.5\n')
    config = build_config(path, {"delta": 0.25, "options": {"beta": 1}})
    printed = next(run for run in paper().runs("split-cifar100", "COLD") if run.memory == 1000)
    assert (config.lr, config.batch_size, config.tasks) == (
        printed.learning_rate,
        printed.task_batch_size,
        printed.tasks,
    )
    assert (config.V, config.delta, config.memory) == (9.0, 0.25, 1000)
    assert config.options == {"alpha": 0.5, "beta": 1}


@pytest.mark.parametrize("run", paper().runs(), ids=lambda run: f"{run.method}-{run.dataset}-{run.memory}")
def test_presets_are_the_printed_columns(run):
    settings = preset_settings("paper", run.dataset, run.method.lower(), run.memory)
    config = make_config({"dataset": run.dataset, "method": run.method.lower()}, settings)
    assert (config.V, config.delta, config.lr) == (run.V, run.delta, run.learning_rate)
    assert (config.epochs, config.tasks, config.batch_size) == (run.epochs, run.tasks, run.task_batch_size)
    assert (config.memory, config.memory_batch) == (run.memory, run.memory_batch_size)
    assert config.optimizer == {"ADAM": "adam", "SGD-M": "sgdm"}[run.optimizer]
    assert run.queue_initialization == 0  # the only start that the queues know


def test_other_methods_take_colds_column():
    assert preset_settings("paper", "pmnist", "er", None) == preset_settings("paper", "pmnist", "cold", 5000)


@pytest.mark.parametrize(("settings", "message"), [
    ({"epochs": 0}, "epochs must be > 0"), ({"delta": -1.0}, "delta must be >= 0"),
    ({"lr": float("nan")}, "lr must be"),
    ({"epochs": 1.5}, "epochs must be int"), ({"V": "big"}, "V must be a number or auto"),
    ({"iid": 1}, "iid must be bool"),
    ({"weights": "sums"}, "did you mean sum"), ({"epoch": 1}, "did you mean epochs"),
    ({"evaluate_on": "validation"}, "keep some"),
    ({"reference": "prev"}, "did you mean previous"), ({"controller": "leaky:b=1"}, "known: a"),
    ({"controller": "leaky:a=2"}, ">= 0 and <= 1"),
    ({"method": "cold-oracle", "reference": "stored"}, "take --method cold --reference stored"),
])  # fmt: skip
def test_bad_settings(settings, message):
    with pytest.raises(ColdError, match=message):
        make_config(settings)


def test_a_reference_has_one_name_and_one_identity():
    """cold-oracle is cold with the best reference: the runs of either name are the same, and old ids stay."""
    for settings in ({"method": "cold-oracle"}, {"reference": "best"}, {"method": "cold-oracle", "reference": "best"}):
        config = make_config(settings)
        assert (config.method, config.reference) == ("cold-oracle", None)
        assert config.run_id == "pmnist-cold-oracle-s0-e4b2ee21"
    assert make_config({"reference": "previous"}) == RunConfig()
    assert RunConfig().run_id == "pmnist-cold-s0-44136fa3"
    stored = make_config({"reference": "stored"})
    assert (stored.method, stored.reference) == ("cold", "stored")
    assert stored.run_id not in (RunConfig().run_id, make_config({"reference": "best"}).run_id)
    assert build_config(None, {"preset": "paper", "reference": "best"}) == build_config(
        None, {"preset": "paper", "method": "cold-oracle"}
    )


def test_a_controller_has_one_text():
    assert make_config({"controller": "queue"}) == RunConfig()
    one, other = (make_config({"controller": text}) for text in ("nupi:nu=.5,kappa_i=1", "nupi:kappa_p=1,nu=0.50"))
    assert one == other
    assert one.controller == "nupi:kappa_i=1.0,kappa_p=1.0,nu=0.5"


@pytest.mark.parametrize(("arguments", "message"), [
    (("papers", "pmnist", "cold", None), "did you mean paper"),
    (("paper", "split-mnist", "cold", None), "prints no settings for split-mnist"),
    (("paper", "pmnist", "cold", 100), "M = 5000, not 100"),
])  # fmt: skip
def test_bad_presets(arguments, message):
    with pytest.raises(ColdError, match=message):
        preset_settings(*arguments)


def test_bad_file(tmp_path):
    path = tmp_path / "run.toml"
    with pytest.raises(ColdError, match="cannot read"):
        read_config(path)
    path.write_text("V = ")
    with pytest.raises(ColdError, match="not valid TOML"):
        read_config(path)


def test_names_on_disk():
    """A name depends on what can change a result, not on where it is computed, nor on how a default is spelt."""
    base = RunConfig().run_id
    assert base.startswith("pmnist-cold-s0-")
    assert make_config({"device": "cpu", "threads": 1}).run_id == base
    assert make_config({"V": 20}).run_id == base
    assert make_config({"V": 21}).run_id != base
    assert "/" not in make_config({"dataset": "folder:/some/where"}).run_id
