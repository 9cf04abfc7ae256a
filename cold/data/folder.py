"""Any folder (or archive) of images as a data set: train/<class>/*, and test/<class>/* or val/<class>/*."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import numpy as np
import torch

from coldtheory.ground.errors import ColdError

from . import archive
from .cache import cached
from .decode import common_frame, decode
from .images import Images

ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".ppm", ".pgm", ".tif", ".tiff")
_TEST = ("test", "val", "valid", "validation")
_DEFAULT_SIZE = 64  # of images that have different sizes


def read(path: Path, *, size: int | None = None) -> Images:
    """An image set; classes are numbered in the order of their names.

    Images become `size` x `size`. Without `size` they stay as they are if all have one size, and become 64 x 64
    if not; they are scaled to cover the frame and cut at the centre. All grey: one channel; else three.
    """
    if size is not None and size < 1:
        raise ColdError(f"the size of images must be at least 1 pixel, got {size}")
    if not path.exists():
        raise ColdError(f"no image folder at {path}; give a folder with train/<class>/* and test/<class>/*")
    frame = None if size is None else (size, size)
    return cached(path, lambda: read_classes(path, frame=frame), settings=f"folder {size}")


def read_classes(path: Path, *, frame: tuple[int, int] | None = None, channels: int | None = None) -> Images:
    """`read`, without the cache."""
    found = sorted((split, kind, name, content) for name, content, split, kind in _labelled(path))
    classes = tuple(sorted({kind for split, kind, _, _ in found if split == "train"}))
    number = {kind: i for i, kind in enumerate(classes)}
    strange = next((kind for _, kind, _, _ in found if kind not in number), None)
    if strange is not None:
        raise ColdError(f"{path}: class {strange!r} has test images but no training images; its label is out of range")
    contents, names = [entry[3] for entry in found], [entry[2] for entry in found]
    train = [i for i, entry in enumerate(found) if entry[0] == "train"]
    test = [i for i, entry in enumerate(found) if entry[0] == "test"]
    if not train or not test:
        raise ColdError(f"{path} has no {'test' if train else 'training'} images; want train/<class>/*, test/<class>/*")
    if frame is None or channels is None:
        own_channels, own_frame = common_frame(contents, names)
        channels = channels or own_channels
        frame = frame or own_frame or (_DEFAULT_SIZE, _DEFAULT_SIZE)
    pixels = torch.from_numpy(decode(contents, names, channels=channels, height=frame[0], width=frame[1]))
    y = np.array([number[entry[1]] for entry in found], dtype=np.int64)
    # "test" sorts before "train": both parts are slices of one array, without a copy
    return Images(
        pixels[train[0] : train[-1] + 1], y[train], pixels[test[0] : test[-1] + 1], y[test], classes, path.name
    )


def counts(path: Path) -> tuple[int, int, int]:
    """Training images, test images and classes, by name alone."""
    placed = [place for place in map(_place, archive.names(path)) if place is not None]
    train = [kind for split, kind in placed if split == "train"]
    return len(train), len(placed) - len(train), len(set(train))


def _labelled(path: Path) -> Iterable[tuple[str, bytes, str, str]]:
    for name, content in archive.files(path, lambda name: _place(name) is not None):
        place = _place(name)
        if place is not None:
            yield name, content, *place


def _place(name: str) -> tuple[str, str] | None:
    """("train" or "test", class) of an image file, by the folders that it is in."""
    parts = PurePosixPath(name).parts
    if PurePosixPath(name).suffix.lower() not in ENDINGS or parts[-1].startswith("."):
        return None
    for i, part in enumerate(parts[:-2]):
        if part == "train" or part in _TEST:
            return ("train" if part == "train" else "test"), parts[i + 1]
    return None
