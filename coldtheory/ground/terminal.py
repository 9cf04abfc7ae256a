"""Tables and progress bars in a terminal, which look the same in every command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table


def plain_table(*columns: str, gap: int = 1, **settings: Any) -> Table:
    """Return a table without lines. The named columns do not wrap; `add_column` adds columns that may."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, gap, 0, 0), **settings)
    for name in columns:
        table.add_column(name, no_wrap=True)
    return table


class Bar:
    """A progress bar with the time left, if stderr is a terminal; entering it yields a function of (done, total).

    >>> with Bar("sweep") as tell:
    ...     tell(1, 2)
    """

    def __init__(self, title: str) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        console = Console(stderr=True)
        self._bar = Progress(
            *columns, TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal
        )
        self._task = self._bar.add_task(title, total=None)

    def __enter__(self) -> Callable[[int, int], None]:
        self._bar.start()
        return lambda done, total: self._bar.update(self._task, completed=done, total=total)

    def __exit__(self, *_: object) -> None:
        self._bar.stop()


@contextmanager
def progress_bar(
    title: str, total: int | None, *, of_bytes: bool = False, done: int = 0
) -> Iterator[Callable[[int], None]]:
    """Show a bar on stderr for work that comes in amounts; yield a function that advances it by an amount.

    Without a terminal nothing is printed.
    """
    console = Console(stderr=True)
    amounts: list[ProgressColumn] = [DownloadColumn(), TransferSpeedColumn()] if of_bytes else [MofNCompleteColumn()]
    columns = [TextColumn("{task.description}"), BarColumn(), *amounts, TimeRemainingColumn()]
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=total, completed=done)
        yield lambda amount: bar.advance(task, amount)
