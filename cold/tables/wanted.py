"""The runs that a table wants: the settings of each, where it belongs, and the command that makes it."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..config import RunConfig
from ..presets import build_config
from ..runs import identified
from .terms import Row, Settings, Terms, layered


@dataclass(frozen=True, eq=False)
class WantedRun:
    """One run: the flags of `cold run` that make it, and the folder of runs in which it is looked for."""

    flags: Settings
    out: Path

    @cached_property
    def config(self) -> RunConfig:
        """The settings of the run."""
        return identified(build_config(None, self.flags))

    @cached_property
    def run_id(self) -> str:
        """The name of the run on disk."""
        return self.config.run_id

    def command(self, *, again: bool = False) -> str:
        """A line for the shell: a second call goes on, or shows what is there; `again`: what is there is no good."""
        words = ["cold", "run"]
        for name, value in self.flags.items():
            words += _words(name, value)
        return shlex.join([*words, "--out", str(self.out), "--fresh" if again else "--resume"])


def final_runs(terms: Terms, row: Row, chosen: Settings) -> list[WantedRun]:
    """The runs behind a row, one per seed."""
    flags = layered(terms.base, {"method": row.method}, row.fixed, chosen, row.final)
    return [WantedRun({**flags, "seed": seed}, terms.out) for seed in row.seeds]


def tuning_run(terms: Terms, row: Row, tried: Settings) -> WantedRun:
    """One of the runs from which a row's settings are chosen, with the settings to try."""
    assert row.tuning is not None
    flags = layered(terms.base, {"method": row.method}, row.tuning.settings, row.fixed, tried)
    return WantedRun(flags, terms.tuning_out)


def _words(name: str, value: Any) -> list[str]:
    flag = "--" + name.replace("_", "-")
    if name in ("options", "data_options"):
        return [word for key, given in value.items() for word in (flag[:-1], f"{key}={_plain(given)}")]
    if isinstance(value, bool):
        return [flag if value else flag.replace("--", "--no-", 1)]
    return [flag, str(value)]


def _plain(value: Any) -> str:
    """As `cold run --option` reads it: JSON, or a bare word."""
    return value if isinstance(value, str) else json.dumps(value)
