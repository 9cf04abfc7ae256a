"""Figures as vector pictures: drawn once, checked when they are read, small, and readable on a narrow screen."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from coldtheory.figures import registry
from coldtheory.ground.errors import ColdError
from coldtheory.report import Outcomes, build_report, gallery, vector
from coldtheory.report.svg import read_sheet, shared_styles, shorter_path
from tests.coldtheory.report.drawings import NAMES, figure, table
from tests.coldtheory.report.explorer_driver import open_page
from tests.coldtheory.report.pixel import PICTURE


@pytest.fixture(scope="module")
def drawing():
    return vector.drawn(figure(), table().to_csv().encode())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of two pictures with tables, of which one cannot be drawn."""
    both = (figure(), figure("refuse", "other"))
    monkeypatch.setattr(registry, "figures", lambda *_: both)
    for one in both:
        (tmp_path / f"{one.id}.png").write_bytes(PICTURE)
        (tmp_path / f"{one.id}.csv").write_text(table().to_csv())
    return tmp_path


class Words(HTMLParser):
    """The words and ids of each <svg>."""

    def __init__(self):
        super().__init__()
        self.parts, self.ids, self.tags = [], [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        if tag == "svg":
            self.parts.append("")

    def handle_data(self, data):
        if self.parts:
            self.parts[-1] += data


def read(html):
    words = Words()
    words.feed(html)
    return words


def test_each_panel_can_be_read_by_itself(drawing):
    words = read(read_sheet(drawing, "wave").html("A wave"))
    assert len(words.parts) == 4  # three panels and the legend
    for panel, letter in zip(words.parts[:3], "abc", strict=True):
        assert f"({letter})" in panel
        assert "height & <width>" in panel  # also where the axis is shared
    assert "time" in words.parts[1]
    assert "".join(words.parts[3].split()) == "".join("".join(NAMES).split())
    (x, _, width, _), _ = read_sheet(drawing, "wave").parts[3]
    assert x > 0
    assert width <= vector._WIDEST_LEGEND + 5  # six columns would take a whole page


def test_it_is_small_and_says_nothing_twice(drawing):
    html, css = shared_styles(read_sheet(drawing, "wave").html("A wave"))
    words = read(html)
    assert words.tags <= {"div", "svg", "g", "path", "use", "text", "tspan", "image", "clippath", "rect", "defs"}
    assert len(words.ids) == len(set(words.ids))
    assert all(id_.startswith("wave-") for id_ in words.ids)
    assert html.count("<image") == 1  # a heatmap of 420 fields is one image
    assert len(html) + len(css) < 0.5 * len(drawing)
    assert set(re.findall(r'style="(..)', html)) == {"--"}
    used = set(re.findall(r'(?:href="|url\()#([\w-]+)', html))
    assert used == set(words.ids)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("<!DOCTYPE svg", '<!DOCTYPE svg [<!ENTITY a "b">]', "declares entities"),
        ('xlink:href="#', 'xlink:href="http://127.0.0.1/#', "leads out of the picture"),
        ("data:image/png", "data:image/svg+xml", "not a PNG"),
        ("stroke: #262626", "stroke: url(http://127.0.0.1)", "a style has signs"),
        ('viewBox="', 'viewBox="x ', "not a picture of a report"),
        ("</svg>", "", "not a picture of a report"),
        ('"parts"', '"other"', "not a picture of a report"),
    ],
)
def test_what_is_read_is_not_trusted(drawing, old, new, why):
    assert old in drawing
    with pytest.raises(ColdError, match=f"wave.svg is not a picture of a report: .*|{why}") as refused:
        read_sheet(drawing.replace(old, new, 1), "wave")
    assert why in str(refused.value)


def test_scripts_and_handlers_do_not_pass(drawing):
    inside = '<g id="part-0"><script>alert(1)</script><foreignObject><b>x</b></foreignObject><a href="#x">y</a>'
    evil = drawing.replace('<g id="part-0">', inside, 1).replace("<path ", '<path onclick="alert(1)" ')
    html = read_sheet(evil, "wave").html('"><script>')
    assert "alert" not in html
    assert "<script" not in html
    assert "<b>" not in html
    assert html.replace('"&gt;&lt;script&gt;', "") == read_sheet(drawing, "wave").html('"><script>').replace(
        '"&gt;&lt;script&gt;', ""
    )


def test_paths_are_shorter_and_rounding_does_not_add_up():
    points = [(0.04 * n, 100 - 0.33 * n) for n in range(500)]
    d = "M 0 100 " + " ".join(f"L {x:.6f} {y:.6f}" for x, y in points[1:])
    short = shorter_path(d)
    assert len(short) < 0.5 * len(d)
    numbers = [float(n) for n in re.findall(r"-?\d*\.?\d+", short.partition("l")[2])]
    assert sum(numbers[::2]) == pytest.approx(points[-1][0], abs=0.051)
    assert 100 + sum(numbers[1::2]) == pytest.approx(points[-1][1], abs=0.051)
    assert shorter_path("M 0 0 C 1 1 2 2 3 3 z") == "M0 0c1 1 2 2 3 3z"


def test_figures_are_drawn_once_and_again_when_their_table_changes(folder, tmp_path, monkeypatch):
    results, told = tmp_path / "results", []
    failed = vector.draw_all(folder, results, lambda done, count: told.append((done, count)))
    assert failed == {"other": "ZeroDivisionError: it cannot be drawn"}
    assert told == [(1, 2), (2, 2)]
    stored = vector.place(results) / "wave.svg"
    before = stored.stat().st_mtime_ns
    assert set(vector.draw_all(folder, results)) == {"other"}
    assert stored.stat().st_mtime_ns == before
    stored.write_text(stored.read_text()[:5000])  # damaged
    assert vector.stored(figure(), folder, results) is None
    vector.draw_all(folder, results)
    assert vector.stored(figure(), folder, results) is not None
    (folder / "wave.csv").write_text(table().where(name=NAMES[0]).to_csv())
    assert vector.stored(figure(), folder, results) is None
    html, _ = gallery.figure_cards(folder, results)
    assert html.count('src="data:image/png') == 2  # what is not drawn is a PNG
    vector.draw_all(folder, results)
    html, css = gallery.figure_cards(folder, results)
    assert html.count('src="data:image/png') == 1
    assert html.count('<div class="pic"') == 1
    assert css.startswith(".pic .f0{")


def test_there_is_a_limit_for_vectors_too(folder, tmp_path, monkeypatch):
    vector.draw_all(folder, tmp_path / "results")
    monkeypatch.setattr(gallery, "BUDGET", 51_000)
    assert '<div class="pic"' not in gallery.figure_cards(folder, tmp_path / "results")[0]


def test_a_page_with_as_many_figures_as_may_be_is_below_three_megabytes(page):
    assert page.stat().st_size + gallery.BUDGET < 3_000_000


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("width", [360, 1400])
def test_the_letters_of_a_figure_can_be_read(chrome, folder, tmp_path, width):
    vector.draw_all(folder, tmp_path / "results")
    page = tmp_path / "page.html"
    page.write_text(build_report(Outcomes((), None), results=tmp_path / "results", figures=folder), encoding="utf-8")
    open_page(chrome, page, width)
    chrome.run("document.querySelector('.picture').open = true")
    sizes = chrome.run(
        "[...document.querySelectorAll('.pic svg')].map(s => Math.min(...[...s.querySelectorAll('text')].filter(t =>"
        " !t.querySelector('tspan')).map(t => parseFloat(getComputedStyle(t).fontSize)))"
        " * s.getBoundingClientRect().width / s.viewBox.baseVal.width)"
    )
    assert len(sizes) == 4
    assert min(sizes) >= 8  # pixels
    box = "s => (r => [r.left, r.top, r.right])(s.getBoundingClientRect())"
    boxes = chrome.run(f"[...document.querySelectorAll('.pic svg')].map({box})")
    lefts, tops, rights = zip(*boxes, strict=True)
    if width == 360:  # one below the other, and none wider than the screen
        assert list(tops) == sorted(tops)
        assert len(set(tops)) == 4
        assert max(rights) <= 360
    else:
        assert max(tops[:3]) - min(tops[:3]) < 20
        assert list(lefts[:3]) == sorted(lefts[:3])
    assert chrome.complaints() == []
