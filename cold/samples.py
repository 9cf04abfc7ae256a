"""What a user calls the data of a task, as `Samples`: tensors, a torch Dataset, a DataLoader, a part of a benchmark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, SubsetRandomSampler, default_collate

from coldtheory.ground.checks import shown
from coldtheory.ground.errors import ColdError

from .memory import Samples, TensorSamples

_WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)  # types of labels
_PIECE = 512
_NO_DATASET = (str, bytes, list, tuple, dict, set, np.ndarray)
_WANTED = "a tensor (n, ...), a Dataset, a DataLoader or a part of a benchmark"


class DatasetSamples:
    """A map-style data set of (x, y, ...); samples are read when they are needed, and only those.

    They are taken as the data set gives them. Random augmentation belongs in COLD's `prepare`: a stored sample is then
    augmented again whenever it is drawn.
    """

    def __init__(self, dataset: Any, rows: Sequence[int] | None, collate: Callable[[list[Any]], Any]) -> None:
        self._dataset, self._collate = dataset, collate
        self._rows = range(len(dataset)) if rows is None else rows

    def __len__(self) -> int:
        return len(self._rows)

    def pick(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Samples and labels of some rows, together."""
        try:
            items = [self._dataset[self._rows[row]] for row in rows.tolist()]
            x, y = self._collate(items)[:2]
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0][:120]
            raise ColdError(f"the data set must give (x, y), x a tensor and y a whole number: {reason}") from error
        if not isinstance(x, Tensor) or not isinstance(y, Tensor) or x.dim() == 0:
            raise ColdError(f"the data set must give (x, y), x a tensor and y a whole number, got {shown(items[0])}")
        return x, labels(y, len(x))

    def raw(self, rows: Tensor | None = None) -> Tensor:
        return self.pick(torch.arange(len(self)) if rows is None else rows)[0]

    @cached_property
    def y(self) -> Tensor:
        return torch.cat([self.pick(part)[1] for part in torch.split(torch.arange(len(self)), _PIECE)])


def as_samples(x: Any, y: Tensor | None = None) -> tuple[Samples, bool]:
    """The samples, and whether their labels are known: plain tensors may come without labels."""
    if isinstance(x, Tensor):
        if x.dim() == 0 or len(x) == 0:
            raise ColdError(f"x must be a tensor of one sample or more, (n, ...), got {tuple(x.shape)}")
        return TensorSamples(x, torch.zeros(len(x)) if y is None else labels(y, len(x))), y is not None
    if y is not None:
        raise ColdError(f"labels y come with a tensor x; {type(x).__name__} has its own, so leave y out")
    if all(hasattr(x, name) for name in ("y", "raw", "__len__")):
        found: Samples = x
        return found, True
    return _of_dataset(x), True


def labels(y: Any, count: int) -> Tensor:
    """The labels of `count` samples, checked."""
    if not isinstance(y, Tensor) or y.dim() != 1 or y.dtype not in _WHOLE:
        raise ColdError(f"y must be a tensor of whole numbers (n,), got {shown(y)}")
    if len(y) != count:
        raise ColdError(f"x has {count} samples and y {len(y)} labels")
    if len(y) and int(y.min()) < 0:
        raise ColdError(f"y holds the label {int(y.min())}; labels count from 0")
    return y


def _of_dataset(x: Any) -> DatasetSamples:
    dataset, rows, collate = x, None, default_collate
    if isinstance(x, DataLoader):
        dataset, collate = x.dataset, x.collate_fn
        if isinstance(x.sampler, SubsetRandomSampler):
            rows = x.sampler.indices
    if isinstance(dataset, IterableDataset):
        raise ColdError("an IterableDataset has no rows to choose the memory from; give tensors or a map-style Dataset")
    if isinstance(dataset, _NO_DATASET) or not (hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")):
        raise ColdError(f"x must be {_WANTED}, got {shown(x)}; call begin_task(model, x) and end_task(model, x, y)")
    try:
        found = DatasetSamples(dataset, rows, collate)
        empty = len(found) == 0
    except (TypeError, ValueError, OverflowError, AttributeError, RuntimeError):  # of a length that is none
        raise ColdError(f"x must be {_WANTED}, got {shown(x)}, which has no length") from None
    if empty:
        raise ColdError("the data set of this task is empty; a task needs one sample or more")
    return found
