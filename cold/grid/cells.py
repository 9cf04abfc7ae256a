"""What a worker gets and returns: plain data that any engine can send. Also what a failed cell leaves on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from coldtheory.ground.errors import ColdError
from coldtheory.ground.files import write_atomically
from coldtheory.ground.provenance import provenance

from ..config import RunConfig

State = Literal["done", "reused", "stopped", "failed", "busy"]
ERROR = "error.json"
ERROR_FORMAT = "cold-error/1"


@dataclass(frozen=True)
class GridCell:
    """One run to make."""

    config: RunConfig
    run_id: str
    out: Path
    data_root: Path | None = None
    threads: int | None = None  #: threads of torch and BLAS, unless the config sets them
    gpu: float | None = None  #: share of a GPU that the cell may take; None assigns no GPU
    weights: bool = True  #: keep the trained weights beside the result
    send_back: bool = False  #: the result's files come back with the outcome, for a driver on another disk
    until: int | None = None  #: stop after so many tasks, with a checkpoint to go on from; None: to the end

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return self.out / self.run_id


@dataclass(frozen=True)
class CellOutcome:
    """What became of a cell: finished now, finished before, stopped as asked, failed, or at work in another program."""

    run_id: str
    state: State
    error: str = ""  #: one line
    traceback: str = ""
    lasting: bool = True  #: whether the cell itself is to blame for a failure, and not, say, a full disk
    files: Mapping[str, bytes] = field(default_factory=dict)
    acc: float | None = None  #: of a cell that stopped: accuracy over the tasks learned by then, in per cent


def failures(out: Path) -> dict[str, str]:
    """Find failed cells at any depth of a folder: run id -> the line that says why."""
    found = {path.parent.name: _read_json(path) for path in sorted(out.rglob(ERROR))}
    return {name: str(content.get("error", "unknown: error.json is damaged")) for name, content in found.items()}


def write_failure(folder: Path, config: RunConfig, error: str, traceback: str) -> bool:
    """Write down what went wrong; return False if not even that is possible."""
    content = {
        "format": ERROR_FORMAT, "run_id": folder.name, "config": config.as_dict(), "error": error,
        "traceback": traceback, "provenance": provenance(),
    }  # fmt: skip
    try:
        write_atomically(folder / ERROR, json.dumps(content, indent=1) + "\n")
    except ColdError:
        return False
    return True


def _read_json(path: Path) -> dict[str, Any]:
    """Return the object in a file; it is empty if the file cannot be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
