"""What a claim is, what its check finds, and how a check is run."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from ..ground.dependencies import recording
from ..ground.errors import ColdError, unknown_name
from ..vocabulary import beyond_the_paper
from .text import plain, reflow

#: "open": mathematics that is neither proved nor refuted. "not settled": runs are there, but they do not decide it.
#: "not reproducible here": nothing here could settle it.
#: "no runs here": runs would settle it, but this machine does not have them; that says nothing about the claim.
Verdict = Literal[
    "holds",
    "holds with correction",
    "false",
    "open",
    "not settled",
    "not applicable",
    "not reproducible here",
    "no runs here",
]
VERDICTS: tuple[str, ...] = get_args(Verdict)
NO_RUNS: Verdict = "no runs here"


class NoRuns(ColdError):
    """A check raises this if runs that it needs are absent; `command` makes them."""

    def __init__(self, lacking: str, command: str) -> None:
        super().__init__(f"{lacking}; make them: {command}")
        self.command = command


@dataclass(frozen=True)
class Finding:
    """What a check found.

    `margin` says how far the claim is from the opposite verdict: positive, it holds by that much; negative, it fails by
    that much; None, it is not a matter of degree. `evidence` is one line for a person; `data` is the same for a
    program.
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


Check = Callable[[], Finding] | Callable[[Path], Finding]
_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Further:
    """What more seeds of a claim's runs would take.

    looks    at which it may be looked at, in order: a number of seeds, and the chance that an interval may miss
    seconds  of processor time for one more seed, by kind of run: claims share runs of the same kind
    command  of two numbers of seeds, stored and wanted: what makes the runs between them
    """

    looks: tuple[tuple[int, float], ...]
    seconds: Mapping[str, float]
    command: Callable[[int, int], str]


@dataclass(frozen=True)
class RunSource:
    """Where the runs lie that checks read, and how to tell whether one of them has changed."""

    folder: Callable[[], Path]  #: the one that serves unless the user names another
    digests: Callable[[Path], Mapping[str, str]]  #: of all runs in a folder, by id
    further: Callable[[Path, CheckedClaim], Further] | None = None  #: of the runs that a check has used


@dataclass(frozen=True)
class Claim:
    """One statement, the verdict recorded for it, and the check that gives the verdict again.

    `check` takes nothing. If `runs` is given, it takes the folder of runs, and raises `NoRuns` where those that it
    needs are not there. The verdict is the same on every machine, whatever its kernels; margins, and the numbers in
    the evidence, are the same up to rounding.
    """

    id: str
    label: str  #: of the paper, such as thm:queue_stability, or new:NAME for a theorem that the paper lacks
    section: str
    statement: str
    recorded: Verdict
    check: Check
    explain: str
    runs: RunSource | None = None
    pictures: tuple[str, ...] = ()  #: ids of the gallery's figures in which the claim is to be seen

    @property
    def beyond(self) -> bool:
        """Whether it is a theorem that the paper lacks; these are counted separately."""
        return beyond_the_paper(self.label)

    @property
    def module(self) -> str:
        """The module that states the claim."""
        return self.check.__module__


@dataclass(frozen=True)
class CheckedClaim:
    """A claim and what its check found this time."""

    claim: Claim
    finding: Finding
    seconds: float
    notes: Mapping[str, str] = field(default_factory=dict)  #: what the check used; see `coldtheory.ground.dependencies`

    @property
    def changed(self) -> bool:
        """Whether the verdict is not the recorded one; that runs are absent is no change."""
        return self.finding.verdict not in (self.claim.recorded, NO_RUNS)

    def as_json(self) -> dict[str, Any]:
        """The outcome as `coldtheory check --json` prints it."""
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
    """The claims of a package by id. A package makes one, and decorates its checks with `Registry.claim`."""

    def __init__(self) -> None:
        self._claims: dict[str, Claim] = {}

    @property
    def claims(self) -> tuple[Claim, ...]:
        """In the order in which they were registered."""
        return tuple(self._claims.values())

    def add(self, claim: Claim) -> None:
        """Register a claim; raises `ColdError` if its id is taken or its check takes the wrong arguments."""
        if claim.id in self._claims:
            raise ColdError(f"two claims are called {claim.id!r} ({self._claims[claim.id].module} and {claim.module})")
        if not claim.id or claim.id != claim.id.lower() or " " in claim.id:
            raise ColdError(f"claim id {claim.id!r} must be lower case, without spaces")
        if claim.recorded not in VERDICTS:
            raise unknown_name("verdict", claim.recorded, VERDICTS)
        if claim.recorded == NO_RUNS:
            raise ColdError(f"{claim.id}: {NO_RUNS!r} is what a check finds on a machine, and cannot be recorded")
        takes = len(inspect.signature(claim.check, follow_wrapped=False).parameters)
        if takes != (claim.runs is not None):
            wanted = "nothing" if claim.runs is None else "the folder of runs"
            raise ColdError(f"the check of {claim.id} must take {wanted}; it has {takes} parameters")
        self._claims[claim.id] = claim

    def claim(
        self,
        *,
        id: str,
        label: str,
        section: str,
        statement: str,
        recorded: Verdict,
        explain: str,
        runs: RunSource | None = None,
        pictures: tuple[str, ...] = (),
    ) -> Callable[[_Function], _Function]:
        """Register the decorated function as the check of a claim; with `runs` it takes the folder of runs."""

        def register(check: _Function) -> _Function:
            told = reflow(inspect.cleandoc(explain))
            words = " ".join(statement.split())
            self.add(Claim(id, label, section, words, recorded, check, told, runs, pictures))
            return check

        return register


def run_claim(claim: Claim, runs: Path | None = None) -> CheckedClaim:
    """Check a claim now, with the runs of a folder; without one, those that belong to the claim."""
    check: Callable[..., Finding] = claim.check
    words = () if claim.runs is None else (claim.runs.folder() if runs is None else runs,)
    start = time.perf_counter()
    with recording() as notes:
        try:
            finding = check(*words)
        except NoRuns as absent:
            finding = Finding(NO_RUNS, None, str(absent), {"command": absent.command})
    return CheckedClaim(claim, finding, time.perf_counter() - start, notes)
