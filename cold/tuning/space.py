"""What is searched of a method: its learning rate and its main parameter, each on a log scale.

Both are declared once, in `cold/tables/comparisons.toml`: `[tuning].lr` and `[method.NAME].parameter` list the values
that the tables try. Here they become ranges, twice as wide on the log scale as the listed values, so a best value
beyond them can be found. Where the settings at hand have a value outside, the range lies around that value instead.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coldtheory.ground.checks import number
from coldtheory.ground.errors import ColdError, unknown_name

from ..catalogue import METHODS
from ..config import RunConfig
from ..presets import build_config
from ..tables.terms import Parameter, Settings, Tuning, layered, source_name

_LEAST = 3.0  # by this factor at least a range reaches beyond the listed values
_DIGITS = 3  # digits of a value that is tried: more would be meaningless and hard to type
_EDGE = 0.05  # of a range, at either end


@dataclass(frozen=True)
class Dimension:
    """A number that is searched on a log scale from `low` to `high`; `start` is tried first."""

    name: str
    low: float
    high: float
    start: float
    option: bool = False  #: one of the method's own, else a setting of the run

    def settings(self, value: float) -> Settings:
        """The value as settings of a run."""
        return {"options": {self.name: value}} if self.option else {self.name: value}

    def at(self, share: float) -> float:
        """The value at a share of the range, 0 for its low end and 1 for its high one.

        >>> Dimension("lr", 1e-4, 1e-2, 1e-3).at(0.25)
        0.000316
        """
        return self.rounded(self.low * (self.high / self.low) ** share)

    def rounded(self, value: float) -> float:
        """A value inside the range, with three digits."""
        return min(max(float(f"{value:.{_DIGITS}g}"), self.low), self.high)

    def at_an_end(self, value: float) -> bool:
        """Whether a value is so near an end of the range that a better one may lie beyond."""
        if self.high == self.low:
            return False
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return not _EDGE <= share <= 1 - _EDGE


def dimensions(
    base: Settings, tuning: Tuning | None, ranges: Mapping[str, tuple[float, float]]
) -> tuple[Dimension, ...]:
    """The learning rate, the method's main parameter, and whatever `ranges` adds to them or puts in their place.

    base   : the settings of every trial
    ranges : by name, the two ends
    """
    config = build_config(None, base)
    if tuning is None and not ranges:
        raise ColdError(
            f"{source_name()} leaves {config.method} untuned; say what to search, as in --search lr=1e-4:1e-2"
        )
    listed: dict[str, tuple[Sequence[float], bool]] = {}
    if tuning is not None:
        listed["lr"] = (tuning.lr, False)
        if tuning.parameter is not None:
            listed[tuning.parameter.name] = _listed(tuning.parameter, config.method)
    found: dict[str, Dimension] = {}
    for name, (values, option) in listed.items():
        given = name in (base.get("options", {}) if option else base) or name == "lr"
        start = number(name, _start(config, name, option), above=0) if given else values[0]
        found[name] = Dimension(name, *_range(values, start), start, option)
    for name, (low, high) in ranges.items():
        option = name in listed and listed[name][1]
        if name not in listed:
            option = not _is_setting(name, config.method)
        found[name] = Dimension(name, low, high, min(max(_start(config, name, option), low), high), option)
    return tuple(found.values())


def range_of(word: str) -> tuple[str, tuple[float, float]]:
    """NAME=LOW:HIGH as a name and the two ends.

    >>> range_of("lr=1e-4:1e-2")
    ('lr', (0.0001, 0.01))
    """
    name, equals, text = word.partition("=")
    low, colon, high = text.partition(":")
    try:
        ends = (float(low), float(high))
    except ValueError:
        colon = ""
    if not (name and equals and colon):
        raise ColdError(f"cannot read {word!r}: give NAME=LOW:HIGH, as in lr=1e-4:1e-2")
    if not 0 < ends[0] <= ends[1] < math.inf:
        raise ColdError(f"{name} is searched on a log scale: its range must have 0 < LOW <= HIGH, got {low}:{high}")
    return name, ends


def chosen_settings(found: Sequence[Dimension], values: Mapping[str, float]) -> Settings:
    """Values by name as settings of a run."""
    return layered(*(one.settings(values[one.name]) for one in found))


def _range(listed: Sequence[float], start: float) -> tuple[float, float]:
    """Twice as wide as the listed values on the log scale; around the start, if that is not inside."""
    low, high = min(listed), max(listed)
    reach = max(math.sqrt(high / low), _LEAST)
    low, high = low / reach, high * reach
    if not low <= start <= high:
        half = math.sqrt(high / low)
        low, high = start / half, start * half
    return float(f"{low:.{_DIGITS}g}"), float(f"{high:.{_DIGITS}g}")


def _listed(parameter: Parameter, method: str) -> tuple[list[float], bool]:
    """The values that are listed for a parameter, its start first, and whether it is an option of the method."""
    option = "options" in parameter.others[0]

    def value(settings: Settings) -> float:
        if not settings:  # the method's own default, which is not passed
            return float(METHODS[method].defaults()[parameter.name])
        return float(settings["options"][parameter.name] if option else settings[parameter.name])

    return [value(settings) for settings in (parameter.start, *parameter.others)], option


def _start(config: RunConfig, name: str, option: bool) -> float:
    """What the settings at hand have for it."""
    if not option:
        return float(getattr(config, name))
    own = METHODS[config.method].defaults() if config.method in METHODS else {}
    if name not in config.options and name not in own:
        raise ColdError(f"give {name} a first value: --option {name}=VALUE")
    return number(f"option {name}", config.options.get(name, own.get(name)))


def _is_setting(name: str, method: str) -> bool:
    """Whether a name that is searched is a setting of the run; else it is an option of the method."""
    kinds = {field.name: str(field.type) for field in dataclasses.fields(RunConfig)}
    if name in kinds:
        if kinds[name] != "float":
            raise ColdError(f"{name} cannot be searched: only settings on a continuous scale can")
        return True
    if method in METHODS and name not in METHODS[method].defaults():
        raise unknown_name(f"setting, or option of {method},", name, [*kinds, *METHODS[method].defaults()])
    return False
