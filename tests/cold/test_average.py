"""The running average of the weights: its formula, what it changes (the test) and what it leaves alone (training)."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from cold.average import RunningAverage
from cold.methods.cold import ColdDistill
from cold.runs import MODEL
from cold.trainer import Trainer
from coldtheory.ground.errors import ColdError
from tests.cold.tiny_runs import run_cold, tiny


def test_formula():
    """Three steps with decay 0.6, written out: a = 0, 1/2, 0.6."""
    model = nn.Linear(1, 1, bias=False)
    average = RunningAverage(model, 0.6)
    for value in (5.0, 1.0, 2.0):
        model.weight.data.fill_(value)
        average.follow(model)
    assert average.network.weight.item() == pytest.approx(0.6 * (0.5 * 5.0 + 0.5 * 1.0) + 0.4 * 2.0)
    assert not average.network.weight.requires_grad
    assert model.weight.item() == 2.0


def test_statistics_are_averaged_and_counters_copied():
    model = nn.BatchNorm1d(2)
    average = RunningAverage(model, 0.5)
    for _ in range(3):
        model(torch.randn(8, 2))
        average.follow(model)
    assert average.network.num_batches_tracked == 3
    assert not torch.equal(average.network.running_mean, model.running_mean)


def test_training_does_not_see_it():
    plain, averaged = Trainer(tiny(method="der")), Trainer(tiny(method="der", average=0.9))
    first, second = plain.run(), averaged.run()
    for ours, theirs in zip(plain.model.parameters(), averaged.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert not np.array_equal(first.arrays["loss"], second.arrays["loss"])
    assert np.array_equal(first.arrays["start"], second.arrays["start"])


def test_the_average_is_kept_on_disk(tmp_path):
    trainer = Trainer(tiny(method="cold-distill", average=0.9), out=tmp_path)
    run = trainer.run()
    stored = load_file(tmp_path / run.run_id / MODEL)
    assert trainer.average is not None
    for name, value in trainer.average.network.state_dict().items():
        assert torch.equal(stored[name], value)


def test_without_it_a_run_keeps_its_name():
    assert tiny(average=0.0).run_id == tiny().run_id != tiny(average=0.5).run_id


def test_what_does_not_go_together():
    with pytest.raises(ColdError, match="cls-er evaluates a network of its own; leave --average out"):
        Trainer(tiny(method="cls-er", average=0.9))
    with pytest.raises(ColdError, match="a gauge measures the network that trains and not its average"):
        tiny(method="cold-distill", average=0.9, forget=0.1)
    for wrong in (-0.1, 1.0, float("nan")):
        with pytest.raises(ColdError, match="average must be"):
            tiny(average=wrong)


def test_the_flag(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    sizes = ["--tasks", "2", "--limit-train", "40", "--limit-test", "20", "--epochs", "1", "--memory", "20"]
    data = ["--data-option", "classes=4", "--data-option", "shape=[1,8,8]", "--model", "mlp-8"]
    words = ["run", "--dataset", "synthetic", "--method", "er", "--average", "0.9", "--json", *sizes, *data]
    with pytest.raises(SystemExit) as done:
        run_cold(words, tmp_path / "stderr")
    assert done.value.code == 0, (tmp_path / "stderr").read_text()
    assert '"average": 0.9' in capsys.readouterr().out


def test_a_class_derived_from_cold_distill_is_held_to_logits():
    class Mine(ColdDistill):
        """A method of a user's own."""

        name = "mine"

    assert Mine(Trainer(tiny(method="cold-distill")).context).dpp.distance is not None
