"""Figures as part of the page: pictures as data addresses, captions from the folder's README."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import dataclass
from html import escape
from pathlib import Path

from ..ground.errors import ColdError
from .mathml import typeset

BUDGET = 5_000_000  # bytes of all pictures; base64 makes a third more of it
_WIDTHS = (1600, 1200, 900, 600)  # pixels, tried in turn until all pictures fit
_IMAGE = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<md>[^)\s]+)[^)]*\)|<img[^>]*?src=[\"'](?P<html>[^\"']+)[\"'][^>]*>")
_COMMAND = re.compile(r"\bcoldtheory [^`\n]+")


@dataclass(frozen=True)
class Caption:
    title: str
    text: str
    command: str
    points: tuple[str, ...] = ()  #: items of a list below the picture; **words** are strong


def figure_cards(folder: Path) -> str:
    """Every PNG of the folder as a <figure>; nothing if there is none."""
    if not folder.is_dir():
        raise ColdError(f"there is no folder {folder}; 'coldtheory plot all --to {folder}' makes it")
    pictures = sorted(folder.glob("*.png"))
    captions = read_captions(folder / "README.md")
    order = {name: i for i, name in enumerate(captions)}
    pictures.sort(key=lambda path: (order.get(path.name, len(order)), path.name))
    try:
        contents = fitting([path.read_bytes() for path in pictures])
    except OSError as error:  # unreadable, or no picture at all
        raise ColdError(f"cannot read the figures in {folder}: {error.strerror or error}") from None
    return "\n".join(
        _card(path.stem, content, captions.get(path.name)) for path, content in zip(pictures, contents, strict=True)
    )


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
            captions[name] = Caption(
                _bare(title), _sentences(around), command[0].strip(" `.|") if command else "", _points(around)
            )
    return captions


def smaller(png: bytes, width: int) -> bytes:
    """The picture with at most 256 colours and no wider than `width`, if that makes it smaller."""
    from PIL import Image  # noqa: PLC0415 - only for a folder of very large pictures

    with Image.open(io.BytesIO(png)) as picture:
        solid = picture.convert("RGBA")
    flat = Image.new("RGB", solid.size, "white")
    flat.paste(solid, mask=solid.getchannel("A"))
    if flat.width > width:
        flat = flat.resize((width, round(flat.height * width / flat.width)), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    flat.quantize(256).save(out, "PNG", optimize=True)
    return min(out.getvalue(), png, key=len)


def _card(stem: str, png: bytes, caption: Caption | None) -> str:
    title = caption.title if caption and caption.title else stem
    text = f" {typeset(caption.text)}" if caption and caption.text else ""
    command = f"<code>{escape(caption.command)}</code>" if caption and caption.command else ""
    points = "".join(f"<li>{_strong(point)}</li>" for point in caption.points) if caption else ""
    source = "data:image/png;base64," + base64.b64encode(png).decode("ascii")
    return (
        f'<figure id="figure-{escape(stem)}"><img alt="{escape(title.replace("`", ""))}" loading="lazy" src="{source}">'
        f"<figcaption><b>{typeset(title)}</b>{text} {command}{points and f'<ul>{points}</ul>'}</figcaption></figure>"
    )


def _end(images: list[re.Match[str]], i: int, last: int) -> int:
    return images[i + 1].start() if i + 1 < len(images) else last


def _sentences(markdown: str) -> str:
    """The prose of a piece of markdown: no headings, pictures, code blocks, tables' bars or commands."""
    text = re.sub(r"```.*?(```|\Z)", " ", markdown, flags=re.S)
    text = re.sub(r"^#{1,6} .*$|^- .*$", " ", _IMAGE.sub(" ", text), flags=re.M)
    text = re.sub(r"`coldtheory [^`]*`.*$|^[ |:-]+$", " ", text, flags=re.M)  # files are linked beside the command
    return _bare(" ".join(re.sub(r"\|", " ", text).split()))


def _points(markdown: str) -> tuple[str, ...]:
    """The items of a list, without the command that each may end with."""
    return tuple(re.sub(r" *`coldtheory [^`]*` *$", "", item) for item in re.findall(r"^- (.*)$", markdown, flags=re.M))


def _strong(point: str) -> str:
    """A point as HTML; every other piece between ** is strong."""
    pieces = enumerate(point.split("**"))
    return "".join(f"<strong>{typeset(piece)}</strong>" if at % 2 else typeset(piece) for at, piece in pieces)


def _bare(markdown: str) -> str:
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"<[^>]+>", " ", markdown))
    return " ".join(text.replace("**", "").replace("*", "").split())
