"""The page in a real browser: quiet, without a network, filtered, by keyboard, on a phone, in the dark."""

from __future__ import annotations

import pytest

from tests.coldtheory.report.explorer_driver import open_page, seen

pytestmark = pytest.mark.needs("chromium")

SHOWN = "[...document.querySelectorAll('tr.claim')].filter(r => r.offsetParent !== null).map(r => r.id.slice(6))"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1400])
def test_it_loads_quietly_and_asks_for_nothing(chrome, page, width, dark):
    open_page(chrome, page, width, dark=dark)
    assert chrome.complaints() == []
    assert [url for url in chrome.requests() if not url.startswith("data:")] == [page.as_uri()]


def test_it_could_not_ask_if_it_wanted(chrome, page):
    open_page(chrome, page)
    assert chrome.run("fetch('http://127.0.0.1:9/').then(() => 'fetched', () => 'refused')") == "refused"
    assert any("Content Security Policy" in complaint for complaint in chrome.complaints())


@pytest.mark.parametrize("width", [360, 1400])
def test_nothing_is_wider_than_the_page(chrome, page, width):
    open_page(chrome, page, width)
    chrome.run("document.querySelectorAll('details').forEach(d => (d.open = true))")
    assert chrome.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    wide = chrome.run(
        "[...document.querySelectorAll('main *')].filter(e => !e.closest('.table, .scroll, nav, svg, math')"
        " && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)"
        ".map(e => e.outerHTML.slice(0, 80))"
    )
    assert wide == []


@pytest.mark.parametrize("width", [360, 1400])
def test_the_filters_filter(chrome, page, outcomes, width):
    open_page(chrome, page, width)
    rows = outcomes.rows
    assert chrome.run(SHOWN) == [row["id"] for row in rows]
    chrome.run("document.querySelector('.chip[data-verdict=\"false\"]').click()")
    false = [row["id"] for row in rows if row["verdict"] == "false"]
    assert chrome.run(SHOWN) == false
    assert 0 < len(false) < len(rows)
    assert chrome.run("document.getElementById('count').textContent") == f"{len(false)} of {len(rows)} claims"
    chrome.run("document.querySelector('.chip[data-verdict=\"holds\"]').click()")
    assert chrome.run(SHOWN) == [row["id"] for row in rows if row["verdict"] in ("false", "holds")]
    chrome.run("document.getElementById('clear').click()")
    assert chrome.run(SHOWN) == [row["id"] for row in rows]
    enter(chrome, "find", "QUEUE  toy")
    found = chrome.run(SHOWN)
    assert found == [row["id"] for row in rows if all(word in text_of(row) for word in ("queue", "toy"))]
    assert 0 < len(found) < len(rows)
    enter(chrome, "find", "no such words anywhere")
    assert chrome.run(SHOWN) == []
    assert chrome.run("document.getElementById('nothing').offsetParent !== null")
    enter(chrome, "find", "")
    section = rows[-1]["section"]
    chrome.run(
        f"(s => {{ s.value = {section!r}; s.dispatchEvent(new Event('change')); }})(document.getElementById('section'))"
    )
    assert chrome.run(SHOWN) == [row["id"] for row in rows if row["section"] == section]


def test_explanations_unfold_below_their_statements(chrome, page, outcomes):
    open_page(chrome, page)
    first = outcomes.rows[0]
    fold = f"document.querySelector('#claim-{first['id']} details')"
    assert chrome.run(f"{fold}.open") is False
    chrome.run(f"{fold}.querySelector('summary').click()")
    assert chrome.run(f"{fold}.querySelector('.explain').offsetHeight") > 20
    chrome.run("document.getElementById('unfold').click()")
    assert chrome.run("[...document.querySelectorAll('tr.claim details')].every(d => d.open)")


def test_a_link_to_a_statement_unfolds_it(chrome, page):
    open_page(chrome, page)
    assert chrome.run("document.getElementById('statement-thm3').open") is False
    chrome.run("location.hash = '#statement-thm3'")
    chrome.wait("document.getElementById('statement-thm3').open")


def test_formulas_are_typeset(chrome, page):
    open_page(chrome, page)
    chrome.run("document.getElementById('statement-thm3').open = true")
    size = "(m => [m.getBoundingClientRect().height, m.querySelectorAll('mfrac, msub').length])"
    height, parts = chrome.run(f"{size}(document.querySelector('#statement-thm3 math[display=block]'))")
    assert height > 30
    assert parts > 5
    assert chrome.run("document.querySelectorAll('.latex').length") == 0  # nothing that the converter gave up on


def test_everything_works_by_keyboard(chrome, page):
    open_page(chrome, page)
    stops = walk(chrome, 400)
    for id_ in ("theme", "V", "V-number", "delta", "eta", "eta-auto", "steps", "T", "regime", "seed", "reference",
                "weights", "plot-gradient", "plot-queue", "log", "section", "find", "clear", "unfold"):  # fmt: skip
        assert id_ in stops, id_
    assert {".chip", "summary", ".skip"} <= stops.keys()
    assert all(stops.values())  # each shows that it has the focus
    V = seen(chrome)["state"]["V"]
    chrome.run("document.getElementById('V').focus()")
    chrome.press("ArrowRight")
    chrome.wait("document.getElementById('explorer').dataset.redraws > 1")
    assert seen(chrome)["state"]["V"] > V
    chrome.run("document.getElementById('plot-gradient').focus()")
    chrome.press("Home")
    chrome.press("ArrowRight")
    assert chrome.run("document.getElementById('at-task').textContent").startswith("t = 2: before")
    assert chrome.run("document.getElementById('plot-gradient').ariaValueText").startswith("t = 2: before")
    chrome.run("document.activeElement.blur()")
    chrome.press("/")
    assert chrome.run("document.activeElement.id") == "find"
    chrome.type("toy-one-step")
    assert chrome.run(SHOWN) == ["toy-one-step"]
    chrome.run("document.querySelector('#claim-toy-one-step summary').focus()")
    chrome.press("Enter")
    assert chrome.run("document.querySelector('#claim-toy-one-step details').open")
    chrome.run("document.querySelector('.chip').focus()")
    chrome.press(" ")
    assert chrome.run("document.querySelector('.chip').ariaPressed") == "true"


def walk(chrome, most):
    """Where Tab goes, by id or kind, and whether the focus can be seen there."""
    found = {}
    for _ in range(most):
        chrome.press("Tab")
        place, visible = chrome.run(
            "(e => [e.id || (e.matches('.chip') ? '.chip' : e.matches('.skip') ? '.skip' : e.localName),"
            " getComputedStyle(e).outlineStyle !== 'none' && parseFloat(getComputedStyle(e).outlineWidth) >= 2])"
            "(document.activeElement)"
        )
        if place == "body":
            break
        found[place] = visible and found.get(place, True)
    return found


def test_every_control_and_picture_has_a_name(chrome, page):
    open_page(chrome, page)
    chrome.send("Accessibility.enable")
    nodes = chrome.send("Accessibility.getFullAXTree")["nodes"]
    chrome.send("Accessibility.disable")
    kinds = {
        "button",
        "slider",
        "combobox",
        "checkbox",
        "textbox",
        "searchbox",
        "link",
        "image",
        "img",
        "region",
        "table",
    }
    seen_kinds = {}
    for node in nodes:
        role = node.get("role", {}).get("value")
        if role in kinds and not node.get("ignored"):
            seen_kinds.setdefault(role, []).append(node.get("name", {}).get("value", ""))
    assert {"button", "slider", "combobox", "checkbox", "link"} <= seen_kinds.keys()
    assert len(seen_kinds["slider"]) == 8  # five settings and three plots that the arrow keys read
    nameless = {role: names for role, names in seen_kinds.items() if role != "table" and not all(names)}
    assert nameless == {}


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_in_light_and_dark(chrome, page, dark):
    """Contrast of at least 4.5 (WCAG AA) for every colour that text has, on every ground."""
    open_page(chrome, page, dark=dark)
    names = ("page", "card", "soft", "text", "faint", "link", "red", "green", "blue", "grey", "pink")
    colours = chrome.run(
        "(names => { const probe = document.body.appendChild(document.createElement('i')); return names.map(n => {"
        " probe.style.color = `var(--${n})`; return getComputedStyle(probe).color.match(/[\\d.]+/g).map(Number); }); })"
        f"({list(names)})"
    )
    light = {name: luminance(colour) for name, colour in zip(names, colours, strict=True)}
    assert (light["page"] < light["text"]) is dark
    pairs = [(text, ground) for text in ("text", "faint", "link", "red") for ground in ("page", "card", "soft")]
    pairs += [("page", verdict) for verdict in ("red", "green", "blue", "grey", "pink")]  # pressed filters
    for pair in pairs:
        low, high = sorted(light[name] for name in pair)
        assert (high + 0.05) / (low + 0.05) >= 4.5, pair


def test_the_colours_can_be_chosen(chrome, page):
    open_page(chrome, page)
    ground = "getComputedStyle(document.body).backgroundColor"
    by_system = chrome.run(ground)
    chrome.run("document.getElementById('theme').click()")
    assert chrome.run(ground) == by_system
    chrome.run("document.getElementById('theme').click()")
    assert chrome.run("document.getElementById('theme').textContent") == "Colours: dark"
    assert chrome.run(ground) != by_system
    chrome.run("document.getElementById('theme').click()")
    assert chrome.run(ground) == by_system


def luminance(rgb):
    parts = [value / 255 for value in rgb[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def enter(chrome, id_, text):
    chrome.run(
        f"(e => {{ e.value = {text!r}; e.dispatchEvent(new Event('input')); }})(document.getElementById('{id_}'))"
    )


def text_of(row):
    return " ".join(
        str(row[key]) for key in ("id", "verdict", "evidence", "label", "section", "statement", "explain")
    ).lower()
