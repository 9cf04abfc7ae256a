"""Pages that are made when the documentation is built, from texts that stand elsewhere in the repository.

api/*.md       one page per sub-package, from the docstrings of its public modules
MIRRORED       pages that show a file of the repository's root or of the gallery
NAME.md        beside a notebook NAME.ipynb: shows the notebook, with the outputs that are stored in it
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
PACKAGES = ("coldtheory", "cold", "paper_checks")
MIRRORED = {"gallery": "figures/README.md", "contributing": "CONTRIBUTING.md", "changelog": "CHANGELOG.md"}


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", _write_api)
    app.connect("source-read", _mirror)
    app.connect("source-read", _show_notebook)
    return {"parallel_read_safe": True}


def public_modules(package: str) -> Iterator[str]:
    """Dotted names of a package's modules, a package before what it holds; names with an underscore are private."""
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        if not any(part.startswith("_") for part in parts):
            yield ".".join(parts)


def api_pages() -> dict[str, list[str]]:
    """Page -> its modules. A page is a sub-package with all that it holds, or a package with its own modules."""
    pages: dict[str, list[str]] = {}
    for package in PACKAGES:
        for module in public_modules(package):
            parts = module.split(".")
            own = len(parts) == 1 or (len(parts) == 2 and not (ROOT / package / parts[1]).is_dir())
            pages.setdefault(package if own else ".".join(parts[:2]), []).append(module)
    return pages


def _write_api(app: Any) -> None:
    folder = Path(app.srcdir) / "api"
    wanted = {f"{page}.md": _api_page(page, modules) for page, modules in api_pages().items()}
    for old in folder.glob("*.md"):
        if old.name != "index.md" and old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _api_page(page: str, modules: list[str]) -> str:
    parts = [f"# {page}\n"]
    for module in sorted(modules, key=lambda name: (name.count("."), name)):
        if module != page:
            parts.append(f"## {module}\n")
        parts.append(f"```{{eval-rst}}\n.. automodule:: {module}\n```\n")
    return "\n".join(parts)


def _mirror(app: Any, docname: str, source: list[str]) -> None:
    """The text of the file that a page mirrors, its relative links made relative to `docs`."""
    if docname not in MIRRORED:
        return
    path = ROOT / MIRRORED[docname]
    app.env.note_dependency(str(path))

    def moved(found: re.Match[str]) -> str:
        target = (path.parent / found[1]).resolve()
        mirrored = [name for name, file in MIRRORED.items() if ROOT / file == target]
        return f"]({mirrored[0]}.md{found[2]})" if mirrored else f"]({_relative(target)}{found[2]})"

    source[0] = re.sub(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*|)\)", moved, path.read_text(encoding="utf-8"))


def _show_notebook(app: Any, docname: str, source: list[str]) -> None:
    path = (DOCS / docname).with_suffix(".ipynb")
    if path.is_file():
        app.env.note_dependency(str(path))
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        source[0] = "\n\n".join(part for cell in cells for part in _cell_parts(cell))


def _cell_parts(cell: dict[str, Any]) -> Iterator[str]:
    """A cell of a notebook and its stored outputs, in Markdown."""
    text = "".join(cell["source"])
    if cell["cell_type"] != "code":
        yield text
        return
    yield f"```python\n{text}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "image/png" in data:
            encoded = "".join(data["image/png"]).replace("\n", "")
            image = f'<img alt="What the cell draws" src="data:image/png;base64,{encoded}">'
            yield f'```{{raw}} html\n<div class="picture">{image}</div>\n```'
        elif "text/html" in data:
            yield f'```{{raw}} html\n<div class="wide">{"".join(data["text/html"])}</div>\n```'
        else:
            yield f"```text\n{''.join(output.get('text') or data.get('text/plain', '')).rstrip()}\n```"


def _relative(target: Path) -> str:
    return (
        target.relative_to(DOCS).as_posix()
        if target.is_relative_to(DOCS)
        else f"../{target.relative_to(ROOT).as_posix()}"
    )
