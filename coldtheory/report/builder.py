"""The page, put together: one HTML file that loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from .. import __version__
from ..bounds import STATEMENTS, Statement
from ..errors import ColdError
from ..provenance import provenance
from ..store import read_rows, row_files
from . import claims as c
from .gallery import figure_cards
from .statements import latex_by_label, model_formulas, statement_cards
from .streams import D, SEEDS, embedded_streams

_STYLES = ("style.css", "explorer.css")
_SCRIPTS = (
    "simulator.js", "bounds.js", "charts.js", "heatmap.js", "readout.js", "page.js", "explorer.js", "main.js",
)  # fmt: skip
_SLIDERS = (
    ("V", "V", "weight of the task at hand"),
    ("delta", "δ", "tolerance"),
    ("eta", "η", "step size"),
    ("steps", "J", "steps a task"),
    ("T", "T", "tasks"),
)
_COMMANDS = (
    ("coldtheory check", "checks every claim of the table above"),
    ("coldtheory check --explain thm3", "one statement with its proof, in the terminal"),
    ("coldtheory sweep-V --regime all", "the runs behind the theory figures; stored in results/"),
    ("coldtheory simulate --regime high --V 200", "one run; the explorer prints the command of its own"),
    ("coldtheory plot all", "draws the figures from stored results"),
    ("coldtheory report", "writes this page"),
    ("coldtheory serve", "opens it on this machine only"),
)
_RESULT_KEYS = ("regime", "T", "d", "V", "eta", "delta", "steps", "reference", "weights", "solver")


def build_report(rows: Sequence[c.Row], *, results: Path, figures: Path) -> str:
    """The whole page from outcomes (see `claims`), a folder of stored results and a folder of figures."""
    origin = provenance()
    statements = list(STATEMENTS.values())
    script = _script()
    pictures = figure_cards(figures)
    page = Template(_file("page.html"))
    return page.substitute(
        policy=_policy(script),
        version=escape(__version__),
        css="".join(_file(name) for name in _STYLES),
        facts=_facts(origin, rows),
        chips=c.verdict_buttons(rows),
        sections=c.section_options(rows),
        claims=c.verdict_table(rows, latex_by_label(statements)),
        d=D,
        model=model_formulas(),
        sliders="".join(_slider(*slider) for slider in _SLIDERS),
        seeds="".join(f"<option>{seed}</option>" for seed in SEEDS),
        statements=_statements_part(statements),
        statements_link='<a href="#statements">Statements</a>' if statements else "",
        figures=f'<div class="gallery">{pictures}</div>' if pictures else _no_figures(figures),
        commands="".join(f"<dt><code>{escape(line)}</code></dt><dd>{escape(what)}</dd>" for line, what in _COMMANDS),
        results=_results(results),
        footer=f"Made by coldtheory {escape(__version__)}, {escape(_when(origin))}.",
        streams=as_script_json(embedded_streams()),
        script=script,
    )


def as_script_json(value: Any) -> str:
    """JSON that can stand in a <script> element: no character of it can end the element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _script() -> str:
    body = "\n".join(_file(name) for name in _SCRIPTS)
    return f"(() => {{\n{body}\n}})();"


def _policy(script: str) -> str:
    """Nothing may be fetched, and only this very script may run."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def _facts(origin: dict[str, Any], rows: Sequence[c.Row]) -> str:
    commit = "not a checkout"
    if origin["commit"]:
        commit = f"<code>{escape(origin['commit'][:10])}</code>" + (" with local changes" if origin["changed"] else "")
    packages = [f"{name} {version}" for name, version in origin["packages"].items() if version and name != "cold-continual"]
    verdicts = ", ".join(f"{count} {name}" for name, count in c.verdicts_of(rows))
    facts = {
        "Version": f"coldtheory {escape(__version__)}",
        "Commit": commit,
        "Made": escape(_when(origin)),
        "Environment": escape(", ".join([f"Python {origin['python']}", *packages, origin["machine"]])),
        "Claims": escape(f"{len(rows)}: {verdicts}" if rows else "none"),
    }
    return "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts.items())


def _when(origin: dict[str, Any]) -> str:
    return str(origin["time"]).replace("T", " ").replace("+00:00", " UTC")


def _slider(name: str, symbol: str, meaning: str) -> str:
    return (
        f'<div class="range"><div><label for="{name}">{symbol} <small>{meaning}</small></label>'
        f'<input type="text" inputmode="decimal" id="{name}-number" aria-label="{symbol}, {meaning}, as a number"'
        f' autocomplete="off"></div><input type="range" id="{name}"></div>'
    )


def _statements_part(statements: Sequence[Statement]) -> str:
    if not statements:
        return ""
    return (
        '<section id="statements" aria-labelledby="h-statements"><h2 id="h-statements">Statements</h2>'
        "<p>The theory’s statements in the form that is true, with what the paper prints and why.</p>"
        f"{statement_cards(statements)}</section>"
    )


def _no_figures(folder: Path) -> str:
    return f"<p>No pictures in <code>{escape(folder.name)}/</code> yet; <code>coldtheory plot all</code> draws them.</p>"


def _results(folder: Path) -> str:
    """What the stored results were run with, a line a file."""
    lines = []
    for path in row_files(folder):
        try:
            rows = read_rows(path)["rows"]
        except ColdError:
            continue  # another kind of file, or a damaged one; 'coldtheory results ls' tells
        cells = "".join(f"<td>{escape(_span(rows, key))}</td>" for key in _RESULT_KEYS)
        seeds = len({row.get("seed") for row in rows})
        lines.append(f'<tr><th scope="row">{escape(path.stem)}</th>{cells}<td>{seeds}</td><td>{len(rows)}</td></tr>')
    if not lines:
        return f"<p>No stored results in <code>{escape(folder.name)}/</code>; <code>coldtheory sweep-V</code> makes some.</p>"
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("name", *_RESULT_KEYS, "seeds", "runs"))
    return (
        '<div class="table" tabindex="0" role="region" aria-label="Stored results">'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _span(rows: Sequence[dict[str, Any]], key: str) -> str:
    """One value, a range of numbers, or a list of words."""
    values = {row.get(key) for row in rows}
    numbers = sorted(value for value in values if isinstance(value, int | float))
    words = sorted(str(value) for value in values if value is not None and not isinstance(value, int | float))
    span = [f"{numbers[0]:g} … {numbers[-1]:g}" if len(numbers) > 1 else f"{numbers[0]:g}"] if numbers else []
    return ", ".join(span + words)
