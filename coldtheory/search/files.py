"""A found instance as a TOML file in the format of `coldtheory.counterexamples`, with where it comes from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..ground.files import write_atomically
from ..ground.provenance import provenance
from .driver import Found
from .instance import form_that_holds


def save_instance(found: Found, path: Path) -> None:
    """Write the instance; `load_counterexample(path)` reads it, `coldtheory replay` reruns it."""
    write_atomically(path, to_toml(file_content(found)))


def file_content(found: Found) -> dict[str, Any]:
    best = found.best
    holds = form_that_holds(best)
    content: dict[str, Any] = {"statement": found.statement, "form": found.form}
    if holds is not None:
        content["holds"] = holds
    content["note"] = _note(found)
    if best.waived:
        content["waives"] = list(best.waived)
    content["expected"] = {"lhs": float(best.bound.lhs), "rhs": float(best.bound.rhs)}
    if best.plain["options"]:
        content["options"] = best.plain["options"]
    return {
        **content,
        **({"seeds": best.instance.seeds} if best.instance.seeds else {}),
        "tasks": best.plain["tasks"],
        "settings": best.plain["settings"],
        "search": found.config,
        "provenance": provenance(),
    }


def _note(found: Found) -> str:
    what = "Breaks the statement" if found.best.broken else "The tightest instance found"
    beyond = f" The premises {', '.join(found.best.waived)} were not asked for." if found.best.waived else ""
    how = found.config.get("stage", "a search from a cold start")
    return f"{what}; found by {how}, seed {found.config['seed']}.{beyond}"


def to_toml(data: Mapping[str, Any]) -> str:
    """TOML of nested mappings of numbers, texts and lists; entries that are None are left out."""
    lines: list[str] = []
    _table(data, (), lines)
    return "\n".join(lines) + "\n"


def _table(data: Mapping[str, Any], at: tuple[str, ...], lines: list[str]) -> None:
    tables = {key: value for key, value in data.items() if isinstance(value, Mapping) and not _inline(key, at)}
    plain = {key: value for key, value in data.items() if key not in tables and value is not None}
    if at:
        lines += ["", f"[{'.'.join(_key(name) for name in at)}]"]
    lines += [f"{_key(key)} = {_value(value)}" for key, value in plain.items()]
    for key, value in tables.items():
        _table(value, (*at, key), lines)


def _inline(key: str, at: tuple[str, ...]) -> bool:
    """Short tables on one line, as in the stored files."""
    return not at and key in ("expected", "options")


def _key(name: str) -> str:
    bare = name.replace("-", "").replace("_", "").isalnum() and name.isascii()
    return name if bare else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value)  # a JSON text is a TOML text
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(part) for part in value) + "]"
    return repr(value)
