"""The explorer as a person uses it: choices, number boxes, sliders; and what it then shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.coldtheory.report.browser import Browser

_SET = """(values => {
  for (const [id, value] of Object.entries(values)) {
    const element = document.getElementById(id);
    if (element.type === "checkbox") element.checked = value; else element.value = value;
    const kind = element.matches("select, [type=checkbox]") ? "change" : "input";
    element.dispatchEvent(new Event(kind, { bubbles: true }));
  }
})"""
_READ = """(() => {
  const { state, run, summary, bounds } = document.getElementById("explorer").now;
  const plain = Object.fromEntries(Object.entries(run).map(([k, v]) => [k, ArrayBuffer.isView(v) ? [...v] : v]));
  return JSON.stringify({ state, run: plain, summary, bounds });  // a number that is none becomes null
})()"""


def open_page(chrome: Browser, page: Path, width: int = 1400, *, dark: bool = False) -> None:
    chrome.size(width, dark=dark)
    chrome.open(page.as_uri(), until="document.getElementById('explorer')?.dataset.redraws > 0")


def open_at(chrome: Browser, page: Path, place: str) -> None:
    """The page at a place in its address."""
    chrome.size(1400)
    chrome.open(page.as_uri() + place, until="document.getElementById('explorer')?.dataset.redraws > 0")


def redraws(chrome: Browser) -> int:
    return int(chrome.run("document.getElementById('explorer').dataset.redraws"))


def choose(chrome: Browser, **values: Any) -> None:
    """Set controls by their id and wait until everything is drawn again."""
    before = redraws(chrome)
    chrome.run(f"{_SET}({json.dumps(values)})")
    chrome.wait(f"document.getElementById('explorer').dataset.redraws > {before}")


def choose_settings(chrome: Browser, settings: dict[str, Any]) -> None:
    """Settings as `simulate` takes them, with regime, seed and T; eta "auto" is the checkbox."""
    auto = settings["eta"] == "auto"
    boxes = {f"{name}-number": settings[name] for name in ("V", "delta", "steps", "T")}
    if not auto:
        boxes["eta-number"] = settings["eta"]
    selects = {name: settings[name] for name in ("regime", "seed", "reference", "weights")}
    controller, _, parameters = settings.get("controller", "queue").partition(":")
    selects |= {"controller": controller} | ({"parameters": parameters} if parameters else {})
    choose(chrome, **{"eta-auto": auto}, **boxes, **selects)


def seen(chrome: Browser) -> dict[str, Any]:
    """What was simulated last, in full precision."""
    return dict(json.loads(chrome.run(_READ)))
