"""What `coldtheory check --power` prints."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Sequence

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..claims import Power, together

_NUMBERS = 61  # columns of the terminal that all but the names take


def print_power(plan: Sequence[Power], *, as_json: bool) -> None:
    """One line per open claim, cheapest first, and the commands that make the runs."""
    sums = together(plan)
    if as_json:
        typer.echo(
            json.dumps([{**one.as_dict(), "minutes_together": total} for one, total in zip(plan, sums, strict=True)])
        )
        return
    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("claim", "seeds", "mean", "s.d.", "would be", "needs", "at", "core-min", "in all"):
        table.add_column(name, justify="left" if name in ("claim", "would be") else "right", no_wrap=True)
    for one, total in zip(plan, sums, strict=True):
        minutes = "–" if one.minutes is None else _amount(one.minutes)
        table.add_row(
            "\n".join(textwrap.wrap(one.claim, max(16, console.width - _NUMBERS))),  # broken at its hyphens
            str(one.seeds), f"{one.mean:+.2g}", f"{one.sd:.2g}", one.way,
            "–" if one.needed is None else str(one.needed), "–" if one.look is None else str(one.look), minutes,
            "" if one.look is None else _amount(total),
        )  # fmt: skip
    console.print(table)
    reachable = [one for one in plan if one.look is not None]
    console.print(
        f"[dim]{len(plan)} claims are not settled; {len(reachable)} would be at a look that the rule of "
        "cold/studies/sequential.toml allows, if the stored mean and s.d. (of the contrast that decides) were the true "
        "ones: t(n − 1) · s.d. / √n < |mean|. needs: seeds, at: the look; core-min: for that claim alone; in all: runs "
        "that several claims share counted once[/]"
    )
    for command in dict.fromkeys(one.command for one in reachable):
        console.print(escape(command), soft_wrap=True)


def _amount(minutes: float) -> str:
    return "?" if math.isnan(minutes) else f"{minutes:.1f}" if minutes < 10 else f"{minutes:,.0f}"
