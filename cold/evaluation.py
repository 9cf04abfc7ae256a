"""Test accuracy of a model on all tasks, in batches as large as the device likes."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from coldtheory.ground.errors import ColdError

from .data import Part, Task
from .methods.base import Context

EVAL_BATCH = 2048
EVAL_BATCH_CPU = 128  # larger activations come as fresh pages from the system at each layer, half the time on a CPU


def accuracies(context: Context, model: nn.Module) -> NDArray[np.float64]:
    """The share of right answers on each task, through the task's own head, (T,)."""
    was_training = model.training
    model.eval()
    with torch.inference_mode():
        right = torch.stack([_right(context, model, task) for task in context.benchmark.tasks])
    model.train(was_training)
    sizes = [len(evaluated_part(task, context.config.evaluate_on)) for task in context.benchmark.tasks]
    return np.asarray(right.cpu().numpy() / np.array(sizes), dtype=np.float64)


def evaluated_part(task: Task, name: str) -> Part:
    part = task.test if name == "test" else task.validation
    if part is None or len(part) == 0:
        raise ColdError(f"task {task.name} has no {name} samples")
    return part


def _right(context: Context, model: nn.Module, task: Task) -> torch.Tensor:
    """Number of right answers, on the device: no wait before all tasks are done."""
    part = evaluated_part(task, context.config.evaluate_on)
    right = torch.zeros((), dtype=torch.int64, device=context.device)
    size = context.config.eval_batch or (EVAL_BATCH if context.device.type != "cpu" else EVAL_BATCH_CPU)
    for rows in torch.split(torch.arange(len(part), device=context.device), size):
        logits = context.forward(model, context.inputs(part.raw(rows)), [(task.head, len(rows))])[0]
        right += (logits.argmax(1) == part.y[rows]).sum()
    return right
