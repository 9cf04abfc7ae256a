"""The documents of the repository, cut into code blocks, code in running text, and links."""

from __future__ import annotations

import importlib.util
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES += sorted((ROOT / "docs" / "tutorials").glob("*.md"))
IDS = [page.relative_to(ROOT).as_posix() for page in PAGES]
_FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.M | re.S)


class Block(NamedTuple):
    """A fenced block: what stands after the fence, and the text."""

    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(*found) for found in _FENCE.findall(page.read_text(encoding="utf-8"))]


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def code_words(page: Path) -> list[str]:
    """What stands between single backquotes, on one line."""
    return [" ".join(found.split()) for found in re.findall(r"(?<!`)`([^`]+)`(?!`)", prose(page))]


def links(page: Path) -> Iterator[tuple[str, str]]:
    """Relative links as (file, anchor); either may be empty."""
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if not re.match(r"[a-z]+:", target):
            file, _, anchor = target.partition("#")
            yield file, anchor


def same_words(ours: str, theirs: str) -> bool:
    """Equal words; numbers may differ in digits that depend on the machine's linear algebra, and times may differ."""
    left, right = (re.sub(r"[\d.]+ s\b", "", text).split() for text in (ours, theirs))
    return len(left) == len(right) and all(map(_same, left, right))


def _same(ours: str, theirs: str) -> bool:
    try:
        return math.isclose(float(ours), float(theirs), rel_tol=1e-3)
    except ValueError:
        return ours == theirs


def load(path: str) -> ModuleType:
    """A module of docs/ or tools/, which are no packages."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # dataclasses look for their module there
    spec.loader.exec_module(module)
    return module
