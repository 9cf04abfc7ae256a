"""From what the file declares to terms: layers put together, row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from coldtheory.ground.errors import ColdError, unknown_name
from coldtheory.paper import paper

from ..presets import build_config
from .own_papers import Published, published
from .source import declarations, source_name
from .terms import Parameter, Row, Settings, Terms, Tuning, layered


def benchmark(name: str, kind: str) -> Terms:
    """The terms of a benchmark that is declared by name."""
    known = declarations()["benchmark"]
    if name not in known:
        raise unknown_name("benchmark", name, known)
    try:
        return _terms(name, kind, known[name])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ColdError(f"{source_name()} does not follow its schema at {name}: {error!r}") from None


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
    )


def _seeds(about: Settings) -> tuple[int, ...]:
    return tuple(about["seeds"] if "seeds" in about else declarations()["seeds"])


def _row(key: str, kind: str, about: Settings) -> Row:
    told = declarations()
    variant = told["variant"].get(key, {})
    name = variant.get("method", key)
    if name not in told["method"]:
        raise unknown_name(f"method in {source_name()}", name, told["method"])
    method, plain = told["method"][name], variant.get("plain", False)
    own = published(name, about["base"]["dataset"]) if kind == "published" and not plain else Published()
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
        tuning=_tuning(name, method, about) if tuned else None,
        reduced=variant.get("reduced") or about.get("reduced", {}).get(key, ""),
        absent=about.get("absent", {}).get(key, "") or own.absent,
        borrowed=own.borrowed,
        note=method.get("note", "") if tuned else "",
        forgets=method.get("forgets", True),
        bound=method.get("bound", False),
    )


def _tuning(name: str, method: Settings, about: Settings) -> Tuning:
    shared = declarations()["tuning"]
    settings = {**about.get("tuning", shared["settings"]), "seed": shared["seed"]}
    parameter = about.get("parameter", {}).get(name, method.get("parameter"))
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
