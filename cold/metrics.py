"""What the accuracy matrix says. a[i, j] is the test accuracy on task j after task i; `start[j]` before any task.

    ACC               mean of the last row
    forgetting        (1/(T-1)) sum_{j<T} (max_{l in [T-1]} a[l, j] - a[T, j]), literally as printed: l < j counts too
    forgetting_after  the same with the maximum over j <= l <= T-1, the usual meaning
    BWT               (1/(T-1)) sum_{j<T} (a[T, j] - a[j, j])
    FWT               (1/(T-1)) sum_{j>1} (a[j-1, j] - start[j])
    learning accuracy mean of the diagonal
    forgetting_loss   (1/(T-1)) sum_{j<T} (loss[T, j] - loss[j, j]), the test loss in nats; absent where it was not kept
    anytime accuracy  mean over i of the mean of a[i, 1..i]: ACC over the tasks seen so far, at every evaluation

In a class-incremental run a[i, j] counts an answer among all classes as right or wrong (Class-IL). The same measures
are taken among fewer answers: the classes of the tasks seen until then, or those of the sample's own task (Task-IL).
After the last task all classes have been seen, so the first two have the same ACC.

Quantities that need two tasks are None for one task.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coldtheory.ground.errors import ColdError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Metrics:
    """Accuracies in per cent, all others as fractions, as the paper prints them."""

    acc: float
    forgetting: float | None
    forgetting_after: float | None
    bwt: float | None
    fwt: float | None
    learning_acc: float
    anytime_acc: float


def metrics(accuracy: Array, start: Array | None = None) -> Metrics:
    """All measures of a finished run.

    >>> metrics(np.array([[0.9, 0.1], [0.7, 0.8]]), np.array([0.1, 0.1])).acc
    75.0
    """
    accuracy = _square(accuracy)
    tasks = len(accuracy)
    last, diagonal = accuracy[-1], np.diagonal(accuracy)
    several = tasks > 1
    return Metrics(
        acc=float(last.mean() * 100),
        forgetting=float(per_task_forgetting(accuracy).mean()) if several else None,
        forgetting_after=float(per_task_forgetting(accuracy, after=True).mean()) if several else None,
        bwt=float((last - diagonal)[:-1].mean()) if several else None,
        fwt=float((np.diagonal(accuracy, offset=1) - start[1:]).mean()) if several and start is not None else None,
        learning_acc=float(diagonal.mean() * 100),
        anytime_acc=float(np.mean([accuracy[t, : t + 1].mean() for t in range(tasks)]) * 100),
    )


def after_each_task(accuracy: Array) -> dict[str, list[float | None]]:
    """ACC (per cent) and forgetting (as printed) after each task, over the tasks seen until then."""
    accuracy = _square(accuracy)
    until = [metrics(accuracy[:t, :t]) for t in range(1, len(accuracy) + 1)]
    return {"acc": [m.acc for m in until], "forgetting": [m.forgetting for m in until]}


def per_task_forgetting(accuracy: Array, *, after: bool = False) -> Array:
    """Forgetting of each task but the last, (T-1,); with `after` only models that have seen the task count."""
    accuracy = _square(accuracy)
    before_last = accuracy[:-1, :-1]
    if after:
        before_last = np.where(np.tri(*before_last.shape) > 0, before_last, -np.inf)
    return np.asarray(before_last.max(axis=0) - accuracy[-1, :-1]) if len(accuracy) > 1 else np.zeros(0)


def _square(accuracy: Array) -> Array:
    accuracy = np.asarray(accuracy, dtype=np.float64)
    if accuracy.ndim != 2 or accuracy.shape[0] != accuracy.shape[1] or accuracy.size == 0:
        raise ColdError(f"an accuracy matrix has shape (T, T), got {accuracy.shape}")
    return accuracy


def loss_forgetting(loss: Array) -> Array:
    """F_j[t] = loss[t, j] - loss[j, j] of each task j after each task t, (T, T), in nats; NaN where j >= t.

    >>> loss_forgetting(np.array([[0.2, 2.0], [0.5, 0.3]]))[1, 0].round(3)
    np.float64(0.3)
    """
    square = _square(loss)
    return np.where(np.tri(len(square), k=-1) > 0, square - np.diagonal(square), np.nan)
