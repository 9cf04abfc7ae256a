"""TOML of plain data: what `reading.read_toml` gives back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def to_toml(data: Mapping[str, Any]) -> str:
    """TOML of nested mappings of numbers, texts and lists; entries that are None are left out.

    >>> print(to_toml({"lr": 0.001, "options": {"alpha": 0.5}, "tried": [{"lr": 0.1}, {"lr": 0.01}]}), end="")
    lr = 0.001
    options = { alpha = 0.5 }
    tried = [
      { lr = 0.1 },
      { lr = 0.01 },
    ]
    """
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
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items() if v is not None) + " }"
    if isinstance(value, list | tuple):
        if value and all(isinstance(part, Mapping) for part in value):  # one table per line
            return "\n".join(["[", *(f"  {_value(part)}," for part in value), "]"])
        return "[" + ", ".join(_value(part) for part in value) + "]"
    return repr(value)
