"""A labelled image set as read from disk, before it is split into tasks."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import iadd
from typing import TYPE_CHECKING, Any

import numpy as np

from coldtheory.ground.checks import whole
from coldtheory.ground.errors import ColdError

if TYPE_CHECKING:
    from torch import Tensor

IntArray = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


class DataWarning(UserWarning):
    """The data can be used, but may not be what the user expects."""


@dataclass(frozen=True, eq=False)
class Images:
    """`train_x`, `test_x`: uint8 (N, C, H, W); `train_y`, `test_y`: int64 (N,), numbers of `classes`.

    `known` is the fingerprint where it is known without a look at the arrays.
    """

    train_x: Tensor
    train_y: IntArray
    test_x: Tensor
    test_y: IntArray
    classes: tuple[str, ...]
    source: str
    known: str | None = None

    def __post_init__(self) -> None:
        for part, x, y in (("training", self.train_x, self.train_y), ("test", self.test_x, self.test_y)):
            if x.ndim != 4 or y.ndim != 1 or str(x.dtype) not in ("torch.uint8", "uint8") or y.dtype.kind != "i":
                raise ColdError(f"{self.source}: the {part} part holds no images and labels; fetch the data again")
            if len(x) != len(y):
                raise ColdError(f"{self.source}: {len(x)} {part} images but {len(y)} labels; fetch the data again")
            wrong = np.flatnonzero((y < 0) | (y >= len(self.classes)))
            if len(wrong):
                raise ColdError(
                    f"{self.source}: {part} image {wrong[0]} has label {y[wrong[0]]}, out of the range "
                    f"0..{len(self.classes) - 1}; the file is damaged or not this data set, fetch it again"
                )

        absent = sorted(set(range(len(self.classes))) - set(np.unique(self.train_y).tolist()))
        if absent:
            words = f"{len(absent)} of {len(self.classes)} classes have no training image, such as"
            warnings.warn(f"{self.source}: {words} {self.classes[absent[0]]!r}", DataWarning, stacklevel=3)

    @cached_property
    def fingerprint(self) -> str:
        """A short name for exactly these images, labels and number of classes; see `fingerprint`."""
        arrays = (self.train_x, self.train_y, self.test_x, self.test_y)
        return self.known or fingerprint(arrays, classes=len(self.classes))

    def shrunk(self, size: int) -> Images:
        """The same images at `size` x `size` pixels: each pixel is the rounded mean of a square of the original's.

        Whole numbers only, so that every machine makes the same bytes. The fingerprint stays that of the originals, for
        the size is a setting of a run.
        """
        side, width = self.train_x.shape[-2:]
        size = whole("size, the side of images,", size)
        if side != width or not 1 <= size <= side or side % size:
            fitting = ", ".join(str(n) for n in range(1, side + 1) if side == width and side % n == 0)
            raise ColdError(f"images of {side} x {width} pixels cannot be made {size} x {size}; use one of {fitting}")
        if size == side:
            return self
        made = (_block_means(x, side // size) for x in (self.train_x, self.test_x))
        return replace(self, train_x=next(made), test_x=next(made), known=self.fingerprint)

    def channel_statistics(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Mean and standard deviation of each channel of the training images, in units of 255; exact."""
        import torch  # noqa: PLC0415  (see `as_tensor`)

        values = torch.arange(256, dtype=torch.float64) / 255
        means, stds = [], []
        for channel in range(self.train_x.shape[1]):
            share = torch.bincount(self.train_x[:, channel].flatten(), minlength=256).double()
            share /= share.sum()
            mean = float(share @ values)
            means.append(mean)
            stds.append(max(float(share @ (values - mean) ** 2) ** 0.5, 1e-3))  # so that an empty channel stays finite
        return tuple(means), tuple(stds)


def _block_means(x: Tensor, block: int) -> Tensor:
    """Rounded means of squares of `block` x `block` pixels, half up."""
    corners = [x[..., i::block, j::block].int() for i in range(block) for j in range(block)]
    total, area = reduce(iadd, corners), block * block
    return ((2 * total + area) // (2 * area)).to(x.dtype)


def as_tensor(array: np.ndarray) -> Tensor:
    """Return the same memory as a tensor. Torch is loaded here, so that data sets can be listed without it."""
    import torch  # noqa: PLC0415

    return torch.from_numpy(array)


def fingerprint(
    arrays: Sequence[Tensor | np.ndarray], *, classes: int | None = None, checksum: str | None = None
) -> str:
    """16 hexadecimal digits that stand for the type, the shape and every value of the arrays, in this order.

    They are the same on every machine and for every way in which the same images came to be in memory (packed or
    unpacked, from one mirror or another, from the cache or freshly decoded). Encoded images count as they were decoded:
    a decoder that rounds otherwise makes other images. Paths, file names and class names do not enter, nor do settings
    of a run: its seed, its limits, its split. `checksum` is that of the same arrays, where it is known already.

    >>> import torch
    >>> fingerprint([np.array([1, 2])]) == fingerprint([torch.tensor([1, 2])])
    True
    >>> fingerprint([np.array([1, 2])]) == fingerprint([np.array([[1, 2]])])
    False
    """
    form = [(_plain(array).dtype.name, list(array.shape)) for array in arrays]
    return short_digest([form, classes, checksum or checksum_of(arrays)])


def short_digest(content: Any) -> str:
    """16 hexadecimal digits of anything that JSON can hold."""
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=8).hexdigest()


def checksum_of(arrays: Sequence[Tensor | np.ndarray]) -> str:
    """SHA-256 of the values of the arrays, one after the other."""
    total = hashlib.sha256()
    for array in arrays:
        plain = _plain(array)
        total.update(np.ascontiguousarray(plain, dtype=plain.dtype.newbyteorder("<")).data)
    return total.hexdigest()


def _plain(array: Tensor | np.ndarray) -> np.ndarray:
    return array if isinstance(array, np.ndarray) else array.numpy(force=True)
