"""The terms of each comparison as frozen records, read from comparisons.toml or from a file of the user's own.

What a method is called and what its own paper prints is in `cold.catalogue`; the file says how methods are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from coldtheory.ground.errors import ColdError, unknown_name
from coldtheory.paper import paper

from ..catalogue import METHODS, ONLINE
from ..config import read_config
from ..presets import build_config

KINDS = {
    "equal": "equal terms",
    "published": "as published: each method with the settings of its own paper, or of authors that a note names, on "
    "the same data and memory",
}
Settings = dict[str, Any]

_BUILT_IN = Path(__file__).parent / "comparisons.toml"
_MAY_LACK = ("method", "variant", "published", "full", "benchmark", "summary")
_Tables = dict[str, dict[str, Any]]
_KINDS: dict[str, Any] = {
    "method": _Tables, "variant": _Tables, "benchmark": _Tables, "published": _Tables,
    "summary": _Tables,
    "full": dict[str, Any], "tuning": dict[str, Any], "online": dict[str, Any],
}  # fmt: skip
_other: ContextVar[tuple[str, Settings] | None] = ContextVar("comparisons", default=None)


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
    """One row of a table. `fixed` are its settings before tuning, `final` what only its final runs have."""

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
    holm: bool = False  #: whether all contrasts are one family, corrected for their number


@dataclass(frozen=True)
class Summary:
    """Several benchmarks in one table: how far one row is ahead of each other row."""

    title: str
    of: str  #: the key of that row
    columns: dict[str, str]  #: a short name for each benchmark, in order


@dataclass(frozen=True)
class OwnPaper:
    """Settings of a method's own paper, and where they come from if not from there."""

    settings: Settings = field(default_factory=dict)
    borrowed: str = ""
    absent: str = ""


def layered(*layers: Mapping[str, Any]) -> Settings:
    """Later settings over earlier ones; a method's options are joined."""
    merged: Settings = {}
    for layer in layers:
        options = {**merged.get("options", {}), **layer.get("options", {})}
        merged = {**merged, **layer, **({"options": options} if options else {})}
    return merged


# ------------------------------------------------------------------------------------------------ the file


@contextmanager
def using(path: Path | None) -> Iterator[None]:
    """Other comparisons within a `with` block, read once at its start; None: those of this package."""
    token = _other.set(None if path is None else (path.name, _read(path)))
    try:
        yield
    finally:
        _other.reset(token)


def declarations() -> Settings:
    """The comparisons that are in force: those of the user within `using`, else those of this package."""
    other = _other.get()
    return _built_in() if other is None else other[1]


def source_name() -> str:
    """For messages."""
    other = _other.get()
    return _BUILT_IN.name if other is None else other[0]


@lru_cache(maxsize=1)
def _built_in() -> Settings:
    return _read(_BUILT_IN)


def _read(path: Path) -> Settings:
    told = {**{name: {} for name in _MAY_LACK}, **read_config(path)}
    for name, kind in _KINDS.items():
        try:
            msgspec.convert(told.get(name, {}), kind)
        except msgspec.ValidationError as error:
            words = " ".join(str(error).split())
            raise ColdError(f"{path.name} does not follow its schema at {name}: {words}") from None
    told["full"] = {"tables": {}, "stand_in": {}, **told["full"]}
    return told


# ------------------------------------------------------------------------------------------------ from it to terms


def benchmark(name: str, kind: str) -> Terms:
    """The terms of a benchmark that is declared by name."""
    known = declarations()["benchmark"]
    if name not in known:
        raise unknown_name("benchmark", name, known)
    with _following_schema(name):
        about = known[name]
        return _terms(name, kind, {**known[about["like"]], **about} if "like" in about else about)


def full_size(table: str, kind: str) -> tuple[Terms, ...]:
    """The terms of one of the paper's own tables at full size: one benchmark per printed column."""
    about = declarations()["full"]
    with _following_schema(table):
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


def summaries() -> dict[str, Summary]:
    """The tables that sum several benchmarks up, by name."""
    found = {}
    for name, about in declarations()["summary"].items():
        with _following_schema(name):
            columns = {str(key): str(title) for key, title in about["columns"].items()}
            found[name] = Summary(str(about["title"]), str(about["of"]), columns)
    return found


@contextmanager
def _following_schema(name: str) -> Iterator[None]:
    """What a file of comparisons lacks, or has as something else, is a `ColdError` that says where."""
    try:
        yield
    except ColdError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise ColdError(f"{source_name()} does not follow its schema at {name}: {error!r}") from None


def reduced_stand_in(terms: Terms) -> str | None:
    """The benchmark whose reduced runs may stand beside a column of full size."""
    name = declarations()["full"]["stand_in"].get(terms.name)
    return None if name is None else str(name)


def _terms(name: str, kind: str, about: Settings) -> Terms:
    if kind not in about:
        known = [n for n, entry in declarations()["benchmark"].items() if kind in entry]
        raise ColdError(f"{name} has no comparison of kind {kind!r}; {', '.join(known)} has one")
    printed = about.get("printed")
    return Terms(
        name=name,
        kind=kind,
        title=about["title"],
        short=about.get("short", ""),
        base=about["base"],
        seeds=_seeds(about),
        rows=tuple(_row(key, kind, about) for key in about[kind]),
        out=Path(about["out"]),
        tuning_out=Path(about["tuning_out"] if "tuning_out" in about else about["out"]),
        printed=None if printed is None else (str(printed[0]), str(printed[1]), int(printed[2])),
        contrasts=tuple((left, right) for left, right in about.get("contrasts", [])),
        holm=bool(about.get("holm", False)),
    )


def _seeds(about: Settings) -> tuple[int, ...]:
    return tuple(about["seeds"] if "seeds" in about else declarations()["seeds"])


def published(method: str, dataset: str) -> OwnPaper:
    """What a method takes from its own paper for a dataset; memory and whatever `keeps` names stay the table's."""
    if _method(method).get("unpublished"):  # nothing to set beyond the base
        return OwnPaper()
    here = declarations()["published"].get(dataset, {})
    entry = here.get(method, {})
    settings = _own_settings(method, entry.get("from", dataset))
    if settings is None:
        return OwnPaper(absent=f"its authors print no settings for {dataset}")
    assumed = entry.get("assumed", {})
    words = [f"settings of its paper for {entry['from']}"] if "from" in entry else []
    if "settings" not in entry and METHODS[method].published_by:
        words.append(f"settings are {METHODS[method].published_by}, not its own paper's")
    words += [f"{name} = {value} assumed" for name, value in assumed.items()]
    kept = {k: v for k, v in layered(settings, assumed).items() if k not in here.get("keeps", ["memory"])}
    return OwnPaper(kept, "; ".join(words))


def _own_settings(method: str, dataset: str) -> Settings | None:
    """The settings that the file gives for a method on a dataset, or else the method's own paper."""
    told = declarations()
    entry = told["published"].get(dataset, {}).get(method, {})
    if "settings" in entry:
        return layered(told.get("online", ONLINE) if entry.get("online") else {}, entry["settings"])
    printed = METHODS[method].published.get(dataset) if method in METHODS else None
    return None if printed is None else dict(printed)


def _method(name: str) -> Settings:
    """What is known of a method: its entry in the catalogue, and over it what the file says."""
    told = declarations()["method"]
    if name not in told and name not in METHODS:
        raise unknown_name(f"method in {source_name()}", name, dict.fromkeys([*METHODS, *told]))
    entry = METHODS.get(name)
    known = {} if entry is None else {"title": entry.title, "forgets": entry.forgets, "bound": entry.bound}
    return {**known, **told.get(name, {})}


def tuning_defaults() -> Settings:
    """What every tuning run has, unless a benchmark says otherwise: the held-out share and the seed."""
    shared = declarations()["tuning"]
    return {**shared["settings"], "seed": shared["seed"]}


def on_equal_terms(method: str, base: Settings) -> tuple[Settings, Tuning | None]:
    """What the file gives a method on equal terms, and what is tuned of it, on a benchmark of any settings `base`.

    A method of the user's own has its learning rate tuned; one that the file leaves untuned has None.
    """
    known = method in METHODS or method in declarations()["method"]
    about = _method(method) if known else {}
    with _following_schema(method):
        tuning = _tuning(method, method, about, {"base": base}) if about.get("tuned", True) else None
    return about.get("equal", {}), tuning


def _row(key: str, kind: str, about: Settings) -> Row:
    variant = declarations()["variant"].get(key, {})
    name = variant.get("method", key)
    method, plain = _method(name), variant.get("plain", False)
    own = published(name, about["base"]["dataset"]) if kind == "published" and not plain else OwnPaper()
    equal = {} if kind == "published" or plain else layered(method.get("equal", {}), about.get("of", {}).get(key, {}))
    wanted = variant.get("tuned", method.get("tuned", True))
    tuned = kind == "equal" and not plain and "tuning_out" in about and wanted
    return Row(
        key=key,
        method=name,
        title=method["title"],
        label=variant.get("label", method["title"]),
        seeds=tuple(variant.get("seeds", _seeds(about))),
        fixed=layered(own.settings, equal, variant.get("settings", {})),
        final=variant.get("final", {}),
        tuning=_tuning(key, name, method, about) if tuned else None,
        reduced=variant.get("reduced") or about.get("reduced", {}).get(key, ""),
        absent=about.get("absent", {}).get(key, "") or own.absent,
        borrowed=own.borrowed,
        note=method.get("note", "") if tuned else "",
        forgets=method.get("forgets", True),
        bound=method.get("bound", False),
    )


def _tuning(key: str, name: str, method: Settings, about: Settings) -> Tuning:
    shared = declarations()["tuning"]
    settings = {**about.get("tuning", shared["settings"]), "seed": shared["seed"]}
    parameter = about.get("row-parameter", {}).get(key) or about.get("parameter", {}).get(name, method.get("parameter"))
    found = None if parameter is None else _parameter(parameter, {**about["base"], "method": name})
    return Tuning(tuple(about.get("rates", shared["lr"])), settings, found)


def _parameter(told: Settings, base: Settings) -> Parameter:
    option = "option" in told
    name = told["option" if option else "setting"]

    def as_settings(value: Any) -> Settings:
        return {"options": {name: value}} if option else {name: value}

    if "factors" in told:
        start = getattr(build_config(None, base), name)
        return Parameter(name, as_settings(start), tuple(as_settings(start * factor) for factor in told["factors"]))
    start = {} if "default" in told else as_settings(told["start"])
    return Parameter(name, start, tuple(as_settings(value) for value in told["others"]))
