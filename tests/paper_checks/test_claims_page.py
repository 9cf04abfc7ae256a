"""docs/claims.md is what `coldtheory check --markdown` prints: every claim, in its place, with its statement.

That each verdict and margin on the page is found again is checked where the claims are checked: test_verdicts.py and
test_claims_text.py.
"""

from __future__ import annotations

import re
from collections import Counter

from coldtheory.claims import NO_RUNS, Claim, all_claims, table_of
from tests.paper_checks.claims_page import PAGE, rows_on_the_page

CLAIMS = [claim for claim in all_claims() if claim.module.startswith("paper_checks.")]


def without_findings(page: str) -> str:
    return re.sub(r"\| [^|]* \| ((?:[^|]|\\\|)*)<br>\*\*Found:\*\* .* \|$", r"| \1 |", page, flags=re.M)


def expected(claim: Claim) -> str:
    """The recorded verdict; of a claim whose runs have still to be made the page says just that."""
    verdict, _ = rows_on_the_page().get(claim.id, ("", None))
    return NO_RUNS if verdict == NO_RUNS else claim.recorded


def test_every_claim_stands_in_its_place_with_its_statement_and_verdict():
    rows = [
        {
            "id": claim.id, "label": claim.label, "section": claim.section, "statement": claim.statement,
            "verdict": expected(claim), "margin": None, "evidence": "x",
        }
        for claim in CLAIMS
    ]  # fmt: skip
    assert without_findings(PAGE.read_text(encoding="utf-8")) == without_findings(table_of(rows))


def test_the_page_is_read_as_it_is_meant():
    found = rows_on_the_page()
    assert {name: verdict for name, (verdict, _) in found.items()} == {claim.id: expected(claim) for claim in CLAIMS}
    for beyond, words in ((False, "claims: "), (True, "claims beyond the paper: ")):
        counts = Counter(expected(claim) for claim in CLAIMS if claim.beyond == beyond)
        (line,) = re.findall(rf"^{counts.total()} {words}(.*)\.$", PAGE.read_text(encoding="utf-8"), flags=re.M)
        assert sorted(line.split(", ")) == sorted(f"{count} {verdict}" for verdict, count in counts.items())
    assert sum(margin is not None for _, margin in found.values()) > len(found) / 2
