"""Theorems that the paper lacks: real forgetting, and what no method can do. Their proofs are in docs/theorems.

Claims here have labels that begin with `new:` and are counted apart from those of the paper.
"""

from __future__ import annotations

from coldtheory.claims import Finding
from paper_checks import _evidence as e
from paper_checks import claim

SECTION = "Beyond the paper"


@claim(
    id="forgetting",
    label="new:forgetting",
    section=SECTION,
    statement="""With a stored reference the mean over all pairs k < t of hatPhi_k(x_t) - hatPhi_k(x_k) is at most
        delta + (2/T) sqrt(2 B) with B =
        sum_t (Delta_t + eps_t + V [Phi_t(w*_t) - Phi_t(x_t)] - (delta - delta') Qbar[t-1]).""",
    recorded="holds",
    explain=e.explanation("forgetting", "The margin is the least relative slack over exact and descending runs."),
)
def forgetting() -> Finding:
    batches = [e.stored("exact"), e.stored("gd"), e.exact("mean", "best")]
    sharp = e.tally("forgetting", "sharp", batches)
    return e.supported(
        e.tally("forgetting", "proved", batches), f"sharper form: {sharp}, least slack {sharp.margin:.2g}"
    )
