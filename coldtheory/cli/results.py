"""`coldtheory results ls|rm`: the folder of stored rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from ..ground.errors import ColdError, unknown_name
from ..ground.terminal import plain_table
from ..rows import CONFIG_KEYS, MEASURED_KEYS
from ..store import read_rows, row_files
from .options import JsonOption, OutOption

app = typer.Typer(help="List, explain or remove stored results.", no_args_is_help=True)


@app.command("ls")
def list_results(out: OutOption = Path("results"), as_json: JsonOption = False) -> None:
    """What the results folder holds.

    Example: [bold]coldtheory results ls[/]
    """
    entries = [_entry(path) for path in row_files(out)]
    if as_json:
        typer.echo(json.dumps(entries))
        return
    if not entries:
        Console().print(f"no results in {out}; 'coldtheory sweep-V' makes some")
        return
    table = plain_table("name", "rows", "seeds", "V", "KiB", "commit", "made (UTC)", gap=2)
    for entry in entries:
        table.add_row(*(str(entry[key]) for key in ("name", "rows", "seeds", "V", "KiB", "commit", "made")))
    Console().print(table)


@app.command("keys")
def list_keys(as_json: JsonOption = False) -> None:
    """What every key of a row means, in the stored files and in --json.

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


@app.command("rm")
def remove_results(
    names: Annotated[list[str] | None, typer.Argument(help="Names as 'results ls' prints them.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Remove every result of the folder.")] = False,
    out: OutOption = Path("results"),
) -> None:
    """Remove stored results by name.

    Example: [bold]coldtheory results rm high-d901998e[/]
    """
    known = {path.stem: path for path in row_files(out)}
    if not names and not everything:
        raise ColdError("name the results to remove, or give --all")
    for name in known if everything else names or ():
        if name not in known:
            raise unknown_name("result", name, known) if known else ColdError(f"no results in {out}")
    for name in list(known) if everything else names or ():
        try:
            known[name].unlink()
            known[name].with_suffix(".lock").unlink(missing_ok=True)
        except OSError as error:
            raise ColdError(f"cannot remove {known[name]}: {error.strerror or error}") from None
        Console().print(f"removed {name}")


def _entry(path: Path) -> dict[str, Any]:
    size = round(path.stat().st_size / 1024)
    try:
        content = read_rows(path)
    except ColdError:
        return {"name": path.stem, "rows": "damaged", "seeds": "", "V": "", "KiB": size, "commit": "", "made": ""}
    rows, origin = content["rows"], content["provenance"][-1]
    V = sorted({row["V"] for row in rows})
    return {
        "name": path.stem,
        "rows": len(rows),
        "seeds": len({row["seed"] for row in rows}),
        "V": f"{V[0]:g}..{V[-1]:g}" if len(V) > 1 else f"{V[0]:g}",
        "KiB": size,
        "commit": (origin["commit"] or "")[:10],
        "made": origin["time"].replace("+00:00", ""),
    }
