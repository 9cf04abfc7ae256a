"""The origin of a number: versions, commit and time. Every file that is written carries it."""

from __future__ import annotations

import datetime as dt
import platform
import subprocess
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("coldtheory", "cold", "paper_checks")  #: the code, as opposed to stored rows and pictures
_VERSIONS = ("cold-continual", "numpy", "scipy")


def provenance() -> dict[str, Any]:
    """Return versions, the project's commit (None outside a checkout) and the time in UTC, as plain JSON."""
    return {
        **_code(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _VERSIONS},
        "machine": f"{platform.system()} {platform.machine()}",
        "time": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    }


@lru_cache(maxsize=1)
def _code() -> dict[str, Any]:
    """The commit of the checkout that this file belongs to, and whether its code has local changes."""
    here = Path(__file__).resolve()
    root = here.parents[2]

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True, timeout=10)
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", str(here.relative_to(root)))
        return {"commit": git("rev-parse", "HEAD"), "changed": bool(git("status", "--porcelain", "--", *PACKAGES))}
    except (OSError, subprocess.SubprocessError):
        return {"commit": None, "changed": None}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
