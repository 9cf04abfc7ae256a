"""Which trends are to be seen in which picture."""

from __future__ import annotations

from paper_checks._trends import PICTURES
from paper_checks.base import Outcome, all_claims, run_claim


def found_in(picture: str) -> list[Outcome]:
    """What the stored runs say to each claim that a picture of the gallery shows."""
    return [run_claim(claim) for claim in all_claims() if picture in PICTURES.get(claim.id, ())]
