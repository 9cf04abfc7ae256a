"""A figure and what it is drawn from: stored tables that know their key, their state and the command that makes them.

Functions that compute and draw are given by name, "module:function": the simulator's bounds and matplotlib are loaded
when something is computed or drawn, and a list of all figures needs neither.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ..ground.engines import Engine
from ..ground.errors import ColdError
from ..ground.files import config_key, write_atomically
from ..ground.provenance import provenance
from ..ground.reading import read_bytes, read_json
from ..store import ROW_SCHEMA, Row, StoredRows  # tables become stale together with rows
from ..sweep import SweepCell, cell_keys, run_cells, stems_of
from ..vocabulary import OLD_COLUMNS, with_present_names
from .table import Table, Tell, digest

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

#: "theory": data that are missing are computed here. "training": they are finished runs, made by another command.
Kind = Literal["theory", "training"]
State = Literal["present", "stale", "missing"]
FORMAT = "coldtheory-data/1"


@dataclass(frozen=True)
class Stored:
    """A table read from disk, with what it was made of and by which code."""

    table: Table
    config: Mapping[str, Any]
    key: str
    origin: list[Mapping[str, Any]]


class Dataset(Protocol):
    """A stored table. `key` changes whenever the same name means other numbers."""

    @property
    def name(self) -> str:
        """The name of the table."""

    @property
    def command(self) -> str:
        """The command that makes the data."""

    @property
    def key(self) -> str:
        """A hash of all that the numbers depend on."""

    def commands(self) -> Iterator[str]:
        """All commands that make the data, one after the other."""

    def state(self, folder: Path) -> State:
        """Whether the data in a folder are present, missing or stale."""

    def load(self, folder: Path) -> Stored:
        """The stored table; raises `ColdError` if it is missing or stale."""

    def make(self, folder: Path, tell: Tell) -> None:
        """Compute and store what is missing; `tell` is called with the progress."""


@dataclass(frozen=True)
class Figure:
    """One figure: its caption, its data, and the name of the function that draws its tables."""

    id: str  #: also the name of its files
    label: str  #: the paper's label, "" for a figure of our own
    title: str
    sentence: str
    kind: Kind
    data: tuple[Dataset, ...]
    draw: str  #: "module:function"
    aliases: tuple[str, ...] = ()
    profile: str | None = None  #: of a training figure's runs
    words: str = ""  #: what follows `coldtheory plot` in the command that draws it; the id, unless given

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\w[\w.+-]*", self.id):
            raise ColdError(f"{self.id!r} cannot be the name of a figure's files: use letters, digits, - + . and _")

    @property
    def command(self) -> str:
        """What makes the data; for a theory figure it draws, too."""
        return self.drawn_by if self.kind == "theory" else self.data[0].command

    @property
    def drawn_by(self) -> str:
        """The command that draws the figure."""
        return f"coldtheory plot {self.words or self.id}"

    def state(self, folder: Path) -> State:
        """The worst state among its data."""
        return worst(data.state(folder) for data in self.data)

    def load(self, folder: Path) -> dict[str, Stored]:
        """All tables of the figure, by name."""
        return {data.name: data.load(folder) for data in self.data}

    def picture(self, tables: Mapping[str, Table]) -> Picture:
        """The drawn and laid-out matplotlib figure."""
        from . import style  # noqa: PLC0415  (matplotlib is slow to load)

        with style.styled():
            drawn: Picture = _named(self.draw)(tables)
            style.settle(drawn)
        return drawn


def worst(states: Iterable[State]) -> State:
    """The state of a figure whose data have these."""
    found = set(states)
    return "missing" if "missing" in found else "stale" if "stale" in found else "present"


@dataclass(frozen=True)
class Wanted:
    """What a user asks of training figures: data other than the paper's, and its printed numbers beside ours."""

    dataset: str | None = None
    profile: str | None = None
    paper: bool = False
    kept: bool = False  #: whether finished runs that are kept elsewhere count beside the folder of results


@dataclass(frozen=True)
class SweepData:
    """The rows of a sweep, as `coldtheory sweep-V` and the other sweeps store them."""

    name: str
    command: str
    cells: Sequence[SweepCell] = field(repr=False)
    columns: Sequence[str]
    version: int = 1
    engine: Engine = "loky"

    @property
    def config(self) -> dict[str, Any]:
        """The sweep in few words; the key stands for all of its cells."""
        stems = stems_of(self.cells)
        sources = {stems[id(cell.source)]: cell.source for cell in self.cells}
        numbers = [vars(cell.numbers) for cell in self.cells]
        swept = {name: list(dict.fromkeys(n[name] for n in numbers)) for name in ("V", "eta", "delta", "steps")}
        schemes = list(dict.fromkeys(cell.scheme for cell in self.cells))
        seeds = sorted({cell.seed for cell in self.cells})
        return {
            "sources": [source.config for source in sources.values()], "seeds": seeds, **swept,
            "schemes": [scheme.config for scheme in schemes], "columns": list(self.columns), "version": self.version,
        }  # fmt: skip

    @property
    def key(self) -> str:
        return config_key({**self.config, "cells": cell_keys(self.cells)})

    def state(self, folder: Path) -> State:
        missing = other_schema = False
        for path, keys in self._keys(folder).items():
            try:
                with StoredRows(path) as stored:
                    if stored.having(keys) != keys:
                        missing = True
                        other_schema |= stored.has_another_schema()
            except ColdError:
                return "stale"
        return "present" if not missing else "stale" if other_schema else "missing"

    def load(self, folder: Path) -> Stored:
        found: dict[str, tuple[Row, Mapping[str, Any]]] = {}
        for path, keys in self._keys(folder).items():
            with StoredRows(path) as stored:  # the error for a damaged file says what is wrong and what to do
                rows = list(stored.rows(keys))
                origins = stored.origins
                found |= {row["key"]: (row, origins[row["provenance"]]) for row in rows}
        _demand(self, folder, f"its rows have another schema than {ROW_SCHEMA}")
        used = [found[key] for key in cell_keys(self.cells)]
        table = Table.of({name: row[name] for name in self.columns} for row, _ in used)
        origin = {json.dumps(one): one for _, one in used}
        return Stored(table, self.config, self.key, list(origin.values()))

    def _keys(self, folder: Path) -> dict[Path, set[str]]:
        """The keys of the cells, by row file."""
        keys: dict[Path, set[str]] = {}
        stems = stems_of(self.cells)
        for key, cell in zip(cell_keys(self.cells), self.cells, strict=True):
            keys.setdefault(folder / f"{stems[id(cell.source)]}.sqlite", set()).add(key)
        return keys

    def commands(self) -> Iterator[str]:
        yield self.command

    def make(self, folder: Path, tell: Tell) -> None:
        run_cells(list(self.cells), folder, engine=self.engine, progress=tell)


@dataclass(frozen=True)
class TableData:
    """A table that one function computes; its CSV and a JSON with the origin lie in the folder `data`."""

    name: str
    command: str
    compute: str  #: "module:function", a function of `config` and `tell`
    config: Mapping[str, Any]  #: the arguments of `compute`, plain JSON
    version: int = 1  #: raise it when `compute` means something else by the same arguments

    @property
    def key(self) -> str:
        return config_key({"name": self.name, "config": self.config, "version": self.version, "rows": ROW_SCHEMA})

    def state(self, folder: Path) -> State:
        if not (self._csv(folder).is_file() and self._about(folder).is_file()):
            return "missing"
        try:
            about = _read_about(self._about(folder))
        except ColdError:
            return "stale"
        same = about["key"] == self.key and about["sha256"] == digest(read_bytes(self._csv(folder)))
        return "present" if same else "stale"

    def load(self, folder: Path) -> Stored:
        _demand(self, folder, self._change(folder))
        about = _read_about(self._about(folder))
        columns = Table.from_csv(read_bytes(self._csv(folder))).columns
        table = Table(with_present_names(columns, OLD_COLUMNS))
        return Stored(table, self.config, self.key, [about["provenance"]])

    def commands(self) -> Iterator[str]:
        yield self.command

    def make(self, folder: Path, tell: Tell) -> None:
        if self.state(folder) == "present":
            return
        text = _named(self.compute)(tell=tell, **self.config).to_csv()
        about = {
            "format": FORMAT, "name": self.name, "key": self.key, "version": self.version, "rows": ROW_SCHEMA,
            "config": self.config, "sha256": digest(text), "provenance": provenance(),
        }  # fmt: skip
        write_atomically(self._csv(folder), text)
        write_atomically(self._about(folder), json.dumps(about, indent=1) + "\n")

    def _change(self, folder: Path) -> str:
        """What makes the stored table stale, in words."""
        try:
            about = _read_about(self._about(folder))
        except ColdError as error:
            return str(error)
        old_version, version = (about.get("version"), about.get("rows")), (self.version, ROW_SCHEMA)
        if old_version != version:
            return f"it is of version {_dotted(old_version)}, the code of {_dotted(version)}"
        old, new = about["config"], json.loads(json.dumps(self.config))
        changed = [name for name in {**old, **new} if old.get(name) != new.get(name)]
        if changed:
            return f"it was made with another {', '.join(changed)}"
        return "its table was changed after it was made"

    def _csv(self, folder: Path) -> Path:
        return folder / "data" / f"{self.name}.csv"

    def _about(self, folder: Path) -> Path:
        return folder / "data" / f"{self.name}.json"


def _named(name: str) -> Callable[..., Any]:
    """The function "module:function"."""
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found


def _demand(data: Dataset, folder: Path, change: str) -> None:
    state = data.state(folder)
    if state == "missing":
        raise ColdError(f"no data '{data.name}' in {folder}; make it with: {data.command}")
    if state == "stale":
        raise ColdError(
            f"the data '{data.name}' in {folder} is of another version ({change}); make it anew with: {data.command}"
        )


def _dotted(version: tuple[Any, ...]) -> str:
    return ".".join(str(part) for part in version)


def _read_about(path: Path) -> dict[str, Any]:
    about = read_json(path, "make it anew")
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ColdError(f"{path.name} is not of the format {FORMAT}")
    kinds = {"key": str, "sha256": str, "provenance": dict, "config": dict}
    if not all(isinstance(about.get(name), kind) for name, kind in kinds.items()):
        raise ColdError(f"{path.name} is not of the format {FORMAT}")
    return about
