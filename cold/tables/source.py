"""The file that declares comparisons: comparisons.toml, or one of the user's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path

from ..config import read_config
from .terms import Settings

_BUILT_IN = Path(__file__).parent / "comparisons.toml"
_MAY_LACK = ("variant", "published", "online", "full", "benchmark")
_other: ContextVar[tuple[str, Settings] | None] = ContextVar("comparisons", default=None)


@contextmanager
def using(path: Path | None) -> Iterator[None]:
    """Other comparisons within a `with` block, read once at its start; None: those of this package."""
    token = _other.set(None if path is None else (path.name, _read(path)))
    try:
        yield
    finally:
        _other.reset(token)


def declarations() -> Settings:
    other = _other.get()
    return _built_in() if other is None else other[1]


def source_name() -> str:
    """For messages."""
    other = _other.get()
    return _BUILT_IN.name if other is None else other[0]


@lru_cache(maxsize=1)
def _built_in() -> Settings:
    return _read(_BUILT_IN)


def _read(path: Path) -> Settings:
    told = {**{name: {} for name in _MAY_LACK}, **read_config(path)}
    told["full"] = {"tables": {}, "stand_in": {}, **told["full"]}
    return told
