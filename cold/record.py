"""Where a run stands, what it shows on the way, and what it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import torch
from torch import Tensor


@dataclass
class Position:
    """Where a run stands: `step` steps of epoch `epoch` of task `task` are done."""

    task: int = 0
    epoch: int = 0
    step: int = 0
    total: int = 0
    order: Tensor | None = None  #: rows of the present epoch, on the CPU; None: the epoch has not begun

    def stands(self, sizes: Sequence[int]) -> bool:
        """Whether a run whose tasks have so many training samples can go on from here."""
        numbers = (self.task, self.epoch, self.step, self.total)
        if not all(type(number) is int and number >= 0 for number in numbers) or self.task > len(sizes):
            return False
        if self.task == len(sizes) or self.order is None:
            return True
        places = torch.arange(sizes[self.task])
        return getattr(self.order, "dtype", None) == places.dtype and torch.equal(self.order.sort().values, places)


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

    def stands(self, task: int, tasks: int, evaluated: int, ended: Sequence[int], *, by_class: bool) -> bool:
        """Whether this can be the record of a run that is at a task.

        tasks     : of the stream; `evaluated`: tasks that accuracies are taken on
        ended     : how many of those have ended when the stream has had 0, 1, 2, ... tasks
        by_class  : whether the run is class-incremental, so that there are accuracies among fewer answers
        """
        try:
            msgspec.convert(dict(vars(self)), Record)
        except (msgspec.ValidationError, RecursionError):
            return False
        views = list(self.views.values())
        rows = [*self.accuracy, *(row for view in views for row in view)]
        queues = (row for row in (*self.queues, *self.queue_steps) if row)
        return (
            len(self.start) in (0, evaluated)
            and len(self.loss) in (0, len(self.accuracy))
            and all(len(row) == evaluated for row in self.loss)
            and len(self.accuracy) == ended[task]
            and len(views) == (2 if by_class and self.start else 0)
            and all(len(view) == len(self.accuracy) + 1 for view in views)
            and all(len(row) == evaluated for row in rows)
            and all(len(row) == tasks for row in queues)
            and len(self.queue_steps) == len(self.queue_steps_at)
        )
