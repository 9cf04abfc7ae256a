"""No trade-off is forced where the ideal problem is feasible.  Label: new:no_tradeoff.

Problem: the paper calls the O(1/V) - O(V) trade-off between loss and queues inherent. Is it?

Statement, for any models and every reference, k < t:

    Q_k[t] <= sum_{s=k+1}^t max(hatPhi_k(x_s) - inf hatPhi_k - delta, 0)

So a method that plays x_t = w*_t, the solution of the ideal problem with some delta' <= delta, has no queue at all, and
its gap sum_t [Phi_t(x_t) - Phi_t(w*_t)] is 0: both ends of the trade-off at once, and no V occurs.

Conventions: the infimum is over R^d for quadratics, over W otherwise; references are in that set. Trailing axes t, k.
"""

from __future__ import annotations

import numpy as np

from .base import Bound, Explanation, Statement, make
from .facts import POSSIBLE, Facts

_NAME = ("no_tradeoff", "new:no_tradeoff")


def proved(facts: Facts) -> Bound:
    """A queue holds no more than what exceeded delta over the infimum."""
    over = np.maximum(facts.hat_above[..., 1:, :] - facts.delta[..., None, None], 0.0)
    since = np.where(np.tri(facts.T, k=-1, dtype=bool), over, 0.0)
    size = (facts.hat_scale + facts.T * facts.delta)[..., None, None]
    return make(_NAME, "proved", facts, facts.Q[..., 1:, :], terms={"excess": np.cumsum(since, axis=-2)}, kind="tight",
                attained="a reference at the infimum, and no increment below 0", premises=("plain queue", POSSIBLE),
                trailing=2, magnitude=size)  # fmt: skip


STATEMENT = Statement(
    id="no_tradeoff",
    title="No trade-off is forced where the ideal problem is feasible",
    label=_NAME[1],
    forms={"proved": proved},
    latex=r"Q_k[t]\le\sum_{s=k+1}^{t}\max\{\hat\Phi_k(x_s)-\inf\hat\Phi_k-\delta,\,0\},\qquad "
    r"x_t=w_t^*,\ \delta'\le\delta\ \Rightarrow\ Q\equiv0,\ \sum_t[\Phi_t(x_t)-\Phi_t(w_t^*)]=0",
    explain=Explanation(
        printed="",
        wrong="",
        correct="Models that stay within delta of every past optimum have no queues. The ideal models do so, and have "
        "the ideal loss.",
        conventions="Any models, every reference, the plain queue.",
        proof="No reference is below the infimum, so an increment is at most hatPhi_k(x_s) - inf hatPhi_k - "
        "delta; and max(Q + d, 0) <= Q + max(d, 0). At x_s = w*_s the sum is over max(delta' - delta, 0) = 0.",
        terms={"excess": "how far each later model was above the infimum of task k by more than delta, added up"},
    ),
    family={"T": (2, 5), "reference": "best", "solver": "exact", "memory": True},
)
