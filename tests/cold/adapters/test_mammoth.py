"""The file for Mammoth's `models`, loaded and called as Mammoth does it, with a stub of its parts."""

from __future__ import annotations

import importlib
import sys
from argparse import ArgumentParser
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import cold.adapters
from cold import COLD

FILE = Path(cold.adapters.__path__[0]) / "mammoth.py"


class ContinualModel(nn.Module):
    """Mammoth's base class, as far as a model sees it: net, opt, args, transform, device, and the meta calls."""

    NAME: str
    COMPATIBILITY: list[str]

    def __init__(self, backbone, loss, args, transform, dataset=None) -> None:
        super().__init__()
        self.net, self.loss, self.args, self.transform, self.dataset = backbone, loss, args, transform, dataset
        self.opt = torch.optim.SGD(backbone.parameters(), lr=args.lr)
        self.device = torch.device("cpu")

    def begin_task(self, dataset) -> None: ...
    def end_task(self, dataset) -> None: ...
    def begin_epoch(self, epoch, dataset) -> None: ...
    def end_epoch(self, epoch, dataset) -> None: ...


class Triples(Dataset):
    """(augmented and normalised sample, label, sample as stored)."""

    def __init__(self, t: int) -> None:
        g = torch.Generator().manual_seed(t)
        self.y = torch.randint(3, (30,), generator=g) + 3 * t
        self.x = torch.rand(30, 4, generator=g) + self.y[:, None] / 3

    def __len__(self) -> int:
        return 30

    def __getitem__(self, i):
        return 2 * self.x[i], int(self.y[i]), self.x[i]


def twice(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


@pytest.fixture
def mammoth(monkeypatch, tmp_path):
    """Mammoth's modules, and a folder `models` with the file in it."""

    def add_rehearsal_args(parser: ArgumentParser) -> None:
        parser.add_argument("--buffer_size", type=int, required=True)
        parser.add_argument("--minibatch_size", type=int)

    def apply_transform(x, transform):
        return torch.stack([transform(one) for one in x])

    parts = {
        "models.utils.continual_model": {"ContinualModel": ContinualModel}, "models.utils": {},
        "utils.args": {"add_rehearsal_args": add_rehearsal_args, "ArgumentParser": ArgumentParser},
        "utils.augmentations": {"apply_transform": apply_transform}, "utils": {},
    }  # fmt: skip
    for name, content in parts.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    models = tmp_path / "models"
    models.mkdir()
    (models / "cold.py").write_bytes(FILE.read_bytes())
    package = ModuleType("models")
    package.__path__ = [str(models)]
    monkeypatch.setitem(sys.modules, "models", package)
    monkeypatch.delitem(sys.modules, "models.cold", raising=False)
    yield importlib.import_module("models.cold")
    sys.modules.pop("models.cold", None)


def network() -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 9))


def arguments(mammoth, *words: str):
    parser = mammoth.Cold.get_parser(ArgumentParser())
    parser.add_argument("--lr", type=float)
    parser.add_argument("--seed", type=int)
    return parser.parse_args(["--buffer_size", "12", "--minibatch_size", "4", "--V", "2", "--lr", "0.1", *words])


def run(model) -> None:
    """Mammoth's loop."""
    for t in range(3):
        dataset = SimpleNamespace(train_loader=DataLoader(Triples(t), batch_size=10))
        model.begin_task(dataset)
        for epoch in range(2):
            model.begin_epoch(epoch, dataset)
            for inputs, labels, stored in dataset.train_loader:
                loss = model.observe(inputs, labels, stored, epoch=epoch)
                assert isinstance(loss, float)
            model.end_epoch(epoch, dataset)
        model.end_task(dataset)


@pytest.mark.parametrize("words", [
    [], ["--reference", "best"], ["--reference", "stored", "--controller", "nupi"],
    ["--replay", "per-task", "--seed", "3"],
], ids=" ".join)  # fmt: skip
@pytest.mark.parametrize("transform", [None, twice])
def test_the_weights_of_a_plain_loop(mammoth, words, transform):
    args = arguments(mammoth, *words)
    model = mammoth.Cold(network(), nn.CrossEntropyLoss(), args, transform)
    run(model)
    plain = network()
    dpp = COLD(
        V=2.0, delta=0.0, memory=12, memory_batch=4, reference=args.reference, controller=args.controller,
        replay=args.replay, seed=args.seed or 0, prepare=lambda raw, _: raw if transform is None else 2 * raw,
        augments=transform is not None,
    )  # fmt: skip
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.1)
    for t in range(3):
        data = Triples(t)
        dpp.begin_task(plain, data.x, data.y)
        for rows in torch.arange(30).repeat(2).split(10):
            optimizer.zero_grad()
            dpp.loss(plain, data.x[rows], data.y[rows]).backward()
            optimizer.step()
        dpp.end_task(plain)
    for a, b in zip(model.net.parameters(), plain.parameters(), strict=True):
        assert torch.equal(a, b)
    assert model.dpp.memory.counts == [4, 4, 4]


def test_mammoth_finds_the_class_by_its_name(mammoth):
    """It takes the name in the file that is spelled like the model; the class COLD must not stand in its way."""
    assert [name for name in vars(mammoth) if name.lower() == "cold"] == ["Cold"]
    assert mammoth.Cold.NAME == "cold"
    assert "class-il" in mammoth.Cold.COMPATIBILITY
