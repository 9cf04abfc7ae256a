"""Data sets in plain binary files: MNIST and Fashion-MNIST from their idx files, CIFAR-10 and CIFAR-100 from their
archives, packed or not.

A record of CIFAR's binary form is a label byte (CIFAR-100: a coarse one, then a fine one) and 3,072 pixel bytes: the
planes red, green, blue, each 32 x 32. The pickled form is never read: unpickling runs what is in the file. CIFAR-10 is
also read from JPEG files in class folders.
"""

from __future__ import annotations

import gzip
import io
import math
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from coldtheory.ground.errors import ColdError
from coldtheory.ground.reading import read_bytes

from . import archive
from .cache import cached, cached_counts
from .encoded import count_folder, read_classes
from .images import Images, as_tensor

# ---------------------------------------------------------------------------------------------------
# MNIST, and Fashion-MNIST, which has the same files

MNIST_FILES = {
    "train_x": "train-images-idx3-ubyte",
    "train_y": "train-labels-idx1-ubyte",
    "test_x": "t10k-images-idx3-ubyte",
    "test_y": "t10k-labels-idx1-ubyte",
}
_UBYTE = 0x08
_LARGEST_IDX = 1 << 30  # bytes of an unpacked file; MNIST's largest has 47 million


@dataclass(frozen=True)
class IdxLayout:
    """One of the two. `folders`: where other programs and ours put its files, below the data root."""

    name: str
    title: str
    folders: tuple[str, ...]
    classes: tuple[str, ...]


MNIST = IdxLayout("mnist", "MNIST", ("mnist", "MNIST/raw", "MNIST", "."), tuple("0123456789"))
FASHION = IdxLayout(
    "fashion-mnist",
    "Fashion-MNIST",
    ("fashion-mnist", "FashionMNIST/raw", "FashionMNIST"),
    ("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"),
)


def find_idx(root: Path, layout: IdxLayout) -> Path | None:
    """Return the folder below `root` with all four files, or None."""
    return next(
        (root / f for f in layout.folders if all(_idx_file(root / f, stem) for stem in MNIST_FILES.values())), None
    )


def read_idx_set(folder: Path, layout: IdxLayout) -> Images:
    """Read the four files as an image set; a damaged one raises a `ColdError`."""
    again = f"'cold data fetch {layout.name}'"
    arrays = {}
    for key, stem in MNIST_FILES.items():
        path = _idx_file(folder, stem)
        if path is None:
            raise ColdError(f"{folder / stem} is missing; get it with {again}")
        arrays[key] = read_idx(path, again)
    for part in ("train", "test"):
        if arrays[f"{part}_x"].ndim != 3 or arrays[f"{part}_y"].ndim != 1 or arrays[f"{part}_x"].size == 0:
            raise ColdError(f"{folder}: the {part} files do not hold images and labels; {again}")
    return Images(
        as_tensor(arrays["train_x"]).unsqueeze(1),
        arrays["train_y"].astype(np.int64),
        as_tensor(arrays["test_x"]).unsqueeze(1),
        arrays["test_y"].astype(np.int64),
        layout.classes,
        f"{layout.name} idx files",
    )


def count_idx_set(folder: Path, layout: IdxLayout) -> tuple[int, int, int]:
    """Training images, test images and classes."""
    again = f"'cold data fetch {layout.name}'"
    paths = (_idx_file(folder, MNIST_FILES[key]) for key in ("train_y", "test_y"))
    labels = [read_idx(path, again) for path in paths if path]
    if len(labels) != 2 or any(part.ndim != 1 for part in labels):
        raise ColdError(f"{folder} does not hold two files of labels; {again}")
    return len(labels[0]), len(labels[1]), len(layout.classes)


def read_idx(path: Path, again: str = "'cold data fetch mnist'") -> np.ndarray:
    """Read an idx file of bytes: two zeros, the type, the number of axes, their lengths (big-endian), the data."""
    remedy = f"remove it and run {again}"
    data = read_bytes(path)
    if path.suffix == ".gz":
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
                data = packed.read(_LARGEST_IDX + 1)
        except (EOFError, zlib.error, OSError):
            raise ColdError(f"{path} is truncated or not a gzip file; {remedy}") from None
        if len(data) > _LARGEST_IDX:
            raise ColdError(f"{path} unpacks to more than {_LARGEST_IDX >> 20} MiB; {remedy}")
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] != _UBYTE:
        raise ColdError(f"{path} is not an idx file of bytes; {remedy}")
    axes = data[3]
    start = 4 + 4 * axes
    shape = tuple(int(length) for length in np.frombuffer(data[4:start], ">u4")) if len(data) >= start else ()
    if len(shape) != axes or len(data) - start != math.prod(shape):
        raise ColdError(f"{path} is truncated: {len(data)} bytes, but its head announces the shape {shape}; {remedy}")
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape).copy()


def _idx_file(folder: Path, stem: str) -> Path | None:
    return next((p for p in (folder / stem, folder / f"{stem}.gz") if p.is_file()), None)


# ---------------------------------------------------------------------------------------------------
# CIFAR

CIFAR_SIDE = 32
_CIFAR_PIXELS = 3 * CIFAR_SIDE * CIFAR_SIDE
CIFAR10_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


@dataclass(frozen=True)
class CifarLayout:
    """Where one of the two is found and how a record is made up. `places`: below the data root, the best one first."""

    name: str
    title: str
    places: tuple[str, ...]
    train: tuple[str, ...]
    test: str
    label_bytes: int
    classes: int
    names_file: str


CIFAR10 = CifarLayout(
    "cifar10",
    "CIFAR-10",
    ("cifar-10-batches-bin", "cifar10/cifar-10-batches-bin", "cifar-10-binary.tar.gz", "cifar10-jpeg.tar.gz"),
    tuple(f"data_batch_{i}.bin" for i in range(1, 6)),
    "test_batch.bin",
    1,
    10,
    "batches.meta.txt",
)
CIFAR100 = CifarLayout(
    "cifar100",
    "CIFAR-100",
    ("cifar-100-binary", "cifar100/cifar-100-binary", "cifar-100-binary.tar.gz"),
    ("train.bin",),
    "test.bin",
    2,
    100,
    "fine_label_names.txt",
)


def find_cifar(root: Path, layout: CifarLayout) -> Path | None:
    """Return the first of the layout's places that exists."""
    return next((root / place for place in layout.places if (root / place).exists()), None)


def is_jpeg_copy(name: str) -> bool:
    """Whether a file or folder of this name holds images that were not JPEG files at first."""
    return "jpeg" in name


def read_cifar(path: Path, layout: CifarLayout) -> Images:
    """The images of a CIFAR archive or of its JPEG copy; raises `ColdError` if the content is not as expected."""
    if is_jpeg_copy(path.name):
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
    plain = CIFAR10_CLASSES if layout.classes == 10 else tuple(map(str, range(layout.classes)))
    classes = tuple(listed) if len(listed) == layout.classes else plain
    return Images(as_tensor(train_x), train_y, as_tensor(test_x), test_y, classes, path.name)


def count_cifar(path: Path, layout: CifarLayout) -> tuple[int, int, int]:
    """Training images, test images and classes."""
    if is_jpeg_copy(path.name):
        return cached_counts(path, "cifar jpeg") or count_folder(path)
    record = layout.label_bytes + _CIFAR_PIXELS
    wanted = (*layout.train, layout.test)
    sizes = {
        PurePosixPath(name).name: len(data) // record
        for name, data in archive.files(path, lambda name: PurePosixPath(name).name in wanted)
    }
    return sum(sizes.get(name, 0) for name in layout.train), sizes.get(layout.test, 0), layout.classes


def _read_jpeg(path: Path, layout: CifarLayout) -> Images:
    images = read_classes(path, frame=(CIFAR_SIDE, CIFAR_SIDE), channels=3)
    if images.classes != CIFAR10_CLASSES:
        raise ColdError(f"{path} has classes {', '.join(images.classes[:10])}, not those of {layout.name}")
    return images


def _records(data: bytes, layout: CifarLayout, name: str) -> tuple[np.ndarray, np.ndarray]:
    """uint8 (n, 3, 32, 32) and labels (n,); of CIFAR-100's two labels the fine one."""
    record = layout.label_bytes + _CIFAR_PIXELS
    if len(data) == 0 or len(data) % record:
        raise ColdError(f"{name} is truncated: {len(data)} bytes are not records of {record}; {_remedy(layout)}")
    rows = np.frombuffer(data, np.uint8).reshape(-1, record)
    y = rows[:, layout.label_bytes - 1].astype(np.int64)
    return rows[:, layout.label_bytes :].copy().reshape(-1, 3, CIFAR_SIDE, CIFAR_SIDE), y


def _remedy(layout: CifarLayout) -> str:
    return f"remove it and run 'cold data fetch {layout.name}'"
