"""Avalanche's side of `against_avalanche.py`: the same tasks, network and rules, run by its own training loop.

Its settings are chosen so that its rules are ours; `LEFT` says what remains. Its data are either its own
Permuted-MNIST, as its users run it: images that are converted, permuted and normalised one by one; or float tensors
that were prepared in advance, the cheapest form of data that it accepts.
"""

from __future__ import annotations

import importlib
import struct
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from coldtheory.ground.errors import ColdError

HINT = (
    "pip install avalanche-lib==0.6.0 torchvision (beside a CPU-only torch: pip install --no-deps torchvision==0.28.0 "
    "first)"
)
_STAND_IN: list[torch.library.Library] = []  # the operators exist as long as this object does
#: What differs after all settings were made alike; what is not named here has the same rule, data and order.
LEFT = {
    "finetune": "nothing but rounding",
    "ewc": "nothing but rounding (its Fisher is taken sample by sample, which its batch size 1 makes exact)",
    "er": "its own order of samples; memory batches are slices of a shuffled memory, ours independent draws",
    "agem": "its own order of samples; memory batches take as many of each task, in a fixed order, ours are uniform",
    "der": "its own order of samples; memory balanced by class, a reservoir in each, ours one reservoir",
}


@dataclass(frozen=True)
class Rule:
    """The settings of one comparison, which both sides share."""

    lr: float
    batch: int
    memory: int
    memory_batch: int
    tasks: int
    strength: float  #: of EWC's penalty
    alpha: float  #: of DER's


@dataclass(frozen=True, eq=False)
class Data:
    """A task: float inputs (n, p) and labels (n,)."""

    x: Tensor
    y: Tensor


def load_avalanche() -> Any:
    """The package. A torchvision that was built for another torch cannot be imported, because it lacks two operators
    that nothing here uses; in that case they are declared."""
    warnings.showwarning = lambda *_, **__: None  # silences their warnings about each other, which ignore filters
    try:
        importlib.import_module("torchvision")
    except ImportError:
        raise ColdError(f"this benchmark needs Avalanche: {HINT}") from None
    except RuntimeError:
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        _STAND_IN.append(torch.library.Library("torchvision", "DEF"))
        for name in ("nms", "qnms"):
            _STAND_IN[0].define(f"{name}(Tensor boxes, Tensor scores, float threshold) -> Tensor")
    try:
        return importlib.import_module("avalanche")
    except ImportError as error:
        raise ColdError(f"this benchmark needs Avalanche ({error}): {HINT}") from None


def network(weights: Sequence[Tensor]) -> nn.Sequential:
    """Linear layers with ReLU that start from copies of given weights and biases."""
    layers: list[nn.Module] = [nn.Flatten()]
    for weight, bias in zip(weights[::2], weights[1::2], strict=True):
        layer = nn.Linear(weight.shape[1], weight.shape[0])
        layer.weight.data.copy_(weight)
        layer.bias.data.copy_(bias)
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def strategy(method: str, model: nn.Module, rule: Rule, plugins: Sequence[Any] = (), evaluator: Any = None) -> Any:
    """Avalanche's strategy of that name."""
    from avalanche.training import plugins as ready  # noqa: PLC0415  (an optional dependency)
    from avalanche.training import supervised  # noqa: PLC0415
    from avalanche.training.storage_policy import ExperienceBalancedBuffer  # noqa: PLC0415

    class PerSampleEWC(ready.EWCPlugin):
        """EWC with the squared gradient of each sample, not of the mean gradient of a batch."""

        def after_training_exp(self, strategy: Any, **kwargs: Any) -> None:
            size, strategy.train_mb_size = strategy.train_mb_size, 1
            super().after_training_exp(strategy, **kwargs)
            strategy.train_mb_size = size

    common = {
        "model": model, "optimizer": torch.optim.SGD(model.parameters(), lr=rule.lr),
        "criterion": nn.CrossEntropyLoss(), "train_mb_size": rule.batch, "train_epochs": 1, "eval_mb_size": 1024,
        "evaluator": evaluator,
    }  # fmt: skip
    per_task = rule.memory // rule.tasks
    if method == "der":
        return supervised.DER(
            **common, mem_size=rule.memory, batch_size_mem=rule.memory_batch, alpha=rule.alpha, beta=0.0,
            plugins=list(plugins),
        )  # fmt: skip
    buffer = ExperienceBalancedBuffer(rule.memory, adaptive_size=False, num_experiences=rule.tasks)
    own: dict[str, Callable[[], Any]] = {
        "er": lambda: ready.ReplayPlugin(rule.memory, batch_size_mem=rule.memory_batch, storage_policy=buffer),
        "agem": lambda: ready.AGEMPlugin(per_task, rule.memory_batch),
        "ewc": lambda: PerSampleEWC(rule.strength),
    }
    chosen = [own[method]()] if method in own else []
    return supervised.Naive(**common, plugins=[*chosen, *plugins])


def streams(train: Sequence[Data], test: Sequence[Data]) -> tuple[Any, Any]:
    """Avalanche's streams of experiences, for training and for evaluation; one head for all tasks."""
    from avalanche.benchmarks import tensors_benchmark  # noqa: PLC0415

    made = tensors_benchmark(
        train_tensors=[(task.x, task.y) for task in train], test_tensors=[(task.x, task.y) for task in test],
        task_labels=[0] * len(train),
    )  # fmt: skip
    return made.train_stream, made.test_stream


def own_stream(images: Tensor, labels: Tensor, tasks: int) -> Any:
    """The training stream of Avalanche's Permuted-MNIST over given images, bytes (n, 28, 28)."""
    from avalanche.benchmarks import PermutedMNIST  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "MNIST" / "raw"
        folder.mkdir(parents=True)
        for part in ("train", "t10k"):  # it reads both, and keeps them in memory
            for name, values in (("images-idx3", images), ("labels-idx1", labels.to(torch.uint8))):
                head = struct.pack(f">HBB{values.dim()}I", 0, 8, values.dim(), *values.shape)
                (folder / f"{part}-{name}-ubyte").write_bytes(head + values.contiguous().numpy().tobytes())
        return PermutedMNIST(tasks, seed=0, dataset_root=root).train_stream


def final_accuracies(made: Any, test: Any) -> list[float]:
    """Avalanche's own measure on each task, (T,)."""
    found = made.eval(test)
    return [float(found[name]) for name in sorted(found) if name.startswith("Top1_Acc_Exp")]
