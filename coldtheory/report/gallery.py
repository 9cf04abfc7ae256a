"""Figures as part of the page: pictures as data addresses, captions from the JSON beside each of them."""

from __future__ import annotations

import base64
import io
from html import escape
from pathlib import Path

from ..figures import registry
from ..figures.gallery import Caption, read_caption
from ..ground.errors import ColdError
from ..ground.reading import read_bytes
from .mathml import typeset

BUDGET = 5_000_000  # bytes of all pictures; base64 makes a third more of it
_WIDTHS = (1600, 1200, 900, 600)  # pixels, tried in turn until all pictures fit


def figure_cards(folder: Path) -> str:
    """Every PNG of the folder as a <figure>, in the order of the gallery; nothing if there is none."""
    if not folder.is_dir():
        raise ColdError(f"there is no folder {folder}; 'coldtheory plot all --figures {folder}' makes it")
    order = {figure.id: place for place, figure in enumerate(registry.figures())}
    pictures = sorted(folder.glob("*.png"), key=lambda path: (order.get(path.stem, len(order)), path.name))
    captions = [_caption(path.with_suffix(".json")) for path in pictures]
    try:
        contents = fitting([read_bytes(path) for path in pictures])
    except OSError as error:  # no picture at all
        raise ColdError(f"cannot read the figures in {folder}: {error.strerror or error}") from None
    return "\n".join(map(_card, (path.stem for path in pictures), contents, captions))


def fitting(contents: list[bytes], budget: int = BUDGET) -> list[bytes]:
    """The pictures, scaled down only if together they are larger than the page should be."""
    shrunk = contents
    for width in _WIDTHS:
        if sum(map(len, shrunk)) <= budget:
            return shrunk
        shrunk = [smaller(content, width) for content in contents]
    if sum(map(len, shrunk)) > budget:
        raise ColdError(
            f"the pictures take more than {budget / 1e6:g} MB even when scaled down; give a smaller --figures"
        )
    return shrunk


def smaller(png: bytes, width: int) -> bytes:
    """The picture with at most 256 colours and no wider than `width`, if that makes it smaller."""
    from PIL import Image  # noqa: PLC0415 - only for a folder of very large pictures

    try:
        with Image.open(io.BytesIO(png)) as picture:
            solid = picture.convert("RGBA")
    except Exception as error:  # whatever a damaged picture makes its decoder raise
        raise OSError(str(error)) from None
    flat = Image.new("RGB", solid.size, "white")
    flat.paste(solid, mask=solid.getchannel("A"))
    if flat.width > width:
        flat = flat.resize((width, round(flat.height * width / flat.width)), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    flat.quantize(256).save(out, "PNG", optimize=True)
    return min(out.getvalue(), png, key=len)


def _caption(path: Path) -> Caption:
    """A picture that nothing lies beside has its name for a caption."""
    return read_caption(path) if path.is_file() else Caption(path.stem)


def _card(stem: str, png: bytes, caption: Caption) -> str:
    title = f"{caption.title} (`{caption.label}`)" if caption.label else caption.title
    text = f" {typeset(caption.sentence)}" if caption.sentence else ""
    command = f"<code>{escape(caption.command)}</code>" if caption.command else ""
    readings = "".join(
        f"<li>The paper: {typeset(one.statement)} <strong>{escape(one.answer)}</strong>: {typeset(one.evidence)}.</li>"
        for one in caption.readings
    )
    points = f"<ul>{readings}</ul>" if readings else ""
    source = "data:image/png;base64," + base64.b64encode(png).decode("ascii")
    return (
        f'<figure id="figure-{escape(stem)}"><img alt="{escape(title.replace("`", ""))}" loading="lazy" src="{source}">'
        f"<figcaption><b>{typeset(title)}</b>{text} {command}{points}</figcaption></figure>"
    )
