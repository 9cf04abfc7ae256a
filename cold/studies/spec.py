"""A study: reading one from its TOML file, and the runs it needs.

title, claim, label   what it asks; the paper's claim in one sentence, and the label of the place
methods, field, values, seeds, settings   the runs: each method at each value of the field (of `RunConfig`) with
                      each seed. Field "method": the methods themselves are compared. Field "memory-per-task":
                      values are samples per task, and the memory holds as many for each task
[figures]             by profile, ids of the figure registry whose data these runs are: "ID", or "ID on DATASET"
                      where another dataset stands in for the paper's ("ID on OLD=NEW" for one of several)
[[paper]], [[cpu]], [[smoke]]   grids by profile: dataset, and whatever differs from the lines above;
    memory            the printed column that the settings come from
    of                settings of single methods: { cold-oracle = { lr = 1e-3 } }
absent                by profile, why it has no grid there
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as _field
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from coldtheory.ground.checks import whole
from coldtheory.ground.errors import ColdError, unknown_name

from ..config import RunConfig, make_config, read_config
from ..presets import preset_settings

HERE = Path(__file__).parent
BASES = "profiles.toml"
_NO_STUDIES = (BASES, "sequential.toml")
PROFILES = ("paper", "cpu", "smoke")
PER_TASK = "memory-per-task"
_SEEDS = {
    "paper": [0, 1, 2],
    "cpu": [3, 4, 5],
    "smoke": [0, 1],
}  # cpu: none of the seeds that its settings were tried on
_SHARED = ("methods", "field", "values", "seeds", "settings")
_OWN = ("dataset", "memory", "of")
_TOP = ("title", "claim", "label", "figures", "absent", *_SHARED, *PROFILES)


_KINDS: dict[str, Any] = {
    "title": str, "claim": str, "label": str, "figures": dict[str, list[str]], "absent": dict[str, str],
    "methods": list[str], "field": str, "values": list[Any], "seeds": list[int], "settings": dict[str, Any],
    "dataset": str, "memory": int, "of": dict[str, dict[str, Any]],
}  # fmt: skip


@dataclass(frozen=True)
class Picture:
    """A figure that a study's runs can be drawn as."""

    figure: str
    dataset: str | None = None  #: the dataset, or OLD=NEW, that stands in for the paper's

    @classmethod
    def of(cls, text: str) -> Picture:
        """A picture from "ID" or "ID on DATASET"."""
        figure, _, dataset = text.partition(" on ")
        return cls(figure.strip(), dataset.strip() or None)

    def command(self, profile: str, out: Path) -> str:
        """The command that draws the picture from the runs in `out`."""
        place = "" if self.dataset is None else f" --dataset {self.dataset}"
        return f"cold plot {self.figure}{place} --profile {profile} --runs {out}"


@dataclass(frozen=True)
class Grid:
    """Every method at every value with every seed, on one dataset."""

    dataset: str
    methods: tuple[str, ...]
    field: str
    values: tuple[Any, ...]
    seeds: tuple[int, ...]
    memory: int | None = None
    settings: Mapping[str, Any] = _field(default_factory=dict)
    of: Mapping[str, Mapping[str, Any]] = _field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """One ablation."""

    id: str
    title: str
    claim: str
    label: str
    grids: Mapping[str, tuple[Grid, ...]]
    pictures: Mapping[str, tuple[Picture, ...]]
    absent: Mapping[str, str]

    @property
    def figures(self) -> tuple[str, ...]:
        """The ids of all figures of the study, whatever the profile."""
        return tuple(dict.fromkeys(p.figure for profile in PROFILES for p in self.pictures.get(profile, ())))

    def with_seeds(self, seeds: Sequence[int]) -> Study:
        """The same study of other seeds."""
        grids = {p: tuple(replace(grid, seeds=tuple(seeds)) for grid in found) for p, found in self.grids.items()}
        return replace(self, grids=grids)

    def on(self, dataset: str) -> Study:
        """The same study on one of its datasets."""
        known = dict.fromkeys(grid.dataset for grids in self.grids.values() for grid in grids)
        if dataset not in known:
            raise unknown_name(f"dataset of the study {self.id}", dataset, known)
        grids = {profile: tuple(g for g in found if g.dataset == dataset) for profile, found in self.grids.items()}
        return replace(self, grids={profile: found for profile, found in grids.items() if found})

    def grids_of(self, profile: str) -> tuple[Grid, ...]:
        """The grids of a profile; raises `ColdError` if the study has none."""
        if profile not in PROFILES:
            raise unknown_name("profile", profile, PROFILES)
        if not self.grids.get(profile):
            why = self.absent.get(profile, "its file has none")
            raise ColdError(f"the study {self.id} has no {profile} profile: {why}")
        return self.grids[profile]


@lru_cache(maxsize=1)
def studies() -> tuple[Study, ...]:
    """All studies of the paper, in the order of their files' numbers."""
    paths = sorted(HERE.glob("[0-9]*.toml"), key=lambda path: int(path.stem.partition("-")[0]))
    return tuple(map(read_study, paths))


@lru_cache(maxsize=1)
def further_studies() -> tuple[Study, ...]:
    """Studies that the paper does not have: the files without a number."""
    return tuple(read_study(path) for path in sorted(HERE.glob("[a-z]*.toml")) if path.name not in _NO_STUDIES)


def all_studies() -> tuple[Study, ...]:
    """Those of the paper, then the others."""
    return (*studies(), *further_studies())


def find_study(name: str) -> Study:
    """A study by its id, or a user's own by the path of its TOML file."""
    known = {study.id: study for study in all_studies()}
    if name in known:
        return known[name]
    if name.endswith(".toml"):
        return read_study(Path(name))
    raise unknown_name("study", name, [*known, "all"])


def read_study(path: Path) -> Study:
    """The study of a TOML file; raises `ColdError` if an entry is unknown or of the wrong kind."""
    raw = read_config(path)
    _known_keys(path, raw, _TOP, "")
    _check_kinds(path, raw, "")
    grids = {
        profile: tuple(_grid(path, profile, raw, entry) for entry in _tables(path, raw, profile))
        for profile in PROFILES
        if profile in raw
    }
    if not grids:
        raise ColdError(f"{path.name} has no runs; add a [[cpu]] or [[paper]] table with a dataset")
    pictures = raw.get("figures", {})
    _known_keys(path, pictures, PROFILES, "figures.")
    return Study(
        id=path.stem.lstrip("0123456789-"),
        title=raw.get("title", path.stem),
        claim=raw.get("claim", ""),
        label=raw.get("label", ""),
        grids=grids,
        pictures={profile: tuple(map(Picture.of, names)) for profile, names in pictures.items()},
        absent=raw.get("absent", {}),
    )


def _tables(path: Path, raw: Mapping[str, Any], profile: str) -> Sequence[Mapping[str, Any]]:
    tables = raw[profile]
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ColdError(f"{path.name}: write the grids of {profile} as [[{profile}]]")
    return tables


def _grid(path: Path, profile: str, raw: Mapping[str, Any], entry: Mapping[str, Any]) -> Grid:
    _known_keys(path, entry, (*_SHARED, *_OWN), f"{profile}.")
    _check_kinds(path, entry, f"{profile}.")
    merged = {"seeds": _SEEDS[profile], **{name: raw[name] for name in _SHARED if name in raw}, **entry}
    merged["settings"] = {**raw.get("settings", {}), **entry.get("settings", {})}
    swept = merged.get("field", "method")
    needed = ("dataset", "methods", *(() if swept == "method" else ("values",)))
    for name in needed:
        if not merged.get(name):
            raise ColdError(f"{path.name}: a grid of {profile} lacks {name}")
    allowed = [*RunConfig.__dataclass_fields__, PER_TASK]
    for name in (swept, *merged["settings"], *(n for own in merged.get("of", {}).values() for n in own)):
        if name not in allowed:
            raise unknown_name(f"setting in {path.name}", name, allowed)
    return Grid(
        dataset=merged["dataset"],
        methods=tuple(merged["methods"]),
        field=swept,
        values=() if swept == "method" else tuple(merged["values"]),
        seeds=tuple(merged["seeds"]),
        memory=merged.get("memory"),
        settings=merged["settings"],
        of=merged.get("of", {}),
    )


def _check_kinds(path: Path, table: Mapping[str, Any], where: str) -> None:
    """Raises unless every entry is of its kind."""
    for name, kind in _KINDS.items():
        if name in table:
            try:
                msgspec.convert(table[name], kind)
            except msgspec.ValidationError as error:
                words = " ".join(str(error).split())
                raise ColdError(f"entry {where}{name} of {path.name} is of the wrong kind: {words}") from None


def _known_keys(path: Path, table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for name in table:
        if name not in known:
            raise unknown_name(f"entry {where}{name} of {path.name}; name", name, known)


# ------------------------------------------------------------------------------------------------ its runs


@dataclass(frozen=True)
class Planned:
    """One run of a study, and the place it has there."""

    config: RunConfig
    grid: int
    method: str
    value: Any
    seed: int


def planned(study: Study, profile: str) -> list[Planned]:
    """The runs of a study, seeds outermost: a study that is stopped early has whole curves of the first seeds."""
    found = [
        Planned(config(grid, profile, method, value, seed), number, method, value, seed)
        for number, grid in enumerate(study.grids_of(profile))
        for seed in grid.seeds
        for method, value in _places(grid)
    ]
    return sorted(found, key=lambda run: run.seed)


def config(grid: Grid, profile: str, method: str, value: Any, seed: int) -> RunConfig:
    """Printed column, the profile's reductions, the grid's settings, the method's own, the value: a later one wins."""
    reduced = dict(reductions(profile).get(grid.dataset, {}))
    of_method = reduced.pop("of", {}).get(method, {})
    layers: list[dict[str, Any]] = [
        _printed(grid, method),
        reduced,
        of_method,
        dict(grid.settings),
        dict(grid.of.get(method, {})),
        {"dataset": grid.dataset, "method": method, "profile": profile, "seed": seed},
    ]
    if grid.field == PER_TASK:
        tasks = make_config(*layers).tasks
        if tasks is None:
            raise ColdError(f"{PER_TASK} on {grid.dataset} needs the number of tasks; set tasks in its settings")
        layers.append({"memory": tasks * whole(PER_TASK, value, least=1)})
    elif grid.field != "method":
        layers.append({grid.field: value})
    return make_config(*layers)


def _printed(grid: Grid, method: str) -> dict[str, Any]:
    """The paper's column for (dataset, memory); nothing where the grid names no column."""
    return {} if grid.memory is None else preset_settings("paper", grid.dataset, method, grid.memory)


def _places(grid: Grid) -> Iterator[tuple[str, Any]]:
    for method in grid.methods:
        yield from ((method, value) for value in (grid.values if grid.field != "method" else (method,)))


def reductions(profile: str) -> dict[str, dict[str, Any]]:
    """Settings of a profile by dataset, with those of single methods under "of"; none for `paper`."""
    found: dict[str, dict[str, Any]] = read_bases().get(profile, {})
    return found


@lru_cache(maxsize=1)
def read_bases() -> dict[str, Any]:
    """What profiles.toml says."""
    return read_config(HERE / BASES)
