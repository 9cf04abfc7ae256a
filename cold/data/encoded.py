"""Encoded images (JPEG, PNG, ...): any folder or archive of them as a data set, and TinyImageNet.

A folder or archive has train/<class>/*, and test/<class>/* or val/<class>/*. TinyImageNet comes in its usual layout, as
a folder, a zip or a tar; `val` serves as the test part, as is usual:

    train/<wnid>/images/*.JPEG   val/images/*.JPEG with val/val_annotations.txt (or val/<wnid>/...)
    wnids.txt, the order of the classes   words.txt, their names
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from coldtheory.ground.checks import whole
from coldtheory.ground.errors import ColdError
from coldtheory.ground.limits import array_bytes, demand_memory
from coldtheory.ground.terminal import progress_bar

from . import archive
from .cache import cached, cached_counts
from .images import Images, IntArray, as_tensor

if TYPE_CHECKING:
    from torch import Tensor

# ---------------------------------------------------------------------------------------------------
# Any folder of images

ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".ppm", ".pgm", ".tif", ".tiff")
_TEST_FOLDERS = ("test", "val", "valid", "validation")
_DEFAULT_SIZE = 64  # of images that have different sizes


def read_folder(path: Path, *, size: int | None = None) -> Images:
    """An image set; classes are numbered in the order of their names.

    Images become `size` x `size`. Without `size` they stay as they are if all have one size, and become 64 x 64
    if not; they are scaled to cover the frame and cut at the centre. All grey: one channel; else three.
    """
    if size is not None:
        size = whole("size, the side of images,", size)
        if size < 1:
            raise ColdError(f"the size of images must be at least 1 pixel, got {size}")
    if not path.exists():
        raise ColdError(f"there is no folder of images at {path}; give one with train/<class>/* and test/<class>/*")
    frame = None if size is None else (size, size)
    return cached(path, lambda: read_classes(path, frame=frame), settings=f"folder {size}")


def read_classes(path: Path, *, frame: tuple[int, int] | None = None, channels: int | None = None) -> Images:
    """Read a folder without the cache."""
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
        raise ColdError(
            f"{path} has no {'test' if train else 'training'} images; it must have train/<class>/* and test/<class>/*"
        )
    if frame is None or channels is None:
        own_channels, own_frame = common_frame(contents, names)
        channels = channels or own_channels
        frame = frame or own_frame or (_DEFAULT_SIZE, _DEFAULT_SIZE)
    pixels = as_tensor(decode(contents, names, channels=channels, height=frame[0], width=frame[1]))
    y = np.array([number[entry[1]] for entry in found], dtype=np.int64)
    # "test" sorts before "train": both parts are slices of one array, without a copy
    return Images(
        pixels[train[0] : train[-1] + 1], y[train], pixels[test[0] : test[-1] + 1], y[test], classes, path.name
    )


def count_folder(path: Path) -> tuple[int, int, int]:
    """Count training images, test images and classes by their names alone."""
    placed = [place for place in map(_place, archive.names(path)) if place is not None]
    train = [kind for split, kind in placed if split == "train"]
    return len(train), len(placed) - len(train), len(set(train))


def _labelled(path: Path) -> Iterable[tuple[str, bytes, str, str]]:
    for name, content in archive.files(path, lambda name: _place(name) is not None):
        place = _place(name)
        if place is not None:
            yield name, content, *place


def _place(name: str) -> tuple[str, str] | None:
    """Return ("train" or "test", class) of an image file, from the folders that it is in."""
    parts = PurePosixPath(name).parts
    if PurePosixPath(name).suffix.lower() not in ENDINGS or parts[-1].startswith("."):
        return None
    for i, part in enumerate(parts[:-2]):
        if part == "train" or part in _TEST_FOLDERS:
            return ("train" if part == "train" else "test"), parts[i + 1]
    return None


# ---------------------------------------------------------------------------------------------------
# TinyImageNet

TINY_SIDE = 64
TINY_PLACES = (
    "tiny-imagenet-200",
    "tiny-imagenet-200.zip",
    "tiny-imagenet-200.tar.gz",
    "tiny-imagenet-200-subset.tar.gz",
)
_TINY_LISTS = ("wnids.txt", "words.txt", "val_annotations.txt")
_TINY_REMEDY = "remove it and run 'cold data fetch tinyimagenet'"


def find_tinyimagenet(root: Path) -> Path | None:
    """Return the first of the usual places that exists."""
    return next((root / place for place in TINY_PLACES if (root / place).exists()), None)


def read_tinyimagenet(path: Path) -> Images:
    """The decoded images of TinyImageNet, from the cache if they were decoded before."""
    return cached(path, lambda: _decoded_tinyimagenet(path), settings="tinyimagenet")


def count_tinyimagenet(path: Path) -> tuple[int, int, int]:
    """Training images, test images and classes."""
    known = cached_counts(path, "tinyimagenet")
    if known is not None:
        return known
    wanted = [PurePosixPath(name).parts for name in archive.names(path) if _is_labelled_image(name)]
    train = [parts[parts.index("train") + 1] for parts in wanted if "train" in parts]
    return len(train), len(wanted) - len(train), len(set(train))


def _decoded_tinyimagenet(path: Path) -> Images:
    texts: dict[str, str] = {}
    found: dict[str, list[tuple[str, str, bytes]]] = {"train": [], "val": []}  # (wnid or "", name, content)
    for name, content in archive.files(path, lambda n: PurePosixPath(n).name in _TINY_LISTS or _is_labelled_image(n)):
        parts = PurePosixPath(name).parts
        if parts[-1] in _TINY_LISTS:
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

    def part(split: str) -> tuple[Tensor, IntArray]:
        entries = sorted(found[split], key=lambda entry: entry[:2])
        if not entries:
            raise ColdError(f"{path} has no {split} images: it is truncated or incomplete; {_TINY_REMEDY}")
        names = [name for _, name, _ in entries]
        kinds = [kind or of_val.get(PurePosixPath(name).name, "") for kind, name, _ in entries]
        for kind, name in zip(kinds, names, strict=True):
            if kind not in number:
                raise ColdError(
                    f"{path}: label {kind!r} of {name} is out of range, not one of wnids.txt; {_TINY_REMEDY}"
                )
        pixels = decode([content for _, _, content in entries], names, channels=3, height=TINY_SIDE, width=TINY_SIDE)
        return as_tensor(pixels), np.array([number[kind] for kind in kinds], dtype=np.int64)

    return Images(*part("train"), *part("val"), classes, path.name)


def _is_labelled_image(name: str) -> bool:
    """Choose the images of train and val, since test/ has no labels."""
    parts = PurePosixPath(name).parts
    return parts[-1].lower().endswith((".jpeg", ".jpg", ".png")) and ("train" in parts or "val" in parts[:-2])


# ---------------------------------------------------------------------------------------------------
# From encoded images to one array of bytes

_MOST_PIXELS = 89_478_485  # as Pillow has it
_STEP = 256  # images between two moves of the progress bar


def decode(encoded: Sequence[bytes], names: Sequence[str], *, channels: int, height: int, width: int) -> np.ndarray:
    """uint8 (n, C, H, W). Images of another size are scaled to cover the frame and cut at the centre."""
    mode = "RGB" if channels == 3 else "L"
    form = (len(encoded), channels, height, width)
    demand_memory(array_bytes(form, 1), f"{form[0]} images of {height} x {width} pixels")
    pixels = np.empty(form, np.uint8)
    with _bombs_as_errors(), progress_bar("decoding images", len(encoded)) as advance:
        for i, (content, name) in enumerate(zip(encoded, names, strict=True)):
            image = _open(content, name)
            try:
                if image.mode != mode:
                    image = image.convert(mode)
                if image.size != (width, height):
                    image = _cover(image, width, height)
                flat = np.asarray(image)
            except ColdError:
                raise
            except Exception:  # a decoder may fail in any way on a damaged image
                raise ColdError(f"image {name} is truncated or damaged; replace it or remove it") from None
            pixels[i] = flat.reshape(height, width, channels).transpose(2, 0, 1)
            if i % _STEP == 0:
                advance(_STEP)
    return pixels


def common_frame(encoded: Sequence[bytes], names: Sequence[str]) -> tuple[int, tuple[int, int] | None]:
    """Channels (1 if all images are grey, else 3), and height and width if all images agree on them."""
    sizes, modes = set(), set()
    with _bombs_as_errors():
        for content, name in zip(encoded, names, strict=True):
            image = _open(content, name)  # this reads only the head
            sizes.add((image.height, image.width))
            modes.add(image.mode)
    return (1 if modes <= {"L", "1"} else 3), (sizes.pop() if len(sizes) == 1 else None)


@contextmanager
def _bombs_as_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        yield


def _open(content: bytes, name: str) -> Image.Image:
    try:
        return Image.open(io.BytesIO(content))
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise ColdError(f"image {name} has too many pixels to be one of a data set; remove it") from None
    except Exception:  # a decoder may fail in any way on a damaged image
        raise ColdError(f"image {name} cannot be read; replace it or remove it") from None


def _cover(image: Image.Image, width: int, height: int) -> Image.Image:
    scale = max(width / image.width, height / image.height)
    size = max(width, round(image.width * scale)), max(height, round(image.height * scale))
    if size[0] * size[1] > _MOST_PIXELS:
        raise ColdError(
            f"an image of {image.width} x {image.height} pixels is too small to be cut to {width} x {height}"
        )
    image = image.resize(size)
    left, top = (image.width - width) // 2, (image.height - height) // 2
    return image.crop((left, top, left + width, top + height))
