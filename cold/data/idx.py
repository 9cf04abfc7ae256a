"""MNIST from its idx files, packed with gzip or not."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np
import torch

from coldtheory.ground.errors import ColdError

from .images import Images

FILES = {
    "train_x": "train-images-idx3-ubyte",
    "train_y": "train-labels-idx1-ubyte",
    "test_x": "t10k-images-idx3-ubyte",
    "test_y": "t10k-labels-idx1-ubyte",
}
FOLDERS = ("mnist", "MNIST/raw", "MNIST", ".")  # where other programs and ours put them, below the data root
_UBYTE = 0x08


def find(root: Path) -> Path | None:
    """The folder below `root` that holds all four files, or None."""
    return next((root / f for f in FOLDERS if all(_file(root / f, stem) for stem in FILES.values())), None)


def read(folder: Path) -> Images:
    """MNIST as an image set; a damaged file is a `ColdError`."""
    arrays = {}
    for key, stem in FILES.items():
        path = _file(folder, stem)
        if path is None:
            raise ColdError(f"{folder / stem} is missing; get it with 'cold data fetch mnist'")
        arrays[key] = read_idx(path)
    for part in ("train", "test"):
        if arrays[f"{part}_x"].ndim != 3 or arrays[f"{part}_y"].ndim != 1:
            raise ColdError(f"{folder}: the {part} files do not hold images and labels; 'cold data fetch mnist'")
    return Images(
        torch.from_numpy(arrays["train_x"]).unsqueeze(1),
        arrays["train_y"].astype(np.int64),
        torch.from_numpy(arrays["test_x"]).unsqueeze(1),
        arrays["test_y"].astype(np.int64),
        tuple("0123456789"),
        "mnist idx files",
    )


def counts(folder: Path) -> tuple[int, int, int]:
    """Training images, test images and classes."""
    labels = [read_idx(path) for path in (_file(folder, FILES[key]) for key in ("train_y", "test_y")) if path]
    return len(labels[0]), len(labels[1]), 10


def read_idx(path: Path) -> np.ndarray:
    """One idx file of bytes: two zeros, the type, the number of axes, their lengths (big-endian), the data."""
    remedy = "remove it and run 'cold data fetch mnist'"
    try:
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise ColdError(f"{path} is truncated or not a gzip file; {remedy}") from None
    except OSError as error:
        raise ColdError(f"cannot read {path}: {error.strerror or error}") from None
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] != _UBYTE:
        raise ColdError(f"{path} is not an idx file of bytes; {remedy}")
    axes = data[3]
    start = 4 + 4 * axes
    shape = tuple(int(length) for length in np.frombuffer(data[4:start], ">u4")) if len(data) >= start else ()
    if len(shape) != axes or len(data) - start != math.prod(shape):
        raise ColdError(f"{path} is truncated: {len(data)} bytes, its head promises shape {shape}; {remedy}")
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape).copy()


def _file(folder: Path, stem: str) -> Path | None:
    return next((p for p in (folder / stem, folder / f"{stem}.gz") if p.is_file()), None)
