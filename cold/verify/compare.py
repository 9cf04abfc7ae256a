"""A stored run compared with the one that was made again from its record.

Runs that were computed with the same versions and kernels (`cold.kernels`) must agree bit for bit: in every measure
and in every value of every array. Where versions or kernels differ, or the stored run does not record its kernels,
sums are rounded otherwise and training amplifies that; then the average accuracy has to agree within a tolerance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from ..runs import Result, RuleChange, difference, earlier_rule
from .again import Again

State = Literal["identical", "close", "differs", "earlier rule", "failed"]
#: Points of accuracy. docs/trust.md has how far other kernels were seen to move a result.
TOLERANCE = 1.0
_VERSIONS = ("torch", "numpy")


@dataclass(frozen=True)
class Verified:
    """What became of one stored run. `why` says in words what differs, or what went wrong."""

    stored: Result
    new: Result | None
    state: State
    why: str = ""

    @property
    def sound(self) -> bool:
        """Whether the present code makes this run, up to the kernels."""
        return self.state in ("identical", "close")

    def as_dict(self) -> dict[str, Any]:
        """The outcome as plain values."""
        return {
            "run_id": self.stored.run_id,
            "folder": str(self.stored.folder),
            "commit": self.stored.provenance.get("commit"),
            "state": self.state,
            "why": self.why,
            "acc": {"stored": self.stored.metrics.get("acc"), "new": self.new and self.new.metrics.get("acc")},
            "forgetting": {
                "stored": self.stored.metrics.get("forgetting"),
                "new": self.new and self.new.metrics.get("forgetting"),
            },
        }


def verified(again: Again, tolerance: float = TOLERANCE) -> Verified:
    """The outcome for one run; `tolerance` is in points of accuracy."""
    stored, new = again.stored, again.new
    if new is None:
        return Verified(stored, None, "failed", again.error)
    where = difference(stored, new)
    if where is None:
        return Verified(stored, new, "identical")
    if (change := earlier_rule(stored)) is not None:
        return Verified(stored, new, "earlier rule", change.what)
    reason = other_place(stored, new)
    if not reason:
        return Verified(stored, new, "differs", f"{where}, with the same versions and kernels")
    here, there = (run.metrics.get("acc") for run in (new, stored))
    gap = math.inf if here is None or there is None else abs(here - there)
    if gap <= tolerance:
        return Verified(stored, new, "close", reason)
    return Verified(stored, new, "differs", f"more than {tolerance:g} points; {reason}")


def other_place(stored: Result, new: Result) -> str:
    """Why two runs need not agree bit for bit; empty if they must."""
    had, has = stored.provenance.get("kernels"), new.provenance.get("kernels")
    if not isinstance(had, dict) or not isinstance(has, dict):
        return "kernels unrecorded"
    versions = [run.provenance.get("packages") for run in (stored, new)]
    old, now = ({name: found.get(name) for name in _VERSIONS} if isinstance(found, dict) else {} for found in versions)
    changed = [name for name in _VERSIONS if old.get(name) != now.get(name)]
    changed += [name for name in has if had.get(name) != has[name]]
    return f"other {', '.join(changed)}" if changed else ""


def to_replace(stored: Result, new: Result) -> bool:
    """Whether a new run belongs in the place of the stored one: other numbers, or made by an earlier rule."""
    change: RuleChange | None = earlier_rule(stored)
    return change is not None or difference(stored, new) is not None
