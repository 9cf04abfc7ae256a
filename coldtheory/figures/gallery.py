"""Pictures on disk: PNG and PDF, the CSV behind them, a JSON with their origin, and the page that shows them."""

from __future__ import annotations

import importlib.metadata
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from ..ground.errors import ColdError, unknown_name
from ..ground.files import write_atomically
from .datasets import Stored
from .registry import Figure
from .table import Table, difference, digest, joined

Format = Literal["png", "pdf"]
FORMAT = "coldtheory-figure/1"
#: a verdict on a trend in the words of a caption
ANSWERS = {
    "holds": "Agrees",
    "false": "Does not agree",
    "not settled": "Not settled",
    "not reproducible here": "Runs are missing",
}


def check_formats(kinds: Iterable[str]) -> tuple[str, ...]:
    wanted = tuple(kinds)
    for kind in wanted:
        if kind not in get_args(Format):
            raise unknown_name("format", kind, get_args(Format))
    if not wanted:
        raise ColdError("--format is empty; give png, pdf or png,pdf")
    return wanted


def check_folder(folder: Path) -> None:
    """Complain before anything is computed if pictures cannot be written there."""
    if folder.exists() and not folder.is_dir():
        raise ColdError(f"{folder} is a file; give a folder with --to")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ColdError(
            f"cannot write to {folder}: {error.strerror or error}; choose another folder with --to"
        ) from None


def complaint(figure: Figure, results: Path) -> str:
    """Why a figure cannot be drawn, in one line; empty if it can."""
    try:
        figure.load(results)
    except ColdError as error:
        return str(error)
    return ""


def write_figure(figure: Figure, results: Path, gallery: Path, formats: Sequence[str] = ("png", "pdf")) -> list[Path]:
    """Draw one figure from stored data; with the same libraries the same data give the same bytes."""
    from .draw.style import picture_bytes  # noqa: PLC0415  (matplotlib is slow to import)

    stored = figure.load(results)
    tables = {name: one.table for name, one in stored.items()}
    picture = figure.picture(tables)
    text = joined(tables).to_csv()
    contents: dict[str, str | bytes] = {kind: picture_bytes(picture, kind) for kind in check_formats(formats)}
    contents |= {"csv": text, "json": json.dumps(_about(figure, stored, text), indent=1, ensure_ascii=False) + "\n"}
    paths = []
    for suffix, content in contents.items():
        paths.append(gallery / f"{figure.id}.{suffix}")
        write_atomically(paths[-1], content)
    return paths


def _about(figure: Figure, stored: Mapping[str, Stored], csv: str) -> dict[str, Any]:
    """The origin of a picture: whose data, of which seeds and settings, by which code and versions."""
    commits = {one["commit"] for data in stored.values() for one in data.origin if one.get("commit")}
    return {
        "format": FORMAT,
        "figure": figure.id,
        "label": figure.label,
        "command": figure.command,
        "commit": sorted(commits),
        "seeds": {name: seeds_of(data.config) for name, data in stored.items()},
        "csv_sha256": digest(csv),
        "drawn_with": {name: importlib.metadata.version(name) for name in ("matplotlib", "seaborn")},
        "data": {
            name: {"key": one.key, "config": one.config, "provenance": one.origin} for name, one in stored.items()
        },
    }


def seeds_of(config: Mapping[str, Any]) -> list[int]:
    """The seeds of a table's configuration: a list, a number of them (0, 1, ...), one, or none at all."""
    if "seeds" in config:
        given = config["seeds"]
        return list(range(given)) if isinstance(given, int) else list(given)
    return [config["seed"]] if "seed" in config else []


def write_readme(known: Iterable[Figure], gallery: Path) -> Path:
    """A page with every figure that the folder holds."""
    lines = [
        "# Figures",
        "",
        "Written by `coldtheory plot all`. Beside each picture lie its PDF, the CSV it was drawn from, and a JSON with",
        "configuration, seeds, versions and commit. `coldtheory plot all --check` compares the data with the code.",
        "Lines are means over seeds, bands go from the 10 % to the 90 % quantile.",
    ]
    for figure in known:
        if not (gallery / f"{figure.id}.png").is_file():
            continue
        place = f" (`{figure.label}`)" if figure.label else ""
        lines += ["", f"## {figure.title}{place}", "", figure.sentence, "", f"![{figure.title}]({figure.id}.png)", ""]
        files = ", ".join(f"[{kind.upper()}]({figure.id}.{kind})" for kind in ("pdf", "csv", "json"))
        lines += [f"{_made_by(figure)} · {files}", *_trends(figure)]
    path = gallery / "README.md"
    write_atomically(path, "\n".join(lines) + "\n")
    return path


def _made_by(figure: Figure) -> str:
    """The command behind a picture. A training figure without a profile takes whatever runs are stored."""
    if figure.kind == "theory":
        return f"`{figure.command}`"
    whose = "from the runs of" if figure.profile else "from the runs that its JSON names; at the paper's size:"
    return f"`coldtheory plot {figure.id}` {whose} `{figure.command}`"


def _trends(figure: Figure) -> list[str]:
    """What the paper says of a training figure, and what the stored runs say to it."""
    if figure.kind == "theory":
        return []
    from paper_checks.trends import found_in  # noqa: PLC0415  (the door to the claims)

    lines = [
        f"- The paper: {outcome.claim.statement.partition(' (Here on')[0]} **{ANSWERS[outcome.finding.verdict]}**: "
        f"{outcome.finding.evidence}. "
        f"`coldtheory check --only {outcome.claim.id}`"
        for outcome in found_in(figure.id)
    ]
    return ["", *lines] if lines else []


def check(known: Iterable[Figure], gallery: Path, *, recompute: bool = True) -> dict[str, str | None]:
    """For each picture of the folder, why its data no longer matches the code; None if it does.

    First what is cheap: files, digest and keys. Then, with `recompute`, the numbers themselves, once a dataset.
    """
    found: dict[str, str | None] = {}
    candidates = [figure for figure in known if figure.kind == "theory" or (gallery / f"{figure.id}.json").is_file()]
    for figure in candidates:
        found[figure.id] = _check_files(figure, gallery)
    if recompute:
        with tempfile.TemporaryDirectory() as scratch:
            for figure in candidates:
                if found[figure.id] is None and figure.kind == "theory":
                    found[figure.id] = _check_numbers(figure, gallery, Path(scratch))
    return found


def _check_files(figure: Figure, gallery: Path) -> str | None:
    about_path, table_path = gallery / f"{figure.id}.json", gallery / f"{figure.id}.csv"
    absent = [p.name for p in (gallery / f"{figure.id}.png", table_path, about_path) if not p.is_file()]
    if absent:
        return f"not drawn: no {', '.join(absent)}"
    try:
        about: dict[str, Any] = json.loads(about_path.read_text())
        keys = {name: entry["key"] for name, entry in about["data"].items()}
        recorded = about["csv_sha256"]
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError, AttributeError):
        return f"{about_path.name} cannot be read"
    if digest(table_path.read_bytes()) != recorded:
        return f"{table_path.name} was changed since it was drawn"
    if figure.kind == "theory":
        wanted = {data.name: data.key for data in figure.data}
        changed = [name for name in {**wanted, **keys} if wanted.get(name) != keys.get(name)]
        if changed:
            return f"the code now asks for other data: {', '.join(changed)}"
    return None


def _check_numbers(figure: Figure, gallery: Path, scratch: Path) -> str | None:
    for data in figure.data:
        data.make(scratch)
    fresh = joined({name: one.table for name, one in figure.load(scratch).items()})
    try:
        old = Table.from_csv((gallery / f"{figure.id}.csv").read_text())
    except ColdError as error:
        return str(error)
    change = difference(old, Table.from_csv(fresh.to_csv()))
    return None if change is None else f"the code now gives other numbers: {change}"
