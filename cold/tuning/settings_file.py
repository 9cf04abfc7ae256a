"""Chosen settings as a TOML file, format cold-settings/1.

At the top stand settings of a run, names as in `cold.RunConfig`, as in any file for `cold run --config`. The table
[provenance] says where they come from; `--config` passes it over::

    format       "cold-settings/1"
    command      the command that chose them
    chosen       what it chose, as settings
    acc          their accuracy on validation data, in per cent, after all tasks
    runs         ids of the finished runs behind them, that of the chosen settings first
    data         fingerprint of the data; absent: unrecorded
    seed         of the tuning runs
    validation   the share of the training data held out
    budget, spent
                 of `cold tune`: what it might spend and what it spent, in whole runs
    trials       of `cold tune`: every trial with its number, values, state, tasks learned and accuracy by then
    made         commit, versions, machine and time, as `coldtheory.ground.provenance.provenance` gives them
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from coldtheory.ground.checks import shown
from coldtheory.ground.errors import ColdError
from coldtheory.ground.files import write_atomically
from coldtheory.ground.reading import read_toml
from coldtheory.ground.writing import to_toml

from ..config import RunConfig
from ..presets import PROVENANCE, build_config
from ..tables.terms import Settings

FORMAT = "cold-settings/1"
FILE = "settings.toml"


class Origin(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where settings come from: the table [provenance] of the file."""

    format: str
    command: str
    chosen: dict[str, Any]
    acc: float
    runs: list[str]
    seed: int
    validation: float
    data: str | None = None
    budget: int | None = None
    spent: float | None = None
    trials: list[dict[str, Any]] = []
    made: dict[str, Any] = {}


@dataclass(frozen=True)
class Chosen:
    """Settings that tuning runs chose for a method on a benchmark of some size, and where they come from.

    settings : as flags of `cold run`, without seed and place
    source   : the file, or the table, that they were read from
    """

    settings: Settings
    origin: Origin
    source: str = field(compare=False, default="")

    @property
    def config(self) -> RunConfig:
        """The run of these settings with seed 0."""
        return build_config(None, self.settings)

    def as_dict(self) -> dict[str, Any]:
        """As the file has it."""
        return {**self.settings, PROVENANCE: msgspec.to_builtins(self.origin)}


def write_settings(path: Path, chosen: Chosen) -> None:
    """Write a file that `cold run --settings` and `cold run --config` read."""
    write_atomically(path, to_toml(chosen.as_dict()))


def read_settings(path: Path) -> Chosen:
    """A settings file, checked."""
    content = read_toml(path)
    told = content.pop(PROVENANCE, None)
    found = told.get("format") if isinstance(told, dict) else None
    if found != FORMAT:
        raise ColdError(
            f"{path} is not a file of chosen settings: its [{PROVENANCE}] has the format {shown(found)}, not "
            f"{FORMAT!r}; for a plain file of settings take --config"
        )
    try:
        origin = msgspec.convert(told, Origin)
    except msgspec.ValidationError as error:
        raise ColdError(f"{path} has a wrong entry in [{PROVENANCE}]: {' '.join(str(error).split())[:200]}") from None
    chosen = Chosen(content, origin, str(path))
    try:
        _ = chosen.config
    except ColdError as error:
        raise ColdError(f"{path}: {error}") from None
    return chosen


def find_settings(roots: Sequence[Path]) -> Iterator[Chosen]:
    """All settings files at any depth below some folders; other TOML files, and damaged ones, are passed over."""
    for root in roots:
        for place, folders, names in os.walk(root):
            folders.sort()
            for name in sorted(names):
                if name.endswith(".toml"):
                    try:
                        yield read_settings(Path(place) / name)
                    except ColdError:
                        continue
