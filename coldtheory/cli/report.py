"""`coldtheory report` writes the page, `coldtheory serve` opens it."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from ..bounds import load_statement
from ..claims import all_claims
from ..ground.command_line import with_old_names
from ..ground.errors import ColdError
from ..ground.files import write_atomically
from ..ground.terminal import Bar
from ..report import Outcomes, build_report, make_server, read_outcomes, run_checks, store_outcomes
from ..report.claims import verdicts_of
from ..report.outcomes import FAILED, place
from ..report.server import address_of
from ..report.vector import draw_all
from . import options as o

_LISTED = 3  # stale verdicts that are named


def add_to(app: typer.Typer) -> None:
    """Register the commands `report` and `serve` with the program."""
    app.command("report", cls=with_old_names({"--check": "--check-claims"}))(write_report)
    app.command("serve")(serve)


def write_report(
    out: Annotated[Path, typer.Option("--out", help="Where to write. The page is this HTML file.")] = Path(
        "report.html"
    ),
    results: Annotated[
        Path | None, typer.Option("--results", help="Folder of stored sweeps. The default is results.")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option("--figures", help="Folder of pictures. The default is figures, if it exists.")
    ] = None,
    outcomes: Annotated[
        Path | None, typer.Option("--outcomes", help="File with the verdicts to show, as 'check --json' prints them.")
    ] = None,
    statement: Annotated[
        list[str] | None,
        typer.Option(
            "--statement", help="Python file of a statement of your own, which is run. The option may be repeated."
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check-claims", help="Check every claim now, and store the verdicts.")
    ] = False,
    runs: o.RunsOption = None,
    jobs: o.JobsOption = -1,
    as_json: o.JsonOption = False,
) -> None:
    """Write one HTML file with verdicts, figures and an explorer. It needs no network.

    The verdicts are the stored ones. Where none are stored, and with --check-claims, every claim is checked first, and
    the verdicts are kept for the next report.

    Example: [bold]coldtheory report --check-claims && coldtheory serve[/]
    """
    if out.is_dir():
        raise ColdError(f"{out} is a folder; name the file to write, such as {out / 'report.html'}")
    if out.parent.exists() and not out.parent.is_dir():
        raise ColdError(f"cannot write {out}, as {out.parent} is a file; choose another path with --out")
    if check and outcomes is not None:
        raise ColdError("--check-claims finds verdicts and --outcomes reads them; give one of the two")
    if results is not None and not results.is_dir():
        raise ColdError(f"there is no folder {results}; give --results a folder that 'coldtheory sweep' wrote")
    if figures is not None and not figures.is_dir():
        raise ColdError(f"there is no folder {figures}; 'coldtheory plot all --figures {figures}' makes it")
    o.check_runs(runs)
    own = [load_statement(word) for word in statement or ()]
    folder = results or Path("results")
    pictures = figures or (Path("figures") if Path("figures").is_dir() else None)
    found = read_outcomes(outcomes, runs) if outcomes is not None else _verdicts(place(folder), runs, check, jobs)
    if pictures is not None:
        _draw(pictures, folder, jobs)
    page = build_report(found, results=folder, figures=pictures, own=own).encode()
    write_atomically(out, page)
    _tell(found, out, len(page), as_json=as_json)
    if any(row["verdict"] == FAILED for row in found.rows):
        raise typer.Exit(1)


def _verdicts(path: Path, runs: Path | None, check: bool, jobs: int) -> Outcomes:
    """The stored ones, or found now and stored."""
    if path.is_file() and not check:
        return read_outcomes(path, runs)
    claims = all_claims()
    why = "as --check asks" if check else f"no verdicts are stored in {path.parent}"
    Console(stderr=True, highlight=False, soft_wrap=True).print(
        f"checking all {len(claims)} claims first ({escape(why)}); the verdicts are kept for the next report"
    )
    with Bar("checking the claims") as tell:
        found = run_checks(claims, runs=runs, progress=tell, jobs=jobs)
    store_outcomes(found, path)
    return found


def _draw(pictures: Path, results: Path, jobs: int) -> None:
    """Draw what the page shows as vector pictures; what is drawn already and current stays."""
    with Bar("drawing the figures for the page") as tell:
        failed = draw_all(pictures, results, tell, jobs)
    if failed:
        first, why = next(iter(failed.items()))
        Console(stderr=True, highlight=False, soft_wrap=True).print(
            f"[yellow]figures shown as PNGs: {len(failed)},[/] as their tables cannot be drawn anew "
            f"({escape(f'{first}: {why}')}); 'coldtheory plot all --to {escape(str(pictures))}' makes them again"
        )


def _tell(found: Outcomes, out: Path, size: int, *, as_json: bool) -> None:
    verdicts = dict(verdicts_of(found.rows))
    changed = [row["id"] for row in found.rows if row.get("changed")]
    if as_json:
        about = {
            "file": str(out), "bytes": size, "claims": len(found.rows), "verdicts": verdicts, "changed": changed,
            "verdicts_provenance": found.origin, "verdicts_current": found.current, "stale": list(found.stale),
            "missing": list(found.missing),
        }  # fmt: skip
        typer.echo(json.dumps(about))
        return
    console = Console(highlight=False, soft_wrap=True)
    counts = ", ".join(f"{count} {name}" for name, count in verdicts.items())
    console.print(f"wrote {escape(str(out))} ({size / 1e6:.2f} MB), {len(found.rows)} claims: {counts}")
    if changed:
        console.print(f"[yellow]not as recorded:[/] {escape(', '.join(changed))}")
    if found.stale:
        first = "; ".join(f"{name}: {what}" for name, what in list(found.stale.items())[:_LISTED])
        more = "; ..." if len(found.stale) > _LISTED else ""
        console.print(
            f"[yellow]stale verdicts: {len(found.stale)},[/] as what they depend on has changed "
            f"({escape(first)}{more}); 'coldtheory check --stale' finds them again"
        )
    if found.unknown:
        console.print(
            f"[yellow]verdicts that may be stale: {len(found.unknown)},[/] as their file does not say what they depend "
            "on; --check-claims finds them again"
        )
    if found.missing:
        console.print(
            f"[yellow]claims without a verdict: {len(found.missing)};[/] 'coldtheory check --stale' finds theirs"
        )


def serve(
    file: Annotated[Path, typer.Option("--file", help="The report to show.")] = Path("report.html"),
    port: Annotated[int, typer.Option("--port", help="Port on 127.0.0.1; 0 chooses a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Also open the browser.")] = True,
    as_json: o.JsonOption = False,
) -> None:
    """Show the report in a browser, on this machine only, until Ctrl-C.

    Example: [bold]coldtheory serve --port 8000 --no-browser[/]
    """
    with make_server(file, port) as server:
        address = address_of(server)
        typer.echo(
            json.dumps({"file": str(file), "address": address})
            if as_json
            else f"{file} is at {address} (Ctrl-C ends it)"
        )
        try:
            if browser:
                webbrowser.open(address)
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            typer.echo("stopped", err=True)
