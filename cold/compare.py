"""Compare finished runs: groups that differ only in the seed, and the point where COLD and COLD-ORACLE part."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coldtheory.paper import PrintedResult, paper

from .catalogue import method_title, unused_settings
from .config import RunConfig
from .runs import Result, comparable, of_one_data


@dataclass(frozen=True)
class Group:
    """Runs that differ in their seed only."""

    label: str
    results: tuple[Result, ...]

    @property
    def config(self) -> dict[str, Any]:
        """The settings of the first seed; those that an older version did not store have their default."""
        return {**RunConfig().as_dict(), **self.results[0].config}

    @property
    def seeds(self) -> list[int]:
        """The seeds of the runs, in their order."""
        return [_seed(result) for result in self.results]

    def values(self, name: str) -> list[float]:
        """Return a measure of every run that has it."""
        return [value for result in self.results if (value := result.metrics.get(name)) is not None]

    def by_seed(self, name: str) -> dict[int, float]:
        """Return a measure by seed, for paired differences."""
        found = {_seed(result): result.metrics.get(name) for result in self.results}
        return {seed: value for seed, value in found.items() if value is not None}


def _by_data(results: list[Result]) -> list[list[Result]]:
    """Runs on different data do not form one group; runs that do not record their data go with the largest group."""
    first = of_one_data(results)
    rest = [result for result in results if result not in first]
    return [first, *_by_data(rest)] if rest else [first]


def grouped(results: Iterable[Result]) -> list[Group]:
    """Group results that differ only in the seed; labels say how the groups of a dataset differ."""
    by_settings: dict[str, list[Result]] = {}
    for result in results:
        by_settings.setdefault(json.dumps(_settings(result.config), sort_keys=True), []).append(result)
    apart = [(text, group) for text, members in by_settings.items() for group in _by_data(members)]
    configs = [json.loads(text) for text, _ in apart]
    datasets = {config["dataset"] for config in configs}
    varied = {name: _varied([config for config in configs if config["dataset"] == name]) for name in datasets}
    groups = []
    for config, (text, members) in zip(configs, apart, strict=True):
        extra = [name for name in varied[config["dataset"]] if name in config]
        words = [str(config["method"]), *(_word(name, config[name]) for name in extra)]
        if len(members) < len(by_settings[text]):
            words.append(f"data={members[0].data}")
        ordered = sorted(members, key=_seed)
        groups.append(Group(" ".join(filter(None, words)), tuple(ordered)))
    return groups


def printed_cell(config: dict[str, Any]) -> PrintedResult | None:
    """Return what the paper prints for the setting of a run, if anything. A validation result, or a scenario that the
    paper does not have, has no counterpart."""
    name = method_title(config["method"])
    if config.get("evaluate_on", "test") != "test" or config.get("scenario") is not None:
        return None
    fits = [
        cell
        for cell in paper().cells()
        if (cell.method, cell.dataset, cell.memory) == (name, config["dataset"], config["memory"])
    ]
    return max(fits, key=lambda cell: cell.acc_sd is not None, default=None)


@dataclass(frozen=True)
class Parting:
    """COLD and COLD-ORACLE on one seed, all other settings equal."""

    V: float
    delta: float
    seed: int
    equal_until: int  #: the last task after which all queues are equal bit for bit
    tasks: int
    older: int  #: comparisons of COLD-ORACLE with a model other than the newest
    comparisons: int


def partings(results: Sequence[Result]) -> list[Parting]:
    """Find where the queues of COLD-ORACLE leave those of COLD: when an older model is the best on some memory."""

    def key(result: Result) -> tuple[str, int]:
        kept = {k: v for k, v in _settings(result.config).items() if k not in ("method", "oracle")}
        return json.dumps(kept, sort_keys=True), _seed(result)

    def of(method: str) -> list[Result]:
        return [r for r in results if r.config.get("method") == method and "queues" in r.arrays]

    previous = {key(result): result for result in of("cold")}
    found = []
    for best in of("cold-oracle"):
        plain, chosen = previous.get(key(best)), best.array("compared_with")
        if plain is None or chosen is None or plain.arrays["queues"].shape != best.arrays["queues"].shape:
            continue
        equal = (plain.arrays["queues"] == best.arrays["queues"]).all(axis=1)
        newest = np.arange(len(chosen))[:, None] - 1  # task t (row t-1) begins at the model of task t-1 (number t-2)
        there = chosen >= 0
        settings = comparable(best.config)
        found.append(
            Parting(
                V=float(settings["V"]),
                delta=float(settings["delta"]),
                seed=_seed(best),
                equal_until=len(equal) - 1 if equal.all() else int(np.argmin(equal)) - 1,
                tasks=len(chosen),
                older=int((there & (chosen != newest)).sum()),
                comparisons=int(there.sum()),
            )
        )
    return sorted(found, key=lambda parting: (parting.V, parting.delta, parting.seed))


def _varied(configs: Sequence[dict[str, Any]]) -> list[str]:
    """Settings with more than one value among the runs that have them; a setting that one method has and another lacks
    adds nothing to the method's name."""
    names = sorted({name for config in configs for name in config} - {"dataset", "method", "preset"})
    return [name for name in names if len({json.dumps(config[name]) for config in configs if name in config}) > 1]


def _seed(result: Result) -> int:
    return int(result.config.get("seed", 0))


def _settings(config: dict[str, Any]) -> dict[str, Any]:
    full = comparable(config)
    aside = ("seed", *unused_settings(str(full["method"])))
    return {name: value for name, value in full.items() if name not in aside}


def _word(name: str, value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in value.items())
    return f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
