"""Advice on tasks for scripts: everything on the page, and every form of every statement."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from ..rows import plain
from .answer import Advice
from .balance import avg_seen_loss

_MEASURED = (
    "avg_grad_sq_before", "avg_grad_sq_after", "avg_forgetting", "max_forgetting", "avg_Qbar", "Delta_bar",
)  # fmt: skip


def data_of(advice: Advice) -> dict[str, Any]:
    """Plain values; numbers of several streams are means, and null stands for what is not finite."""
    balance, run = advice.balance, advice.run
    found: dict[str, Any] = _clean(
        {
            "name": advice.name,
            "T": advice.tasks.T,
            "d": advice.tasks.d,
            "streams": math.prod(advice.tasks.streams),
            "setting": advice.setting.as_json(),
            "V": balance.V,
            "V_how": balance.how,
            "V_why_sweep": balance.why,
            "V_at_end": balance.at_end,
            "V_seen": balance.V_seen,
            "V_low": balance.low,
            "V_high": balance.high,
            "V_judged": advice.V,
            "eta_theorem": advice.eta_theorem,
            "eta_stable": advice.eta_stable,
            "measured": {
                **{name: float(np.mean(getattr(run, name))) for name in _MEASURED},
                "avg_seen_loss": advice.avg_seen_loss,
            },
            "quantities": dict(advice.quantities),
            "conflict": asdict(advice.conflict),
            "queues": asdict(advice.queues) | {"act": advice.queues.act},
            "verdicts": [asdict(one) for one in advice.verdicts],
            "own": [asdict(one) for one in advice.own],
            "remedies": {
                id_: None if found is None else {"changes": dict(found.changes), **asdict(found.verdict)}
                for id_, found in advice.remedies.items()
            },
            "sweep": _sweep(advice),
        }
    )
    return found


def mean_over_streams(values: np.ndarray, count: int) -> np.ndarray:
    """(streams..., settings) -> (settings,)."""
    return np.asarray(values.reshape(-1, count).mean(axis=0))


def _clean(value: Any) -> Any:
    """The same with None for every number that is not finite."""
    if isinstance(value, Mapping):
        return {name: _clean(part) for name, part in value.items()}
    return [_clean(part) for part in value] if isinstance(value, list | tuple) else plain(value)


def _sweep(advice: Advice) -> Mapping[str, Any]:
    run = advice.balance.sweep
    columns = {
        "avg_grad_sq_before": run.avg_grad_sq_before,
        "avg_forgetting": run.avg_forgetting,
        "avg_seen_loss": avg_seen_loss(run),
        "avg_Qbar": run.avg_Qbar,
    }
    with np.errstate(all="ignore"):
        means = {name: mean_over_streams(values, len(run.V)) for name, values in columns.items()}
    found = {name: values.tolist() for name, values in means.items()}
    return {"V": run.V.tolist(), "allowed": advice.balance.allowed.tolist(), **found}
