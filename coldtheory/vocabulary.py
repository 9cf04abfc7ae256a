"""The names of the measured quantities, and what older files call them.

A quantity has one name, whether it is an array of a run, a key of a stored row, a column behind a figure, an entry of a
training run's diagnostics or a number on the page:

    grad_sq_before[t] = |grad Phi_t(x_{t-1})|^2     avg_grad_sq_before    its average over the tasks t = 1..T
    grad_sq_after[t]  = |grad Phi_t(x_t)|^2         avg_grad_sq_after
    grad_sq_along[t]  = |grad Phi_t|^2 on the way   avg_grad_sq_along     (training runs)
    Qbar[t]           = Qbar[t-1] of the paper      avg_Qbar
    Delta[t]          = Delta_t                     Delta_bar
    rho_minus[t]      = rho_{t,-}                   rho_bar (over the set W), rho_bar_trajectory (at the models)
                                                    D_phi (over W), D_phi_trajectory (at the models)
    forgetting[t, k]  = F_k[t], k < t               avg_forgetting, max_forgetting (over all pairs k < t)
    V_t[t]            = V_t, eps[t] = eps_t         (arrays of a run only)
    alpha[t]          = alpha_t                     alpha_max, eta_alpha_max (the largest over the tasks)

Each map below leads from an old name to the present one. Files are renamed when they are read, in one place per format;
nothing else knows the old names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: keys of the rows that sweeps store, see `coldtheory.rows`
OLD_ROW_KEYS = {
    "grad_before": "avg_grad_sq_before",
    "grad_after": "avg_grad_sq_after",
    "Qbar": "avg_Qbar",
    "eta_alpha": "eta_alpha_max",
}
#: columns of the tables behind figures
OLD_COLUMNS = {
    **OLD_ROW_KEYS,
    **{f"{when}{side}": f"grad_sq_{when}{side}" for when in ("before", "after") for side in ("", "_low", "_high")},
}
#: entries under "diagnostics" in a training run's result.json
OLD_DIAGNOSTICS = {
    "avg_grad_sq": "avg_grad_sq_before",
    "D_phi": "D_phi_trajectory",
    "rho_bar": "rho_bar_trajectory",
}
#: what a checkpoint of a training run keeps of the diagnostics
OLD_TRACE = {"grad_before": "grad_sq_before", "grad_after": "grad_sq_after"}


def with_present_names(values: Mapping[str, Any], old: Mapping[str, str]) -> dict[str, Any]:
    """The same values under their present names; names that are not old stay.

    >>> with_present_names({"V": 200.0, "Qbar": 0.5}, OLD_ROW_KEYS)
    {'V': 200.0, 'avg_Qbar': 0.5}
    """
    return {old.get(name, name): value for name, value in values.items()}


def beyond_the_paper(label: str) -> bool:
    """Whether a label is that of a theorem that the paper lacks; such labels begin with `new:`.

    >>> beyond_the_paper("new:forgetting"), beyond_the_paper("thm:queue_stability")
    (True, False)
    """
    return label.startswith("new:")
