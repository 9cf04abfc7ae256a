"""Figures as part of the page: vector pictures where they are drawn, else PNGs; captions from the JSON beside each."""

from __future__ import annotations

import base64
import io
from html import escape
from pathlib import Path

from ..figures import Figure, registry
from ..figures.gallery import Caption, read_caption
from ..ground.errors import ColdError
from ..ground.reading import read_bytes
from .mathml import command, typeset
from .svg import shared_styles
from .vector import stored

BUDGET = 1_500_000  # bytes of all pictures in the page
_SHARE = 0.74  # of the budget that PNGs may have as files: base64 makes a third more of them
_SMALL = 40_000  # bytes of a PNG that was scaled down
_MOST = 5_000_000  # bytes of PNGs that are too many to be scaled down to the budget
_WIDTHS = (1600, 1200, 900, 600)  # pixels, tried in turn until all pictures fit
_KINDS = {"theory": "Theory", "training": "Training runs", "": "Further pictures"}


def figure_cards(folder: Path, results: Path) -> tuple[str, str]:
    """Every PNG of the folder as a folded figure, in the order of the gallery; and the styles that they share."""
    if not folder.is_dir():
        raise ColdError(f"there is no folder {folder}; 'coldtheory plot all --figures {folder}' makes it")
    known = {figure.id: figure for figure in registry.figures()}
    order = {id_: place for place, id_ in enumerate(known)}
    paths = sorted(folder.glob("*.png"), key=lambda path: (order.get(path.stem, len(order)), path.name))
    captions = {path.stem: _caption(path.with_suffix(".json")) for path in paths}
    pictures = _vectors([known[path.stem] for path in paths if path.stem in known], folder, results, captions)
    rest = [path for path in paths if path.stem not in pictures]
    room = round(_SHARE * (BUDGET - sum(map(len, pictures.values()))))
    try:
        contents = fitting([read_bytes(path) for path in rest], room)
    except OSError as error:  # no picture at all
        raise ColdError(f"cannot read the figures in {folder}: {error.strerror or error}") from None
    pictures |= {path.stem: _image(png, captions[path.stem]) for path, png in zip(rest, contents, strict=True)}
    groups: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    for path in paths:
        kind = known[path.stem].kind if path.stem in known else ""
        groups[kind].append(_card(path.stem, pictures[path.stem], captions[path.stem], opened=not groups[kind]))
    cards = "".join(
        f'<h3>{_KINDS[kind]}</h3><div class="gallery">{"".join(part)}</div>' for kind, part in groups.items() if part
    )
    return shared_styles(cards)


def _vectors(figures: list[Figure], folder: Path, results: Path, captions: dict[str, Caption]) -> dict[str, str]:
    """What is drawn, as HTML; where there is no room for all, the largest stay PNGs, which can be scaled down."""
    sheets = {figure.id: stored(figure, folder, results) for figure in figures}
    found = {id_: sheet.html(_named(captions[id_])) for id_, sheet in sheets.items() if sheet is not None}
    while found and sum(map(len, found.values())) + _SMALL * (len(captions) - len(found)) > BUDGET:
        found.pop(max(found, key=lambda id_: len(found[id_])))
    return found


def fitting(contents: list[bytes], budget: int, most: int = _MOST) -> list[bytes]:
    """The pictures, scaled down as far as the budget asks; more than `most` even then is an error."""
    shrunk = contents
    for width in _WIDTHS:
        if sum(map(len, shrunk)) <= budget:
            return shrunk
        shrunk = [smaller(content, width) for content in contents]
    if sum(map(len, shrunk)) > most:
        raise ColdError(
            f"the pictures take more than {most / 1e6:g} MB even when scaled down; give --figures a folder with fewer"
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
    """A picture without a JSON file has its name as the caption."""
    return read_caption(path) if path.is_file() else Caption(path.stem)


def _named(caption: Caption) -> str:
    return f"{caption.title} ({caption.label})" if caption.label else caption.title


def _image(png: bytes, caption: Caption) -> str:
    source = "data:image/png;base64," + base64.b64encode(png).decode("ascii")
    return f'<img alt="{escape(_named(caption))}" loading="lazy" src="{source}">'


def _card(stem: str, picture: str, caption: Caption, *, opened: bool) -> str:
    label = f" <code>{escape(caption.label)}</code>" if caption.label else ""
    text = f"<p>{typeset(caption.sentence)}</p>" if caption.sentence else ""
    drawn_by = f"<p>{command(caption.command)}</p>" if caption.command else ""
    readings = "".join(
        f"<li>The paper: {typeset(one.statement)} <strong>{escape(one.answer)}</strong>: {typeset(one.evidence)}.</li>"
        for one in caption.readings
    )
    points = f"<ul>{readings}</ul>" if readings else ""
    return (
        f'<details class="picture" id="figure-{escape(stem)}"{" open" if opened else ""}>'
        f"<summary><b>{typeset(caption.title)}</b>{label}</summary>"
        f"<figure>{picture}<figcaption>{text}{points}{drawn_by}</figcaption></figure></details>"
    )
