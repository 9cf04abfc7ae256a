"""Formulas as MathML, which browsers typeset by themselves: from LaTeX, and from the plain text of explanations.

>>> typeset("Q_k[t] <= r^2 l/2").count("<math")
3
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from html import escape

import latex2mathml.converter

_GREEK = (
    "alpha", "beta", "delta", "Delta", "epsilon", "eta", "gamma", "kappa", "lambda", "mu", "nu", "Phi", "rho", "sigma",
    "tau", "theta", "xi",
)  # fmt: skip
#: names that stand for themselves wherever they are a word
_NAMES = {
    **{name: rf"\{name}" for name in _GREEK}, "eps": r"\varepsilon", "grad": r"\nabla", "DPP": r"\mathrm{DPP}",
    "Lyap": r"\mathcal{L}", "Pot": r"\mathrm{Pot}",
}  # fmt: skip
_OPERATORS = ("sum", "max", "min", "sup", "inf")  # only with an index; alone they are words
_WORDS = ("a", "A", "I")  # single letters that are words unless they have an index, or stand in a formula
_LABEL = r"(?:alg|app|cor|def|eq|fig|lem|lemm|sec|subsec|supp|tab|thm):\w+"
_POWER = r"\{[^{}]*\}|\([^()]*\)|-?\d+(?:\.\d+)?|[A-Za-z]+"
_COMMAND = (
    r"coldtheory (?:certify|check|memory|plot|replay|report|search|simulate|sweep[\w-]*)(?: --[\w-]+(?: [\w:.-]*\w)?)*"
)
_TOKEN = re.compile(
    rf"(?P<command>\b{_COMMAND})|\$(?P<latex>[^$\n]+)\$|`(?P<code>[^`\n]+)`|(?P<label>\b{_LABEL})|(?<!\w)(?P<root>sqrt)(?=\()"
    rf"|(?<=[\w)\]|])\^(?P<raised>{_POWER})|(?<=[)\]|])_(?P<lowered>\{{[^{{}}]*\}}|\w|\+)"
    rf"|(?<![\w:`^'])(?<![^.]\.)(?<!\w\w-)(?P<grad>grad +)?"
    rf"(?P<name>[A-Za-z]+)(?P<prime>'(?!\w))?(?P<star>\*(?=_))?"
    r"(?:_(?P<sub>\{[^{}]*\}|hatPhi|Phi|min|max|bar|base|[^\W_](?:,\w)?))?(?P<late>\*(?=[^\w*]|$))?"
    rf"(?P<at>\[[\w+*-]{{1,7}}\])?(?:\^(?P<power>{_POWER}))?(?!\w|'[a-rt-z]|\.\w)"
    r"|\b(?P<snake>[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+)\b"
)
_LONGEST = 8  # parts of a formula that no line breaks; a longer one may have to be broken on a narrow screen
_SIGNS = (("<=>", "⇔"), ("<=", "≤"), (">=", "≥"), ("=>", "⇒"), ("->", "→"), ("+-", "±"), ("!=", "≠"), (" - ", " − "))
_UNSUPPORTED = (  # by the converter, or by browsers: a script letter has a character of its own
    (r"\\operatorname\*", r"\\operatorname"), (r"\{aligned\}", "{align*}"), (r"\\dfrac", r"\\frac"),
    (r"\\[lr]Vert(?![a-z])", r"\\|"), (r"\\qquad(?![a-z])", r"\\;\\;\\;\\;"), (r"\\quad(?![a-z])", r"\\;\\;\\;"),
    (r"\\[bB]igg?l(?![a-z])", r"\\left"), (r"\\[bB]igg?r(?![a-z])", r"\\right"), (r"\\mathcal\s*(L|\{L\})", "ℒ"),
    (r"\\mathcal\s*(W|\{W\})", "𝒲"),
)  # fmt: skip
_SHORTER = tuple(
    (re.compile(pattern), by)
    for pattern, by in (  # the same formula with fewer elements, and primes by that name
        (r' xmlns="[^"]*"| display="inline"', ""),
        (r'<mi mathvariant="normal">(\w+)</mi>(?=<mi mathvariant="normal">\w)', r"\1"),
        (r'([A-Za-z]+)<mi mathvariant="normal">(\w+)</mi>', r"<mi>\1\2</mi>"),
        (r"<mrow>(<(m[ion])[^<>]*>[^<>]*</\2>)</mrow>", r"\1"),
        (r"<mi>([^<]*)</mi><m[io]>′</m[io]>", r'<msup><mi>\1</mi><mo class="prime">′</mo></msup>'),
        (r"</mi><mo>′</mo></msup>", '</mi><mo class="prime">′</mo></msup>'),
        (r"<math><mrow>((?:(?!<mrow>).)*)</mrow></math>", r"<math>\1</math>"),
    )
)


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
    math = re.sub(r"&#x0*([0-9A-Fa-f]+);", lambda m: escape(chr(int(m[1], 16)), quote=False), math)
    for longer, shorter in _SHORTER:
        math = longer.sub(shorter, math)
    return math


def typeset(text: str) -> str:
    """Plain text as HTML: symbols such as Q_k[t-1] or hatPhi_k typeset, $...$ as LaTeX, labels and `code` set apart.

    A single letter is a symbol, but for a, A and I; a name with underscores that is no symbol is code.
    """
    text = re.sub(r"(?<=\w) x (?=\d)", " × ", text)
    parts: list[tuple[str, bool]] = []  # HTML, and whether it is a formula
    at = begin = 0
    while match := _TOKEN.search(text, begin):
        shown, begin = _token(match, text)
        if shown is not None:
            parts += [(_prose(text[at : match.start()], after=at > 0), False), (shown, shown.startswith("<math"))]
            at = begin
    return _unbroken([*parts, (_prose(text[at:], after=at > 0), False)])


def _unbroken(parts: Iterable[tuple[str, bool]]) -> str:
    """The parts as one text in which a line ends at spaces only: browsers would also end it behind a formula."""
    written: list[str] = []
    chunk: list[str] = []  # what stands between two spaces
    formulas = 0

    def close() -> None:
        nonlocal formulas
        whole = "".join(chunk)
        written.append(f'<span class="whole">{whole}</span>' if formulas and 1 < len(chunk) <= _LONGEST else whole)
        chunk.clear()
        formulas = 0

    for html, is_formula in parts:
        pieces = [html] if is_formula or html.startswith("<") else re.split(r"( )", html)
        for piece in pieces:
            if piece == " ":
                close()
                written.append(" ")
            elif piece:
                chunk.append(piece)
                formulas += is_formula
    close()
    return "".join(written)


def paragraphs(text: str) -> str:
    """Text with blank lines between its paragraphs as HTML; indented paragraphs keep their lines."""
    shown = []
    for part in re.split(r"\n\s*\n", text.strip("\n")):
        if re.search(r"^\s", part, re.M):
            lines = "<br>".join(typeset(line) for line in _whole_lines(part))
            shown.append(f'<p class="lines">{lines}</p>')
        elif part.strip():
            shown.append(f"<p>{typeset(' '.join(part.split()))}</p>")
    return "".join(shown)


def _whole_lines(text: str) -> list[str]:
    """The lines of an indented paragraph; one that ends inside parentheses goes on with the next."""
    lines: list[str] = []
    for line in text.splitlines():
        if lines and lines[-1].count("(") > lines[-1].count(")"):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line.strip())
    return lines


def command(line: str) -> str:
    """A command as HTML in which no line breaks inside an option, nor between an option and its value."""
    words = re.findall(r"--?[A-Za-z][\w-]*(?:[= ](?!-|&&|\|)\S+)?|\S+", line)
    whole = (f'<span class="whole">{escape(word)}</span>' if "-" in word else escape(word) for word in words)
    return f"<code>{' '.join(whole)}</code>"


def scrolled(latex: str) -> str:
    """A displayed formula that scrolls by itself where the page is narrow."""
    shown = formula(latex, block=True)
    return f'<div class="scroll" tabindex="0" role="region" aria-label="formula">{shown}</div>'


def _token(match: re.Match[str], text: str) -> tuple[str | None, int]:
    """The match as HTML, or None if it is an ordinary word; and where it ends."""
    if match["command"]:
        return command(match["command"]), match.end()
    if match["latex"]:
        return formula(match["latex"]), match.end()
    if code := match["code"] or match["label"] or match["snake"]:
        return (command(code) if " " in code else f"<code>{escape(code)}</code>"), match.end()
    for tag in ("raised", "lowered"):
        if match[tag]:
            element = "sup" if tag == "raised" else "sub"
            return f"<{element}>{formula(_latex(match[tag]))}</{element}>", match.end()
    if match["root"]:
        end = _closing(text, match.end())
        return (formula(_root(text[match.end() : end])) if end else None), end or match.end()
    latex = _symbol(match)
    return (None if latex is None else formula(latex)), match.end()


def _symbol(match: re.Match[str]) -> str | None:
    """A symbol as LaTeX, or None if it is an ordinary word."""
    name, sub = match["name"], match["sub"]
    star = match["star"] or (match["late"] if sub else None)
    symbol = _named(name, indexed=bool(sub), marked=bool(sub or match["power"] or star or _beside_sign(match)))
    if symbol is None or (name in _OPERATORS and not sub):
        return None
    if sub == "bar":
        symbol, sub = rf"\bar{{{symbol}}}", None
    symbol = f"{symbol}{'′' if match['prime'] else ''}"
    index = f"_{{{_index(sub)}}}" if sub else ""
    power = (["*"] if star else []) + ([_latex(match["power"])] if match["power"] else [])
    base = f"{{{symbol}}}" if index or power else symbol
    late = "*" if match["late"] and not star else ""
    slope = r"\nabla " if match["grad"] else ""
    return f"{slope}{base}{index}{'^{' + ' '.join(power) + '}' if power else ''}{match['at'] or ''}{late}"


def _named(name: str, *, indexed: bool, marked: bool) -> str | None:
    """The LaTeX of a name, or None for a word; `marked` by an index, a power, a star or a sign beside it."""
    if name in _NAMES:
        return _NAMES[name]
    if len(name) == 1:
        return name if marked or name not in _WORDS else None
    hatted = name.removeprefix("hat")
    if hatted != name and (hatted in _GREEK or len(hatted) == 1):
        return rf"\hat{{{_NAMES.get(hatted, hatted)}}}"
    if name.endswith("bar") and len(name) == 4:
        return rf"\bar{{{name[0]}}}"
    if name in _OPERATORS:
        return rf"\{name}"
    return rf"\mathrm{{{name}}}" if indexed else None


def _beside_sign(match: re.Match[str]) -> bool:
    """Whether a single letter stands beside a sign, as in `a = 1/T` or `(1-a)`."""
    if len(match["name"]) > 1:
        return False
    before, after = match.string[: match.start()], match.string[match.end() :]
    return bool(re.match(r"\s*(?:[=<>/^]|[-+] ?\d)|\)", after) or re.search(r"(?:[=<>/|]\s?|\d[-+]|\d \()$", before))


def _latex(text: str) -> str:
    """The inside of a root, a power or an index as LaTeX; outer braces and parentheses are dropped."""
    inner = text[1:-1] if text[:1] in "{(" and _closing(text, 0) == len(text) else text
    parts: list[str] = []
    at = 0
    while match := _TOKEN.search(inner, at):
        closed = _closing(inner, match.end()) if match["root"] else 0
        name = match["name"] or ""
        if closed:
            shown = _root(inner[match.end() : closed])
        else:
            word = rf"\mathrm{{{name}}}" if len(name) > 1 else name
            shown = (name and _symbol(match)) or word or match[0]
        parts += [inner[at : match.start()], shown, " "]
        at = closed or match.end()
    whole = "".join([*parts, inner[at:]])
    for written, latex in (("<=", r"\le "), (">=", r"\ge "), ("<", r"\lt "), (r"\mathrm{in}", r"\in ")):
        whole = whole.replace(written, latex)
    return whole


def _root(text: str) -> str:
    return rf"\sqrt{{{_latex(text)}}}"


def _closing(text: str, at: int) -> int:
    """Behind the bracket that closes the one at `at`; 0 if none does."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] in "({") - (text[place] in ")}")
        if depth == 0:
            return place + 1
    return 0


def _index(sub: str) -> str:
    return _latex(sub) if sub.startswith("{") or len(sub) > 1 else sub


def _prose(text: str, *, after: bool) -> str:
    """Text between symbols; `after` one of them, a hyphen before a number or a single letter is a minus sign."""
    text = re.sub(r"^-(?=\d|[A-Za-z](?![A-Za-z])|$)", "−", text) if after else text
    text = re.sub(r"(?<=[ (=\d])-$|(?<![\w.)\]-])-(?=\d)", "−", text)
    for written, sign in _SIGNS:
        text = text.replace(written, sign)
    return re.sub(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-]?)0*(\d+)(?!\w)", _power_of_ten, escape(text, quote=False))


def _power_of_ten(number: re.Match[str]) -> str:
    factor = "" if number[1] == "1" else f"{number[1]}·"
    return f"{factor}10<sup>{'−' if number[2] == '-' else ''}{number[3]}</sup>"
