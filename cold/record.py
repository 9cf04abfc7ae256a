"""Where a run stands, what it shows on the way, and what it keeps."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor


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
    evaluated: int = 0  #: after how many tasks accuracies were taken
    accuracy: list[float] = field(default_factory=list)  #: on each task, (T,), the last that were taken
    queues: list[float] = field(default_factory=list)  #: of the past tasks
    weights: list[float] = field(default_factory=list)  #: of the past tasks in the objective


@dataclass
class Record:
    """What is measured on the way."""

    start: list[float] = field(default_factory=list)
    accuracy: list[list[float]] = field(default_factory=list)
    loss: list[list[float]] = field(default_factory=list)  #: mean test loss of each task after each task, in nats
    #: of a class-incremental run: accuracies among fewer answers, before any training and after each task
    views: dict[str, list[list[float]]] = field(default_factory=dict)
    queues: list[list[float]] = field(default_factory=list)
    queue_steps: list[list[float]] = field(default_factory=list)
    queue_steps_at: list[int] = field(default_factory=list)
    train_seconds: float = 0.0
    eval_seconds: float = 0.0
    cpu_seconds: float = 0.0  #: of this process, all threads: what a busy machine does not stretch
    task_seconds: list[float] = field(default_factory=list)
