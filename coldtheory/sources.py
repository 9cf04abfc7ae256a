"""Where tasks come from: a regime by name, or a user's own file (TOML, npz, CSV)."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .ground.checks import number, numbers, shown, whole
from .ground.errors import ColdError, unknown_name
from .ground.files import config_key
from .ground.reading import Npz, read_bytes, read_toml
from .tasks import REGIMES, Tasks, from_optima, make_tasks, with_sampled_points

_SAMPLING = ("n", "m", "spread")
_NPZ_ARRAYS = ("optima", "hessians", "memory_optima", "memory_hessians")
_ARRAY_KINDS = (".npz", ".csv")
FILE_KINDS = (".toml", *_ARRAY_KINDS)


@dataclass(frozen=True)
class Source:
    """A stream of tasks for every seed; `constants` are the regime's, with n, m and spread if sampled."""

    name: str
    constants: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] | None = None  # a user's own tasks
    digest: str | None = None  # of the arrays

    @property
    def config(self) -> dict[str, Any]:
        """All that the tasks depend on besides the seed, defaults written out."""
        if self.arrays is not None:
            return {"file": self.name, "sha256": self.digest, **self._sampling()}
        defaults = dict(REGIMES[self.name].__kwdefaults__ or {})
        given = {name: value for name, value in self.constants.items() if name in defaults}
        return {"regime": self.name, **defaults, **given, **self._sampling()}

    @property
    def T(self) -> int:
        """Number of tasks."""
        return int(self.config["T"] if self.arrays is None else self.arrays["optima"].shape[-2])

    @property
    def stem(self) -> str:
        """The name of this source's row file."""
        return f"{self.name}-{config_key(self.config)[:8]}"

    def with_constants(self, **constants: Any) -> Source:
        """The same source with other constants; raises `ColdError` if a file of tasks fixes one of them."""
        given = {name: value for name, value in constants.items() if value is not None}
        if self.arrays is not None and (fixed := [name for name in given if name not in _SAMPLING]):
            raise ColdError(f"{self.name} fixes its own tasks: leave {' and '.join('--' + name for name in fixed)} out")
        return replace(self, constants={**self.constants, **given})

    def seeds(self, wanted: int | list[int] | tuple[int, ...] | range) -> list[int]:
        """The seeds to run. A number asks for 0 .. wanted-1, or for all streams of a user's file; a list is taken as it
        is, and a file must hold these streams."""
        streams = None
        if self.arrays is not None and "n" not in self.constants:
            optima = self.arrays["optima"]
            streams = optima.shape[0] if optima.ndim == 3 else 1
        if not isinstance(wanted, list | tuple | range):
            count = whole("seeds, the number of them,", wanted, least=1)
            return list(range(count if streams is None else streams))
        seeds = [whole("every one of the seeds", seed, least=0) for seed in wanted]
        if not seeds:
            raise ColdError("the list of seeds is empty; give at least one")
        if streams is not None and max(seeds) >= streams:
            held = (
                "one stream, of the seed 0" if streams == 1 else f"{streams} streams, of the seeds 0 to {streams - 1}"
            )
            raise ColdError(f"{self.name} holds {held}, but the seeds include {max(seeds)}; leave --seeds out")
        return seeds

    def tasks(self, seeds: Sequence[int]) -> Tasks:
        """The tasks of these seeds, one stream each."""
        if self.arrays is None:
            return make_tasks(self.name, seeds, **self.constants)
        optima = self.arrays["optima"]
        if "n" in self.constants:
            if len(self.arrays) > 1 or optima.ndim != 2:
                raise ColdError("points can be sampled around plain optima (T, d) only")
            return with_sampled_points(self.name, seeds, np.stack([optima] * len(seeds)), **self._sampling())
        if optima.ndim == 2:
            return from_optima(**{name: array[None] for name, array in self.arrays.items()}, name=self.name)
        return from_optima(**self.arrays, name=self.name)[list(seeds)]

    def _sampling(self) -> dict[str, Any]:
        return {name: self.constants[name] for name in _SAMPLING if name in self.constants}


def load_source(text: str) -> Source:
    """A regime's name, or the path of a .toml, .npz or .csv file."""
    if not isinstance(text, str):
        raise ColdError(f"a source must be named by a text, got {shown(text)}")
    if text in REGIMES:
        return Source(text)
    path = Path(text)
    if path.suffix not in FILE_KINDS:
        raise unknown_name("regime", text, [*REGIMES, "all", "FILE.toml", "FILE.npz", "FILE.csv"])
    if not os.path.lexists(path):
        raise ColdError(f"no file {text}; give a regime ({', '.join(REGIMES)}) or a .toml, .npz or .csv file")
    if path.suffix == ".toml":
        return _from_toml(path)
    arrays: dict[str, Any] = _from_npz(path) if path.suffix == ".npz" else {"optima": _from_csv(path)}
    try:
        made = from_optima(**arrays)  # any error in shapes and numbers is raised here
    except ColdError as error:
        raise ColdError(f"{path.name}: {error}") from None
    if len(made.streams) > 1:
        raise ColdError(f"optima in {path.name} must have shape (T, d) or (S, T, d), got {arrays['optima'].shape}")
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name}{arrays[name].shape}".encode() + np.ascontiguousarray(arrays[name]).tobytes())
    return Source(path.stem, arrays=arrays, digest=digest.hexdigest()[:16])


def _from_toml(path: Path) -> Source:
    """`regime = "high"` (or `optima = "file.npz"`, relative to the TOML file) and any constants."""
    table = read_toml(path)
    base = table.pop("regime", None)
    own = table.pop("optima", None)
    if (base is None) == (own is None) or not isinstance(own if base is None else base, str):
        raise ColdError(f'{path} needs either regime = "{"|".join(REGIMES)}" or optima = "FILE.npz"')
    if own is not None and Path(own).suffix not in _ARRAY_KINDS:  # a TOML file that names itself would never end
        raise ColdError(f"optima in {path.name} must name a {' or '.join(_ARRAY_KINDS)} file, got {own!r}")
    if base is not None and base not in REGIMES:
        raise unknown_name(f"regime in {path.name}", base, REGIMES)
    source = load_source(base if own is None else str(path.parent / own))
    known = [*_SAMPLING, *(() if source.arrays is not None else REGIMES[source.name].__kwdefaults__ or {})]
    for name, value in table.items():
        if name not in known:
            raise unknown_name(f"setting in {path.name}", name, known)
        number(f"{name} in {path.name}", value)
    return source.with_constants(**table)


def _from_npz(path: Path) -> dict[str, np.ndarray]:
    content = Npz(path, "give an npz of plain numbers, as numpy.savez writes it")
    if "optima" not in content.names():
        raise ColdError(
            f"{path} needs an array 'optima' of shape (T, d) or (streams, T, d); it has {sorted(content.names())[:9]}"
        )
    for name in content.names():
        if name not in _NPZ_ARRAYS:
            raise unknown_name(f"array in {path.name}", name, _NPZ_ARRAYS)
    arrays = {name: content.read(name) for name in content.names()}
    for name, array in arrays.items():
        numbers(f"{name} in {path.name}", array)
    return arrays


def _from_csv(path: Path) -> np.ndarray:
    """One line per task, one column per coordinate; a first line of names is passed over."""
    raw = read_bytes(path)
    try:
        lines = [line for line in csv.reader(io.StringIO(raw.decode("utf-8"), newline="")) if line]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ColdError(f"cannot read {path}: {error}") from None
    rows = []
    for at, line in enumerate(lines, start=1):
        try:
            rows.append([float(entry) for entry in line])
        except ValueError:
            if at > 1:
                raise ColdError(f"{path} line {at}: every entry must be a number") from None
    if not rows or len({len(row) for row in rows}) != 1:
        raise ColdError(f"{path} must have at least one line of numbers, all lines of one length")
    return np.array(rows)
