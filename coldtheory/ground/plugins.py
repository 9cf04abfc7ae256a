"""Objects that other packages add through entry points, checked when they are loaded."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from typing import Any, TypeVar

from .errors import ColdError

_Kind = TypeVar("_Kind")


def entry_points(group: str) -> list[metadata.EntryPoint]:
    """Return the entry points of a group. Each is listed once, even if an installation is on the path twice."""
    return list({(entry.name, entry.value): entry for entry in metadata.entry_points(group=group)}.values())


def load(entry: metadata.EntryPoint, what: str) -> Any:
    """Load the object of an entry point; if that fails, a `ColdError` names its package."""
    return _guarded(entry, what, entry.load)


def contributions(group: str, kind: type[_Kind], *arguments: object) -> Iterator[_Kind]:
    """Call the functions of a group's entry points and yield the objects that they return, all of one kind."""
    what = group.rpartition(".")[2]
    for entry in entry_points(group):
        function = load(entry, what)
        for given in _guarded(entry, what, lambda call=function: tuple(call(*arguments))):
            if not isinstance(given, kind):
                raise ColdError(
                    f"the {what} of {_package(entry)} contain a {type(given).__name__}, which is not a "
                    f"{kind.__name__}; reinstall it"
                )
            yield given


def _guarded(entry: metadata.EntryPoint, what: str, call: Any) -> Any:
    try:
        return call()
    except ColdError:
        raise
    except Exception as error:  # a plug-in may fail in any way, and the user must learn which one it was
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise ColdError(f"the {what} of {_package(entry)} cannot be loaded: {why}; reinstall it") from error


def _package(entry: metadata.EntryPoint) -> str:
    name = entry.value.partition(":")[0] if entry.dist is None else entry.dist.name
    return f"{name} ({entry.value})"
