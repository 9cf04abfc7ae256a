"""`coldtheory check`: every claim of the paper, its verdict, and how far it is from flipping."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from ..ground.command_line import JsonOption
from ..ground.errors import ColdError
from ..ground.provenance import provenance
from ..report.outcomes import Outcomes, code_digest, place, store_outcomes

if TYPE_CHECKING:
    from paper_checks.base import Claim, Outcome

_COLOURS = {
    "holds": "green",
    "holds with correction": "yellow",
    "false": "red",
    "not settled": "cyan",
    "not applicable": "blue",
    "not reproducible here": "magenta",
}


def add_to(app: typer.Typer) -> None:
    app.command("check")(check)


def check(
    only: Annotated[
        str | None, typer.Option("--only", help="An id (with its readings), a label of the paper, or how ids begin.")
    ] = None,
    explain: Annotated[str | None, typer.Option("--explain", help="Explain a claim instead of checking.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Keep the verdicts of all claims in this results folder, for 'report'.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check every claim of the paper; exit 1 if one changes from its recorded verdict.

    Example: [bold]coldtheory check --only thm3[/] and [bold]coldtheory check --explain thm3[/]
    """
    from paper_checks.base import all_claims, find_claims, run_claim  # noqa: PLC0415  (slow, and needed here only)

    if explain is not None:
        found = find_claims(explain)
        _explain([c for c in found if c.id == explain] or found, as_json)
        return
    if only is not None and out is not None:
        raise ColdError("--out keeps the verdicts of all claims: leave --only out")
    claims = all_claims() if only is None else find_claims(only)
    origin, code = provenance(), code_digest()  # now: the files may change while the checks run
    bar = Console(stderr=True)
    outcomes = [run_claim(c) for c in track(claims, "checking", console=bar, transient=True)]
    if out is not None:
        rows = tuple({"explain": outcome.claim.explain, **outcome.as_json()} for outcome in outcomes)
        store_outcomes(Outcomes(rows, origin, code), place(out))
    if as_json:
        typer.echo(json.dumps([outcome.as_json() for outcome in outcomes]))
    else:
        _print(outcomes)
    if any(outcome.changed for outcome in outcomes):
        raise typer.Exit(1)


def _print(outcomes: Sequence[Outcome]) -> None:
    console = Console()
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("claim", no_wrap=True)
    table.add_column("verdict", max_width=12)
    table.add_column("margin", justify="right", no_wrap=True)
    table.add_column("evidence", ratio=1)
    for outcome in outcomes:
        finding = outcome.finding
        verdict = f"[{_COLOURS[finding.verdict]}]{finding.verdict}[/]"
        if outcome.changed:
            verdict += f"\n[bold red](was: {outcome.claim.recorded})[/]"
        margin = "" if finding.margin is None else f"{finding.margin:+.2g}"
        table.add_row(outcome.claim.id, verdict, margin, escape(finding.evidence))
    console.print(table)
    counts = Counter(outcome.finding.verdict for outcome in outcomes)
    console.print(f"{len(outcomes)} claims: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common()))
    changed = [outcome.claim.id for outcome in outcomes if outcome.changed]
    if changed:
        console.print(f"[bold red]changed from the record:[/] {', '.join(changed)}")


def _explain(claims: Sequence[Claim], as_json: bool) -> None:
    if as_json:
        names = ("id", "label", "section", "statement", "recorded", "explain")
        typer.echo(json.dumps([{name: getattr(c, name) for name in names} for c in claims]))
        return
    from paper_checks.base import reflow  # noqa: PLC0415

    console = Console()
    for c in claims:
        console.rule(f"[bold]{c.id}[/] · {c.label} · recorded: [{_COLOURS[c.recorded]}]{c.recorded}[/]", align="left")
        console.print(f"{escape(c.statement)}\n", style="bold", highlight=False)
        console.print(escape(reflow(c.explain, console.width)) + "\n", highlight=False)
