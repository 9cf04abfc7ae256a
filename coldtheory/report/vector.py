"""Figures drawn anew for the page, as SVG: from their tables, in parts that a narrow screen can stack.

A part is a panel, a colour bar or a legend. So that each can be read by itself, every panel gets numbers and names on
its own axes, which panels of a printed figure share, and legends get fewer columns. The SVG's description says, as
JSON, which elements make up a part and where it lies:

    key     what the picture was drawn from: its table, and the code and the library that drew it
    parts   a list; per part the ids of its elements, and the box (x, y, width, height) in points
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..figures import Figure, Table, registry
from ..figures.table import split
from ..ground.engines import Engine, run_jobs
from ..ground.errors import ColdError
from ..ground.files import write_atomically
from ..ground.reading import read_bytes
from .svg import Sheet, read_sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    Box = tuple[float, float, float, float]

_WORTH_A_PROCESS = 4  # from this many drawings on, other processes are worth starting
_WIDEST_LEGEND = 230.0  # points; on a screen of 360 pixels its letters then have 9 of them
_DPI = 150  # of what is stored as pixels, such as heatmaps
_AIR = 2.0  # points around a part
_ONE = 0.25  # share of the smaller of two boxes from which on they are one part


def place(results: Path) -> Path:
    """Where a results folder keeps what was drawn for the page."""
    return results / "report"


def draw_all(
    folder: Path, results: Path, progress: Callable[[int, int], None] | None = None, jobs: int = -1
) -> dict[str, str]:
    """Draw what is not drawn yet of a folder of pictures; by figure, why it cannot be drawn. Its PNG then serves."""
    store = place(results)
    wanted = [
        _Drawing(figure, folder, store) for figure in _drawable(folder) if stored(figure, folder, results) is None
    ]
    failed: dict[str, str] = {}
    engine: Engine = "serial" if len(wanted) < _WORTH_A_PROCESS else "loky"
    for done, (id_, complaint) in enumerate(run_jobs(_draw, wanted, engine=engine, n_jobs=jobs), start=1):
        failed |= {id_: complaint} if complaint else {}
        if progress is not None:
            progress(done, len(wanted))
    return failed


def stored(figure: Figure, folder: Path, results: Path) -> Sheet | None:
    """The drawing of a figure, if there is one and it is current."""
    path = place(results) / f"{figure.id}.svg"
    if not path.is_file():
        return None
    try:
        sheet = read_sheet(read_bytes(path).decode("utf-8"), figure.id)
        return sheet if sheet.key == key_of(figure, read_bytes(folder / f"{figure.id}.csv")) else None
    except (ColdError, UnicodeDecodeError):  # damaged; it is drawn again
        return None


@dataclass(frozen=True)
class _Drawing:
    figure: Figure
    folder: Path
    store: Path

    def __str__(self) -> str:
        return self.figure.id


def _drawable(folder: Path) -> list[Figure]:
    """The figures of the folder that are known here and have their table."""
    known = registry.figures()
    return [figure for figure in known if all((folder / f"{figure.id}.{kind}").is_file() for kind in ("png", "csv"))]


def _draw(drawing: _Drawing) -> tuple[str, str]:
    """Draw and store; the figure's id, and why it cannot be drawn."""
    id_ = drawing.figure.id
    try:
        picture = drawn(drawing.figure, read_bytes(drawing.folder / f"{id_}.csv"))
        read_sheet(picture, id_)
    except Exception as error:  # a table of an older version, or a drawing function of another package
        return id_, " ".join(f"{type(error).__name__}: {error}".split())
    write_atomically(drawing.store / f"{id_}.svg", picture)
    return id_, ""


def key_of(figure: Figure, csv: bytes) -> str:
    """A digest of all that a drawing depends on."""
    module = figure.draw.partition(":")[0]
    code = [_code_of(package) for package in ("coldtheory.figures", module.rpartition(".")[0])]
    told = hashlib.sha256(b"".join([Path(__file__).read_bytes(), *code, csv]))
    return f"{told.hexdigest()[:16]} matplotlib {version('matplotlib')}"


@cache
def _code_of(package: str) -> bytes:
    """A digest of the modules that lie in a package itself."""
    files = sorted(resources.files(package).iterdir(), key=lambda entry: entry.name) if package else []
    told = hashlib.sha256()
    for file in files:
        if file.name.endswith(".py"):
            told.update(file.name.encode() + b"\0" + file.read_bytes())
    return told.digest()


def drawn(figure: Figure, csv: bytes) -> str:
    """The figure as SVG, from the CSV that lies beside its picture. Whatever fails, raises."""
    import matplotlib as mpl  # noqa: PLC0415  (slow to import, and only for a folder of figures)

    from ..figures.style import styled  # noqa: PLC0415

    module, _, function = figure.draw.partition(":")
    tables = split(Table.from_csv(csv), [data.name for data in figure.data])
    out = io.StringIO()
    with styled(), mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": figure.id}):
        picture: Picture = getattr(importlib.import_module(module), function)(tables)
        _for_one_column(picture)
        about = {"key": key_of(figure, csv), "parts": _parts(picture)}
        picture.savefig(
            out, format="svg", dpi=_DPI, metadata={"Date": None, "Creator": None, "Description": json.dumps(about)}
        )
    return out.getvalue()


def _for_one_column(picture: Picture) -> None:
    """Labels on every panel and narrow legends; then the layout, once and for all."""
    for ax in picture.axes:
        if ax.axison and ax.get_subplotspec() is not None and ax.get_label() != "<colorbar>":
            ax.tick_params(labelbottom=True, labelleft=True)
            ax.set_xlabel(ax.get_xlabel() or _shared_label(ax, "x"))
            ax.set_ylabel(ax.get_ylabel() or _shared_label(ax, "y"))
    for legend in _legends(picture):
        _narrow(picture, legend)
    engine = picture.get_layout_engine()
    if engine is not None:
        engine.execute(picture)
    picture.set_layout_engine("none")


def _shared_label(ax: Any, axis: str) -> str:
    """What another panel calls the x axis that it shares with the panels of its column, or the y axis with its row."""
    span, siblings = ("colspan", ax.get_shared_x_axes) if axis == "x" else ("rowspan", ax.get_shared_y_axes)
    place = ax.get_subplotspec()
    for other in siblings().get_siblings(ax):
        there = other.get_subplotspec()
        beside = there is not None and there.get_gridspec() is place.get_gridspec()
        if beside and getattr(there, span) == getattr(place, span) and (label := getattr(other, f"get_{axis}label")()):
            return str(label)
    return ""


def _legends(picture: Any) -> list[Any]:
    """Those that belong to the figure; a panel's own legend is a part of the panel."""
    return [*picture.legends, *(legend for inner in picture.subfigs for legend in _legends(inner))]


def _narrow(picture: Picture, legend: Any) -> None:
    """Put legends with fewer and fewer columns in the place of a legend below the panels, until one fits."""
    columns = getattr(legend, "_ncols", 1)
    while columns > 1 and _box(picture, legend)[2] > _WIDEST_LEGEND:
        columns -= 1
        words = [text.get_text() for text in legend.get_texts()]
        title = legend.get_title().get_text() or None
        owner, handles = legend.parent, legend.legend_handles
        legend.remove()
        legend = owner.legend(handles, words, loc="outside lower center", ncols=columns, title=title)


def _texts(picture: Any) -> list[Any]:
    return [*picture.texts, *(text for inner in picture.subfigs for text in _texts(inner))]


def _parts(picture: Picture) -> list[tuple[list[str], Box]]:
    """Ids and boxes, from top to bottom and from left to right; boxes that overlap are one part."""
    artists = [*picture.axes, *_legends(picture), *_texts(picture)]
    found: list[tuple[list[str], Box]] = []
    for number, artist in enumerate(artists):
        artist.set_gid(f"part-{number}")
        box = _box(picture, artist)
        if box[2] > 0 and box[3] > 0:
            found.append(([f"part-{number}"], box))
    while (pair := _overlapping(found)) is not None:
        first, second = pair
        (ids, box), (more, other) = found[first], found.pop(second)
        found[first] = ([*ids, *more], _around(box, other))
    return sorted(found, key=lambda part: (round(part[1][1] / 20), part[1][0]))


def _box(picture: Picture, artist: Any) -> Box:
    """Where an artist is drawn, in points from the upper left corner, with some margin."""
    extent = artist.get_tightbbox()
    if extent is None:
        return 0.0, 0.0, 0.0, 0.0
    scale, (_, height) = 72.0 / picture.dpi, picture.get_size_inches()
    x, y = extent.x0 * scale - _AIR, 72.0 * height - extent.y1 * scale - _AIR
    return x, y, extent.width * scale + 2 * _AIR, extent.height * scale + 2 * _AIR


def _overlapping(parts: list[tuple[list[str], Box]]) -> tuple[int, int] | None:
    for i, (_, a) in enumerate(parts):
        for j, (_, b) in enumerate(parts[i + 1 :], start=i + 1):
            width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
            height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
            if width > 0 and height > 0 and width * height > _ONE * min(a[2] * a[3], b[2] * b[3]):
                return i, j
    return None


def _around(a: Box, b: Box) -> Box:
    x, y = min(a[0], b[0]), min(a[1], b[1])
    return x, y, max(a[0] + a[2], b[0] + b[2]) - x, max(a[1] + a[3], b[1] + b[3]) - y
