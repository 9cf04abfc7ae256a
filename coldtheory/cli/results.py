"""`coldtheory results ls|keys|export|rm`: the folder of stored rows."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from ..ground.command_line import tell_old_name, with_old_names
from ..ground.errors import ColdError, unknown_name
from ..ground.files import replacing
from ..ground.terminal import plain_table
from ..rows import CONFIG_KEYS, MEASURED_KEYS
from ..store import EXPORTS, StoredRows, remove_rows, row_files
from .options import RESULTS, JsonOption, ResultsOption

app = typer.Typer(help="List, explain, export or remove stored results.", no_args_is_help=True)
_Reading = with_old_names({"--out": "--results"})


@app.command("ls", cls=_Reading)
def list_results(results: ResultsOption = RESULTS, as_json: JsonOption = False) -> None:
    """List the row files of a folder of results.

    Example: [bold]coldtheory results ls[/]
    """
    entries = [_entry(path) for path in row_files(results)]
    if as_json:
        typer.echo(json.dumps(entries))
        return
    if not entries:
        Console().print(f"no results in {results}; 'coldtheory sweep V' makes some")
        return
    table = plain_table("name", "rows", "seeds", "V", "KiB", "commit", "made (UTC)", gap=2)
    for entry in entries:
        table.add_row(*(str(entry[key]) for key in ("name", "rows", "seeds", "V", "KiB", "commit", "made")))
    Console().print(table)


@app.command("keys")
def list_keys(as_json: JsonOption = False) -> None:
    """Explain every key of a row, as it stands in stored files and in the output of --json.

    Example: [bold]coldtheory results keys[/]
    """
    keys = {**CONFIG_KEYS, **MEASURED_KEYS}
    if as_json:
        typer.echo(json.dumps(keys))
        return
    table = plain_table("key", gap=2)
    table.add_column("meaning")
    for name, meaning in keys.items():
        table.add_row(name, escape(meaning))
    Console().print(table)


@app.command("export")
def export_results(
    name: Annotated[str, typer.Argument(help="A name as 'results ls' prints it.")],
    form: Annotated[
        str, typer.Option("--format", help=f"Format of the output. It is one of {', '.join(EXPORTS)}.")
    ] = "csv",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Where to write. The rows go into this file, or to stdout if it is -. The default is NAME.FORMAT.",
        ),
    ] = None,
    results: ResultsOption = RESULTS,
    file: Annotated[Path | None, typer.Option("--file", hidden=True)] = None,
) -> None:
    """Write stored rows for other programs.

    CSV and Parquet have a column for each key of a row (the source of the tasks is JSON), and for its commit and time.
    JSON is the format in which earlier versions stored rows, and it is read again in a folder of results.

    Example: [bold]coldtheory results export high-d901998e --format csv[/]
    """
    if form not in EXPORTS:
        raise unknown_name("format", form, EXPORTS)
    if file is not None:  # the old names: --file for --out, and --out for --results
        tell_old_name("--file", "--out")
        results, out = out or results, file
    elif out is not None and out.is_dir():
        tell_old_name("--out FOLDER", "--results FOLDER")
        results, out = out, None
    path = _known(results, [name])[name]
    target = Path(f"{name}.{form}") if out is None else out
    shown = str(target) == "-"
    if shown and form == "parquet":
        raise ColdError("parquet is not text; give --out a file name")
    output = nullcontext(typer.get_binary_stream("stdout")) if shown else replacing(target)
    with StoredRows(path) as stored, stored.unchanged(), output as to:
        EXPORTS[form](stored, to)
        count = len(stored)
    if not shown:
        Console().print(f"wrote {count} rows to {escape(str(target))}")


@app.command("rm", cls=_Reading)
def remove_results(
    names: Annotated[list[str] | None, typer.Argument(help="Names as 'results ls' prints them.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Remove every result of the folder.")] = False,
    results: ResultsOption = RESULTS,
) -> None:
    """Remove stored results by name.

    Example: [bold]coldtheory results rm high-d901998e[/]
    """
    if not names and not everything:
        raise ColdError("name the results to remove, or give --all")
    for name, path in _known(results, None if everything else names).items():
        try:
            remove_rows(path)
        except OSError as error:
            raise ColdError(f"cannot remove {path}: {error.strerror or error}") from None
        Console().print(f"removed {name}")


def _known(results: Path, names: list[str] | None) -> dict[str, Path]:
    """Return the row files of these names, or all of the folder."""
    known = {path.stem: path for path in row_files(results)}
    for name in names or ():
        if name not in known:
            raise unknown_name("result", name, known) if known else ColdError(f"there are no results in {results}")
    return known if names is None else {name: known[name] for name in names}


def _entry(path: Path) -> dict[str, Any]:
    size = round(path.stat().st_size / 1024)
    try:
        with StoredRows(path) as stored:
            found = stored.summary()
    except ColdError:
        return {"name": path.stem, "rows": "damaged", "seeds": "", "V": "", "KiB": size, "commit": "", "made": ""}
    low, high = found.V if found.rows else (0.0, 0.0)
    origin = found.origin or {"commit": None, "time": ""}
    return {
        "name": path.stem,
        "rows": found.rows,
        "seeds": found.seeds,
        "V": "" if not found.rows else f"{low:g}" if low == high else f"{low:g}..{high:g}",
        "KiB": size,
        "commit": (origin["commit"] or "")[:10],
        "made": origin["time"].replace("+00:00", ""),
    }
