"""The table of claims in the README is the one that `coldtheory check` prints: same claims, same verdicts."""

from __future__ import annotations

from pathlib import Path

from paper_checks.base import all_claims

README = Path(__file__).parents[2] / "README.md"


def verdicts_in_readme() -> dict[str, str]:
    """Claim -> verdict, put together where the terminal broke it over lines."""
    text = README.read_text(encoding="utf-8").split("```text\n", 1)[1].split("```", 1)[0]
    head, *lines = text.splitlines()
    left, right = head.index("verdict"), head.index("margin") - 1
    verdicts: dict[str, str] = {}
    for line in lines[:-1]:  # the last one counts
        id_ = line[:left].strip()
        last = id_ or list(verdicts)[-1]
        verdicts[last] = f"{verdicts.get(last, '')} {line[left:right].strip()}".strip()
    # a margin is set to the right of its column and may reach into the verdict's
    return {id_: " ".join(word for word in verdict.split() if word[0].isalpha()) for id_, verdict in verdicts.items()}


def test_every_claim_with_its_verdict():
    assert verdicts_in_readme() == {claim.id: claim.recorded for claim in all_claims()}
