"""A benchmark is a list of tasks whose samples are rows of one pool of images."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..catalogue import Scenario
from .augment import Transform


@dataclass(frozen=True, eq=False)
class Part:
    """Samples of one task, as rows of a pool that all tasks share; nothing is copied until `raw`.

    `pool`: uint8 (N, C, H, W), or floats of any shape (N, ...) for a user's own features.
    `index`: int64 (n,), the rows. `y`: int64 (n,), labels local to the task's head, 0 .. width - 1.
    `permutation`: int64 (H * W,) or None; pixel i of a sample is pixel permutation[i] of the stored image.
    `rotation`: int64 (2, 4, H * W) or None; pixel i of a sample is the mean of four pixels rotation[0, :, i] of the
                stored image, with weights rotation[1, :, i] / 256. A pixel number of H * W is a blank one.
    """

    pool: Tensor
    index: Tensor
    y: Tensor
    permutation: Tensor | None = None
    rotation: Tensor | None = None

    def __len__(self) -> int:
        return len(self.index)

    @property
    def moved(self) -> bool:
        """Whether samples are permuted or rotated images of the pool."""
        return self.permutation is not None or self.rotation is not None

    def raw(self, rows: Tensor | None = None) -> Tensor:
        """The samples as stored, permuted or rotated: (n, C, H, W); all of them, or those at positions `rows`."""
        x = self.pool.index_select(0, self.index if rows is None else self.index[rows])
        if self.permutation is not None:
            return _gathered(x.flatten(2), self.permutation).view_as(x)
        if self.rotation is not None:
            return _rotated(x.flatten(2), self.rotation).view_as(x)
        return x


def _gathered(pixels: Tensor, order: Tensor) -> Tensor:
    if pixels.device.type == "cpu":  # numpy's gather along the last axis is several times as fast as torch's
        return torch.from_numpy(np.take(pixels.numpy(), order.numpy(), axis=2))
    return pixels[:, :, order]


def _rotated(pixels: Tensor, rotation: Tensor) -> Tensor:
    """Rotate in whole numbers, so that every machine has the same images."""
    with_blank = torch.nn.functional.pad(pixels, (0, 1))
    total = torch.full(pixels.shape, 128, dtype=torch.int32, device=pixels.device)
    for order, weight in zip(*rotation, strict=True):
        total += _gathered(with_blank, order).int() * weight.int()
    return (total >> 8).to(pixels.dtype)


@dataclass(frozen=True, eq=False)
class Task:
    """One task: its samples, and the head that answers for it. `classes` names the head's outputs.

    `outputs`: in a class-incremental benchmark, which of them are the task's own classes; None: all.
    """

    name: str
    head: int
    train: Part
    test: Part
    validation: Part | None
    classes: tuple[str, ...]
    outputs: tuple[int, ...] | None = None


@dataclass(frozen=True, eq=False)
class Benchmark:
    """A sequence of tasks. `scenario`: "task" = one head per task; "domain" = one head for all tasks, which have the
    same classes; "class" = one head for the classes of all tasks, of which each task has its own.

    `source` says which stored data it was made from (a file name), for the provenance of a run; `about` how these
    differ from the whole data set in its canonical form, and is empty if they do not.
    `fingerprint` stands for the content of that data, before seed, limits and split options choose from it (see
    `cold.data.images.fingerprint`); empty where a benchmark was put together by hand.
    """

    name: str
    tasks: tuple[Task, ...]
    head_widths: tuple[int, ...]
    input_shape: tuple[int, ...]
    scenario: Scenario
    transform: Transform
    source: str = ""
    fingerprint: str = ""
    about: str = ""

    def __len__(self) -> int:
        return len(self.tasks)

    def to(self, device: torch.device | str) -> Benchmark:
        """Return the same benchmark on a device; what the tasks share stays shared."""
        moved: dict[int, Tensor] = {}

        def tensor(x: Tensor) -> Tensor:
            return moved.setdefault(id(x), x.to(device))

        def part(p: Part) -> Part:
            moves = (None if move is None else tensor(move) for move in (p.permutation, p.rotation))
            return Part(tensor(p.pool), tensor(p.index), tensor(p.y), *moves)

        def task(t: Task) -> Task:
            validation = None if t.validation is None else part(t.validation)
            return dataclasses.replace(t, train=part(t.train), test=part(t.test), validation=validation)

        return dataclasses.replace(self, tasks=tuple(map(task, self.tasks)))
