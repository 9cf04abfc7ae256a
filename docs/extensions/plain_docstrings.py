"""Docstrings of this project are plain text. Here they become reStructuredText that looks as they do in the source.

    paragraphs                            paragraphs; `code` is set as code, **words** in bold, all else as it stands
    lines after "- "                      a list
    indented lines, and aligned columns   set as they are
    examples after ">>>"                  examples

>>> print(plain_to_rst("The norm |x|_2 of `x`.\\n\\n    Q_k <- max(Q_k + d_k, 0)"))
The norm \\|x\\|\\_2 of ``x``.
<BLANKLINE>
.. code-block:: none
<BLANKLINE>
       Q_k <- max(Q_k + d_k, 0)
<BLANKLINE>
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from itertools import groupby
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

_CODE = re.compile(r"(``[^`]+``|`[^`\n]+`|\*\*[^*\n]+\*\*)")
_LIST_LIKE = re.compile(r"^(?=[-+*•] |\(?[0-9A-Za-z]{1,3}[.)] |[:.=~^\"'#])")


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", _process)
    app.connect("autodoc-process-signature", _signature)
    app.add_directive("module-docstring", ModuleDocstring)
    return {"parallel_read_safe": True}


class ModuleDocstring(SphinxDirective):
    """`.. module-docstring:: package.module` shows what a module says of itself, without its members."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        try:
            module = import_module(self.arguments[0])
        except ImportError as error:
            raise self.error(f"no module {self.arguments[0]}: {error}") from None
        self.env.note_dependency(str(module.__file__))
        lines = plain_to_rst(inspect.getdoc(module) or "").splitlines()
        return self.parse_text_to_nodes("\n".join(lines))


def _process(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = plain_to_rst("\n".join(lines)).splitlines()


def _signature(_app: Any, what: str, _name: str, _obj: Any, _options: Any, signature: str | None, _result: Any) -> Any:
    """A command is called from a shell: its options, which stand in its `--help`, are not shown as parameters."""
    return ("()", None) if what == "function" and "typer." in (signature or "") else None


def plain_to_rst(text: str) -> str:
    """The same text for docutils."""
    blocks = [
        list(block)
        for filled, block in groupby(text.expandtabs().splitlines(), lambda line: bool(line.strip()))
        if filled
    ]
    return "\n\n".join(_block(block) for block in blocks)


def _block(lines: list[str]) -> str:
    if lines[0].lstrip().startswith(">>>"):
        return "\n".join(lines)
    if lines[0].startswith("- "):
        items = re.split(r"\n(?=- )", "\n".join(lines))
        return "\n".join("- " + _words(item[2:]) for item in items)
    aligned = any(re.search(r"\S {2,}\S", re.sub(r"[.:;] {2}(?=\S)", ". ", line)) for line in lines)
    if aligned or any(line.startswith(" ") for line in lines):
        return ".. code-block:: none\n\n" + "\n".join(f"   {line}" for line in lines) + "\n"
    return re.sub(r"::$", ":", _words("\n".join(lines)))


def _words(text: str) -> str:
    """One paragraph on one line: `code` and **bold** as such, every other sign as itself."""
    parts = _CODE.split(" ".join(text.split()))
    for i, part in enumerate(parts):
        if i % 2 == 0:
            parts[i] = re.sub(r"([\\*`_|])", r"\\\1", part)
        elif part.startswith("`"):
            parts[i] = f"``{part.strip('`').strip()}``"
        # inline markup needs a gap or a sign around it; an escaped space is one that does not show
        if i % 2 and i + 1 < len(parts) and re.match(r"\w", parts[i + 1]):
            parts[i] += r"\ "
        if i % 2 and re.search(r"\w$", parts[i - 1]):
            parts[i] = r"\ " + parts[i]
    return _LIST_LIKE.sub(r"\\", "".join(parts))
