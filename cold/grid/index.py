"""What is on disk: finished runs, and cells that failed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from coldtheory.ground.errors import ColdError
from coldtheory.ground.files import write_atomically
from coldtheory.ground.provenance import provenance

from ..config import RunConfig
from ..results import ARRAYS, FORMAT, RESULT

ERROR = "error.json"
ERROR_FORMAT = "cold-error/1"


def index(*roots: Path) -> dict[str, Path]:
    """Finished runs at any depth below the roots, run id -> folder; of equal ones, the first root's. A damaged file
    is no finished run."""
    found: dict[str, Path] = {}
    for root in roots:
        for path in sorted(root.rglob(RESULT)):
            content = read_json(path)
            if content.get("format") == FORMAT and "run_id" in content and (path.parent / ARRAYS).is_file():
                found.setdefault(str(content["run_id"]), path.parent)
    return found


def failures(out: Path) -> dict[str, str]:
    """Failed cells at any depth of a folder, run id -> the line that says why."""
    found = {path.parent.name: read_json(path) for path in sorted(out.rglob(ERROR))}
    return {name: str(content.get("error", "unknown: error.json is damaged")) for name, content in found.items()}


def write_failure(folder: Path, config: RunConfig, error: str, traceback: str) -> bool:
    """Keep what went wrong; False if not even that can be written."""
    content = {
        "format": ERROR_FORMAT, "run_id": folder.name, "config": config.as_dict(), "error": error,
        "traceback": traceback, "provenance": provenance(),
    }  # fmt: skip
    try:
        write_atomically(folder / ERROR, json.dumps(content, indent=1) + "\n")
    except ColdError:
        return False
    return True


def read_json(path: Path) -> dict[str, Any]:
    """The object in a file, empty if there is none that can be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
