"""CIFAR-10 and CIFAR-100 from their binary archives, packed or not; CIFAR-10 also from JPEG files in class folders.

A record of the binary form is a label byte (CIFAR-100: a coarse one, then a fine one) and 3,072 pixel bytes: the
planes red, green, blue, each 32 x 32. The pickled form is never read: unpickling runs what is in the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
import torch

from coldtheory.ground.errors import ColdError

from . import archive, folder
from .cache import cached, cached_counts
from .images import Images

SIDE = 32
_PIXELS = 3 * SIDE * SIDE
_TEN = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


@dataclass(frozen=True)
class Layout:
    """Where one of the two is found and how a record is made up. `places`: below the data root, the best one first."""

    name: str
    places: tuple[str, ...]
    train: tuple[str, ...]
    test: str
    label_bytes: int
    classes: int
    names_file: str


CIFAR10 = Layout(
    "cifar10",
    ("cifar-10-batches-bin", "cifar10/cifar-10-batches-bin", "cifar-10-binary.tar.gz", "cifar10-jpeg.tar.gz"),
    tuple(f"data_batch_{i}.bin" for i in range(1, 6)),
    "test_batch.bin",
    1,
    10,
    "batches.meta.txt",
)
CIFAR100 = Layout(
    "cifar100",
    ("cifar-100-binary", "cifar100/cifar-100-binary", "cifar-100-binary.tar.gz"),
    ("train.bin",),
    "test.bin",
    2,
    100,
    "fine_label_names.txt",
)


def find(root: Path, layout: Layout) -> Path | None:
    """The first of the layout's places that exists."""
    return next((root / place for place in layout.places if (root / place).exists()), None)


def read(path: Path, layout: Layout) -> Images:
    if "jpeg" in path.name:
        return cached(path, lambda: _read_jpeg(path, layout), settings="cifar jpeg")
    wanted = (*layout.train, layout.test, layout.names_file)
    content = {
        PurePosixPath(name).name: data
        for name, data in archive.files(path, lambda name: PurePosixPath(name).name in wanted)
    }
    for name in (*layout.train, layout.test):
        if name not in content:
            raise ColdError(f"{path} lacks {name}: it is truncated or incomplete; {_remedy(layout)}")
    batches = [_records(content[name], layout, f"{path.name}/{name}") for name in layout.train]
    train_x, train_y = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    test_x, test_y = _records(content[layout.test], layout, f"{path.name}/{layout.test}")
    listed = content.get(layout.names_file, b"").decode("utf-8", "replace").split()
    plain = _TEN if layout.classes == 10 else tuple(map(str, range(layout.classes)))
    classes = tuple(listed) if len(listed) == layout.classes else plain
    return Images(torch.from_numpy(train_x), train_y, torch.from_numpy(test_x), test_y, classes, path.name)


def counts(path: Path, layout: Layout) -> tuple[int, int, int]:
    """Training images, test images and classes."""
    if "jpeg" in path.name:
        return cached_counts(path, "cifar jpeg") or folder.counts(path)
    record = layout.label_bytes + _PIXELS
    wanted = (*layout.train, layout.test)
    sizes = {
        PurePosixPath(name).name: len(data) // record
        for name, data in archive.files(path, lambda name: PurePosixPath(name).name in wanted)
    }
    return sum(sizes.get(name, 0) for name in layout.train), sizes.get(layout.test, 0), layout.classes


def _read_jpeg(path: Path, layout: Layout) -> Images:
    images = folder.read_classes(path, frame=(SIDE, SIDE), channels=3)
    if images.classes != _TEN:
        raise ColdError(f"{path} has classes {', '.join(images.classes[:10])}, not those of {layout.name}")
    return images


def _records(data: bytes, layout: Layout, name: str) -> tuple[np.ndarray, np.ndarray]:
    """uint8 (n, 3, 32, 32) and labels (n,); of CIFAR-100's two labels the fine one."""
    record = layout.label_bytes + _PIXELS
    if len(data) == 0 or len(data) % record:
        raise ColdError(f"{name} is truncated: {len(data)} bytes are not records of {record}; {_remedy(layout)}")
    rows = np.frombuffer(data, np.uint8).reshape(-1, record)
    y = rows[:, layout.label_bytes - 1].astype(np.int64)
    return rows[:, layout.label_bytes :].copy().reshape(-1, 3, SIDE, SIDE), y


def _remedy(layout: Layout) -> str:
    return f"remove it and run 'cold data fetch {layout.name}'"
