"""The verdicts behind the page: checked now, or read from a file that says when and by which code they were found.

Checking all claims takes longer than writing the page, so the two are separate steps: outcomes are stored, and
the page is written from what is stored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..ground.errors import ColdError
from ..ground.files import write_atomically
from ..ground.provenance import provenance

Row = dict[str, Any]

FORMAT = "coldtheory-outcomes/1"
FAILED = "check failed"
NEEDED = ("id", "verdict", "evidence")
FROM_CLAIM = ("label", "section", "statement", "explain")
_NO_VERDICT = ("report", "cli")  # parts of coldtheory that no check runs


@dataclass(frozen=True)
class Outcomes:
    """Rows of verdicts and where they come from."""

    rows: tuple[Row, ...]
    origin: dict[str, Any] | None  #: provenance at the time of checking; None if the file does not say
    code: str | None  #: `code_digest` at that time; None likewise
    missing: tuple[str, ...] = ()  #: claims of this version that are not among the rows

    @property
    def current(self) -> bool | None:
        """Whether the code is still the same; None if the file does not say."""
        return None if self.code is None else self.code == code_digest()


def place(results: Path) -> Path:
    """Where a results folder keeps its outcomes (a folder down: the files beside it are rows of sweeps)."""
    return results / "checks" / "outcomes.json"


def run_checks(progress: Callable[[int, int], None] | None = None) -> Outcomes:
    """Every claim of the paper, checked now. A check that breaks becomes a row that says so."""
    from paper_checks.base import all_claims, run_claim  # noqa: PLC0415 - imports every check

    origin, code = provenance(), code_digest()  # now: the files may change while the checks run
    rows = []
    claims = all_claims()
    for done, claim in enumerate(claims):
        if progress is not None:
            progress(done, len(claims))
        try:
            row = run_claim(claim).as_json()
        except Exception as error:
            row = {name: getattr(claim, name) for name in ("id", "label", "section", "statement", "recorded")}
            row |= {"verdict": FAILED, "margin": None, "evidence": f"{type(error).__name__}: {error}", "changed": True}
        rows.append({"explain": claim.explain, **row})
    return Outcomes(tuple(rows), origin, code)


def store_outcomes(outcomes: Outcomes, path: Path) -> None:
    content = {"format": FORMAT, "provenance": outcomes.origin, "code": outcomes.code, "outcomes": outcomes.rows}
    write_atomically(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def read_outcomes(path: Path) -> Outcomes:
    """Outcomes from `store_outcomes`, or the plain list that 'coldtheory check --json' prints."""
    remedy = "make it anew with 'coldtheory report --check'"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ColdError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError:
        raise ColdError(f"{path} is damaged (truncated or not JSON); {remedy}") from None
    origin, code = None, None
    if isinstance(content, dict):
        if content.get("format") != FORMAT:
            raise ColdError(f"{path} has format {content.get('format')!r}, this version reads {FORMAT!r}; {remedy}")
        origin, code, content = content.get("provenance"), content.get("code"), content.get("outcomes")
    if not isinstance(content, list) or not content or not all(isinstance(row, dict) for row in content):
        raise ColdError(f"{path} holds no list of outcomes; {remedy}")
    for row in content:
        absent = [key for key in NEEDED if not isinstance(row.get(key), str)]
        if absent:
            raise ColdError(f"an outcome in {path} has no {absent[0]!r}; {remedy}")
    if not (origin is None or (isinstance(origin, dict) and {"commit", "changed", "time"} <= origin.keys())):
        raise ColdError(f"{path} does not say where its outcomes come from; {remedy}")
    return _completed(content, origin, None if code is None else str(code))


@lru_cache(maxsize=1)
def code_digest() -> str:
    """A digest of all code and data files that a verdict can depend on."""
    import paper_checks  # noqa: PLC0415 - it imports coldtheory

    digest = hashlib.sha256()
    for root in (Path(__file__).parents[1], Path(paper_checks.__file__).parent):
        files = [path for path in root.rglob("*") if path.suffix in (".py", ".toml")]
        for path in sorted(files):
            inside = path.relative_to(root).parts
            if inside[0] not in _NO_VERDICT:
                digest.update("/".join((root.name, *inside)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _completed(rows: list[Row], origin: dict[str, Any] | None, code: str | None) -> Outcomes:
    """What stored outcomes leave out (the explanation, at least) the claims of this version give by id."""
    from paper_checks.base import all_claims  # noqa: PLC0415 - imports every check

    known = {claim.id: claim for claim in all_claims()}
    full = [{key: str(getattr(known.get(row["id"]), key, "")) for key in FROM_CLAIM} | row for row in rows]
    missing = known.keys() - {row["id"] for row in rows}
    return Outcomes(tuple(full), origin, code, tuple(name for name in known if name in missing))
