"""The figures of one stored sweep, whatever it varied and whose tasks they are: gradient, queues, and both together.

They are drawn from the sweep's rows alone. The gallery has figures of the same names that compare the paper's regimes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..ground.errors import ColdError
from ..ground.files import config_key
from ..rows import axis_value
from ..store import ROW_SCHEMA, StoredRows, SweepRecord
from .figure import Figure, State, Stored
from .table import Table, Tell

_MEASURED = ("avg_grad_sq_before", "avg_grad_sq_after", "avg_Qbar", "avg_forgetting", "max_forgetting")
_MISSING = "its rows are no longer in {folder}; make them again with: {command}"
#: id -> title, sentence and drawing function
_FIGURES = {
    "gradient": (
        "Gradient against {axis}",
        "The average squared gradient before and after each task, with the place where the former is smallest, if that "
        "lies inside the grid.",
        "draw_gradient",
    ),
    "queues": (
        "Queues and forgetting against {axis}",
        "The average queue, and what past tasks lose: the mean and the largest forgetting over all pairs of a past "
        "task and a later one.",
        "draw_queues",
    ),
    "tradeoff": (
        "Gradient against queue, for each {axis}",
        "The average squared gradient before and after each task over the average queue; the colour of a point is its "
        "value of the setting that was varied.",
        "draw_tradeoff",
    ),
}
FIGURE_IDS = tuple(_FIGURES)  #: figures that every stored sweep has


def sweep_figure(id_: str, record: SweepRecord) -> Figure:
    """One of `FIGURE_IDS`, of a stored sweep."""
    title, sentence, draw = _FIGURES[id_]
    tasks = " and ".join(dict.fromkeys(_name(config) for config in record.sources.values()))
    whole = f"{title.format(axis=record.axis)}: {tasks}"
    data = (SweptData(record),)
    draw = f"{__name__}_pictures:{draw}"
    return Figure(f"{id_}-{record.name}", "", whole, sentence, "theory", data, draw, words=f"{id_} {record.name}")


@dataclass(frozen=True)
class SweptData:
    """The rows of a stored sweep as a table: the setting that was varied, by name and value, and what was measured."""

    record: SweepRecord

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def command(self) -> str:
        return self.record.command

    @property
    def key(self) -> str:
        return config_key({"keys": self.record.keys, "axis": self.record.axis, "rows": ROW_SCHEMA})

    def commands(self) -> Iterator[str]:
        yield self.command

    def state(self, folder: Path) -> State:
        for path, keys in self._files(folder):
            with StoredRows(path) as stored:
                if stored.having(keys) != set(keys):
                    return "missing"
        return "present"

    def load(self, folder: Path) -> Stored:
        rows: list[dict[str, Any]] = []
        origin: dict[str, Mapping[str, Any]] = {}
        for path, keys in self._files(folder):
            with StoredRows(path) as stored:
                found, origins = list(stored.rows(keys)), stored.origins
            if len(found) != len(keys):
                raise ColdError(f"{self.name}: {_MISSING.format(folder=folder, command=self.command)}")
            for row in found:
                value = axis_value(row, self.record.axis)
                about = {"regime": row["regime"], "seed": row["seed"], "axis": self.record.axis, "value": value}
                rows.append({**about, **{name: None if row["diverged"] else row.get(name) for name in _MEASURED}})
                origin[json.dumps(origins[row["provenance"]])] = origins[row["provenance"]]
        seeds = sorted({row["seed"] for row in rows})
        about = {"sources": list(self.record.sources.values()), "seeds": seeds, "axis": self.record.axis}
        values = list(dict.fromkeys(row["value"] for row in rows))
        config = {**about, "values": values, "command": self.command}
        return Stored(Table.of(rows), config, self.key, list(origin.values()))

    def make(self, folder: Path, tell: Tell) -> None:
        raise ColdError(f"{self.name}: {_MISSING.format(folder=folder, command=self.command)}")

    def _files(self, folder: Path) -> Iterator[tuple[Path, list[str]]]:
        for stem, keys in self.record.keys.items():
            yield folder / f"{stem}.sqlite", keys


def _name(config: Mapping[str, Any]) -> str:
    """Tasks in a word: a regime of the paper in capitals, as the paper writes it."""
    return str(config["regime"]).upper() if "regime" in config else str(config.get("file"))
