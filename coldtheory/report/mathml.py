"""Formulas as MathML, which browsers typeset by themselves: from LaTeX, and from the plain text of explanations.

>>> typeset("Q_k[t] <= r^2 l/2").count("<math")
2
"""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape

import latex2mathml.converter

_GREEK = (
    "alpha", "beta", "delta", "Delta", "epsilon", "eta", "gamma", "kappa", "lambda", "mu", "nu", "Phi", "rho", "sigma",
    "theta", "xi",
)  # fmt: skip
_ALWAYS = ("V", "Q", "T", "J", "DPP", "Lyap", "Qbar")  # stand for themselves wherever they are a word
_INDEXED = tuple("DFMRSWacdefghklmnprstuvwxyz")  # only with an index, a star or a power
_OPERATORS = ("sum", "max", "min", "sup", "inf")  # likewise
_LABEL = r"(?:alg|app|cor|def|eq|fig|lem|lemm|sec|subsec|supp|tab|thm):\w+"
_TOKEN = re.compile(
    rf"\$(?P<latex>[^$\n]+)\$|`(?P<code>[^`\n]+)`|(?P<label>\b{_LABEL})"
    rf"|(?<![\w.:`^])(?<!\w-)(?<![a-z]/)(?P<grad>grad +)?(?P<hat>hat)?"
    rf"(?P<name>{'|'.join([*_GREEK, *_ALWAYS, *_OPERATORS, *_INDEXED])})(?P<prime>'?)(?P<star>\*(?=_))?"
    r"(?:_(?P<sub>\{[^{}]*\}|hatPhi|Phi|min|max|\w(?:,\w)?))?(?P<late>\*(?=[^\w*]|$))?(?P<at>\[[\w+*-]{1,7}\])?"
    r"(?:\^(?P<power>\{[^{}]*\}|\d+|\w))?(?![\w'])"
)
_POWER = re.compile(r"([\w)\]|])\^(\{[^{}]*\}|\d+)")
_SIGNS = (("<=>", "⇔"), ("<=", "≤"), (">=", "≥"), ("=>", "⇒"), ("->", "→"), ("+-", "±"), ("!=", "≠"), (" - ", " − "))
_UNSUPPORTED = (  # by the converter, or by browsers: a script letter has a character of its own
    (r"\\operatorname\*", r"\\operatorname"), (r"\{aligned\}", "{align*}"), (r"\\dfrac", r"\\frac"),
    (r"\\[lr]Vert(?![a-z])", r"\\|"), (r"\\qquad(?![a-z])", r"\\;\\;\\;\\;"), (r"\\quad(?![a-z])", r"\\;\\;\\;"),
    (r"\\[bB]igg?l(?![a-z])", r"\\left"), (r"\\[bB]igg?r(?![a-z])", r"\\right"), (r"\\mathcal\s*(L|\{L\})", "ℒ"),
    (r"\\mathcal\s*(W|\{W\})", "𝒲"),
)  # fmt: skip


@lru_cache(maxsize=4096)
def formula(latex: str, *, block: bool = False) -> str:
    """LaTeX as a MathML element; what cannot be read is shown as it is written."""
    source = latex.strip()
    for known, other in _UNSUPPORTED:
        source = re.sub(known, other, source)
    try:
        math = latex2mathml.converter.convert(source, display="block" if block else "inline")
    except Exception:  # the converter raises many kinds of error on input it does not know
        return f'<code class="latex">{escape(latex)}</code>'
    return math.replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "", 1)


def typeset(text: str) -> str:
    """Plain text as HTML: symbols such as Q_k[t-1] or hatPhi_k typeset, $...$ as LaTeX, labels and `code` set apart."""
    parts, at = [], 0
    for match in _TOKEN.finditer(text):
        shown = _token(match)
        if shown is None:
            continue
        parts += [_prose(text[at : match.start()], after=at > 0), shown]
        at = match.end()
    return "".join([*parts, _prose(text[at:], after=at > 0)])


def paragraphs(text: str) -> str:
    """Text with blank lines between its paragraphs as HTML; indented paragraphs keep their lines."""
    shown = []
    for part in re.split(r"\n\s*\n", text.strip("\n")):
        if re.search(r"^\s", part, re.M):
            lines = "<br>".join(typeset(line.strip()) for line in part.splitlines())
            shown.append(f'<p class="lines">{lines}</p>')
        elif part.strip():
            shown.append(f"<p>{typeset(' '.join(part.split()))}</p>")
    return "".join(shown)


def _token(match: re.Match[str]) -> str | None:
    """The match as HTML, or None if it is an ordinary word."""
    if match["latex"]:
        return formula(match["latex"])
    if match["code"] or match["label"]:
        return f"<code>{escape(match['code'] or match['label'])}</code>"
    name, star = match["name"], match["star"] or (match["late"] if match["sub"] else None)
    marked = match["sub"] or match["at"] or match["power"] or match["hat"] or star
    if name in (*_INDEXED, *_OPERATORS) and not marked:
        return None
    symbol = {"Qbar": r"\bar{Q}", "DPP": r"\mathrm{DPP}", "Lyap": r"\mathcal{L}"}.get(name, name)
    symbol = rf"\{name}" if name in (*_GREEK, *_OPERATORS) else symbol
    symbol = rf"\hat{{{symbol}}}" if match["hat"] else symbol
    symbol = rf"\nabla {symbol}" if match["grad"] else symbol
    index = f"_{{{_plain(match['sub'])}}}" if match["sub"] else ""
    marks = [mark for mark, there in (("'", match["prime"]), ("*", star)) if there]
    power = marks + ([_plain(match["power"])] if match["power"] else [])
    shown = formula(f"{symbol}{index}{'^{' + ' '.join(power) + '}' if power else ''}{match['at'] or ''}")
    return shown + ("*" if match["late"] and not star else "")


def _plain(index: str) -> str:
    inner = re.sub(r"hatPhi", r"\\hat{\\Phi}", index.strip("{}"))
    inner = (
        re.sub(r"(?<!\\hat\{\\)\bPhi\b", r"\\Phi", inner)
        .replace("<=", r"\le ")
        .replace("<", r"\lt ")
        .replace(" in ", r"\in ")
    )
    return inner if len(inner) < 3 or not inner.isalpha() else rf"\mathrm{{{inner}}}"


def scrolled(latex: str) -> str:
    """A displayed formula that scrolls by itself where the page is narrow."""
    shown = formula(latex, block=True)
    return f'<div class="scroll" tabindex="0" role="region" aria-label="formula">{shown}</div>'


def _prose(text: str, *, after: bool) -> str:
    """Text between symbols; `after` one of them, a hyphen before a number is a minus sign."""
    text = re.sub(r"(?<=[ (=])-$", "−", re.sub(r"^-(?=\d)", "−", text) if after else text)
    for written, sign in _SIGNS:
        text = text.replace(written, sign)
    return _POWER.sub(lambda m: f"{m[1]}<sup>{m[2].strip('{}')}</sup>", escape(text, quote=False))
