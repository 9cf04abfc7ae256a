"""CutMix: a box of every image of a batch comes from another image, and the loss from both labels."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def cutmix(x: Tensor, owner: Tensor, probability: float, generator: torch.Generator) -> tuple[Tensor, Tensor, float]:
    """The mixed images, which others they were mixed with, and the share of their own that is left (1: not mixed).

    `owner` (n,), ascending: the task of each sample; images are mixed within a task, whose head answers for both.
    Grey images are left alone. One box for all, of an area uniform in [0, 1] before it is cut at the edges.
    """
    uniform, left, *middle = torch.rand(4, generator=generator, dtype=torch.float64).tolist()
    keys = torch.rand(len(owner), generator=generator, dtype=torch.float64).to(owner.device)
    if x.dim() != 4 or x.shape[1] == 1 or uniform >= probability:
        return x, torch.arange(len(owner), device=owner.device), 1.0
    # the samples stand task by task, so that sorting by (task + random) shuffles within tasks
    other = (owner + keys).argsort()
    half = math.sqrt(1 - left) / 2
    rows, columns = (
        slice(max(0, int((at - half) * size)), min(size, int((at + half) * size)))
        for at, size in zip(middle, x.shape[2:], strict=True)
    )
    mixed = x.clone()
    mixed[:, :, rows, columns] = x[other][:, :, rows, columns]
    area = (rows.stop - rows.start) * (columns.stop - columns.start)
    return mixed, other, 1 - area / (x.shape[2] * x.shape[3])
