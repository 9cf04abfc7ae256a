"""What methods declare about themselves, read from their files without running them: no torch is needed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "methods"
_WANTED = ("name", "title", "cost", "storage")


@lru_cache(maxsize=1)
def declared_costs() -> dict[str, dict[str, str]]:
    """name -> title, cost and storage of every method of this package; what a class leaves out is its parent's."""
    classes = {name: (bases, own) for path in sorted(FOLDER.glob("*.py")) for name, bases, own in _classes(path)}

    def inherited(name: str) -> dict[str, str]:
        bases, own = classes[name]
        known = [inherited(base) for base in bases if base in classes]
        return {key: value for facts in (*reversed(known), own) for key, value in facts.items()}

    methods = [inherited(name) for name, (_, own) in classes.items() if own.get("name")]
    return {facts["name"]: facts for facts in methods}


def _classes(path: Path) -> Iterator[tuple[str, list[str], dict[str, str]]]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
            yield node.name, bases, dict(_strings(node))


def _strings(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Every wanted `name = "text"` of a class body."""
    for line in node.body:
        if not isinstance(line, ast.Assign | ast.AnnAssign) or not isinstance(line.value, ast.Constant):
            continue
        target = line.targets[0] if isinstance(line, ast.Assign) else line.target
        if isinstance(target, ast.Name) and target.id in _WANTED:
            yield target.id, str(line.value.value)
