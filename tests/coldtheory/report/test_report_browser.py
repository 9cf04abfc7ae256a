"""The page in a real browser: quiet, without a network, filtered, by keyboard, on a phone, in the dark."""

from __future__ import annotations

import numpy as np
import pytest

from coldtheory import from_optima, simulate
from tests.coldtheory.report.explorer_driver import open_at, open_page, seen

pytestmark = pytest.mark.needs("chromium")

SHOWN = "[...document.querySelectorAll('tr.claim')].filter(r => r.checkVisibility()).map(r => r.id.slice(6))"
OPEN = "[...document.querySelectorAll('.part')].filter(s => s.open).length"


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
        "[...document.querySelectorAll('main *')].filter(e =>"
        " !e.closest('.table, .scroll, .pic, nav, svg, math, .claims thead')"
        " && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)"
        ".map(e => e.outerHTML.slice(0, 80))"
    )
    assert wide == []


def by_section(rows):
    """The rows in the order of the page."""
    order = list(dict.fromkeys(row["section"] for row in rows))
    return sorted(rows, key=lambda row: order.index(row["section"]))


@pytest.mark.parametrize("width", [360, 1400])
def test_the_filters_filter(chrome, page, outcomes, width):
    open_page(chrome, page, width)
    rows = by_section(outcomes.rows)
    assert chrome.run(SHOWN) == []  # all sections are closed
    chrome.run("document.querySelector('.chip[data-verdict=\"false\"]').click()")
    false = [row["id"] for row in rows if row["verdict"] == "false"]
    assert chrome.run(SHOWN) == false
    assert 0 < len(false) < len(rows)
    assert chrome.run("document.getElementById('count').textContent") == f"{len(false)} of {len(rows)} claims"
    assert chrome.run(OPEN) == len({row["section"] for row in rows if row["verdict"] == "false"})
    chrome.run("document.querySelector('.chip[data-verdict=\"holds\"]').click()")
    assert chrome.run(SHOWN) == [row["id"] for row in rows if row["verdict"] in ("false", "holds")]
    chrome.run("document.getElementById('clear').click()")
    assert chrome.run(SHOWN) == []
    enter(chrome, "find", "QUEUE  toy")
    found = chrome.run(SHOWN)
    assert found == [row["id"] for row in rows if all(word in text_of(row) for word in ("queue", "toy"))]
    assert 0 < len(found) < len(rows)
    enter(chrome, "find", "no such words anywhere")
    assert chrome.run(SHOWN) == []
    assert chrome.run("document.getElementById('nothing').checkVisibility()")
    enter(chrome, "find", "")
    chrome.run("document.querySelector('#section-2 summary').click()")  # what a person opened stays open
    enter(chrome, "find", "queue")
    enter(chrome, "find", "")
    sections = list(dict.fromkeys(row["section"] for row in rows))
    assert chrome.run(SHOWN) == [row["id"] for row in rows if row["section"] == sections[1]]


def test_sections_say_how_many_claims_of_each_verdict_they_hold(chrome, page, outcomes):
    open_page(chrome, page)
    first = outcomes.rows[0]["section"]
    rows = [row for row in outcomes.rows if row["section"] == first]
    told = chrome.run("document.querySelector('#section-1 summary').textContent")
    assert told.startswith(first)
    assert f"{len(rows)} claims" in told
    for verdict in {row["verdict"] for row in rows}:
        assert f"{sum(row['verdict'] == verdict for row in rows)} {verdict}" in told
    enter(chrome, "find", rows[0]["id"])
    left = sum(rows[0]["id"] in text_of(row) for row in rows)
    assert f"{left} of {len(rows)} claims" in chrome.run("document.querySelector('#section-1 summary').textContent")


@pytest.mark.parametrize(("width", "most"), [(1400, 7000), (360, 14000)])
def test_the_page_is_not_endless(chrome, page, width, most):
    """It was 24,000 pixels tall, and 48,000 on a phone. There is one picture in this one."""
    open_page(chrome, page, width)
    assert chrome.run("document.documentElement.scrollHeight") < most


def test_explanations_unfold_below_their_statements(chrome, page, outcomes):
    open_page(chrome, page)
    first = outcomes.rows[0]
    fold = f"document.querySelector('#claim-{first['id']} details')"
    assert chrome.run(f"{fold}.open") is False
    chrome.run("document.getElementById('unfold').click()")
    assert chrome.run(SHOWN) == [row["id"] for row in by_section(outcomes.rows)]
    chrome.run(f"{fold}.querySelector('summary').click()")
    assert chrome.run(f"{fold}.querySelector('.explain').offsetHeight") > 20
    chrome.run("document.getElementById('unfold').click()")
    assert chrome.run(SHOWN) == []


def test_a_link_to_a_claim_opens_its_section(chrome, page, outcomes):
    last = by_section(outcomes.rows)[-1]["id"]
    open_at(chrome, page, f"#claim-{last}")
    claim = f"document.getElementById('claim-{last}')"
    chrome.wait(f"(r => r.top >= 0 && r.bottom <= innerHeight + r.height)({claim}.getBoundingClientRect())")
    assert chrome.run(f"{claim}.querySelector('details').open")
    assert chrome.run(OPEN) == 1
    enter(chrome, "find", "no such words anywhere")
    first = outcomes.rows[0]["id"]
    chrome.run(f"location.hash = '#claim-{first}'")  # filters that hide it step back
    chrome.wait(f"document.getElementById('claim-{first}').checkVisibility()")
    assert chrome.run("document.getElementById('find').value") == ""


@pytest.mark.parametrize("address", ["#claim-nothing", "#%", "#<b>", "#claim-%E0%A4%A"])
def test_a_link_to_nothing_does_nothing(chrome, page, address):
    open_at(chrome, page, address)
    assert chrome.run(OPEN) == 0
    assert chrome.complaints() == []


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
    chrome.run("document.getElementById('own').open = true")
    stops = walk(chrome, 400)
    for id_ in ("theme", "V", "V-number", "delta", "eta", "eta-auto", "steps", "T", "regime", "seed", "reference",
                "weights", "plot-gradient", "plot-queue", "log", "find", "clear", "unfold", "story-play", "story-next",
                "own-text", "own-file", "copy-link"):  # fmt: skip
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


# ---------------------------------------------------------------------------------------------------
# the idea, with its animated picture


def clock(chrome):
    return float(chrome.run("document.getElementById('story-plane').dataset.clock"))


def test_the_idea_comes_before_the_first_slider_and_moves(chrome, page):
    open_page(chrome, page)
    before = "document.getElementById('idea').compareDocumentPosition(document.querySelector('input'))"
    assert chrome.run(f"{before} & Node.DOCUMENT_POSITION_FOLLOWING")
    chrome.run("document.getElementById('story').scrollIntoView()")
    start, place = clock(chrome), "document.querySelector('#story .model').getAttribute('cx')"
    chrome.wait(f"document.getElementById('story-plane').dataset.clock > {start + 0.05}")
    button = "document.getElementById('story-play')"
    assert chrome.run(f"{button}.textContent") == "Pause"
    chrome.run(f"{button}.click()")
    assert chrome.run(f"{button}.textContent") == "Play"
    held, there = clock(chrome), chrome.run(place)
    chrome.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert (clock(chrome), chrome.run(place)) == (held, there)
    for _ in range(3):
        chrome.run("document.getElementById('story-next').click()")
    assert clock(chrome) == int(held) + 3
    assert chrome.run(place) != there
    tall = "[...document.querySelectorAll('#story .bar')].map(b => +b.getAttribute('height'))"
    bars = chrome.run(tall)
    assert any(bars[: int(clock(chrome)) - 1])  # queues of past tasks
    assert not any(bars[int(clock(chrome)) :])  # those of later tasks do not exist yet
    chrome.run("document.getElementById('story-back').click()")
    assert clock(chrome) == int(held) + 2
    assert chrome.complaints() == []


def test_the_picture_shows_what_the_library_computes(chrome, page):
    open_page(chrome, page)
    corners = [(0.0, 1.0), (-0.87, -0.5), (0.87, -0.5)]
    tasks = from_optima(np.array([corners[t % 3] for t in range(12)]))
    run = simulate(tasks, V=1.0, delta=0.6, eta="auto", steps=8, reference="stored")
    for _ in range(12):
        chrome.run("document.getElementById('story-next').click()")
    bars = np.array(chrome.run("[...document.querySelectorAll('#story .bar')].map(b => +b.getAttribute('height'))"))
    wanted = np.asarray(run.Q)[12, :11]
    assert np.abs(bars / bars.max() - wanted / wanted.max()).max() < 1e-9
    off = simulate(tasks, V=1.0, delta=0.6, eta="auto", steps=8, reference="stored", weights="none")
    told = chrome.run("document.getElementById('story-lost').textContent")
    assert f"{float(run.avg_forgetting):.2g} with queues, {float(off.avg_forgetting):.2g} without" in told


def test_who_asked_for_less_motion_gets_a_still_picture(chrome, page):
    chrome.size(1400)
    chrome.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    chrome.open(page.as_uri(), until="document.getElementById('explorer')?.dataset.redraws > 0")
    chrome.run("document.getElementById('story').scrollIntoView()")
    chrome.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert clock(chrome) == 12  # the end of the story
    assert chrome.run("document.getElementById('story-play').textContent") == "Play"
    chrome.run("document.getElementById('story-play').click()")  # who wants to see it may
    chrome.wait("document.getElementById('story-plane').dataset.clock < 12")
    chrome.run("document.getElementById('story-play').click()")


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
