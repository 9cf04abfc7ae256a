"""Figures as part of the page: pictures as data addresses, captions from the folder's README."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import dataclass
from html import escape
from pathlib import Path

from ..errors import ColdError
from .mathml import typeset

BUDGET = 5_000_000  # bytes of all pictures; base64 makes a third more of it
_WIDEST = 1600
_IMAGE = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<md>[^)\s]+)[^)]*\)|<img[^>]*?src=[\"'](?P<html>[^\"']+)[\"'][^>]*>")
_COMMAND = re.compile(r"\bcoldtheory [^`\n]+")


@dataclass(frozen=True)
class Caption:
    title: str
    text: str
    command: str


def figure_cards(folder: Path) -> str:
    """Every PNG of the folder as a <figure>; nothing if there is none."""
    pictures = sorted(folder.glob("*.png")) if folder.is_dir() else []
    captions = read_captions(folder / "README.md")
    order = {name: i for i, name in enumerate(captions)}
    pictures.sort(key=lambda path: (order.get(path.name, len(order)), path.name))
    try:
        contents = [path.read_bytes() for path in pictures]
    except OSError as error:
        raise ColdError(f"cannot read the figures in {folder}: {error.strerror or error}") from None
    if sum(map(len, contents)) > BUDGET:
        contents = [smaller(content, BUDGET // len(contents)) for content in contents]
    return "\n".join(
        _card(path.stem, content, captions.get(path.name)) for path, content in zip(pictures, contents, strict=True)
    )


def read_captions(readme: Path) -> dict[str, Caption]:
    """What a README says of each picture: the heading above it, the sentences around it, its command."""
    if not readme.is_file():
        return {}
    captions: dict[str, Caption] = {}
    for part in re.split(r"^(?=#{1,6} )", readme.read_text(encoding="utf-8"), flags=re.M):
        heading = re.match(r"#{1,6} +(.*)", part)
        images = list(_IMAGE.finditer(part))
        for i, image in enumerate(images):
            name = Path(image["md"] or image["html"]).name
            around = part if len(images) == 1 else part[image.start() : _end(images, i, len(part))]
            command = _COMMAND.search(around)
            title = heading[1] if heading and len(images) == 1 else image["alt"] or ""
            captions[name] = Caption(_bare(title), _sentences(around), command[0].strip(" `.|") if command else "")
    return captions


def smaller(png: bytes, limit: int) -> bytes:
    """The picture with at most 256 colours and a width a screen can show, if that makes it smaller."""
    from PIL import Image  # noqa: PLC0415 - only for a folder of very large pictures

    if len(png) <= limit:
        return png
    with Image.open(io.BytesIO(png)) as picture:
        flat = Image.new("RGB", picture.size, "white")
        flat.paste(picture, mask=picture.getchannel("A") if picture.mode == "RGBA" else None)
    if flat.width > _WIDEST:
        flat = flat.resize((_WIDEST, round(flat.height * _WIDEST / flat.width)), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    flat.quantize(256).save(out, "PNG", optimize=True)
    return min(out.getvalue(), png, key=len)


def _card(stem: str, png: bytes, caption: Caption | None) -> str:
    title = caption.title if caption and caption.title else stem
    text = f" {typeset(caption.text)}" if caption and caption.text else ""
    command = f"<code>{escape(caption.command)}</code>" if caption and caption.command else ""
    source = "data:image/png;base64," + base64.b64encode(png).decode("ascii")
    return (
        f'<figure id="figure-{escape(stem)}"><img alt="{escape(title)}" loading="lazy" src="{source}">'
        f"<figcaption><b>{typeset(title)}</b>{text} {command}</figcaption></figure>"
    )


def _end(images: list[re.Match[str]], i: int, last: int) -> int:
    return images[i + 1].start() if i + 1 < len(images) else last


def _sentences(markdown: str) -> str:
    """The prose of a piece of markdown: no headings, pictures, code blocks, tables' bars or commands."""
    text = re.sub(r"```.*?(```|\Z)", " ", markdown, flags=re.S)
    text = re.sub(r"^#{1,6} .*$", " ", _IMAGE.sub(" ", text), flags=re.M)
    text = re.sub(r"`coldtheory [^`]*`|^[ |:-]+$", " ", text, flags=re.M)
    return _bare(" ".join(re.sub(r"\|", " ", text).split()))


def _bare(markdown: str) -> str:
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"<[^>]+>", " ", markdown))
    return " ".join(text.replace("**", "").replace("*", "").split())
