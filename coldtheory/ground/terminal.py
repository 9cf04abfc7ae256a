"""Tables and progress in a terminal, looking the same in every command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table


def plain_table(*columns: str, gap: int = 1, **settings: Any) -> Table:
    """A table without lines; the named columns do not wrap, `add_column` adds those that may."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, gap, 0, 0), **settings)
    for name in columns:
        table.add_column(name, no_wrap=True)
    return table


class Bar:
    """A bar on stderr with the time left, where stderr is a terminal; entering it gives a function of (done, total).

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
