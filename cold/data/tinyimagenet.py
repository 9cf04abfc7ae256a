"""TinyImageNet in its usual layout, as a folder, a zip or a tar; `val` serves as the test part, as is usual.

train/<wnid>/images/*.JPEG   val/images/*.JPEG with val/val_annotations.txt (or val/<wnid>/...)
wnids.txt, the order of the classes   words.txt, their names
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import numpy as np
import torch

from coldtheory.ground.errors import ColdError

from . import archive
from .cache import cached, cached_counts
from .decode import decode
from .images import Images, IntArray

SIDE = 64
PLACES = (
    "tiny-imagenet-200",
    "tiny-imagenet-200.zip",
    "tiny-imagenet-200.tar.gz",
    "tiny-imagenet-200-subset.tar.gz",
)
_LISTS = ("wnids.txt", "words.txt", "val_annotations.txt")
_REMEDY = "remove it and run 'cold data fetch tinyimagenet'"


def find(root: Path) -> Path | None:
    """The first of the usual places that exists."""
    return next((root / place for place in PLACES if (root / place).exists()), None)


def read(path: Path) -> Images:
    return cached(path, lambda: _read(path), settings="tinyimagenet")


def counts(path: Path) -> tuple[int, int, int]:
    """Training images, test images and classes."""
    known = cached_counts(path, "tinyimagenet")
    if known is not None:
        return known
    wanted = [PurePosixPath(name).parts for name in archive.names(path) if _is_labelled_image(name)]
    train = [parts[parts.index("train") + 1] for parts in wanted if "train" in parts]
    return len(train), len(wanted) - len(train), len(set(train))


def _read(path: Path) -> Images:
    texts: dict[str, str] = {}
    found: dict[str, list[tuple[str, str, bytes]]] = {"train": [], "val": []}  # (wnid or "", name, content)
    for name, content in archive.files(path, lambda n: PurePosixPath(n).name in _LISTS or _is_labelled_image(n)):
        parts = PurePosixPath(name).parts
        if parts[-1] in _LISTS:
            texts[parts[-1]] = content.decode("utf-8", "replace")
            continue
        split = "train" if "train" in parts else "val"
        kind = parts[parts.index(split) + 1]
        found[split].append(("" if kind == "images" else kind, name, content))
    of_val = dict(line.split("\t")[:2] for line in texts.get("val_annotations.txt", "").splitlines() if "\t" in line)
    wnids = tuple(texts.get("wnids.txt", "").split()) or tuple(sorted({kind for kind, _, _ in found["train"]}))
    number = {wnid: i for i, wnid in enumerate(wnids)}
    words = dict(line.split("\t", 1) for line in texts.get("words.txt", "").splitlines() if "\t" in line)
    classes = tuple(words.get(wnid, wnid).split(",")[0].strip() for wnid in wnids)

    def part(split: str) -> tuple[torch.Tensor, IntArray]:
        entries = sorted(found[split], key=lambda entry: entry[:2])
        if not entries:
            raise ColdError(f"{path} has no {split} images: it is truncated or incomplete; {_REMEDY}")
        names = [name for _, name, _ in entries]
        kinds = [kind or of_val.get(PurePosixPath(name).name, "") for kind, name, _ in entries]
        for kind, name in zip(kinds, names, strict=True):
            if kind not in number:
                raise ColdError(f"{path}: label {kind!r} of {name} is out of range, not one of wnids.txt; {_REMEDY}")
        pixels = decode([content for _, _, content in entries], names, channels=3, height=SIDE, width=SIDE)
        return torch.from_numpy(pixels), np.array([number[kind] for kind in kinds], dtype=np.int64)

    return Images(*part("train"), *part("val"), classes, path.name)


def _is_labelled_image(name: str) -> bool:
    """Of the images those of train and val; test/ has no labels."""
    parts = PurePosixPath(name).parts
    return parts[-1].lower().endswith((".jpeg", ".jpg", ".png")) and ("train" in parts or "val" in parts[:-2])
