"""Claims: statements with a program that gives a verdict on each.

base   what a claim is, what its check finds, and how a check is run
known  all claims that are installed, found through entry points
power  how many seeds would settle an open claim, and what they would cost
text   claims in words: paragraphs, JSON, and the page with the table of all claims
"""

from .base import (
    NO_RUNS,
    VERDICTS,
    Check,
    CheckedClaim,
    Claim,
    Finding,
    Further,
    NoRuns,
    Registry,
    RunSource,
    Verdict,
    run_claim,
)
from .known import all_claims, find_claims, seen_in
from .power import Power, powers, together
from .text import plain, reflow, table_of, tallies

__all__ = [
    "NO_RUNS",
    "VERDICTS",
    "Check",
    "CheckedClaim",
    "Claim",
    "Finding",
    "Further",
    "NoRuns",
    "Power",
    "Registry",
    "RunSource",
    "Verdict",
    "all_claims",
    "find_claims",
    "plain",
    "powers",
    "reflow",
    "run_claim",
    "seen_in",
    "table_of",
    "tallies",
    "together",
]
