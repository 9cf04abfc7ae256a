"""What of a study is on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..grid import failures, index
from ..grid.cell import named
from .cells import planned
from .spec import Study


@dataclass(frozen=True)
class Standing:
    """Runs of a study: finished (with their folders), failed (with the error), and not there."""

    study: str
    profile: str
    finished: dict[str, Path]
    failed: dict[str, str]
    missing: tuple[str, ...]

    @property
    def runs(self) -> int:
        return len(self.finished) + len(self.failed) + len(self.missing)

    def as_dict(self) -> dict[str, Any]:
        return {
            "study": self.study, "profile": self.profile, "runs": self.runs, "failed": self.failed,
            "finished": {run_id: str(folder) for run_id, folder in self.finished.items()},
            "missing": list(self.missing),
        }  # fmt: skip


def standings(chosen: Sequence[Study], profile: str, roots: Sequence[Path]) -> list[Standing]:
    """Of each study; the roots are looked through once."""
    there = index(*roots)
    broken = {run_id: why for root in roots for run_id, why in failures(root).items()}
    found = []
    for study in chosen:
        runs = list(named(run.config for run in planned(study, profile)))
        found.append(
            Standing(
                study.id,
                profile,
                {run_id: there[run_id] for run_id in runs if run_id in there},
                {run_id: broken[run_id] for run_id in runs if run_id in broken and run_id not in there},
                tuple(run_id for run_id in runs if run_id not in there and run_id not in broken),
            )
        )
    return found
