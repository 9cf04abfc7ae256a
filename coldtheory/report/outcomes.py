"""The verdicts behind the page: checked now, or read from a file that says what each of them depends on.

Checking all claims takes longer than writing the page, so the two are separate steps: outcomes are stored, and
the page is written from what is stored. The file is JSON:

    format      "coldtheory-outcomes/2"
    provenance  commit, versions and time of the last check, as `coldtheory.ground.provenance` gives them
    outcomes    a list; per claim what `coldtheory check --json` prints, its explanation, and
                depends_on: digests by name. "code MODULE" is a module with all that it imports (the claim's own, and
                one per statement that the check evaluated), "run ID" a row that it read or looked for.

A stored verdict is stale if one of these digests has changed. Files of format 1, and the plain list that
`coldtheory check --json` prints, do not say what a verdict depends on; they are read, too.
"""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from ..bounds import STATEMENTS
from ..claims import Claim, RunSource, all_claims, run_claim
from ..ground.code import Code
from ..ground.dependencies import ABSENT
from ..ground.engines import run_jobs
from ..ground.errors import ColdError
from ..ground.files import write_atomically
from ..ground.provenance import PACKAGES, provenance
from ..ground.reading import read_json

Row = dict[str, Any]

FORMAT = "coldtheory-outcomes/2"
_OLDER = ("coldtheory-outcomes/1",)
FAILED = "check failed"
_EVERY = 0.2  # seconds between two looks at how many claims are done
_WORTH_A_PROCESS = 40  # claims below which other processes take longer to start than to check them
NEEDED = ("id", "verdict", "evidence")
FROM_CLAIM = ("label", "section", "statement", "explain")
#: the kinds of what an outcome and its origin may hold beside what is needed; absent and null ones are passed over
_ENTRIES: dict[str, Any] = {
    **dict.fromkeys((*FROM_CLAIM, "recorded"), str), "changed": bool, "margin": float, "seconds": float,
    "data": dict[str, Any],
}  # fmt: skip
_ORIGIN: dict[str, Any] = {"commit": str, "changed": bool, "time": str}
#: parts of the packages on which no verdict depends: they show results, or make runs, whose rows are noted themselves
_LEFT_OUT = (
    "coldtheory.cli", "coldtheory.report", "coldtheory.figures", "coldtheory.claims.text", "coldtheory.claims.known",
    "cold.cli", "cold.plots", "cold.grid",
)  # fmt: skip


@dataclass(frozen=True)
class Outcomes:
    """Rows of verdicts and where they come from."""

    rows: tuple[Row, ...]
    origin: dict[str, Any] | None  #: provenance at the time of checking; None if the file does not say
    missing: tuple[str, ...] = ()  #: claims of this version that are not among the rows
    stale: Mapping[str, str] = field(default_factory=dict)  #: claim -> what has changed since its verdict was found
    unknown: tuple[str, ...] = ()  #: claims of which the file does not say what their verdicts depend on

    @property
    def current(self) -> bool | None:
        """Whether every verdict is what a check would find now; None if the file does not say."""
        return False if self.stale else None if self.unknown else True

    @property
    def to_check(self) -> tuple[str, ...]:
        """Claims whose verdict has to be found again to make all of them current."""
        return tuple(dict.fromkeys((*self.stale, *self.unknown, *self.missing)))


def place(results: Path) -> Path:
    """Where a results folder keeps its outcomes (a folder down: the files beside it are rows of sweeps)."""
    return results / "checks" / "outcomes.json"


def run_checks(
    claims: Sequence[Claim] | None = None,
    runs: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
    jobs: int = -1,
) -> Outcomes:
    """Claims, all of them by default, checked now. A check that breaks becomes a row that says so.

    What is found does not depend on the number of processes. A few claims are checked in this process, as others would
    take longer to start.

    jobs : number of processes; -1 is one per core
    """
    wanted = tuple(all_claims() if claims is None else claims)
    origin, code = provenance(), code_of(wanted)  # now: the files may change while the checks run
    import joblib  # noqa: PLC0415  (slow to load)

    workers = 1 if len(wanted) < _WORTH_A_PROCESS or jobs == 0 else joblib.effective_n_jobs(jobs)
    rows: dict[str, Row] = {}
    with _counting(len(wanted), progress) as tally:
        batches = [_Batch(part, runs, tally) for part in _parts(wanted, workers)]
        for found in run_jobs(_checked, batches, engine="serial" if workers == 1 else "loky", n_jobs=jobs):
            rows |= {row["id"]: {**row, "depends_on": _digests(row["depends_on"], code)} for row in found}
    return Outcomes(tuple(rows[claim.id] for claim in wanted), origin)


@dataclass(frozen=True)
class _Batch:
    """Claims that one process checks one after the other; the file `tally` grows by a byte with each of them."""

    claims: tuple[Claim, ...]
    runs: Path | None
    tally: Path

    def __str__(self) -> str:
        return ", ".join(claim.id for claim in self.claims)


def _parts(claims: Sequence[Claim], workers: int) -> list[tuple[Claim, ...]]:
    """Two per process, made of whole modules in their order: neighbours look at the same runs, which are made once."""
    size = len(claims) / (2 * workers)
    parts: list[list[Claim]] = [[]]
    for _, group in groupby(claims, key=lambda claim: claim.module):
        if len(parts[-1]) >= size:
            parts.append([])
        parts[-1] += group
    return [tuple(part) for part in parts]


@contextmanager
def _counting(total: int, progress: Callable[[int, int], None] | None) -> Iterator[Path]:
    """A file whose size is the number of claims that are done, in all processes; `progress` is called with it."""
    over = threading.Event()
    with tempfile.TemporaryDirectory(prefix="coldtheory-checks-") as folder:
        tally = Path(folder, "tally")
        tally.touch()

        def tell() -> None:
            if progress is not None:
                progress(min(tally.stat().st_size, total), total)  # a lost process does its part again

        def watch() -> None:
            while not over.wait(_EVERY):
                tell()

        tell()
        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield tally
        finally:
            over.set()
            watcher.join()
        tell()


def _checked(batch: _Batch) -> list[Row]:
    rows = []
    for claim in batch.claims:
        rows.append(_check(claim, batch.runs))
        with batch.tally.open("ab") as tally:
            tally.write(b".")
    return rows


def _check(claim: Claim, runs: Path | None) -> Row:
    notes: dict[str, str] = {f"code {claim.module}": ""}
    try:
        checked = run_claim(claim, runs)
        row = checked.as_json()
        notes |= checked.notes
    except Exception as error:
        row = {name: getattr(claim, name) for name in ("id", "label", "section", "statement", "recorded")}
        why = f"{type(error).__name__}: {error}".replace("\n", " ")
        row |= {"verdict": FAILED, "margin": None, "evidence": why, "changed": True, "data": {}, "seconds": 0.0}
    return {"explain": claim.explain, **row, "depends_on": notes}


def _digests(notes: Mapping[str, str], code: Code) -> dict[str, str]:
    """What a check noted, with the digests of its code."""
    return {name: digest or code.digest(name.removeprefix("code ")) for name, digest in sorted(notes.items())}


def code_of(claims: Iterable[Claim]) -> Code:
    """The code on which the verdicts of claims can depend, as it is now; a statement counts where it is evaluated."""
    statements = {form.__module__ for statement in STATEMENTS.values() for form in statement.forms.values()}
    packages = dict.fromkeys((*PACKAGES, *(claim.module.partition(".")[0] for claim in claims)))
    return Code(packages, leave_out=_LEFT_OUT, apart=statements)


def as_json(row: Row) -> Row:
    """A row as `coldtheory check --json` prints it."""
    return {name: value for name, value in row.items() if name not in ("explain", "depends_on")}


def store_outcomes(outcomes: Outcomes, path: Path) -> None:
    """Write outcomes to a file, which is replaced as a whole."""
    content = {"format": FORMAT, "provenance": outcomes.origin, "outcomes": outcomes.rows}
    write_atomically(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def read_outcomes(path: Path, runs: Path | None = None) -> Outcomes:
    """Stored outcomes, and which of them are stale with the code and the runs that are here now."""
    remedy = "make it anew with 'coldtheory report --check-claims'"
    content = read_json(path, remedy)
    origin = None
    if isinstance(content, dict):
        if content.get("format") not in (FORMAT, *_OLDER):
            raise ColdError(f"{path} has format {content.get('format')!r}, this version reads {FORMAT!r}; {remedy}")
        origin, content = content.get("provenance"), content.get("outcomes")
    if not isinstance(content, list) or not content or not all(isinstance(row, dict) for row in content):
        raise ColdError(f"{path} holds no list of outcomes; {remedy}")
    for row in content:
        absent = [key for key in NEEDED if not isinstance(row.get(key), str)]
        if absent:
            raise ColdError(f"an outcome in {path} has no {absent[0]!r}; {remedy}")
        used = row.get("depends_on", {})
        if not isinstance(used, dict) or not all(isinstance(digest, str) for digest in used.values()):
            raise ColdError(f"an outcome in {path} does not say what it depends on; {remedy}")
        _check_kinds(row, _ENTRIES, f"an outcome in {path}", remedy)
    if not (origin is None or (isinstance(origin, dict) and {"commit", "changed", "time"} <= origin.keys())):
        raise ColdError(f"{path} does not say where its outcomes come from; {remedy}")
    _check_kinds(origin or {}, _ORIGIN, str(path), remedy)
    return _completed(content, origin, runs)


def _check_kinds(entries: Mapping[str, Any], kinds: Mapping[str, Any], where: str, remedy: str) -> None:
    """Raises unless each entry that is there is of its kind."""
    for name, kind in kinds.items():
        try:
            msgspec.convert(entries.get(name), kind | None)
        except (msgspec.ValidationError, RecursionError):
            raise ColdError(f"{where} has a wrong entry {name!r}; {remedy}") from None


def _completed(rows: list[Row], origin: dict[str, Any] | None, runs: Path | None) -> Outcomes:
    """What stored outcomes leave out (the explanation, at least) the claims of this version give by id."""
    known = {claim.id: claim for claim in all_claims()}
    full = [{key: str(getattr(known.get(row["id"]), key, "")) for key in FROM_CLAIM} | row for row in rows]
    told = {row["id"] for row in rows}
    return Outcomes(
        tuple(full),
        origin,
        missing=tuple(name for name in known if name not in told),
        stale=_stale(rows, known, runs),
        unknown=tuple(row["id"] for row in rows if "depends_on" not in row),
    )


def _stale(rows: Iterable[Row], known: Mapping[str, Claim], runs: Path | None) -> dict[str, str]:
    """By claim, the first thing that has changed since its verdict was found."""
    code = code_of(known.values())
    stored: dict[RunSource, Mapping[str, str]] = {}

    def digest_now(used: str, claim: Claim) -> str:
        kind, _, name = used.partition(" ")
        if kind == "code":
            return code.digest(name)
        if kind != "run" or claim.runs is None:
            return ""  # a check of another version
        if claim.runs not in stored:
            stored[claim.runs] = claim.runs.digests(claim.runs.folder() if runs is None else runs)
        return stored[claim.runs].get(name, ABSENT)

    found = {}
    for row in rows:
        claim = known.get(row["id"])
        if claim is None:
            found[row["id"]] = "the claim is gone"
        elif row["verdict"] == FAILED:
            found[row["id"]] = "the check failed"
        else:
            used = row.get("depends_on", {}).items()
            first = next((name for name, digest in used if digest_now(name, claim) != digest), None)
            if first is not None:
                found[row["id"]] = first
    return found
