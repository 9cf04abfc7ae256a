"""The file that declares comparisons: comparisons.toml, or one of the user's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path

from ..config import read_config
from .terms import Settings

_path: ContextVar[Path] = ContextVar("comparisons", default=Path(__file__).parent / "comparisons.toml")
_MAY_LACK = ("variant", "published", "online", "full", "benchmark")


@contextmanager
def using(path: Path | None) -> Iterator[None]:
    """Other comparisons within a `with` block; None: those of this package."""
    token = None if path is None else _path.set(path)
    try:
        yield
    finally:
        if token is not None:
            _path.reset(token)


def declarations() -> Settings:
    return _read(_path.get())


def source_name() -> str:
    return _path.get().name


@lru_cache(maxsize=4)
def _read(path: Path) -> Settings:
    told = {**{name: {} for name in _MAY_LACK}, **read_config(path)}
    told["full"] = {"tables": {}, "stand_in": {}, **told["full"]}
    return told
