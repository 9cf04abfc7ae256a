"""Every training figure of the paper: its panels, and the runs that each panel wants.

A panel takes the stored runs of one dataset that differ in one field (and in the seed) alone. `values` are those of
the paper; a picture shows whatever values are stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from ..catalogue import IID

Kind = Literal["sweep", "tasks", "gap", "queues", "accuracy"]
Value = float | int | str

BOTH = ("cold-oracle", "cold")
BASELINES = (
    "finetune", "ewc", "a-gem", "mer", "gdumb", "er", "der", "der++", "er-ace", "cba", "nccl", "refresh", *BOTH,
)  # fmt: skip
PMNIST_BASELINES = ("finetune", "ewc", "a-gem", "der", "der++", "nccl", *BOTH)
C10, C100, TINY = "split-cifar10", "split-cifar100", "split-tinyimagenet"
SEEDS = (0, 1, 2)

_V = (1, 10, 100, 1000, 10000, 100000)
_V_HEAT = (1, 100, 10000)
_DELTA = (0, 0.1, 0.5, 1, 2, 5, 10)
_DELTA_HEAT = (0, 0.5, 10)
_EPOCHS = (1, 2, 5, 10, 20)
_BATCH = (10, 32, 64, 128, 256)
_GRADIENTS = ("avg_grad_sq_before", "avg_grad_sq_after", "Delta_bar")
_PER_TASK = (50, 100, 150, 200, 250, 300, 350, 400)


@dataclass(frozen=True)
class Panel:
    """One panel, or one row of heatmaps.

    kind : "sweep" (metrics against `field`), "tasks" (metrics after each task, one line per value), "gap" (the largest
           value's metrics minus the smallest's, after each task), "queues" and "accuracy" (heatmaps over t and k)
    """

    kind: Kind
    dataset: str
    methods: tuple[str, ...]
    field: str
    values: tuple[Value, ...]
    memory: int | None = None  #: M of the paper's setting, None where it is swept or not printed
    metrics: tuple[str, ...] = ("acc", "forgetting")

    def cells(self) -> Iterator[tuple[str, Value]]:
        """(method, value) of all runs that the paper's panel needs."""
        if self.field == "method":
            yield from ((method, method) for method in self.methods)
        else:
            yield from ((method, value) for method in self.methods for value in self.values)


@dataclass(frozen=True)
class TrainingFigure:
    """A figure of training runs, as the paper has it."""

    id: str
    title: str
    sentence: str
    panels: tuple[Panel, ...]
    aliases: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The paper's label of the figure."""
        return f"fig:{self.id}"

    def on(self, dataset: str | None) -> TrainingFigure:
        """The same figure of another dataset; panels that differed in the dataset and the paper's values become one.

        "OLD=NEW" puts NEW in the place of OLD and leaves the panels of other datasets as they are.
        """
        if dataset is None:
            return self
        old, equals, new = dataset.rpartition("=")
        moved = (
            panel
            if equals and panel.dataset.removesuffix(IID) != old
            else replace(panel, dataset=new + IID * panel.dataset.endswith(IID), memory=None)
            for panel in self.panels
        )
        alike = {(p.kind, p.dataset, p.methods, p.field, p.memory, p.metrics): p for p in reversed(list(moved))}
        return replace(self, panels=tuple(reversed(alike.values())))


def _sweep(dataset: str, field: str, values: tuple[Value, ...], memory: int | None = None) -> Panel:
    return Panel("sweep", dataset, BOTH, field, values, memory)


def _memory(dataset: str, tasks: int, per_task: tuple[int, ...] = _PER_TASK) -> Panel:
    return _sweep(dataset, "memory", tuple(tasks * m for m in per_task))


def _each(kind: Kind, dataset: str, field: str, values: tuple[Value, ...], memory: int) -> tuple[Panel, ...]:
    """A panel for COLD-ORACLE and one for COLD, left and right (or top and bottom) as in the paper."""
    return tuple(Panel(kind, dataset, (method,), field, values, memory) for method in BOTH)


def _heat(dataset: str, field: str, values: tuple[Value, ...], memory: int) -> tuple[Panel, ...]:
    return _each("queues", dataset, field, values, memory)


def _compared(dataset: str, memory: int, methods: tuple[str, ...] = BASELINES) -> Panel:
    return Panel("tasks", dataset, methods, "method", (), memory)


def _delta(method: str) -> tuple[Panel, ...]:
    return tuple(Panel(kind, TINY, (method,), "delta", _DELTA_HEAT, 5000) for kind in ("queues", "accuracy"))


PAPER_FIGURES: tuple[TrainingFigure, ...] = (
    TrainingFigure(
        "Average_gradient_vs_V",
        "Gradient and residual against V, Split-MNIST",
        "COLD's average squared gradient before and after each task, and Δ̄, for the class split (HIGH) and the "
        "near-IID split (LOW). Since every task has a new head, V can lower the gradient only after the task.",
        tuple(
            Panel("sweep", name, ("cold",), "V", (1, 3, 10, 30, 100, 300, 1000), None, _GRADIENTS)
            for name in ("split-mnist", "split-mnist-iid")
        ),
        ("split_mnist",),
    ),
    TrainingFigure(
        "baselines",
        "Baselines over tasks, Split-CIFAR100",
        "Accuracy and forgetting after each task, for every method under the same terms.",
        (_compared(C100, 5000),),
    ),
    TrainingFigure(
        "varying_V",
        "Accuracy and forgetting against V, Split-CIFAR100",
        "V from 1 to 10⁵ moves both methods along the trade-off between learning and remembering.",
        _each("sweep", C100, "V", _V, 5000),
    ),
    TrainingFigure(
        "memory_delta",
        "Memory and tolerance, Split-CIFAR100 and Split-TinyImageNet",
        "Accuracy and forgetting against the memory (left) and against δ (right).",
        (_memory(C100, 20, (50, 100, 150, 200, 250, 300, 400, 500)), _sweep(TINY, "delta", _DELTA, 5000)),
    ),
    TrainingFigure(
        "varying_tasks",
        "Number of tasks, Split-CIFAR100",
        "Accuracy and forgetting after each task of streams with more and more tasks.",
        _each("tasks", C100, "tasks", (5, 10, 20), 5000),
    ),
    TrainingFigure(
        "queue_V_C100",
        "Queues for several V, Split-CIFAR100",
        "The queue of every past task at each task's end; a larger V lets them grow. Each map has its own scale.",
        _heat(C100, "V", _V_HEAT, 5000),
    ),
    TrainingFigure(
        "pmnist_acc_forg",
        "Baselines over tasks, Permuted-MNIST",
        "Accuracy and forgetting after each task in the domain-incremental setting.",
        (_compared("pmnist", 5000, PMNIST_BASELINES),),
        ("pmnist",),
    ),
    TrainingFigure(
        "baselines_supple",
        "Baselines over tasks, Split-CIFAR10 and Split-TinyImageNet",
        "Accuracy and forgetting after each task, for every method under the same terms.",
        (_compared(C10, 1000), _compared(TINY, 5000)),
    ),
    TrainingFigure(
        "varying_memory_supple",
        "Memory, Split-CIFAR10 and Split-TinyImageNet",
        "Accuracy and forgetting against the number of stored samples.",
        (_memory(C10, 5), _memory(TINY, 20)),
    ),
    TrainingFigure(
        "varying_epochs_supple",
        "Epochs per task, Split-CIFAR10 and Split-CIFAR100",
        "Accuracy and forgetting against the number of passes over each task.",
        (_sweep(C10, "epochs", _EPOCHS, 1000), _sweep(C100, "epochs", _EPOCHS, 5000)),
    ),
    TrainingFigure(
        "varying_epochs_batchsize_online",
        "Epochs, batch size and online against batch, Split-TinyImageNet and Split-CIFAR100",
        "Accuracy and forgetting against epochs and batch size, and what more epochs gain over one after each task.",
        (
            _sweep(TINY, "epochs", _EPOCHS, 5000),
            _sweep(C100, "batch_size", _BATCH, 5000),
            Panel("gap", C100, BOTH, "epochs", (1, 5), 5000),
        ),
    ),
    TrainingFigure(
        "varying_V_c10",
        "Accuracy and forgetting against V, Split-CIFAR10",
        "V moves both methods along the trade-off between learning and remembering.",
        _each("sweep", C10, "V", _V, 1000),
    ),
    TrainingFigure(
        "varying_V_tiny",
        "Accuracy and forgetting against V, Split-TinyImageNet",
        "V moves both methods along the trade-off between learning and remembering.",
        _each("sweep", TINY, "V", _V, 5000),
    ),
    TrainingFigure(
        "batchsize_supple",
        "Batch size, Split-CIFAR10 and Split-TinyImageNet",
        "Accuracy and forgetting against the batch size.",
        (_sweep(C10, "batch_size", _BATCH, 1000), _sweep(TINY, "batch_size", _BATCH, 5000)),
    ),
    TrainingFigure(
        "varying_t_supple",
        "Number of tasks, Split-TinyImageNet",
        "Accuracy and forgetting after each task of streams with more and more tasks.",
        _each("tasks", TINY, "tasks", (5, 10, 20), 5000),
    ),
    TrainingFigure(
        "online_batch_c10",
        "Online against batch, Split-CIFAR10",
        "Accuracy and forgetting after each task with one epoch and with several.",
        _each("tasks", C10, "epochs", (1, 5), 1000),
    ),
    TrainingFigure(
        "online_batch_tiny",
        "Online against batch, Split-TinyImageNet",
        "Accuracy and forgetting after each task with one epoch and with several.",
        _each("tasks", TINY, "epochs", (1, 5), 5000),
    ),
    TrainingFigure(
        "queue_V_tiny",
        "Queues for several V, Split-TinyImageNet",
        "The queue of every past task at each task's end; a larger V lets them grow. Each map has its own scale.",
        _heat(TINY, "V", _V_HEAT, 5000),
    ),
    TrainingFigure(
        "delta_cold",
        "Tolerance and queues of COLD-ORACLE, Split-TinyImageNet",
        "Queues (top, each map on its own scale) and accuracy of every task (bottom) of COLD-ORACLE for several δ.",
        _delta("cold-oracle"),
        ("delta_oracle",),
    ),
    TrainingFigure(
        "delta_coldeff",
        "Tolerance and queues of COLD, Split-TinyImageNet",
        "Queues (top, each map on its own scale) and accuracy of every task (bottom) of COLD for several δ.",
        _delta("cold"),
    ),
)
