"""Networks that a user names, and first weights."""

from __future__ import annotations

import json
import math
import sys
import types
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn
from typer.testing import CliRunner

from cold.cli.app import app
from cold.config import make_config
from cold.data import load_benchmark
from cold.models import build_model
from cold.presets import preset_settings
from cold.runs import comparable, identified
from cold.trainer import Trainer
from coldtheory.ground.errors import ColdError

FILE = """
from torch import nn

class Plain(nn.Sequential):
    def __init__(self, shape):
        pixels = shape[0] * shape[1] * shape[2]
        super().__init__(nn.Flatten(), nn.Linear(pixels, 9), nn.ReLU())

def without_argument():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 5))

def broken(shape):
    raise RuntimeError("no weights today")

number = 3

def text(shape):
    return "a network"
"""


@pytest.fixture
def nets(tmp_path, monkeypatch):
    """A module beside the user's own scripts."""
    (tmp_path / "my_nets.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    yield "my_nets"
    sys.modules.pop("my_nets", None)


def benchmark(scenario="task"):
    return load_benchmark("synthetic", tasks=2, classes=4, shape=(1, 8, 8), scenario=scenario)


def test_a_factory_gets_the_shape_and_heads(nets):
    model = build_model(benchmark(), seed=0, name="my_nets:Plain")
    assert [tuple(head.weight.shape) for head in model.heads] == [(2, 9), (2, 9)]
    assert build_model(benchmark(), seed=0, name="my_nets:without_argument").heads[0].in_features == 5
    again, other = (build_model(benchmark(), seed=seed, name="my_nets:Plain") for seed in (0, 1))
    assert torch.equal(model.backbone[1].weight, again.backbone[1].weight)  # the run's seed draws its weights
    assert not torch.equal(model.backbone[1].weight, other.backbone[1].weight)
    assert str(Path.cwd()) not in sys.path


@pytest.mark.parametrize(("name", "message"), [
    ("my_nets:absent", "my_nets has no function or class absent"), ("my_nets:number", "no function or class number"),
    ("my_nets:broken", r"made no network for samples of shape \(1, 8, 8\): RuntimeError: no weights today"),
    ("my_nets:text", "must give a torch module, got str"), ("no_such_nets:Plain", "cannot import no_such_nets"),
    ("my_nets:Plain()", "cannot read the model"), ("../my_nets:Plain", "cannot read the model"),
    ("timm:resnet18", "timm cannot be imported .*cold-continual\\[timm\\]"),
])  # fmt: skip
def test_bad_names_in_one_line(nets, name, message, monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ColdError, match=message) as caught:
        build_model(benchmark(), seed=0, name=name)
    assert "\n" not in str(caught.value)


RUN = (
    "run --dataset synthetic --tasks 2 --method finetune --epochs 1 --limit-train 20 --limit-test 10 --threads 1 --json"
)
SHAPE = ["--data-option", "shape=[1, 8, 8]"]


def test_on_the_command_line_and_never_from_a_result(nets, tmp_path):
    words = [*RUN.split(), *SHAPE, "--model", "my_nets:Plain", "--init", "xavier", "--out", str(tmp_path / "runs")]
    printed = CliRunner().invoke(app, words)
    assert printed.exit_code == 0, printed.output
    told = json.loads(printed.stdout)
    assert (told["config"]["model"], told["config"]["init"]) == ("my_nets:Plain", "xavier")
    run = str(tmp_path / "runs" / told["run_id"])
    sys.modules.pop("my_nets")
    refused = CliRunner().invoke(app, ["eval", run])
    assert refused.exit_code == 2
    assert "nothing is imported unless you give it with --model" in refused.stderr
    assert "my_nets" not in sys.modules
    tested = CliRunner().invoke(app, ["eval", run, "--model", "my_nets:Plain", "--json"])
    assert json.loads(tested.stdout)["largest_difference"] == 0


def test_in_a_config_file_that_the_user_names(nets, tmp_path):
    (tmp_path / "mine.toml").write_text('model = "my_nets:Plain"\n')
    words = [*RUN.split(), *SHAPE, "--config", "mine.toml", "--out", str(tmp_path / "runs")]
    printed = CliRunner().invoke(app, words)
    assert json.loads(printed.stdout)["config"]["model"] == "my_nets:Plain"


# ---------------------------------------------------------------------------------------------- timm


class Small(nn.Module):
    """What timm's models are to us: features without a classifier, channels as asked for."""

    def __init__(self, in_chans):
        super().__init__()
        self.stem = nn.Conv2d(in_chans, 6, 3)

    def forward(self, x):
        return self.stem(x).mean((2, 3))


@pytest.fixture
def timm(monkeypatch):
    """A stub with the one function that is used."""
    asked = []

    def create_model(name, *, pretrained, num_classes, in_chans):
        asked.append((name, pretrained, num_classes, in_chans))
        if name != "small":
            raise RuntimeError(f"Unknown model ({name})")
        return Small(in_chans)

    module = types.ModuleType("timm")
    module.create_model = create_model
    monkeypatch.setitem(sys.modules, "timm", module)
    return asked


def test_timm_never_downloads(timm, tmp_path):
    model = build_model(benchmark(), seed=0, name="timm:small")
    assert timm == [("small", False, 0, 1)]
    assert model.heads[0].in_features == 6
    weights = {f"stem.{name}": torch.full_like(p, 0.25) for name, p in Small(1).stem.named_parameters()}
    save_file({**weights, "fc.weight": torch.zeros(3, 6)}, tmp_path / "w.safetensors")  # with a classifier
    loaded = build_model(benchmark(), seed=0, name=f"timm:small@{tmp_path}/w.safetensors")
    assert torch.equal(loaded.backbone.stem.weight, torch.full((6, 1, 3, 3), 0.25))


def test_bad_weights_in_one_line(timm, tmp_path):
    save_file({"stem.weight": torch.zeros(6, 1, 3, 3)}, tmp_path / "part.safetensors")
    save_file({"stem.weight": torch.zeros(6, 3, 3, 3)}, tmp_path / "colour.safetensors")
    (tmp_path / "damaged.safetensors").write_bytes(b"nothing")
    for name, message in (
        ("big", "timm has no model 'big'"), (f"small@{tmp_path}/absent.safetensors", "absent.safetensors"),
        (f"small@{tmp_path}/part.safetensors", "1 are missing, such as stem.bias"),
        (f"small@{tmp_path}/colour.safetensors", "do not fit timm:small"),
        (f"small@{tmp_path}/damaged.safetensors", "do not fit timm:small"),
        (f"small@{tmp_path}/w.pth", "safetensors files only"),
    ):  # fmt: skip
        with pytest.raises(ColdError, match=message) as caught:
            build_model(benchmark(), seed=0, name=f"timm:{name}")
        assert "\n" not in str(caught.value)


def test_weights_count_by_the_name_of_their_file(timm):
    here, there = (
        make_config({"dataset": "synthetic", "model": f"timm:small@{p}/w.safetensors"}) for p in ("/a", "~/b")
    )
    assert identified(here) == identified(there)
    assert identified(here).model == "timm:small@w.safetensors"
    assert comparable(here.as_dict()) == comparable(there.as_dict())


# ---------------------------------------------------------------------------------------------- first weights


@pytest.mark.parametrize("scenario", ["task", "class"])
def test_xavier_is_within_its_bounds_and_has_no_bias(scenario):
    plain, model = (build_model(benchmark(scenario), seed=0, name="mlp-30-20", init=i) for i in ("torch", "xavier"))
    layers = [layer for layer in model.modules() if isinstance(layer, nn.Linear)]
    assert len(layers) == 2 + len(model.heads)
    for layer in layers:
        bound = math.sqrt(6 / (layer.in_features + layer.out_features))
        assert 0.8 * bound < float(layer.weight.detach().abs().max()) <= bound
        assert not layer.bias.any()
    assert not torch.equal(plain.heads[0].weight, model.heads[0].weight)
    again = build_model(benchmark(scenario), seed=0, name="mlp-30-20", init="xavier")
    assert torch.equal(again.heads[0].weight, model.heads[0].weight)


def test_an_own_module_keeps_its_weights(nets):
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 7))
    before = module[1].weight.detach().clone()
    model = build_model(benchmark(), seed=0, module=module, init="xavier")
    assert torch.equal(module[1].weight, before)
    assert not model.heads[0].bias.any()


def test_the_default_is_torchs_and_keeps_its_id():
    plain = make_config({"dataset": "split-mnist"})
    assert plain.run_id == make_config({"dataset": "split-mnist", "init": "torch", "forward": "joint"}).run_id
    assert plain.run_id != make_config({"dataset": "split-mnist", "init": "xavier"}).run_id
    assert preset_settings("paper", "pmnist", "cold", None)["init"] == "torch"
    with pytest.raises(ColdError, match="unknown init 'he'"):
        make_config({"init": "he"})


def test_the_trainer_takes_it():
    small = {"dataset": "synthetic", "method": "finetune", "epochs": 1, "limit_train": 10, "model": "mlp-9"}
    made = Trainer(make_config(small, {"init": "xavier"}))
    assert not made.model.heads[0].bias.any()
