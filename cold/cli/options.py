"""Options that several commands of `cold` share.

An option has one meaning in all commands of both programs: the first sentence of its help. See docs/commands.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

OUT = Path("results/runs")  #: the default folder of runs

DataRootOption = Annotated[
    Path | None,
    typer.Option("--data-root", help="Folder of the data sets; by default COLD_DATA, or a folder of the user's cache."),
]
ProfileOption = Annotated[
    str,
    typer.Option("--profile", help="Profile of the runs, which names their size: paper, cpu or smoke."),
]
SeedsOption = Annotated[
    str | None,
    typer.Option(
        "--seeds", help="Seeds, separated by commas or as a range: 6,7,8 or 0-19. The default is in the plan."
    ),
]
RunsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--runs", help="Folder of finished training runs. They may be at any depth, and the option may be repeated."
    ),
]
JobsOption = Annotated[int, typer.Option("--jobs", help="Number of jobs at a time; -1 takes all cores.")]
RetryOption = Annotated[bool, typer.Option("--retry-failed", help="Also make the runs that failed before.")]
