"""A progress bar on stderr, where a person is watching."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

Advance = Callable[[int], None]


@contextmanager
def progress_bar(title: str, total: int | None, *, of_bytes: bool = False, done: int = 0) -> Iterator[Advance]:
    """Yields a function that moves the bar on. Without a terminal nothing is printed."""
    console = Console(stderr=True)
    amounts: list[ProgressColumn] = [DownloadColumn(), TransferSpeedColumn()] if of_bytes else [MofNCompleteColumn()]
    columns = [TextColumn("{task.description}"), BarColumn(), *amounts, TimeRemainingColumn()]
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=total, completed=done)
        yield lambda amount: bar.advance(task, amount)
