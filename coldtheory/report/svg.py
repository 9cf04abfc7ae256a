"""SVG files as parts of an HTML page: checked element by element, shortened, and cut into parts that can be stacked.

What is read is data: only elements and attributes of the lists below pass, and links lead nowhere but into the picture.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from xml.etree import ElementTree

from ..ground.errors import ColdError

_SVG, _XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
_DESCRIPTION = ".//{http://purl.org/dc/elements/1.1/}description"
_ELEMENTS = ("g", "path", "use", "text", "tspan", "image", "clipPath", "rect")
_IMAGE = re.compile(r"data:image/png;base64,[A-Za-z0-9+/=]+")
_STYLE = re.compile(r"[\w\s:;.,#%'()+-]*")
_NUMBER = re.compile(r"-?\d*\.?\d+(?:e-?\d+)?")
_POINTS = {"M": 1, "L": 1, "C": 3, "Q": 2, "z": 0}  # per command of a path


@dataclass(frozen=True)
class Sheet:
    """An SVG in parts: (its box in points, its content)."""

    key: str
    width: float
    height: float
    parts: tuple[tuple[tuple[float, float, float, float], str], ...]

    def html(self, label: str) -> str:
        """The picture, whole where there is room and with its parts one below the other where there is not."""
        shown = "".join(self._part(box, content) for box, content in self.parts)
        return (
            f'<div class="pic" role="img" aria-label="{escape(label)}" '
            f'style="--w:{self.width:g};--h:{self.height:g}">{shown}</div>'
        )

    def _part(self, box: tuple[float, float, float, float], content: str) -> str:
        x, y, width, height = (round(value, 1) for value in box)
        place = f"--x:{x:g};--y:{y:g};--w:{width:g}"
        return f'<svg viewBox="{x:g} {y:g} {width:g} {height:g}" style="{place}" aria-hidden="true">{content}</svg>'


@lru_cache(maxsize=64)  # a report looks at each drawing twice: whether it is current, and to show it
def read_sheet(text: str, name: str) -> Sheet:
    """An SVG as `coldtheory.report.vector` writes it; ids begin with `name`, so that pictures do not share any."""
    try:
        if "<!ENTITY" in text:
            raise ValueError("it declares entities")
        root = ElementTree.fromstring(text)
        about = json.loads(root.findtext(_DESCRIPTION) or "")
        _, _, width, height = (float(value) for value in root.attrib["viewBox"].split())
        boxes = [([str(id_) for id_ in ids], tuple(float(v) for v in box)) for ids, box in about["parts"]]
        by_id = {element.get("id"): element for element in root.iter()}
        writer = _Writer(re.sub(r"\W", "-", name), root)
        parts = []
        for ids, (x, y, w, h) in boxes:
            parts.append(((x, y, w, h), writer.part(by_id[id_] for id_ in ids if id_ in by_id)))
        return Sheet(str(about["key"]), width, height, tuple(parts))
    except (ElementTree.ParseError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ColdError(f"{name}.svg is not a picture of a report: {error}") from None


def shared_styles(html: str) -> tuple[str, str]:
    """The page's pictures with classes in the place of styles, and the style sheet that has them."""
    names: dict[str, str] = {}

    def named(match: re.Match[str]) -> str:
        return f'class="{names.setdefault(match[1], f"f{len(names)}")}"'

    shorter = re.sub(r'style="(?!--)([^"]*)"', named, html)
    return shorter, "".join(f".pic .{name}{{{style}}}" for style, name in names.items())


class _Writer:
    """Writes elements of one SVG without what a page does not need."""

    def __init__(self, name: str, root: ElementTree.Element) -> None:
        self._name = name
        self._known = {e.get("id", ""): e for kind in ("path", "clipPath") for e in root.iter(f"{_SVG}{kind}")}
        self._written: set[str] = set()
        self._ticks: dict[str, str] = {}

    def part(self, elements: Iterable[ElementTree.Element]) -> str:
        """A part of the picture; all ticks of one style are a single path."""
        self._ticks = {}
        content = "".join(map(self._write, elements))
        return content + "".join(f'<path d="{d}" style="{style}"/>' for style, d in self._ticks.items())

    def _write(self, element: ElementTree.Element, id_: str = "") -> str:
        tag = element.tag.removeprefix(_SVG)
        if tag not in _ELEMENTS:  # also <defs>: what it defines is written where it is used first
            return ""
        if tag == "use" and self._is_tick(element):
            return ""
        before = "".join(map(self._definition, _links(element)))
        inside = self._tspans(element) if tag == "text" else "".join(map(self._write, element))
        if tag == "text" and not inside:
            inside = escape(element.text or "", quote=False)
        attributes = ({"id": id_} if id_ else {}) | self._attributes(element, tag)
        if tag == "g" and not (attributes and inside):
            return before + inside
        told = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
        return f"{before}<{tag}{told}>{inside}</{tag}>" if inside else f"{before}<{tag}{told}/>"

    def _definition(self, id_: str) -> str:
        """A mark or a clip, where it is used first."""
        if id_ in self._written or id_ not in self._known:
            return ""
        self._written.add(id_)
        written = self._write(self._known[id_], f"{self._name}-{id_}")
        return written if self._known[id_].tag == f"{_SVG}clipPath" else f"<defs>{written}</defs>"

    def _is_tick(self, element: ElementTree.Element) -> bool:
        """Whether an element puts a straight line somewhere; it is then kept for the end of the part."""
        mark = self._known.get((element.get(f"{_XLINK}href") or "").removeprefix("#"))
        line = re.fullmatch(r"M 0 0\s+L (\S+) (\S+)\s*", mark.get("d", "")) if mark is not None else None
        if line is None or mark is None:
            return False
        style = _style(mark.get("style", ""))
        x, y = (float(element.get(name, "0")) for name in ("x", "y"))
        end = f"{x + float(line[1])} {y + float(line[2])}"
        self._ticks[style] = self._ticks.get(style, "") + shorter_path(f"M {x} {y} L {end}")
        return True

    def _tspans(self, text: ElementTree.Element) -> str:
        """Letters of a formula, those of one style and height together."""
        merged: list[dict[str, str]] = []
        for span in text.iter(f"{_SVG}tspan"):
            one = {name: span.get(name, "") for name in ("x", "y", "style")} | {"text": span.text or ""}
            if merged and all(merged[-1][name] == one[name] for name in ("y", "style")):
                merged[-1]["x"] += f" {one['x']}"
                merged[-1]["text"] += one["text"]
            else:
                merged.append(one)
        return "".join(
            f'<tspan x="{_rounded(one["x"])}" y="{_rounded(one["y"])}" style="{_style(one["style"])}">'
            f"{escape(one['text'], quote=False)}</tspan>"
            for one in merged
        )

    def _attributes(self, element: ElementTree.Element, tag: str) -> dict[str, str]:
        found = {}
        for given, value in element.attrib.items():
            name = given.removeprefix(_XLINK)
            if name == "href":
                shown = self._link(value, tag)
            elif name == "clip-path":
                shown = f"url(#{self._name}-{_inner(value)})"
            elif name in _SHOWN:
                shown = _SHOWN[name](value)
            else:
                continue
            if shown:
                found[name] = shown
        return found

    def _link(self, value: str, tag: str) -> str:
        compact = "".join(value.split())
        if tag == "image":
            if not _IMAGE.fullmatch(compact):
                raise ValueError("an image is not a PNG within the file")
            return compact
        return f"#{self._name}-{_inner(compact)}"


def _links(element: ElementTree.Element) -> list[str]:
    """The ids that an element refers to."""
    given = [element.get(f"{_XLINK}href") or "", element.get("clip-path") or ""]
    return [_inner(link) for link in given if link and not link.startswith("data:")]


def _inner(link: str) -> str:
    """The id in `#id` or `url(#id)`."""
    found = re.fullmatch(r"(?:url\()?#(\w+)\)?", link)
    if found is None:
        raise ValueError("a link leads out of the picture")
    return found[1]


def _style(value: str) -> str:
    if not _STYLE.fullmatch(value):
        raise ValueError("a style has signs that none of ours has")
    kept = re.sub(r"font-family:[^;]*;?", "", value)  # the page names the font, and others for where it is absent
    return re.sub(r"\s*([:;])\s*", r"\1", kept).strip().removesuffix(";")


def _rounded(text: str, digits: int = 1) -> str:
    return _NUMBER.sub(lambda m: _short(float(m[0]), digits), text)


def _moved(text: str) -> str:
    """A transform; a rotation by nothing is none."""
    return "" if re.match(r"rotate\(-?0(\.0+)?[ )]", text) else _rounded(text, 2)


def _short(value: float, digits: int) -> str:
    """
    >>> _short(-0.04, 1), _short(12.0, 1), _short(0.25, 2)
    ('0', '12', '.25')
    """
    text = f"{value:.{digits}f}".rstrip("0").rstrip(".") if digits else f"{value:.0f}"
    return re.sub(r"^(-?)0\.", r"\1.", text) if text not in ("-0", "") else "0"


def shorter_path(d: str) -> str:
    """A path of absolute commands with relative ones, to a tenth of a point; rounding does not add up.

    >>> shorter_path("M 10 20 L 11.04 20 L 12.08 21 z")
    'M10 20l1 0 1.1 1z'
    """
    written, before, last = [], "", (0.0, 0.0)
    for command, numbers in re.findall(r"([MLCQz])([^MLCQz]*)", d):
        values = [float(number) for number in _NUMBER.findall(numbers)]
        pairs = list(zip(values[::2], values[1::2], strict=True))
        if len(pairs) != _POINTS[command]:
            raise ValueError("a path has a wrong number of points")
        rounded = [(round(x, 1), round(y, 1)) for x, y in pairs]
        if command == "L" and rounded[-1] == last and before in ("L", "M"):
            continue
        origin = (0.0, 0.0) if command == "M" else last
        text = " ".join(_short(value, 1) for x, y in rounded for value in (x - origin[0], y - origin[1]))
        name = command if command in "Mz" else command.lower()
        written.append(f" {text}" if command == before and command in "LCQ" else f"{name}{text}")
        before, last = command, (rounded[-1] if rounded else last)
    return "".join(written).replace(" -", "-")


#: how the other attributes are shown; what is not among them is left out
_SHOWN: dict[str, Callable[[str], str]] = {
    **dict.fromkeys(("x", "y", "width", "height"), _rounded), "transform": _moved, "d": shorter_path, "style": _style,
}  # fmt: skip
