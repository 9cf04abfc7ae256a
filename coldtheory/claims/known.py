"""All claims that are installed.

They come through entry points: a package that declares

    [project.entry-points."coldtheory.claims"]
    mine = "my_package:claims"

adds what `my_package.claims()` returns, an iterable of `Claim`, to `coldtheory check` and to the report.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ..ground.errors import ColdError, unknown_name
from ..ground.plugins import contributions
from .base import CheckedClaim, Claim, run_claim

GROUP = "coldtheory.claims"


def all_claims() -> tuple[Claim, ...]:
    """Every claim of every installed package, in the order in which each package gives them."""
    found: dict[str, Claim] = {}
    for claim in contributions(GROUP, Claim):
        if claim.id in found:
            raise ColdError(
                f"two claims are called {claim.id!r} ({found[claim.id].module} and {claim.module}); remove the "
                "package of one of them"
            )
        found[claim.id] = claim
    return tuple(found.values())


def find_claims(only: str, claims: Iterable[Claim] | None = None) -> tuple[Claim, ...]:
    """The claims that `only` names: an exact label, or an id with its readings (`thm3`, `thm3-sum`, ...), else ids that
    start with it, else ids that contain it. `new:` names all theorems beyond the paper."""
    known = tuple(all_claims() if claims is None else claims)
    wanted = only.strip().lower()
    exact = tuple(c for c in known if wanted in (c.id, c.label.lower()) or (wanted == "new:" and c.beyond))
    if any(c.id == wanted for c in exact):
        exact = tuple(c for c in known if c.id == wanted or c.id.startswith(f"{wanted}-"))
    starting = tuple(c for c in known if wanted and c.id.startswith(wanted))
    containing = tuple(c for c in known if wanted and wanted in c.id)
    found = exact or starting or containing
    if not found:
        raise unknown_name("claim", only, [c.id for c in known])
    return found


def seen_in(figure_id: str, runs: Path | None = None) -> list[CheckedClaim]:
    """The claims that are to be seen in a figure of the gallery, each checked once per process and folder of runs."""
    return [_checked(claim, runs) for claim in all_claims() if figure_id in claim.pictures]


@cache
def _checked(claim: Claim, runs: Path | None) -> CheckedClaim:
    return run_claim(claim, runs)
