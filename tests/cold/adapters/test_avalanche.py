"""The plug-in in the real Avalanche: the numbers of `cold`, with all references and controllers, heads and loggers."""

from __future__ import annotations

import io
import os
import random
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import t as student
from torch import nn

pytest.importorskip("avalanche", reason="needs Avalanche: pip install 'cold-continual[avalanche]'")

from avalanche.benchmarks import SplitMNIST, tensors_benchmark
from avalanche.evaluation.metrics import accuracy_metrics
from avalanche.logging import TextLogger
from avalanche.models import MTSimpleMLP
from avalanche.training import Naive
from avalanche.training.plugins import EvaluationPlugin, EWCPlugin

from cold import Callback, Trainer, make_config
from cold.adapters.avalanche import ColdPlugin, QueueMetric
from cold.streams import Streams
from coldtheory.controllers import CONTROLLERS
from coldtheory.ground.errors import ColdError

HAS_MNIST = (Path(os.environ.get("COLD_DATA", "data")) / "mnist").is_dir()
COLD = {"V": 10.0, "delta": 0.0, "memory": 120, "memory_batch": 10}
BATCH, TASKS, TEST = 32, 3, 500


# ---------------------------------------------------------------------------------------------- the numbers of cold


def both(seed: int, **settings) -> tuple[list[float], list[float], float]:
    """Final accuracies of a run of `cold` and of Avalanche, (T,) each, and how far apart the weights end.

    Both have the same tasks, initial weights, optimiser, order of samples and seed of the memory.
    """
    config = {"method": "cold", "tasks": TASKS, "epochs": 1, "batch_size": BATCH, "optimizer": "sgdm", "momentum": 0.0,
              "lr": 0.01, "threads": 1, "device": "cpu", "dataset": "pmnist", "seed": seed, "limit_train": 640,
              "limit_test": TEST, "data_options": {"pixels": "standard"}, "idle": "joint"}  # fmt: skip
    ours = Trainer(make_config(config | COLD | settings))
    order = Streams(seed, torch.device("cpu")).cpu("order")
    train = [(ours.context.inputs(task.train.raw()).flatten(1), task.train.y) for task in ours.benchmark.tasks]
    test = [(ours.context.inputs(task.test.raw()).flatten(1), task.test.y) for task in ours.benchmark.tasks]
    model = _copied(ours.model)
    plugin = ColdPlugin(tasks=TASKS, seed=seed, **COLD, **settings)
    stream = tensors_benchmark(train_tensors=train, test_tensors=test, task_labels=[0] * TASKS)
    strategy = _strategy(model, [plugin], lr=0.01)
    strategy.orders = [torch.randperm(len(x), generator=order) for x, _ in train]
    for experience in stream.train_stream:
        strategy.train(experience)
    cold = ours.run().arrays["accuracy"][-1].tolist()
    with torch.no_grad():
        theirs = [float((model(x).argmax(1) == y).double().mean()) for x, y in test]
    pairs = zip(ours.model.state_dict().values(), model.state_dict().values(), strict=True)
    return cold, theirs, max(float((a - b).abs().max()) for a, b in pairs)


class InOrder(Naive):
    """Naive training that takes the samples in a given order, where there is one."""

    orders: tuple[torch.Tensor, ...] | list[torch.Tensor] = ()

    def make_train_dataloader(self, **more):
        super().make_train_dataloader(**more)
        if self.orders:
            data = self.adapted_dataset
            batches = self.orders[self.experience.current_experience].split(self.train_mb_size)
            self.dataloader = [data.collate_fn([data[i] for i in rows.tolist()]) for rows in batches]


def _copied(model: nn.Module) -> nn.Sequential:
    layers: list[nn.Module] = []
    weights = [p.detach().clone() for p in model.parameters()]
    for weight, bias in zip(weights[::2], weights[1::2], strict=True):
        layer = nn.Linear(weight.shape[1], weight.shape[0])
        layer.weight.data, layer.bias.data = weight, bias
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def _strategy(model: nn.Module, plugins: list, *, lr: float = 0.05, evaluator=None):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    evaluator = EvaluationPlugin(loggers=[TextLogger(io.StringIO())]) if evaluator is None else evaluator
    return InOrder(model=model, optimizer=optimizer, train_mb_size=BATCH, train_epochs=1, eval_mb_size=256,
                 plugins=plugins, evaluator=evaluator)  # fmt: skip


@pytest.mark.skipif(not HAS_MNIST, reason="needs MNIST in COLD_DATA: cold data fetch mnist")
def test_permuted_mnist_gives_the_numbers_of_cold():
    """Three seeds: the mean difference of the accuracies is within what the seeds' own scatter explains."""
    with torch.random.fork_rng():
        runs = [both(seed) for seed in range(3)]
    ours, theirs = (np.array([100 * np.mean(run[i]) for run in runs]) for i in (0, 1))
    away = ours - theirs
    allowed = student.ppf(0.975, 2) * away.std(ddof=1) / 3**0.5 + 100 / (TEST * TASKS)  # one answer is no difference
    assert abs(away.mean()) <= allowed
    assert max(run[2] for run in runs) < 1e-4  # rounding alone: the samples and the draws are the same
    assert ours.mean() > 50  # and both have learnt something


@pytest.mark.skipif(not HAS_MNIST, reason="needs MNIST in COLD_DATA: cold data fetch mnist")
@pytest.mark.parametrize("settings", [
    {"reference": "best"}, {"reference": "stored"}, {"queue_update": "epoch"}, {"weights": "mean", "replay": "mixed"},
    *({"controller": name} for name in CONTROLLERS if name != "queue"),
], ids=str)  # fmt: skip
def test_every_reference_and_controller_gives_the_numbers_of_cold(settings):
    with torch.random.fork_rng():
        assert both(0, **settings)[2] < 1e-4


# ---------------------------------------------------------------------------------------------- Avalanche's own things


def _split_mnist(root: Path):
    """Avalanche's own Split-MNIST over noise with a bar in a place of the class's own, a head per task."""
    random_pictures = torch.Generator().manual_seed(0)
    y = torch.arange(400) % 10
    x = torch.rand(400, 28, 28, generator=random_pictures) * 100
    x[torch.arange(400)[:, None], 2 * y[:, None] + torch.arange(3)] = 255.0
    x = x.to(torch.uint8)
    folder = root / "MNIST" / "raw"
    folder.mkdir(parents=True)
    for part in ("train", "t10k"):
        for name, values in (("images-idx3", x), ("labels-idx1", y.to(torch.uint8))):
            head = struct.pack(f">HBB{values.dim()}I", 0, 8, values.dim(), *values.shape)
            (folder / f"{part}-{name}-ubyte").write_bytes(head + values.contiguous().numpy().tobytes())
    return SplitMNIST(5, seed=0, dataset_root=root, return_task_id=True)


def test_own_benchmark_heads_and_loggers(tmp_path):
    """Tasks that nobody announced, a head per task, other plug-ins, and queues in the log."""
    with torch.random.fork_rng(), open(tmp_path / "log.txt", "w+") as file:
        torch.manual_seed(0)
        random.seed(0)
        benchmark = _split_mnist(tmp_path)
        model = MTSimpleMLP(hidden_size=32)
        plugin = ColdPlugin(V=2.0, delta=0.0, memory=50, memory_batch=4, reference="best")
        evaluator = EvaluationPlugin(
            accuracy_metrics(minibatch=True, experience=True), QueueMetric(plugin), loggers=[TextLogger(file)]
        )
        strategy = _strategy(model, [plugin, EWCPlugin(0.1)], evaluator=evaluator)
        strategy.train_epochs = 4
        for experience in benchmark.train_stream:
            strategy.train(experience)
        found = strategy.eval(benchmark.test_stream)
        accuracies = [value for name, value in found.items() if name.startswith("Top1_Acc_Exp")]
        assert len(accuracies) == 5
        assert min(accuracies) > 0.9  # two classes per head
        assert plugin.dpp.memory.counts == [10] * 5
        labels = [{*plugin.dpp.memory.y[plugin.dpp.memory.owner == k].tolist()} for k in range(5)]
        assert all(len(pair) == 2 for pair in labels)
        columns = plugin.dpp.history.columns()
        assert columns["Q"].shape == (5 * 12, 4)  # 80 samples per task are three batches
        logged, at = evaluator.all_metric_results["Queue/Exp000"][::-1]
        np.testing.assert_allclose(logged, columns["Q"][12:, 0])
        assert at == list(range(12, 60))
        assert evaluator.all_metric_results["Top1_Acc_MB/train_phase/train_stream/Task004"][1]
        file.seek(0)
        assert "Queue/Exp003" in file.read()


def test_mistakes_are_told_in_one_line():
    with pytest.raises(ColdError, match="V must be > 0"):
        ColdPlugin(V=-1.0, delta=0.0, memory=10)
    with pytest.raises(ColdError, match="heads is not a setting of the plug-in"):
        ColdPlugin(V=1.0, delta=0.0, memory=10, heads=[0])
    with pytest.raises(ColdError, match=r"call strategy\.train"):
        _ = ColdPlugin(V=1.0, delta=0.0, memory=10).dpp


class Trained(Callback):
    """How many samples each task trains on."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def begin_task(self, dpp, model) -> None:
        self.sizes.append(len(dpp.samples))


def test_requested_forgetting_takes_the_gauge_out_of_each_experience():
    generator = torch.Generator().manual_seed(0)
    data = [(torch.randn(64, 6, generator=generator), torch.randint(3, (64,), generator=generator)) for _ in range(3)]
    stream = tensors_benchmark(train_tensors=data, test_tensors=data, task_labels=[0] * 3)
    trained = Trained()
    plugin = ColdPlugin(constraint="logits", forget=0.1, memory=60, memory_batch=4, tasks=3, callbacks=[trained])
    strategy = _strategy(nn.Linear(6, 3), [plugin], lr=0.01)
    for experience in stream.train_stream:
        strategy.train(experience)
    assert trained.sizes == [64 - 4] * 3  # a fifth of the memory for three tasks
    held = plugin.dpp.gauge.memory
    for task, (x, _) in enumerate(data):
        aside = {tuple(row) for row in held.raw[held.owner == task].tolist()}
        kept = {tuple(row) for row in plugin.dpp.memory.raw[plugin.dpp.memory.owner == task].tolist()}
        assert len(aside) == 4
        assert aside < {tuple(row) for row in x.tolist()}
        assert not aside & kept
    assert plugin.dpp.measured()["gauge_loss"].shape == (3, 3)
