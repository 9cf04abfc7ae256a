"""Where data are: the user's data root, and a cache of decoded images beside it."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def data_root(given: Path | None = None) -> Path:
    """`--data-root`, else the environment variable COLD_DATA, else a folder of the user's cache."""
    if given is not None:
        return Path(given).expanduser()
    named = os.environ.get("COLD_DATA")
    return Path(named).expanduser() if named else _user_cache() / "data"


def cache_folder() -> Path:
    """Where decoded images are kept: COLD_CACHE, else a folder of the user's cache. The data root may be read-only."""
    named = os.environ.get("COLD_CACHE")
    return Path(named).expanduser() if named else _user_cache() / "decoded"


def _user_cache() -> Path:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "cold"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "cold"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "cold"
