"""From one labelled image set to a sequence of tasks.

`by_class`    Split-X: task t has classes t*w .. t*w + w-1 of the class order, and its own head of width w.
              Class-incremental: the same tasks, one head for all classes, labels counted through all tasks.
`near_iid`    the LOW regime of Split-X. Every image keeps the label that it has in `by_class`; only the task it
              belongs to is drawn anew: each task is a random, disjoint, equal part of the data, stratified
              by class. So LOW and HIGH have the same images, the same labels, the same number of tasks and the
              same network, and differ in nothing but how much the tasks differ. (With w = 2 and the natural order
              of MNIST, each near-IID task asks whether a digit is even or odd.)
`permuted`    P-X: all tasks have all images and labels, and one head; task t permutes the pixels. Every task
              is permuted, the first one too. Near-IID: one permutation for all, and disjoint parts of the data.
`rotated`     R-X: the same with a rotation by an angle of the task's own, uniform between 0 and 180 degrees.

With one head per task, the loss of task t does not depend on the other heads, so that even equal data give losses
that differ as functions of all weights. The domain-incremental form (`heads="shared"`) gives one head to all tasks
(labels as before), where a near-IID split has small task variation in the sense of the theory too.

Everything is drawn from streams keyed by (seed, name of the benchmark, part, task) alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from coldtheory.ground.checks import choice, number, whole
from coldtheory.ground.errors import ColdError
from coldtheory.ground.limits import demand_memory

from ..catalogue import Scenario
from ..streams import stream
from .augment import Transform
from .benchmark import Benchmark, Part, Task
from .images import Images, IntArray

Heads = Literal["task", "shared"]
Order = Literal["natural", "shuffled"]


@dataclass(frozen=True)
class Sizes:
    """How much of each task is used. `validation` is the share of its (limited) training part that is split off."""

    limit_train: int | None = None
    limit_test: int | None = None
    validation: float = 0.0

    def __post_init__(self) -> None:
        for name in ("limit_train", "limit_test"):
            if (given := getattr(self, name)) is not None:
                limit = whole(name, given)
                if limit < 1:
                    raise ColdError(f"{name} must be at least 1 image per task, got {limit}")
                object.__setattr__(self, name, limit)
        share = number("validation", self.validation)
        if not 0.0 <= share < 1.0:
            raise ColdError(f"validation is a share of the training part, from 0 to below 1, got {share}")
        object.__setattr__(self, "validation", share)


def split_benchmark(
    name: str,
    images: Images,
    transform: Transform,
    *,
    tasks: int,
    seed: int,
    sizes: Sizes,
    iid: bool = False,
    order: Order = "natural",
    scenario: Scenario = "task",
) -> Benchmark:
    """Split-X, or its near-IID counterpart; see the head of this file."""
    choice("class order", order, ("natural", "shuffled"))
    count = len(images.classes)
    width = check_divisor(tasks, count, name)
    ordered = np.arange(count) if order == "natural" else stream(seed, name, "classes").permutation(count)
    position = np.argsort(ordered)  # of each class in the order
    label = position if scenario == "class" else position % width
    names = [images.classes[c] for c in ordered]
    if iid:
        train = _deal(images.train_y, tasks, seed, name, "train")
        test = _deal(images.test_y, tasks, seed, name, "test")
        named = [tuple("|".join(names[local::width]) for local in range(width))] * tasks
    else:
        train = [np.flatnonzero(position[images.train_y] // width == t) for t in range(tasks)]
        test = [np.flatnonzero(position[images.test_y] // width == t) for t in range(tasks)]
        named = [tuple(names[t * width : (t + 1) * width]) for t in range(tasks)]
    made = []
    for t in range(tasks):
        parts = _parts(images, train[t], test[t], label, sizes, (seed, name, t))
        if scenario == "class":
            own = None if iid else tuple(range(t * width, (t + 1) * width))
            made.append(Task(f"task {t + 1}", 0, *parts, classes=tuple(names), outputs=own))
        else:
            made.append(Task(f"task {t + 1}", t if scenario == "task" else 0, *parts, classes=named[t]))
    widths = (count,) if scenario == "class" else (width,) * (tasks if scenario == "task" else 1)
    shape = tuple(images.train_x.shape[1:])
    return Benchmark(name, tuple(made), widths, shape, scenario, transform, images.source, images.fingerprint)


def permuted_benchmark(
    name: str,
    images: Images,
    transform: Transform,
    *,
    tasks: int,
    seed: int,
    sizes: Sizes,
    iid: bool = False,
    rotated: bool = False,
) -> Benchmark:
    """Permuted-X or Rotated-X, or its near-IID counterpart; see the head of this file."""
    if tasks < 1:
        raise ColdError(f"a benchmark needs at least 1 task, got {tasks}")
    label, shape = np.arange(len(images.classes)), tuple(images.train_x.shape[1:])
    pixels = shape[-2] * shape[-1]
    demand_memory(8 * tasks * (pixels + tasks), f"{tasks} tasks, each with a permutation of {pixels} pixels,")
    if iid:
        train = _deal(images.train_y, tasks, seed, name, "train")
        test = _deal(images.test_y, tasks, seed, name, "test")
        parts = [_parts(images, train[t], test[t], label, sizes, (seed, name, t)) for t in range(tasks)]
    else:
        # The same rows for every task: an image held out for validation is then held out of all tasks.
        rows = (np.arange(len(images.train_y)), np.arange(len(images.test_y)))
        parts = [_parts(images, *rows, label, sizes, (seed, name, 0))] * tasks
    made = []
    for t in range(tasks):
        which = 0 if iid else t
        move = (
            {"rotation": rotation(task_angle(name, seed, which), *shape[-2:])}
            if rotated
            else {"permutation": pixel_permutation(name, seed, which, pixels)}
        )
        train_part, test_part, held_out = parts[t]
        made.append(
            Task(
                f"task {t + 1}",
                head=0,
                train=replace(train_part, **move),
                test=replace(test_part, **move),
                validation=None if held_out is None else replace(held_out, **move),
                classes=images.classes,
            )
        )
    widths = (len(label),)
    return Benchmark(name, tuple(made), widths, shape, "domain", transform, images.source, images.fingerprint)


def pixel_permutation(name: str, seed: int, task: int, pixels: int) -> Tensor:
    """Return the permutation of a task, which depends on (seed, task) alone."""
    return torch.from_numpy(stream(seed, name, "permutation", task).permutation(pixels))


def task_angle(name: str, seed: int, task: int) -> float:
    """Return the angle of a task in degrees, which depends on (seed, task) alone."""
    return float(180 * stream(seed, name, "angle", task).random())


def rotation(angle: float, height: int, width: int) -> Tensor:
    """An anticlockwise rotation about the middle of an image as `Part.rotation`: each pixel is a mean of the four that
    lie around the place it comes from, by their distances; what comes from outside is blank."""
    turn, rows, columns = np.deg2rad(angle), *np.mgrid[:height, :width].astype(np.float64)
    down, right = rows - (height - 1) / 2, columns - (width - 1) / 2
    row = np.cos(turn) * down + np.sin(turn) * right + (height - 1) / 2
    column = np.cos(turn) * right - np.sin(turn) * down + (width - 1) / 2
    above, left = np.floor(row).astype(np.int64), np.floor(column).astype(np.int64)
    index, weight = [], []
    for r, c in ((0, 0), (0, 1), (1, 0), (1, 1)):
        inside = (above + r >= 0) & (above + r < height) & (left + c >= 0) & (left + c < width)
        index.append(np.where(inside, (above + r) * width + left + c, height * width).ravel())
        near = (1 - np.abs(row - above - r)) * (1 - np.abs(column - left - c))
        weight.append(np.round(256 * near).astype(np.int64).ravel())
    weights = np.stack(weight)
    weights[weights.argmax(0), np.arange(height * width)] += 256 - weights.sum(0)  # the remainder of the rounding
    return torch.from_numpy(np.stack([np.stack(index), weights]))


def check_divisor(tasks: int, classes: int, name: str) -> int:
    """Return the number of classes per task; raise if the tasks cannot all have the same number."""
    if tasks < 1 or classes % tasks:
        divisors = [d for d in range(1, classes + 1) if classes % d == 0]
        raise ColdError(
            f"{tasks} tasks do not divide the {classes} classes of {name}; choose --tasks from "
            f"{', '.join(map(str, divisors))}"
        )
    return classes // tasks


# ---------------------------------------------------------------------------------------------------
# Rows


def _deal(y: IntArray, tasks: int, seed: int, name: str, part: str) -> list[IntArray]:
    """Deal rows to tasks in turn, class by class and at random within a class; sizes differ by at most one."""
    shuffled = stream(seed, name, "deal", part).permutation(len(y))
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
    return [np.sort(by_class[t::tasks]) for t in range(tasks)]


def _parts(
    images: Images, train: IntArray, test: IntArray, label: IntArray, sizes: Sizes, key: tuple[int, str, int]
) -> tuple[Part, Part, Part | None]:
    """Return the training, test and validation part of one task."""
    seed, name, t = key
    train = _limited(train, images.train_y, sizes.limit_train, stream(seed, name, "limit train", t))
    test = _limited(test, images.test_y, sizes.limit_test, stream(seed, name, "limit test", t))
    if len(train) == 0 or len(test) == 0:
        raise ColdError(f"task {t + 1} of {name} has no {'training' if len(train) == 0 else 'test'} images")
    held_out = train[:0]
    if sizes.validation > 0:
        spread = balanced_order(images.train_y[train], stream(seed, name, "validation", t))
        cut = round(sizes.validation * len(train))
        if not 0 < cut < len(train):
            raise ColdError(
                f"a validation share of {sizes.validation} leaves {len(train) - cut} training and {cut} validation "
                f"images of {len(train)} in task {t + 1}; choose another share or more images"
            )
        train, held_out = np.sort(train[spread[cut:]]), np.sort(train[spread[:cut]])

    def part(pool: Tensor, rows: IntArray, y: IntArray) -> Part:
        return Part(pool, torch.from_numpy(rows), torch.from_numpy(label[y[rows]]))

    validation = part(images.train_x, held_out, images.train_y) if len(held_out) else None
    return part(images.train_x, train, images.train_y), part(images.test_x, test, images.test_y), validation


def _limited(rows: IntArray, y: IntArray, limit: int | None, rng: np.random.Generator) -> IntArray:
    """Choose at most `limit` rows, spread evenly over the classes; a smaller limit keeps a subset of a larger one's."""
    if limit is None or limit >= len(rows):
        return rows
    return np.sort(rows[balanced_order(y[rows], rng)[:limit]])


def balanced_order(y: IntArray | Sequence[int], rng: np.random.Generator) -> IntArray:
    """Return a random order in which every beginning has the classes in the proportions of the whole, up to rounding.

    The k-th of a class of size n stands at (k + u) / n of the way, with one random u per class.
    """
    y = np.asarray(y)
    shuffled = rng.permutation(len(y))
    _, kind, size = np.unique(y[shuffled], return_inverse=True, return_counts=True)
    by_kind = np.argsort(kind, kind="stable")
    first = np.cumsum(size) - size
    rank = np.empty(len(y), dtype=np.int64)
    rank[by_kind] = np.arange(len(y)) - np.repeat(first, size)
    way = (rank + rng.random(len(size))[kind]) / size[kind]
    return np.asarray(shuffled[np.argsort(way, kind="stable")])
