"""Encoded images (JPEG, PNG, ...) to one array of bytes."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from PIL import Image

from coldtheory.ground.errors import ColdError

from .progress import progress_bar

_STEP = 256  # images between two moves of the progress bar


def decode(encoded: Sequence[bytes], names: Sequence[str], *, channels: int, height: int, width: int) -> np.ndarray:
    """uint8 (n, C, H, W). Images of another size are scaled to cover the frame and cut at the centre."""
    mode = "RGB" if channels == 3 else "L"
    pixels = np.empty((len(encoded), channels, height, width), np.uint8)
    with _bombs_as_errors(), progress_bar("decoding images", len(encoded)) as advance:
        for i, (content, name) in enumerate(zip(encoded, names, strict=True)):
            image = _open(content, name)
            try:
                if image.mode != mode:
                    image = image.convert(mode)
                if image.size != (width, height):
                    image = _cover(image, width, height)
                flat = np.asarray(image)
            except (OSError, SyntaxError, ValueError):
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
            image = _open(content, name)  # reads the head only
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
    except (OSError, SyntaxError, ValueError):
        raise ColdError(f"image {name} cannot be read; replace it or remove it") from None


def _cover(image: Image.Image, width: int, height: int) -> Image.Image:
    scale = max(width / image.width, height / image.height)
    image = image.resize((max(width, round(image.width * scale)), max(height, round(image.height * scale))))
    left, top = (image.width - width) // 2, (image.height - height) // 2
    return image.crop((left, top, left + width, top + height))
