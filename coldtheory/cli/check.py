"""`coldtheory check`: claims of the paper, theorems beyond it, and statements of your own, with their verdicts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..claims import NO_RUNS, Claim, all_claims, find_claims, powers, reflow, table_of, tallies
from ..ground.command_line import JsonOption
from ..ground.errors import ColdError
from ..ground.terminal import Bar
from ..report.outcomes import FAILED, Outcomes, Row, as_json, place, read_outcomes, run_checks, store_outcomes
from . import options as o
from .challenge import CANDIDATES, check_statement
from .power import print_power

_COLOURS = {
    "holds": "green",
    "holds with correction": "yellow",
    "false": "red",
    "open": "bright_magenta",
    "not settled": "cyan",
    "not applicable": "blue",
    "not reproducible here": "magenta",
    NO_RUNS: "dim",
    FAILED: "bold red",
}


def add_to(app: typer.Typer) -> None:
    """Register the command `check` with the program."""
    app.command("check")(check)


def check(
    statement: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE.py|STATEMENT]",
            help="Try every form of this statement on many runs, instead of checking claims. A Python file is run.",
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            "--only",
            help="Only this id, or all ids that begin with it. A label works too: 'new:' is all beyond the paper.",
        ),
    ] = None,
    explain: Annotated[str | None, typer.Option("--explain", help="Explain a claim instead of checking it.")] = None,
    runs: o.RunsOption = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Where to write. The verdicts of all claims go into this folder, for 'report'."),
    ] = None,
    stale: Annotated[
        bool,
        typer.Option(
            "--stale", help="Check only those claims again whose stored verdicts, in --out or results, are out of date."
        ),
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a page of Markdown, as in docs/claims.md.")
    ] = False,
    power: Annotated[
        bool,
        typer.Option("--power", help="Of claims that runs do not settle: how many seeds would, and what they cost."),
    ] = False,
    candidates: Annotated[
        int | None,
        typer.Option(
            "--candidates",
            help=f"Number of runs to try. It counts for each form of a statement (default: {CANDIDATES}).",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Seed of the random numbers. It counts for a statement (default: 0).")
    ] = None,
    as_json_: JsonOption = False,
) -> None:
    """Check every claim of the paper and the theorems beyond it.

    The exit code is 1 if a verdict differs from the recorded one.

    Example: [bold]coldtheory check --only thm3[/], [bold]coldtheory check --explain thm3[/],
    [bold]coldtheory check --power[/] (what would settle open claims) and [bold]coldtheory check mine.py[/]
    """
    of_claims = (only, explain, runs, out, stale or None, markdown or None, power or None)
    if statement is not None:
        if any(given is not None for given in of_claims):
            raise ColdError("a statement takes --candidates, --seed and --json; the other options are for claims")
        check_statement(statement, CANDIDATES if candidates is None else candidates, seed or 0, as_json_)
        return
    if candidates is not None or seed is not None:
        raise ColdError("--candidates and --seed are for a statement: coldtheory check FILE.py")
    if explain is not None:
        found = find_claims(explain)
        _explain([c for c in found if c.id == explain] or found, as_json_)
        return
    o.check_runs(runs)
    if only is not None and (out is not None or stale):
        raise ColdError("--out and --stale keep the verdicts of all claims: leave --only out")
    if power:
        print_power(powers(all_claims() if only is None else find_claims(only), runs), as_json=as_json_)
        return
    if stale:
        rows = _find_stale_again(place(out or Path("results")), runs)
    else:
        outcomes = _check(all_claims() if only is None else find_claims(only), runs)
        rows = outcomes.rows
        if out is not None:
            store_outcomes(outcomes, place(out))
    _show(rows, markdown=markdown, in_json=as_json_)
    if any(row["changed"] for row in rows):
        raise typer.Exit(1)


def _show(rows: Sequence[Row], *, markdown: bool, in_json: bool) -> None:
    if in_json:
        typer.echo(json.dumps([as_json(row) for row in rows]))
    elif markdown:
        typer.echo(table_of(rows), nl=False)
    else:
        _print(rows)


def _check(claims: Sequence[Claim], runs: Path | None) -> Outcomes:
    with Bar("checking") as tell:
        return run_checks(claims, runs, tell)


def _find_stale_again(path: Path, runs: Path | None) -> tuple[Row, ...]:
    """Check the claims whose stored verdicts are out of date, and store all verdicts again."""
    if not path.is_file():
        raise ColdError(f"there are no verdicts in {path}; 'coldtheory check --out {path.parents[1]}' stores some")
    kept = read_outcomes(path, runs)
    if not kept.to_check:
        return ()
    claims = all_claims()
    fresh = _check([claim for claim in claims if claim.id in kept.to_check], runs)
    by_id = {row["id"]: row for row in (*kept.rows, *fresh.rows)}
    store_outcomes(Outcomes(tuple(by_id[claim.id] for claim in claims), fresh.origin), path)
    return fresh.rows


def _print(rows: Sequence[Row]) -> None:
    if not rows:
        typer.echo("no stored verdict is stale")
        return
    console = Console()
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("claim", no_wrap=True)
    table.add_column("verdict", max_width=12)
    table.add_column("margin", justify="right", no_wrap=True)
    table.add_column("evidence", ratio=1)
    for row in rows:
        verdict = f"[{_COLOURS.get(row['verdict'], 'bold red')}]{escape(row['verdict'])}[/]"
        if row["changed"]:
            verdict += f"\n[bold red](was: {row['recorded']})[/]"
        elif row["verdict"] == NO_RUNS:
            verdict += f"\n[dim](recorded: {row['recorded']})[/]"
        margin = "" if row["margin"] is None else f"{row['margin']:+.2g}"
        table.add_row(row["id"], verdict, margin, escape(row["evidence"]))
    console.print(table)
    for line in tallies(rows):
        console.print(line)
    changed = [row["id"] for row in rows if row["changed"]]
    if changed:
        console.print(f"[bold red]changed from the record:[/] {', '.join(changed)}")


def _explain(claims: Sequence[Claim], as_json: bool) -> None:
    if as_json:
        names = ("id", "label", "section", "statement", "recorded", "explain")
        typer.echo(json.dumps([{name: getattr(c, name) for name in names} for c in claims]))
        return
    console = Console()
    for c in claims:
        console.rule(f"[bold]{c.id}[/] · {c.label} · recorded: [{_COLOURS[c.recorded]}]{c.recorded}[/]", align="left")
        console.print(f"{escape(c.statement)}\n", style="bold", highlight=False)
        console.print(escape(reflow(c.explain, console.width)) + "\n", highlight=False)
