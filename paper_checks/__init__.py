"""Every checkable claim of the paper as a program that gives a verdict.

`base` is the frame (claims, findings, registry), `tables` loads the paper's numbers, and every other module holds the
claims of one part of the paper. A claim module only has to define functions under `@claim(...)`: `all_claims` finds it.
"""

from paper_checks.base import Claim, Finding, Outcome, Verdict, all_claims, claim, find_claims, run_claim

__all__ = ["Claim", "Finding", "Outcome", "Verdict", "all_claims", "claim", "find_claims", "run_claim"]
