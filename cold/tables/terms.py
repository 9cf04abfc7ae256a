"""The terms of a comparison, row by row, as frozen records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KINDS = ("equal", "published")
Settings = dict[str, Any]


@dataclass(frozen=True)
class Parameter:
    """The one parameter of a method that is tuned: the settings of its start and of its other values."""

    name: str
    start: Settings
    others: tuple[Settings, ...]


@dataclass(frozen=True)
class Tuning:
    """The budget, the same for every method."""

    lr: tuple[float, ...]
    settings: Settings
    parameter: Parameter | None = None


@dataclass(frozen=True)
class Row:
    """One line of a table. `fixed` are its settings before tuning, `final` what only its final runs have."""

    key: str
    method: str
    title: str
    label: str
    seeds: tuple[int, ...]
    fixed: Settings
    final: Settings = field(default_factory=dict)
    tuning: Tuning | None = None
    reduced: str = ""
    absent: str = ""
    borrowed: str = ""
    note: str = ""
    forgets: bool = True
    bound: bool = False


@dataclass(frozen=True)
class Terms:
    """A benchmark under one kind of comparison; `printed` is (table, dataset, memory) in the paper, if it is there."""

    name: str
    kind: str
    title: str
    short: str
    base: Settings
    seeds: tuple[int, ...]  #: of all rows that are not reduced to others
    rows: tuple[Row, ...]
    out: Path
    tuning_out: Path
    printed: tuple[str, str, int] | None
    contrasts: tuple[tuple[str, str], ...]


def layered(*layers: Mapping[str, Any]) -> Settings:
    """Later settings over earlier ones; a method's options are joined."""
    joint: Settings = {}
    for layer in layers:
        options = {**joint.get("options", {}), **layer.get("options", {})}
        joint = {**joint, **layer, **({"options": options} if options else {})}
    return joint
