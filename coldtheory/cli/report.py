"""`coldtheory report` writes the page, `coldtheory serve` opens it."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from ..errors import ColdError
from ..report import build_report, make_server, read_outcomes, run_checks
from ..report.claims import FAILED, verdicts_of
from ..report.server import address_of
from ..store import write_atomically
from . import options as o

FileOption = Annotated[Path, typer.Option("--file", help="The report to show.")]


def add_to(app: typer.Typer) -> None:
    app.command("report")(write_report)
    app.command("serve")(serve)


def write_report(
    out: Annotated[Path, typer.Option("--out", help="The HTML file to write.")] = Path("report.html"),
    results: Annotated[Path, typer.Option("--results", help="Folder of stored results.")] = Path("results"),
    figures: Annotated[Path, typer.Option("--figures", help="Folder of figures (PNG, README.md).")] = Path("figures"),
    outcomes: Annotated[
        Path | None, typer.Option("--outcomes", help="Stored output of 'check --json'; without it the claims run now.")
    ] = None,
    as_json: o.JsonOption = False,
) -> None:
    """Write one HTML file with verdicts, figures and an explorer. It needs no network.

    Example: [bold]coldtheory report --out report.html && coldtheory serve[/]
    """
    if out.is_dir():
        raise ColdError(f"{out} is a folder; name the file to write, such as {out / 'report.html'}")
    if outcomes is not None:
        rows = read_outcomes(outcomes)
    else:
        with Console(stderr=True).status("checking the claims"):
            rows = run_checks()
    page = build_report(rows, results=results, figures=figures).encode()
    write_atomically(out, page)
    verdicts = dict(verdicts_of(rows))
    changed = [row["id"] for row in rows if row.get("changed")]
    if as_json:
        about = {"file": str(out), "bytes": len(page), "claims": len(rows), "verdicts": verdicts, "changed": changed}
        typer.echo(json.dumps(about))
    else:
        counts = ", ".join(f"{count} {name}" for name, count in verdicts.items())
        Console().print(f"wrote {escape(str(out))} ({len(page) / 1e6:.2f} MB), {len(rows)} claims: {counts}")
        if changed:
            Console().print(f"[yellow]not as recorded:[/] {escape(', '.join(changed))}")
    if FAILED in verdicts:
        raise typer.Exit(1)


def serve(
    file: FileOption = Path("report.html"),
    port: Annotated[int, typer.Option("--port", help="Port on 127.0.0.1; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the browser too.")] = True,
) -> None:
    """Show the report in a browser, on this machine only, until Ctrl-C.

    Example: [bold]coldtheory serve --port 8000 --no-browser[/]
    """
    with make_server(file, port) as server:
        address = address_of(server)
        typer.echo(f"{file} is at {address} (Ctrl-C ends it)")
        if browser:
            webbrowser.open(address)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            typer.echo("stopped")
