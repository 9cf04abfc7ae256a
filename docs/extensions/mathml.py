"""Formulas as MathML, which browsers typeset by themselves: no script, no font, no network.

On the pages in PLAIN and in the API reference, formulas stand in sentences as plain text, since programs also print
these sentences on a terminal; what typesets them in the report typesets them here.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx import addnodes

from coldtheory.report.mathml import formula, typeset

PLAIN = ("claims", "findings", "gallery")
_AS_WRITTEN = (
    nodes.literal, nodes.literal_block, nodes.doctest_block, nodes.math, nodes.math_block, nodes.raw, nodes.title,
    nodes.reference, addnodes.desc_signature,
)  # fmt: skip
_SENTENCE = 80  # characters
_LONG = 24  # characters of LaTeX; a longer formula in a sentence may be broken into lines
_STEP = re.compile(
    r"(?P<open>\\(?:left\b|l[vV]ert\b|langle\b|\{)|[{(\[])|(?P<close>\\(?:right\b|r[vV]ert\b|rangle\b|\})|[})\]])|(?P<bar>\\?\|)"
    r"|(?P<sign>\\(?:le|ge|leq|geq|to|in)(?![A-Za-z])|[=<>])|(?P<term>[+-])|\\(?:[A-Za-z]+|.)|\s+|."
)


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    app.connect("config-inited", _choose)
    app.connect("doctree-resolved", _typeset)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _choose(_app: Any, config: Any) -> None:
    config.html_math_renderer = "mathml"


def _inline(translator: Any, node: Any) -> None:
    *pieces, last = (formula(piece) for piece in broken(node.astext()))
    if "marks" in node:
        last = f'<span class="whole">{last}{node["marks"]}</span>'
    translator.body.append(" ".join([*pieces, last]))
    raise nodes.SkipNode


def _display(translator: Any, node: Any) -> None:
    translator.body.append(f'<div class="formula">{formula(node.astext(), block=True)}</div>')
    raise nodes.SkipNode


def broken(latex: str) -> list[str]:
    """The pieces of a formula between which a line may end: in front of relations and terms outside all brackets."""
    if len(latex) <= _LONG:
        return [latex]
    depth, begin, pieces = 0, 0, list[str]()
    sized = norm = fresh = False  # behind \\left or \\right; inside |...|; where a minus is no operation
    for found in _STEP.finditer(latex):
        kind, text = found.lastgroup, found.group()
        if not text.strip():
            continue
        if kind in ("open", "close"):
            depth += 0 if sized else 1 if kind == "open" else -1
        elif kind == "bar" and not sized:
            norm = not norm
        elif depth == 0 and not norm and (kind == "sign" or (kind == "term" and not fresh)) and begin < found.start():
            pieces.append(latex[begin : found.start()].strip())
            begin = found.start()
        sized = text in (r"\left", r"\right")
        fresh = kind == "sign" or text in "_^"
    if depth or norm:
        return [latex]
    return [piece if at == 0 else "{}" + piece for at, piece in enumerate([*pieces, latex[begin:].strip()])]


def _keep_marks(tree: Any) -> None:
    """Punctuation behind a formula belongs to its line."""
    for math in list(tree.findall(nodes.math)):
        at = math.parent.index(math) + 1
        behind = math.parent[at] if at < len(math.parent) else None
        if isinstance(behind, nodes.Text) and (marks := re.match(r"[,.;:!?)’”]+", behind.astext())):
            math["marks"] = marks.group()
            math.parent.replace(behind, nodes.Text(behind.astext()[marks.end() :]))


def _typeset(app: Any, tree: Any, docname: str) -> None:
    """The sentences of a page in PLAIN or of the API reference, with their formulas typeset."""
    if app.builder.format == "html":
        _keep_marks(tree)
    if not docname.startswith(("api/", *PLAIN)) or app.builder.format != "html":
        return
    for table in tree.findall(nodes.table):
        _as_list_when_narrow(table)
    for text in list(tree.findall(nodes.Text)):
        if not _within(text, _AS_WRITTEN):
            shown = typeset(text.astext().replace("’", "'"))
            if "<" in shown:
                shown = shown.replace("&#x27;", "’").replace("'", "’")
                text.parent.replace(text, nodes.raw("", shown, format="html"))


def _as_list_when_narrow(table: Any) -> None:
    """Mark a table whose cells hold sentences, which a narrow screen shows as a list, and numbers that need a name."""
    rows = list(table.findall(nodes.row))
    names = [entry.astext() for entry in rows[0].findall(nodes.entry)]
    if max((len(entry.astext()) for entry in table.findall(nodes.entry)), default=0) > _SENTENCE:
        table["classes"].append("sentences")
        for row in rows[1:]:
            for name, entry in zip(names, row.findall(nodes.entry), strict=False):
                if name == "margin" and entry.astext():
                    entry["classes"].append(name)


def _within(node: Any, kinds: tuple[type, ...]) -> bool:
    while node is not None:
        if isinstance(node, kinds):
            return True
        node = node.parent
    return False
