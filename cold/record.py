"""Where a run stands, what it shows on the way, and what it keeps."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor

from coldtheory.ground.errors import ColdError


@dataclass
class Position:
    """Where a run stands: `step` steps of epoch `epoch` of task `task` are done."""

    task: int = 0
    epoch: int = 0
    step: int = 0
    total: int = 0
    order: Tensor | None = None  #: rows of the present epoch, on the CPU; None: the epoch has not begun


@dataclass
class Progress:
    """What is shown while a run goes on."""

    task: int
    tasks: int
    epoch: int
    done: int
    steps: int
    loss: float
    acc: float | None


@dataclass
class Record:
    """What is measured on the way."""

    start: list[float] = field(default_factory=list)
    accuracy: list[list[float]] = field(default_factory=list)
    #: of a class-incremental run: accuracies among fewer answers, before any training and after each task
    views: dict[str, list[list[float]]] = field(default_factory=dict)
    queues: list[list[float]] = field(default_factory=list)
    queue_steps: list[list[float]] = field(default_factory=list)
    queue_steps_at: list[int] = field(default_factory=list)
    train_seconds: float = 0.0
    eval_seconds: float = 0.0
    cpu_seconds: float = 0.0  #: of this process, all threads: what a busy machine does not stretch
    task_seconds: list[float] = field(default_factory=list)


@contextmanager
def tensorboard_logger(folder: Path | None) -> Iterator[Callable[[Progress], None]]:
    """Logs loss and average accuracy against the step for TensorBoard; with no folder nothing is written."""
    if folder is None:
        yield lambda place: None
        return
    try:
        writer = importlib.import_module("torch.utils.tensorboard").SummaryWriter(str(folder))
    except ImportError:
        raise ColdError("TensorBoard is not installed; pip install 'cold-continual[tensorboard]'") from None

    def log(place: Progress) -> None:
        writer.add_scalar("loss", place.loss, place.done)
        if place.acc is not None:
            writer.add_scalar("accuracy so far", place.acc, place.done)

    try:
        yield log
    finally:
        writer.close()
