"""Synthetic images: one smooth random pattern per class, shifted and with noise. Nothing is downloaded."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from coldtheory.ground.checks import number, shown, whole
from coldtheory.ground.errors import ColdError
from coldtheory.ground.limits import array_bytes, demand_memory

from ..streams import stream
from .images import Images, short_digest

_PIXEL_BYTES = 24  # per pixel while images are made: pattern, noise, sum, and the byte that stays
_PATCH = 4  # pixels per side over which a pattern is about constant
_SHIFT = 2  # pixels by which an image may be moved, each way
_VERSION = 1  # version of what is drawn from a seed; it is part of the fingerprint of all synthetic data


def make(
    seed: int,
    *,
    shape: tuple[int, int, int] = (1, 16, 16),
    classes: int = 10,
    train_per_class: int = 200,
    test_per_class: int = 50,
    noise: float = 0.5,
) -> Images:
    """`classes` kinds of images of the given shape (C, H, W).

    A class is a smooth pattern of unit standard deviation; an image is the pattern, moved by up to two pixels around
    the edges, plus noise of standard deviation `noise` per pixel. The patterns depend on (seed, shape, classes)
    alone, so that more images are more images of the same kinds.

    The fingerprint is that of the options: the seed is a setting of the run, and rounding may differ by machine.
    """
    if not isinstance(shape, list | tuple):
        raise ColdError(f"shape must be (channels, height, width), got {shown(shape)}")
    shape = tuple(whole("shape", side) for side in shape)  # type: ignore[assignment]
    counts = {"classes": classes, "train_per_class": train_per_class, "test_per_class": test_per_class}
    classes, train_per_class, test_per_class = (whole(name, count) for name, count in counts.items())
    noise = number("noise", noise, least=0)
    if len(shape) != 3 or min(shape) < 1 or min(classes, train_per_class, test_per_class) < 1:
        raise ColdError(
            f"synthetic images need a shape (channels, height, width) and at least 1 class and 1 image per class, got "
            f"shape {tuple(shape)}, {classes} classes, {train_per_class} training and {test_per_class} test images"
        )
    images = classes * (train_per_class + test_per_class)
    demand_memory(_PIXEL_BYTES * array_bytes((images, *shape), 1), f"{images} synthetic images of the shape {shape}")
    patterns = _patterns(seed, classes, shape)
    parts = [
        _samples(patterns, count, noise, stream(seed, "synthetic", part))
        for part, count in (("train", train_per_class), ("test", test_per_class))
    ]
    (train_x, train_y), (test_x, test_y) = parts
    names = tuple(f"kind {c}" for c in range(classes))
    options = [list(shape), classes, train_per_class, test_per_class, float(noise)]
    known = short_digest(["synthetic", _VERSION, *options])
    return Images(train_x, train_y, test_x, test_y, names, "synthetic", known)


def _patterns(seed: int, classes: int, shape: tuple[int, int, int]) -> np.ndarray:
    """(classes, C, H, W), float32: coarse noise, enlarged smoothly, each of mean 0 and s.d. 1."""
    channels, height, width = shape
    coarse = (classes, channels, max(2, -(-height // _PATCH)), max(2, -(-width // _PATCH)))
    seeds = torch.from_numpy(stream(seed, "synthetic", "patterns").standard_normal(coarse))
    smooth = functional.interpolate(seeds, size=(height, width), mode="bilinear", align_corners=True).numpy()
    centred = smooth - smooth.mean(axis=(1, 2, 3), keepdims=True)
    scale = np.maximum(centred.std(axis=(1, 2, 3), keepdims=True), 1e-6)
    return np.asarray(centred / scale, dtype=np.float32)


def _samples(
    patterns: np.ndarray, count: int, noise: float, rng: np.random.Generator
) -> tuple[torch.Tensor, np.ndarray]:
    """Return `count` images of each class, in mixed order: uint8 (n, C, H, W) and labels (n,)."""
    classes, channels, height, width = patterns.shape
    y = rng.permutation(np.repeat(np.arange(classes), count))
    dy, dx = rng.integers(-_SHIFT, _SHIFT + 1, (2, len(y)))
    rows = (np.arange(height) + dy[:, None]) % height
    columns = (np.arange(width) + dx[:, None]) % width
    x = patterns[
        y[:, None, None, None], np.arange(channels)[None, :, None, None], rows[:, None, :, None], columns[:, None, None]
    ]
    x = x + noise * rng.standard_normal(x.shape, dtype=np.float32)
    return torch.from_numpy(np.clip(np.rint(128 + 48 * x), 0, 255).astype(np.uint8)), y
