"""Runs that were made by an earlier rule of their method, which their settings do not show."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from coldtheory.ground.errors import ColdError
from coldtheory.ground.reading import read_toml

from .schema import Result

_FILE = Path(__file__).parent / "earlier_rules.toml"


class RuleChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One change of a rule; the fields are explained in earlier_rules.toml."""

    method: str
    before: dt.datetime
    commit: str
    what: str
    where: dict[str, Any] = {}

    def concerns(self, result: Result) -> bool:
        """Whether a run followed the rule as it was before this change. One without a time counts as older."""
        if result.config.get("method") != self.method or not _within(self.where, result.config):
            return False
        ended = _time(result.time)
        return ended is None or ended < self.before


def earlier_rule(result: Result) -> RuleChange | None:
    """The change of rule that a stored run has not seen, or None if it was made by the present rule."""
    return next((change for change in _changes() if change.concerns(result)), None)


@lru_cache(maxsize=1)
def _changes() -> tuple[RuleChange, ...]:
    try:
        return msgspec.convert(read_toml(_FILE)["change"], tuple[RuleChange, ...])
    except (KeyError, msgspec.ValidationError) as error:
        raise ColdError(f"{_FILE.name} does not follow its schema: {error}") from None


def _within(part: Mapping[str, Any], whole: Any) -> bool:
    """Whether all entries of a nested mapping are found in another one."""
    return isinstance(whole, Mapping) and all(
        _within(value, whole.get(name)) if isinstance(value, Mapping) else whole.get(name) == value
        for name, value in part.items()
    )


def _time(text: str) -> dt.datetime | None:
    try:
        found = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=dt.UTC)
