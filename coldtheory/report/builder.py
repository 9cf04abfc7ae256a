"""The page, put together: one HTML file that loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from .. import __version__
from ..bounds import STATEMENTS, Statement, plugged_statements
from ..controllers import CONTROLLERS
from ..ground.errors import ColdError
from ..ground.provenance import provenance
from ..store import StoredRows, row_files
from . import claims as c
from .gallery import figure_cards
from .idea import ten_sentences
from .mathml import command
from .outcomes import Outcomes
from .statements import latex_by_label, model_formulas, statement_cards
from .streams import SEEDS, D, T, embedded_streams

_STYLES = ("style.css", "explorer.css")
_SCRIPTS = (
    "controllers.js", "simulator.js", "bounds.js", "charts.js", "heatmap.js", "readout.js", "page.js", "verdicts.js",
    "story.js", "numbers.js", "optima.js", "link.js", "controls.js", "explorer.js", "main.js",
)  # fmt: skip
_SLIDERS = (
    ("V", "V", "weight of the task"),
    ("delta", "δ", "tolerance"),
    ("eta", "η", "step size"),
    ("steps", "J", "steps per task"),
    ("T", "T", "tasks"),
)
_NOWHERE = "form-action 'none'; base-uri 'none'"
_COMMANDS = (
    ("coldtheory check", "checks every claim"),
    ("coldtheory check --explain thm3", "one statement with its proof, in the terminal"),
    ("coldtheory sweep-V --regime all", "the runs behind the theory figures; stored in results/"),
    ("coldtheory simulate --regime high --V 200", "one run; the explorer prints the command of its own"),
    ("coldtheory plot all", "draws the figures, and computes what they need first"),
    ("coldtheory report --check-claims", "checks every claim and writes this page"),
    ("coldtheory serve", "opens it on this machine only"),
)
_NO_FIGURES = "<p>No pictures yet; <code>coldtheory plot all</code> draws them.</p>"
_RESULT_KEYS = ("regime", "T", "d", "V", "eta", "delta", "steps", "reference", "weights", "solver")


def build_report(outcomes: Outcomes, *, results: Path, figures: Path | None, own: Iterable[Statement] = ()) -> str:
    """The whole page from outcomes, a folder of stored results and a folder of figures (None: no figures).

    Figures are shown as they were drawn for the page (`coldtheory.report.vector`), or else as PNGs.

    own : further statements to show, beside ours and those of installed packages
    """
    origin = provenance()
    statements = [*STATEMENTS.values(), *plugged_statements(taken=STATEMENTS).values(), *own]
    script = _script()
    pictures, styles = figure_cards(figures, results) if figures is not None else ("", "")
    page = Template(_file("page.html"))
    return page.substitute(
        policy=_policy(script),
        version=escape(__version__),
        css="".join(_file(name) for name in _STYLES) + styles,
        facts=_facts(origin, outcomes),
        share=c.verdict_share(outcomes.rows),
        chips=c.verdict_buttons(outcomes.rows),
        idea=ten_sentences(),
        checked=_checked(outcomes),
        claims=c.verdict_sections(outcomes.rows, latex_by_label(statements)),
        T=T,
        d=D,
        model=model_formulas(),
        sliders="".join(_slider(*slider) for slider in _SLIDERS),
        seeds="".join(f"<option>{seed}</option>" for seed in SEEDS),
        controllers="".join(f"<option>{name}</option>" for name in CONTROLLERS),
        statements=statement_cards(s for s in statements if not s.beyond),
        beyond=statement_cards(s for s in statements if s.beyond),
        figures=pictures or _NO_FIGURES,
        commands="".join(f"<dt>{command(line)}</dt><dd>{escape(what)}</dd>" for line, what in _COMMANDS),
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
    return f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; {_NOWHERE}"


def _facts(origin: dict[str, Any], outcomes: Outcomes) -> str:
    packages = [f"{name} {version}" for name, version in origin["packages"].items() if version]
    facts = {
        "Page written": f"{escape(_when(origin))}, {_commit(origin)}",
        "Verdicts found": _found(outcomes),
        "Environment": escape(", ".join([f"Python {origin['python']}", *packages, origin["machine"]])),
    }
    return "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts.items())


def _commit(origin: dict[str, Any]) -> str:
    if not origin["commit"]:
        return "not in a checkout"
    changed = " with local changes" if origin["changed"] else ""
    return f"commit <code>{escape(origin['commit'][:10])}</code>{changed}"


def _found(outcomes: Outcomes) -> str:
    if not outcomes.rows:
        return "none"
    if outcomes.origin is None:
        return "time and commit not recorded"
    return f"{escape(_when(outcomes.origin))}, {_commit(outcomes.origin)}"


def _checked(outcomes: Outcomes) -> str:
    """When and by what the verdicts were found, and a warning if some are not what a check would find now."""
    notes = []
    if outcomes.stale:
        first = ", ".join(f"<code>{escape(name)}</code>" for name in list(outcomes.stale)[:3])
        more = ", …" if len(outcomes.stale) > 3 else ""
        notes.append(
            f"Stale verdicts: {len(outcomes.stale)} ({first}{more}). What they depend on has changed since; "
            f"{command('coldtheory check --stale')} finds them again."
        )
    if outcomes.unknown:
        notes.append("The file of the verdicts does not say whether what they depend on has changed since.")
    if outcomes.missing:
        notes.append(f"Claims of this version that are not among them: {len(outcomes.missing)}.")
    warning = f'<p class="warning">{" ".join(notes)}</p>' if notes else ""
    return f'<p class="faint">Found: {_found(outcomes)}.</p>{warning}'


def _when(origin: dict[str, Any]) -> str:
    return str(origin["time"]).replace("T", " ").replace("+00:00", " UTC")


def _slider(name: str, symbol: str, meaning: str) -> str:
    return (
        f'<div class="range" id="{name}-range"><div><label for="{name}">{symbol} <small>{meaning}</small></label>'
        f'<input type="text" inputmode="decimal" id="{name}-number" aria-label="{symbol}, {meaning}, as a number"'
        f' autocomplete="off" aria-describedby="{name}-complaint"></div><input type="range" id="{name}">'
        f'<p class="complaint" id="{name}-complaint" role="alert"></p></div>'
    )


def _results(folder: Path) -> str:
    """What the stored results were run with, one line per file."""
    lines = []
    for path in row_files(folder):
        try:
            with StoredRows(path) as stored:
                number, values = len(stored), _values(stored.rows())
        except ColdError:
            continue  # another kind of file, or a damaged one; 'coldtheory results ls' tells
        cells = "".join(f"<td>{escape(_span(values[key]))}</td>" for key in _RESULT_KEYS)
        seeds = len(values["seed"])
        lines.append(f'<tr><th scope="row">{escape(path.stem)}</th>{cells}<td>{seeds}</td><td>{number}</td></tr>')
    if not lines:
        name = f"<code>{escape(folder.name)}/</code>"
        return f"<p>No stored results in {name}; <code>coldtheory sweep-V</code> makes some.</p>"
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("name", *_RESULT_KEYS, "seeds", "runs"))
    return (
        '<div class="table" tabindex="0" role="region" aria-label="Stored results">'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _values(rows: Iterable[dict[str, Any]]) -> dict[str, set[Any]]:
    """The values that occur in the rows, by key."""
    values: dict[str, set[Any]] = {key: set() for key in (*_RESULT_KEYS, "seed")}
    for row in rows:
        for key, seen in values.items():
            if not isinstance(value := row.get(key), dict):
                seen.add(value)
    return values


def _span(values: set[Any]) -> str:
    """One value, a range of numbers, or a list of words."""
    numbers = sorted(value for value in values if isinstance(value, int | float))
    words = sorted(str(value) for value in values if value is not None and not isinstance(value, int | float))
    span = [f"{numbers[0]:g} … {numbers[-1]:g}" if len(numbers) > 1 else f"{numbers[0]:g}"] if numbers else []
    return ", ".join(span + words)
