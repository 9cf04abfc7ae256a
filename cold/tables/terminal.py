"""A sheet in a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .sheet import Sheet, text


def show(console: Console, sheet: Sheet) -> None:
    """The table, the words below it, and the commands that fill its gaps."""
    table = Table(box=None, pad_edge=False, title=escape(sheet.title), title_justify="left", title_style="bold")
    for column in sheet.columns:
        table.add_column(escape(column.name), justify="left" if column.kind == "text" else "right", overflow="fold")
    for row in sheet.rows:
        shown = [(escape(text(entry, column)), entry) for entry, column in zip(row, sheet.columns, strict=True)]
        table.add_row(*(f"[bold]{word}[/]" if entry.bold else word for word, entry in shown))
    console.print(table)
    for note in sheet.notes:
        console.print(f"[dim]{escape(note)}[/]")
    for line in sheet.origin:
        console.print(f"[dim]{escape(line)}[/]")
    if sheet.commands:
        console.print(f"\n{len(sheet.commands)} runs are missing; --run makes them, or:")
        for command in sheet.commands:
            console.print(escape(command), soft_wrap=True)
    console.print()
