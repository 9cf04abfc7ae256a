"""Pictures on disk: PNG and PDF, the CSV behind them, a JSON with caption and origin, and the page that shows them.

The JSON beside a picture:

    format      "coldtheory-figure/2"; files of format 1, which have no caption, are read too
    figure      the figure's id
    title, sentence, label (of the paper, or "")
    command     what draws the picture
    runs        of a training figure: the command behind its runs and their profile; null for a theory figure
    readings    per claim that is to be seen in the picture: claim, statement, answer, evidence
    commit, seeds, csv_sha256, drawn_with, data
                the origin: which data of which code and settings, by which versions
"""

from __future__ import annotations

import importlib.metadata
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from ..claims import seen_in
from ..ground.errors import ColdError, unknown_name
from ..ground.files import write_atomically
from ..ground.reading import read_bytes, read_json
from .figure import Figure, Stored
from .table import Table, Tell, counted, difference, digest, joined, quiet

Format = Literal["png", "pdf"]
FORMAT = "coldtheory-figure/2"
_OLDER = ("coldtheory-figure/1",)
#: a verdict on a trend in the words of a caption
ANSWERS = {
    "holds": "Agrees",
    "false": "Does not agree",
    "not settled": "Not settled",
    "no runs here": "Runs are missing",
}


@dataclass(frozen=True)
class Reading:
    """What the paper says about a figure, and what the stored runs say about that."""

    claim: str  #: its id, for `coldtheory check --only`
    statement: str
    answer: str
    evidence: str


@dataclass(frozen=True)
class Caption:
    """What stands below a picture."""

    title: str
    sentence: str = ""
    label: str = ""
    command: str = ""
    runs: dict[str, str | None] | None = None  #: of a training figure: "command" and "profile"
    readings: tuple[Reading, ...] = ()


def caption_of(figure: Figure) -> Caption:
    """The caption as the code and the stored runs have it now."""
    readings = (
        Reading(
            one.claim.id,
            one.claim.statement.partition(" (Here on")[0],
            ANSWERS.get(one.finding.verdict, one.finding.verdict.capitalize()),
            one.finding.evidence,
        )
        for one in seen_in(figure.id)
    )
    runs = None if figure.kind == "theory" else {"command": figure.command, "profile": figure.profile}
    return Caption(figure.title, figure.sentence, figure.label, figure.drawn_by, runs, tuple(readings))


def read_caption(path: Path) -> Caption:
    """The caption in the JSON beside a picture; of an older file, what it has of one."""
    about = _read_about(path)
    if about["format"] != FORMAT:
        return Caption(path.stem, label=str(about.get("label", "")), command=f"coldtheory plot {path.stem}")
    try:
        return msgspec.convert(about, Caption)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ColdError(f"{path} is damaged ({error}); draw the figure again") from None


def _read_about(path: Path) -> dict[str, Any]:
    about = read_json(path, "draw the figure again")
    found = about.get("format") if isinstance(about, dict) else None
    if found not in (FORMAT, *_OLDER):
        raise ColdError(f"{path} has format {found!r}, this version reads {FORMAT!r}; draw the figure again")
    return dict(about)


def check_formats(kinds: Iterable[str]) -> tuple[str, ...]:
    """The formats as a tuple; raises `ColdError` if one is unknown or if there are none."""
    wanted = tuple(kinds)
    for kind in wanted:
        if kind not in get_args(Format):
            raise unknown_name("format", kind, get_args(Format))
    if not wanted:
        raise ColdError("--format is empty; give png, pdf or png,pdf")
    return wanted


def check_folder(folder: Path) -> None:
    """Raise `ColdError` before anything is computed if pictures cannot be written there."""
    if folder.exists() and not folder.is_dir():
        raise ColdError(f"{folder} is a file; give a folder with --figures")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ColdError(
            f"cannot write to {folder}: {error.strerror or error}; choose another folder with --figures"
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
    from .style import picture_bytes  # noqa: PLC0415  (matplotlib is slow to import)

    stored = figure.load(results)
    tables = {name: one.table for name, one in stored.items()}
    picture = figure.picture(tables)
    text = joined(tables).to_csv()
    about = _with_caption(figure, _origin(stored, text))
    contents: dict[str, str | bytes] = {kind: picture_bytes(picture, kind) for kind in check_formats(formats)}
    contents |= {"csv": text, "json": _as_text(about)}
    paths = []
    for suffix, content in contents.items():
        paths.append(gallery / f"{figure.id}.{suffix}")
        write_atomically(paths[-1], content)
    return paths


def _with_caption(figure: Figure, origin: Mapping[str, Any]) -> dict[str, Any]:
    """The caption; its sentence also contains the remark `about` in the configuration of the data, if there is one."""
    caption = asdict(caption_of(figure))
    configs = (entry["config"] for entry in origin["data"].values())
    about = [f"Data: {config['about']}." for config in configs if config.get("about")]
    return {
        "format": FORMAT, "figure": figure.id, **caption, "sentence": " ".join([caption["sentence"], *about]), **origin,
    }  # fmt: skip


def _origin(stored: Mapping[str, Stored], csv: str) -> dict[str, Any]:
    """Whose data a picture shows, of which seeds and settings, by which code and versions."""
    commits = {one["commit"] for data in stored.values() for one in data.origin if one.get("commit")}
    return {
        "commit": sorted(commits),
        "seeds": {name: seeds_of(data.config) for name, data in stored.items()},
        "csv_sha256": digest(csv),
        "drawn_with": {name: importlib.metadata.version(name) for name in ("matplotlib", "seaborn")},
        "data": {
            name: {"key": one.key, "config": one.config, "provenance": one.origin} for name, one in stored.items()
        },
    }


def _as_text(about: Mapping[str, Any]) -> str:
    return json.dumps(about, indent=1, ensure_ascii=False) + "\n"


def seeds_of(config: Mapping[str, Any]) -> list[int]:
    """The seeds of a table's configuration: a list, a number of them (0, 1, ...), one, or none at all."""
    if "seeds" in config:
        given = config["seeds"]
        return list(range(given)) if isinstance(given, int) else list(given)
    return [config["seed"]] if "seed" in config else []


def write_readme(known: Iterable[Figure], gallery: Path) -> Path:
    """A page with every figure that the folder holds, from the captions beside the pictures.

    A JSON of an older format gets its caption first; what it says of the data stays.
    """
    lines = [
        "# Figures",
        "",
        "Written by `coldtheory plot all`. Beside each picture lie its PDF, the CSV it was drawn from, and a JSON with",
        "caption, configuration, seeds, versions and commit. `coldtheory plot all --check` compares the data with the",
        "code. Lines are means over seeds, bands go from the 10 % to the 90 % quantile.",
    ]
    for figure in known:
        path = gallery / f"{figure.id}.json"
        if not (path.is_file() and path.with_suffix(".png").is_file()):
            continue
        about = _read_about(path)
        if about["format"] in _OLDER:
            old = ("format", "figure", "label", "command")
            origin = {name: value for name, value in about.items() if name not in old}
            write_atomically(path, _as_text(_with_caption(figure, origin)))
        lines += _section(figure.id, read_caption(path))
    path = gallery / "README.md"
    write_atomically(path, "\n".join(lines) + "\n")
    return path


def _section(name: str, caption: Caption) -> list[str]:
    """One figure as Markdown."""
    place = f" (`{caption.label}`)" if caption.label else ""
    files = ", ".join(f"[{kind.upper()}]({name}.{kind})" for kind in ("pdf", "csv", "json"))
    readings = [
        f"- The paper: {one.statement} **{one.answer}**: {one.evidence}. `coldtheory check --only {one.claim}`"
        for one in caption.readings
    ]
    return [
        "", f"## {caption.title}{place}", "", caption.sentence, "", f"![{caption.title}]({name}.png)", "",
        f"{_made_by(caption)} · {files}", *([""] * bool(readings)), *readings,
    ]  # fmt: skip


def _made_by(caption: Caption) -> str:
    """The commands behind a picture. A training figure without a profile takes whatever runs are stored."""
    if caption.runs is None:
        return f"`{caption.command}`"
    own = caption.runs.get("profile") is not None
    whose = "from the runs of" if own else "from the runs that its JSON names; at the paper's size:"
    return f"`{caption.command}` {whose} `{caption.runs.get('command')}`"


def check(
    known: Iterable[Figure], gallery: Path, tell: Tell = quiet, *, recompute: bool = True
) -> dict[str, str | None]:
    """For each picture of the folder, why its data no longer matches the code; None if it does.

    First what is cheap: files, digest and keys. Then, with `recompute`, the numbers themselves, each dataset once.
    """
    found: dict[str, str | None] = {}
    candidates = [figure for figure in known if figure.kind == "theory" or (gallery / f"{figure.id}.json").is_file()]
    for figure in candidates:
        found[figure.id] = _check_files(figure, gallery)
    if recompute:
        with tempfile.TemporaryDirectory() as scratch:
            whole = [figure for figure in candidates if found[figure.id] is None and figure.kind == "theory"]
            for figure in counted(whole, tell):
                found[figure.id] = _check_numbers(figure, gallery, Path(scratch))
    return found


def _check_files(figure: Figure, gallery: Path) -> str | None:
    about_path, table_path = gallery / f"{figure.id}.json", gallery / f"{figure.id}.csv"
    absent = [p.name for p in (gallery / f"{figure.id}.png", table_path, about_path) if not p.is_file()]
    if absent:
        return f"not drawn: no {', '.join(absent)}"
    try:
        about = _read_about(about_path)
        keys = {name: entry["key"] for name, entry in about["data"].items()}
        recorded = about["csv_sha256"]
    except (ColdError, KeyError, TypeError, AttributeError):
        return f"{about_path.name} cannot be read"
    if digest(read_bytes(table_path)) != recorded:
        return f"{table_path.name} was changed since it was drawn"
    if figure.kind == "theory":
        wanted = {data.name: data.key for data in figure.data}
        changed = [name for name in {**wanted, **keys} if wanted.get(name) != keys.get(name)]
        if changed:
            return f"the code now asks for other data: {', '.join(changed)}"
    return None


def _check_numbers(figure: Figure, gallery: Path, scratch: Path) -> str | None:
    for data in figure.data:
        data.make(scratch, quiet)
    fresh = joined({name: one.table for name, one in figure.load(scratch).items()})
    try:
        old = Table.from_csv(read_bytes(gallery / f"{figure.id}.csv"))
    except ColdError as error:
        return str(error)
    change = difference(old, Table.from_csv(fresh.to_csv()))
    return None if change is None else f"the code now gives other numbers: {change}"
