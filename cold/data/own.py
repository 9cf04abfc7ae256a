"""Tasks of your own: tensors or torch data sets, which the same trainer uses."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor

from coldtheory.ground.checks import choice, demand_length, kind_of, shown
from coldtheory.ground.errors import ColdError
from coldtheory.ground.limits import demand_memory

from ..catalogue import Scenario
from .augment import Transform
from .benchmark import Benchmark, Part, Task
from .images import DataWarning, fingerprint

_LABEL_BYTES = 16  # per output of a head: the list of labels and its copy


def from_tensors(
    tasks: Sequence[Sequence[Any]],
    *,
    scenario: Scenario = "task",
    name: str = "own",
    transform: Transform | None = None,
    task_names: Sequence[str] | None = None,
) -> Benchmark:
    """A benchmark of given tasks; each is (x_train, y_train, x_test, y_test), or (training set, test set).

    Images are uint8 (n, C, H, W), or (n, H, W) of one channel, scaled to [0, 1] unless `transform` says otherwise;
    floats of any shape (n, ...) are taken as they are. A torch data set yields (x, y) pairs, x a tensor, an array
    or a PIL image. Labels are whole numbers: with scenario "task" those that a task's training part has become the
    outputs of its own head, in ascending order; with "domain" label k is output k of the one head, and so it is with
    "class", where the labels that a task's training part has are the task's own classes.

    >>> x, y = torch.randn(8, 3), torch.arange(8) % 2
    >>> from_tensors([(x, y, x, y), (x, y + 2, x, y + 2)]).tasks[1].classes
    ('2', '3')
    """
    choice("scenario", scenario, get_args(Scenario))
    if not isinstance(tasks, Sequence) or isinstance(tasks, str):
        raise ColdError(f"tasks must be a list of tasks, got {shown(tasks)}")
    if len(tasks) == 0:
        raise ColdError("a benchmark needs at least 1 task")
    if not isinstance(name, str):
        raise ColdError(f"name must be a text, got {shown(name)}")
    if transform is not None:
        kind_of("transform", transform, Transform, "make one with cold.data.Transform")
    if task_names is not None and (not isinstance(task_names, Sequence) or len(task_names) != len(tasks)):
        raise ColdError(f"task_names must be {len(tasks)} names, one per task, got {shown(task_names)}")
    given = [_four_tensors(task, f"task {t + 1}") for t, task in enumerate(tasks)]
    shape, kind = given[0][0].shape[1:], given[0][0].dtype
    made, widths = [], []
    shared = int(max(max(int(y_train.max()), int(y_test.max())) for _, y_train, _, y_test in given)) + 1
    if scenario != "task":
        demand_memory(_LABEL_BYTES * shared, f"a head for the labels 0..{shared - 1}", "number the classes from 0")
        _warn_of_absent(shared, [y_train for _, y_train, _, _ in given])
    for t, (x_train, y_train, x_test, y_test) in enumerate(given):
        title = task_names[t] if task_names is not None else f"task {t + 1}"
        for x in (x_train, x_test):
            if x.shape[1:] != shape or x.dtype != kind:
                raise ColdError(
                    f"{title} has samples of shape {tuple(x.shape[1:])} ({x.dtype}), task 1 of {tuple(shape)} ({kind})"
                )
        own = torch.unique(y_train)
        labels = own if scenario == "task" else torch.arange(shared)
        unseen = y_test[~torch.isin(y_test, labels if scenario == "domain" else own)]
        if len(unseen):
            raise ColdError(f"{title}: test label {int(unseen[0])} is out of range: the training part does not have it")
        parts = [_part(x, torch.searchsorted(labels, y)) for x, y in ((x_train, y_train), (x_test, y_test))]
        head = t if scenario == "task" else 0
        outputs = tuple(own.tolist()) if scenario == "class" else None
        made.append(Task(title, head, parts[0], parts[1], None, tuple(str(int(label)) for label in labels), outputs))
        widths.append(len(labels))
    head_widths = tuple(widths) if scenario == "task" else (shared,)
    return Benchmark(
        name,
        tuple(made),
        head_widths,
        tuple(shape),
        scenario,
        transform or Transform(),
        source="own tensors",
        fingerprint=fingerprint([array for task in given for array in task]),
    )


def _warn_of_absent(count: int, labels: Sequence[Tensor]) -> None:
    absent = count - len(torch.unique(torch.cat(list(labels))))
    if absent:
        warnings.warn(f"{absent} of {count} classes have no training sample in any task", DataWarning, stacklevel=3)


def _part(x: Tensor, y: Tensor) -> Part:
    return Part(x, torch.arange(len(x)), y)


def _four_tensors(task: Sequence[Any], title: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    if not isinstance(task, Sequence) or isinstance(task, str):
        raise ColdError(f"{title} must be (x_train, y_train, x_test, y_test) or two data sets, got {shown(task)}")
    if len(task) == 2:
        pairs = [_from_dataset(task[0], f"{title}, training part"), _from_dataset(task[1], f"{title}, test part")]
    elif len(task) == 4:
        pairs = [
            _checked(task[0], task[1], f"{title}, training part"),
            _checked(task[2], task[3], f"{title}, test part"),
        ]
    else:
        raise ColdError(f"{title} has {len(task)} entries; give (x_train, y_train, x_test, y_test) or two data sets")
    return (*pairs[0], *pairs[1])


def _from_dataset(dataset: Any, title: str) -> tuple[Tensor, Tensor]:
    """Return all samples of a map-style data set, stacked."""
    samples, labels = [], []
    try:
        count = len(dataset)
    except (TypeError, OverflowError):
        raise ColdError(f"{title} must be a data set with a length, got {shown(dataset)}") from None
    for i in range(count):
        try:
            x, y = dataset[i]
            x = x if isinstance(x, Tensor) else torch.from_numpy(np.array(x))
            y = int(y)
        except Exception as error:  # a data set of a user may fail in any way
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
            raise ColdError(f"{title}: sample {i} is not a pair (x, y) of an array and a label ({reason})") from None
        if x.dtype == torch.uint8 and x.dim() == 3 and x.shape[-1] in (1, 3, 4) and x.shape[0] not in (1, 3, 4):
            x = x.permute(2, 0, 1)  # a PIL image has its channels last
        samples.append(x)
        labels.append(y)
    if not samples:
        raise ColdError(f"{title} has no samples")
    if len({x.shape for x in samples}) > 1:
        raise ColdError(f"{title}: samples have different shapes; resize them first")
    return _checked(torch.stack(samples), torch.tensor(labels), title)


def _checked(x: Any, y: Any, title: str) -> tuple[Tensor, Tensor]:
    demand_length(f"{title}: x", x)
    demand_length(f"{title}: y", y)
    try:
        x, y = torch.as_tensor(x), torch.as_tensor(y)
    except Exception as error:  # an object may raise anything when it is asked for a tensor
        raise ColdError(f"{title}: x and y must be tensors or arrays ({' '.join(str(error).split())[:100]})") from None
    if x.dim() < 2 or 0 in x.shape or y.shape != (len(x),) or len(x) == 0:
        raise ColdError(
            f"{title}: samples have shape {tuple(x.shape)} and labels {tuple(y.shape)}; they must be (n, ...) and (n,)"
        )
    if x.dtype.is_complex:
        raise ColdError(f"{title}: samples must be real numbers, got {x.dtype}")
    if y.dtype.is_floating_point or y.dtype.is_complex or y.dtype == torch.bool or int(y.min()) < 0:
        raise ColdError(f"{title}: labels must be whole numbers from 0 up; a label is out of range")
    if x.dtype == torch.uint8:
        x = x.unsqueeze(1) if x.dim() == 3 else x
    else:
        x = x.to(torch.float32)
        if not bool(torch.isfinite(x).all()):
            raise ColdError(f"{title}: samples hold values that are not finite")
    return x.contiguous(), y.to(torch.int64)
