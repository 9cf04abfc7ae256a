"""`comparisons.toml` as typed records: the terms of each comparison, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from coldtheory.errors import ColdError, unknown_name
from paper_checks.tables import paper

from ..config import read_config

HERE = Path(__file__).parent
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
    forgets: bool = True
    bound: bool = False


@dataclass(frozen=True)
class Terms:
    """A benchmark under one kind of comparison; `printed` is (table, dataset, memory) in the paper."""

    name: str
    kind: str
    title: str
    short: str
    base: Settings
    rows: tuple[Row, ...]
    out: Path
    tuning_out: Path
    printed: tuple[str, str, int]
    contrasts: tuple[tuple[str, str], ...]


def layered(*layers: Mapping[str, Any]) -> Settings:
    """Later settings over earlier ones; a method's options are joined."""
    joint: Settings = {}
    for layer in layers:
        options = {**joint.get("options", {}), **layer.get("options", {})}
        joint = {**joint, **layer, **({"options": options} if options else {})}
    return joint


@lru_cache(maxsize=4)
def declarations(path: Path = HERE / "comparisons.toml") -> Settings:
    return read_config(path)


def benchmark(name: str, kind: str) -> Terms:
    """The terms of a benchmark that is declared by name."""
    known = declarations()["benchmark"]
    if name not in known:
        raise unknown_name("benchmark", name, known)
    return _terms(name, kind, known[name])


def full_size(table: str, kind: str) -> tuple[Terms, ...]:
    """The terms of one of the paper's own tables at full size: one benchmark a printed column."""
    about = declarations()["full"]
    label = about["tables"][table]
    return tuple(
        _terms(
            f"{dataset} {memory}",
            kind,
            {
                **about,
                "title": f"{paper().datasets[dataset].name}, M = {memory}",
                "base": {"dataset": dataset, "preset": "paper", "memory": memory},
                "printed": [label, dataset, memory],
            },
        )
        for dataset, memory in paper().table(label).columns
    )


def reduced_stand_in(terms: Terms) -> str | None:
    """The benchmark whose reduced runs may stand beside a column of full size."""
    name = declarations()["full"]["stand_in"].get(terms.name)
    return None if name is None else str(name)


def _terms(name: str, kind: str, about: Settings) -> Terms:
    if kind not in about:
        known = [n for n, entry in declarations()["benchmark"].items() if kind in entry]
        raise ColdError(f"{name} has no comparison of kind {kind!r}; {', '.join(known)} has one")
    table, dataset, memory = about["printed"]
    return Terms(
        name=name,
        kind=kind,
        title=about["title"],
        short=about.get("short", ""),
        base=about["base"],
        rows=tuple(_row(key, kind, about) for key in about[kind]),
        out=Path(about["out"]),
        tuning_out=Path(about["tuning_out"] if "tuning_out" in about else about["out"]),
        printed=(str(table), str(dataset), int(memory)),
        contrasts=tuple((left, right) for left, right in about.get("contrasts", [])),
    )


def _row(key: str, kind: str, about: Settings) -> Row:
    told = declarations()
    variant = told["variant"].get(key, {})
    name = variant.get("method", key)
    if name not in told["method"]:
        raise unknown_name("method in comparisons.toml", name, told["method"])
    method, plain = told["method"][name], variant.get("plain", False)
    own = _published(name, about["base"]["dataset"]) if kind == "published" and not plain else Published()
    equal = {} if kind == "published" or plain else layered(method.get("equal", {}), about.get("of", {}).get(key, {}))
    tuned = kind == "equal" and not plain and "tuning_out" in about and method.get("tuned", True)
    return Row(
        key=key,
        method=name,
        title=method["title"],
        label=variant.get("label", method["title"]),
        seeds=tuple(variant.get("seeds", told["seeds"])),
        fixed=layered(own.settings, equal, variant.get("settings", {})),
        final=variant.get("final", {}),
        tuning=_tuning(method, about) if tuned else None,
        reduced=variant.get("reduced") or about.get("reduced", {}).get(key, ""),
        absent=about.get("absent", {}).get(key, "") or own.absent,
        borrowed=own.borrowed,
        forgets=method.get("forgets", True),
        bound=method.get("bound", False),
    )


def _tuning(method: Settings, about: Settings) -> Tuning:
    shared = declarations()["tuning"]
    settings = {**about.get("tuning", shared["settings"]), "seed": shared["seed"]}
    return Tuning(tuple(about.get("rates", shared["lr"])), settings, _parameter(method.get("parameter")))


def _parameter(told: Settings | None) -> Parameter | None:
    if told is None:
        return None
    option = "option" in told
    name = told["option" if option else "setting"]

    def as_settings(value: Any) -> Settings:
        return {"options": {name: value}} if option else {name: value}

    start = {} if "default" in told else as_settings(told["start"])
    return Parameter(name, start, tuple(as_settings(value) for value in told["others"]))


@dataclass(frozen=True)
class Published:
    """Settings of a method's own paper, and where they come from if not from there."""

    settings: Settings = field(default_factory=dict)
    borrowed: str = ""
    absent: str = ""


def _published(method: str, dataset: str) -> Published:
    told = declarations()
    if told["method"][method].get("unpublished"):  # nothing to set beyond the base
        return Published()
    here = told["published"].get(dataset, {})
    if method not in here:
        return Published(absent=f"its authors print no settings for {dataset}")
    entry, assumed = here[method], here[method].get("assumed", {})
    source = told["published"][entry["from"]][method] if "from" in entry else entry
    settings = layered(told["online"] if source.get("online") else {}, source["settings"], assumed)
    words = [f"settings of its paper for {entry['from']}"] if "from" in entry else []
    words += [f"{name} = {value} assumed" for name, value in assumed.items()]
    return Published({k: v for k, v in settings.items() if k not in here["keeps"]}, "; ".join(words))
