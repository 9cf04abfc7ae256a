"""Progress for other programs: TensorBoard, where it is installed."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from coldtheory.ground.errors import ColdError

from .record import Progress


@contextmanager
def tensorboard_logger(folder: Path | None) -> Iterator[Callable[[Progress], None]]:
    """Loss and average accuracy against the step; with no folder nothing is written."""
    if folder is None:
        yield lambda place: None
        return
    try:
        writer = importlib.import_module("torch.utils.tensorboard").SummaryWriter(str(folder))
    except ImportError:
        raise ColdError("TensorBoard is not installed; pip install 'cold-continual[tensorboard]'") from None

    def log(place: Progress) -> None:
        writer.add_scalar("loss", place.loss, place.done)
        if place.acc is not None:
            writer.add_scalar("accuracy so far", place.acc, place.done)

    try:
        yield log
    finally:
        writer.close()
