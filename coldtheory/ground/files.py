"""Files that are only ever replaced whole, and short names for configurations."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import ColdError


def config_key(config: Mapping[str, Any]) -> str:
    """A short name for a configuration: equal configurations have equal keys, on every machine.

    A number enters by the shortest decimal text that stands for it, so configurations are equal to the last bit.
    """
    text = json.dumps(config, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write_atomically(path: Path, text: str | bytes) -> None:
    """Replace `path` in one move; on any failure the old file stays and a `ColdError` says why."""
    data = text.encode() if isinstance(text, str) else text
    scratch = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(scratch, 0o644)
        os.replace(scratch, path)
    except OSError as error:
        if scratch is not None and os.path.exists(scratch):
            os.unlink(scratch)
        raise ColdError(f"cannot write {path}: {error.strerror or error}; choose another folder with --out") from None
