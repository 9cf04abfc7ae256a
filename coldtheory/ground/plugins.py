"""What other packages bring: objects behind the entry points of a group, checked when they are loaded."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from typing import Any, TypeVar

from .errors import ColdError

_Kind = TypeVar("_Kind")


def entry_points(group: str) -> list[metadata.EntryPoint]:
    """The entry points of a group, each once: an installation may be seen twice on the path."""
    return list({(entry.name, entry.value): entry for entry in metadata.entry_points(group=group)}.values())


def load(entry: metadata.EntryPoint, what: str) -> Any:
    """The object behind an entry point; if it cannot be loaded, a `ColdError` names its package."""
    return _guarded(entry, what, entry.load)


def contributions(group: str, kind: type[_Kind], *arguments: object) -> Iterator[_Kind]:
    """What the functions behind a group's entry points return, called with these arguments: objects of one kind."""
    what = group.rpartition(".")[2]
    for entry in entry_points(group):
        function = load(entry, what)
        for given in _guarded(entry, what, lambda call=function: tuple(call(*arguments))):
            if not isinstance(given, kind):
                raise ColdError(
                    f"the {what} of {_package(entry)} hold a {type(given).__name__}, which is no {kind.__name__}; "
                    "reinstall it"
                )
            yield given


def _guarded(entry: metadata.EntryPoint, what: str, call: Any) -> Any:
    try:
        return call()
    except ColdError:
        raise
    except Exception as error:  # a plug-in may fail in any way; the user needs its name
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise ColdError(f"the {what} of {_package(entry)} cannot be loaded: {why}; reinstall it") from error


def _package(entry: metadata.EntryPoint) -> str:
    name = entry.value.partition(":")[0] if entry.dist is None else entry.dist.name
    return f"{name} ({entry.value})"
