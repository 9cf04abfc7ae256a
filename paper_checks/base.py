"""The frame: what a claim is, what a check returns, and where the claims are kept."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
import re
import textwrap
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from coldtheory.ground.errors import ColdError, unknown_name

#: "not settled": runs are there, but they leave it open. "not reproducible here": what would settle it is not there.
Verdict = Literal["holds", "holds with correction", "false", "not settled", "not applicable", "not reproducible here"]
VERDICTS: tuple[str, ...] = get_args(Verdict)

Check = Callable[[], "Finding"]


@dataclass(frozen=True)
class Finding:
    """What a check found.

    `margin` tells how far the claim is from flipping: positive, it holds by that much; negative, it is broken by that
    much; None, it is not a matter of degree. `evidence` is one line for a person; `data` is the same for a program.
    """

    verdict: Verdict
    margin: float | None
    evidence: str
    data: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise unknown_name("verdict", self.verdict, VERDICTS)
        if self.margin is not None and not math.isfinite(self.margin):
            raise ColdError(f"a margin must be a finite number or None, not {self.margin}")
        if not self.evidence.strip() or "\n" in self.evidence:
            raise ColdError("evidence must be one non-empty line")


@dataclass(frozen=True)
class Claim:
    """One statement of the paper, the verdict recorded for it, and the check that gives the verdict again.

    The verdict is the same on every machine, whatever its kernels; margins, and the numbers in the evidence, are the
    same up to rounding.
    """

    id: str
    label: str
    section: str
    statement: str
    recorded: Verdict
    check: Check
    explain: str


@dataclass(frozen=True)
class Outcome:
    """A claim and what its check found this time."""

    claim: Claim
    finding: Finding
    seconds: float

    @property
    def changed(self) -> bool:
        return self.finding.verdict != self.claim.recorded

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.claim.id,
            "label": self.claim.label,
            "section": self.claim.section,
            "statement": self.claim.statement,
            "verdict": self.finding.verdict,
            "recorded": self.claim.recorded,
            "changed": self.changed,
            "margin": self.finding.margin,
            "evidence": self.finding.evidence,
            "data": plain(self.finding.data),
            "seconds": self.seconds,
        }


class Registry:
    """Claims by id. One global registry serves the package; tests make their own."""

    def __init__(self) -> None:
        self._claims: dict[str, tuple[str, Claim]] = {}

    def add(self, claim: Claim, module: str) -> None:
        if claim.id in self._claims:
            raise ColdError(f"two claims are called {claim.id!r} (in {self._claims[claim.id][0]} and {module})")
        if not claim.id or claim.id != claim.id.lower() or " " in claim.id:
            raise ColdError(f"claim id {claim.id!r} must be lower case, without spaces")
        if claim.recorded not in VERDICTS:
            raise unknown_name("verdict", claim.recorded, VERDICTS)
        self._claims[claim.id] = (module, claim)

    def claims(self) -> tuple[Claim, ...]:
        """In the order of the paper's parts, whatever was imported first; then order of definition."""
        return tuple(claim for _, claim in sorted(self._claims.values(), key=lambda entry: _place(entry[0])))


#: Modules, or how their names begin, in the order of the table.
PARTS = (
    "drift", "exact", "descent", "corollaries", "appendix", "open_questions", "looseness", "toy_", "text_", "tables_",
    "trends_",
)  # fmt: skip


def _place(module: str) -> tuple[int, str]:
    name = module.rsplit(".", maxsplit=1)[-1]
    return next((i for i, part in enumerate(PARTS) if name.startswith(part)), len(PARTS)), name


REGISTRY = Registry()


def claim(
    *,
    id: str,
    label: str,
    section: str,
    statement: str,
    recorded: Verdict,
    explain: str,
    registry: Registry = REGISTRY,
) -> Callable[[Check], Check]:
    """Register the decorated function, which takes nothing and returns a Finding, as the check of a claim."""

    def register(check: Check) -> Check:
        text = reflow(inspect.cleandoc(explain))
        registry.add(Claim(id, label, section, " ".join(statement.split()), recorded, check, text), check.__module__)
        return check

    return register


def all_claims() -> tuple[Claim, ...]:
    """Every claim of the package. Imports each of its modules once."""
    import paper_checks  # noqa: PLC0415 - the package imports this module first

    for module in pkgutil.iter_modules(paper_checks.__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"paper_checks.{module.name}")
    return REGISTRY.claims()


def find_claims(only: str, claims: Iterable[Claim] | None = None) -> tuple[Claim, ...]:
    """The claims that `only` names: an exact label, or an id with its readings (`thm3`, `thm3-sum`, ...), else ids that
    start with it, else ids that contain it."""
    known = tuple(all_claims() if claims is None else claims)
    wanted = only.strip().lower()
    exact = tuple(c for c in known if wanted in (c.id, c.label.lower()))
    if any(c.id == wanted for c in exact):
        exact = tuple(c for c in known if c.id == wanted or c.id.startswith(f"{wanted}-"))
    starting = tuple(c for c in known if wanted and c.id.startswith(wanted))
    containing = tuple(c for c in known if wanted and wanted in c.id)
    found = exact or starting or containing
    if not found:
        raise unknown_name("claim", only, [c.id for c in known])
    return found


def run_claim(claim: Claim) -> Outcome:
    start = time.perf_counter()
    finding = claim.check()
    return Outcome(claim, finding, time.perf_counter() - start)


def reflow(text: str, width: int = 100) -> str:
    """Paragraphs filled to one width. Indented lines (formulas, lists) stay, unless they are too long.

    >>> print(reflow("a b\\nc\\n\\n    x <= y + z", 12))
    a b c
    <BLANKLINE>
        x <= y +
            z
    """
    paragraphs = text.split("\n\n")
    return "\n\n".join(_folded(p, width) if re.search(r"^\s", p, re.M) else textwrap.fill(p, width) for p in paragraphs)


def _folded(paragraph: str, width: int) -> str:
    lines = []
    for line in paragraph.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        hang = indent + " " * 4
        lines += textwrap.wrap(line, width, subsequent_indent=hang, drop_whitespace=True, break_on_hyphens=False) or [
            ""
        ]
    return "\n".join(lines)


def plain(value: Any) -> Any:
    """`value` with only the types that JSON has (numpy numbers and arrays included)."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
