"""A labelled image set as read from disk, before it is split into tasks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from coldtheory.ground.errors import ColdError

IntArray = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


@dataclass(frozen=True, eq=False)
class Images:
    """`train_x`, `test_x`: uint8 (N, C, H, W); `train_y`, `test_y`: int64 (N,), numbers of `classes`."""

    train_x: Tensor
    train_y: IntArray
    test_x: Tensor
    test_y: IntArray
    classes: tuple[str, ...]
    source: str

    def __post_init__(self) -> None:
        for part, x, y in (("training", self.train_x, self.train_y), ("test", self.test_x, self.test_y)):
            if len(x) != len(y):
                raise ColdError(f"{self.source}: {len(x)} {part} images but {len(y)} labels; fetch the data again")
            wrong = np.flatnonzero((y < 0) | (y >= len(self.classes)))
            if len(wrong):
                raise ColdError(
                    f"{self.source}: {part} image {wrong[0]} has label {y[wrong[0]]}, out of the range "
                    f"0..{len(self.classes) - 1}; the file is damaged or not this data set, fetch it again"
                )

    def channel_statistics(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Mean and standard deviation of each channel of the training images, in units of 255; exact."""
        values = torch.arange(256, dtype=torch.float64) / 255
        means, stds = [], []
        for channel in range(self.train_x.shape[1]):
            share = torch.bincount(self.train_x[:, channel].flatten(), minlength=256).double()
            share /= share.sum()
            mean = float(share @ values)
            means.append(mean)
            stds.append(max(float(share @ (values - mean) ** 2) ** 0.5, 1e-3))  # an empty channel stays finite
        return tuple(means), tuple(stds)
