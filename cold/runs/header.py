"""The first line of a rows.jsonl: what most of its rows have in common is written there once.

A row then holds only the entries in which it differs, and names those of the first line that it does not have. Values
are the same if they are written in the same way, so that 1, 1.0 and true stay what they are.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, NotRequired, TypedDict, cast

import msgspec

from coldtheory.ground.errors import ColdError

from .schema import ROWS_FORMAT, wrong_entry

Part = Literal["config", "timing", "provenance"]
PARTS: tuple[Part, ...] = ("config", "timing", "provenance")  #: shared entry by entry
WHOLE = ("data", "arrays", "dropped")  #: shared as they are
_KEPT = 1.1  # a first line stays until another one would make the file smaller by this factor


class Common(TypedDict):
    """What a row has unless it says otherwise."""

    config: dict[str, Any]
    timing: dict[str, Any]
    provenance: dict[str, Any]
    data: NotRequired[str | None]
    arrays: NotRequired[list[str]]
    dropped: NotRequired[list[str]]


class _Header(msgspec.Struct):
    common: Common


class _Absent(msgspec.Struct):
    absent: dict[Part, list[str]] = {}


def is_header(content: object) -> bool:
    """Return whether the content of a first line is what rows have in common, and no row."""
    return isinstance(content, dict) and content.get("format") == ROWS_FORMAT and "run_id" not in content


def read_header(content: object, where: str, *, remedy: str) -> Common:
    """Return what the rows of a file have in common. Each row is checked later, with the values that it takes over."""
    try:
        return msgspec.convert(content, _Header).common
    except (msgspec.ValidationError, RecursionError) as error:
        raise wrong_entry(where, error, remedy) from None


def whole(content: object, common: Common, where: str, *, remedy: str) -> object:
    """Return a line as a complete record, with what it takes over from the first line; it is still to be checked."""
    if not isinstance(content, dict):
        return content
    if "format" in content:
        raise ColdError(f"{where} has a format of its own, but line 1 has that of all rows; {remedy}")
    absent = _absent(content, common, where, remedy)
    record: dict[str, Any] = {"format": ROWS_FORMAT, **common, **content}
    for part in PARTS:
        own, shared = content.get(part, {}), common[part]
        if isinstance(own, dict):
            gone = absent.get(part)
            kept = {name: shared[name] for name in shared if name not in gone} if gone else shared
            record[part] = {**kept, **own}
    return record


def _absent(content: dict[str, Any], common: Common, where: str, remedy: str) -> dict[Part, list[str]]:
    """Return the entries of each part that a row does not take over."""
    try:
        absent = msgspec.convert(content, _Absent).absent
    except (msgspec.ValidationError, RecursionError) as error:
        raise wrong_entry(where, error, remedy) from None
    for part, names in absent.items():
        for name in names:
            if name not in common[part]:
                raise ColdError(f"{where} goes without {part} {name[:80]!r}, which line 1 does not have; {remedy}")
    return absent


def text_of_rows(records: Collection[Mapping[str, Any]], kept: Common | None) -> str:
    """Return the lines of a file. The first line that the file has (`kept`) stays while it serves nearly as well as the
    best one, so that further rows leave the other lines as they are."""
    best = _text(records, most_common(records))
    old = best if kept is None else _text(records, kept)
    return old if len(old) <= _KEPT * len(best) else best


def most_common(records: Collection[Mapping[str, Any]]) -> Common:
    """Return the most common value of every entry that rows can share."""
    common: Any = {part: _most_common([record[part] for record in records]) for part in PARTS}
    common |= _most_common([{name: record[name] for name in WHOLE} for record in records])
    return cast("Common", common)


def _most_common(rows: Collection[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the most common value of each name, if it occurs again, in a tenth of the rows, and more rows have it than
    lack the name."""
    found: dict[str, Counter[str]] = {}
    for row in rows:
        for name, value in row.items():
            found.setdefault(name, Counter())[_json(value)] += 1
    chosen = {}
    for name, values in found.items():
        ((text, count),) = values.most_common(1)
        if count > max(1, len(rows) / 10, len(rows) - values.total()):
            chosen[name] = json.loads(text)
    return chosen


def _text(records: Iterable[Mapping[str, Any]], common: Common) -> str:
    lines = [{"format": ROWS_FORMAT, "common": common}, *(_difference(record, common) for record in records)]
    return "".join(f"{_json(line)}\n" for line in lines)


def _difference(record: Mapping[str, Any], common: Common) -> dict[str, Any]:
    """Return the entries of a record that differ from the common ones; what is empty without them is left out."""
    own = {name: value for name, value in record.items() if name not in (*PARTS, *WHOLE) and value != {}}
    own |= _changes({name: record[name] for name in WHOLE}, common)
    absent = {}
    for part in PARTS:
        if changes := _changes(record[part], common[part]):
            own[part] = changes
        if gone := [name for name in common[part] if name not in record[part]]:
            absent[part] = gone
    return {**own, **({"absent": absent} if absent else {})}


def _changes(entries: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entries.items() if name not in common or _json(value) != _json(common[name])}


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
