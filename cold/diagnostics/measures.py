"""From the trace of a run to the quantities of the theory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .recorder import Trace

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """What a run did, as far as premises ask."""

    V: float
    delta: float
    eta: float
    steps: int  #: J, gradient steps per task
    weights: str  #: "mean" or "sum"
    reference: str  #: "previous" (Case 1), "best" (Case 2) or "stored" (Case 3)
    controller: str = "queue"  #: see `coldtheory.controllers`
    has_queues: bool = True
    queue_per_task: bool = True
    gradient_descent: bool = True  #: plain steps of one size
    full_batch: bool = True  #: every step uses the exact gradient of the drift-plus-penalty loss
    memory_stays: bool = True  #: hatPhi_k is the same function at all times
    on_label_loss: bool = True  #: the constraints of the queues are about hatPhi_k
    starts_at_zero: bool = True  #: the queue of a task that has just become a past one is empty
    rounding: float = 1e-5  #: relative error of losses and queues; of single precision, with room for long sums


class Measures:
    """Arrays over t = 1..T (states: 0..T) and k = 1..T, entries without a meaning NaN (or 0 where sums want it)."""

    def __init__(self, trace: Trace, setting: Setting, final_queues: Sequence[float]) -> None:
        T = len(trace.phi_after)
        self.T, self.setting = T, setting
        self.phi_before, self.phi_after = np.array(trace.phi_before), np.array(trace.phi_after)
        self.grad_sq_before, self.grad_sq_after = np.array(trace.grad_sq_before), np.array(trace.grad_sq_after)
        self.along, self.along_at = _ragged(trace.along), _ragged(trace.along_at)
        self.products = _lower(trace.products, T)  #: (T, T)
        self.hat = np.concatenate([np.full((1, T), np.nan), _lower(trace.hat, T)])  #: (T+1, T)
        self.reference = _lower(trace.reference, T)  #: (T, T)
        self.curvature_phi = np.array(trace.curvature_phi)  #: (T, 2)
        self.curvature_hat = _lower(trace.curvature_hat, T)  #: (T, T)
        rows = [*trace.start_queues, list(final_queues)]
        self.Q = np.nan_to_num(_lower(rows, T))  #: (T+1, T)

    @cached_property
    def past(self) -> Array:
        """t - 1, and 1 at t = 1, where every sum over past tasks is empty."""
        return np.maximum(np.arange(self.T, dtype=np.float64), 1.0)

    @cached_property
    def d(self) -> Array:
        """d_k[t] = hatPhi_k(x_t) - hatPhi_k(ref_{t,k}) - delta for k < t, else NaN: (T, T)."""
        earlier = np.tri(self.T, k=-1, dtype=bool)
        return np.where(earlier, self.hat[1:] - self.reference - self.setting.delta, np.nan)

    @cached_property
    def Delta(self) -> Array:
        """Delta_t, (T,)."""
        return np.asarray(np.nansum(np.square(self.d), axis=-1) / (2.0 * self.past))

    @cached_property
    def variation(self) -> Array:
        """|Phi_t(x_{t-1}) - Phi_{t-1}(x_{t-1})|, 0 at t = 1."""
        return np.concatenate([[0.0], np.abs(self.phi_before[1:] - self.phi_after[:-1])])

    @cached_property
    def rho_minus(self) -> Array:
        """rho_{t,-} at x_{t-1}, (T,)."""
        return np.asarray(np.nansum(np.maximum(-self.products, 0.0), axis=-1))

    @cached_property
    def Qbar(self) -> Array:
        """Qbar[t-1] for t = 1..T."""
        return np.asarray(self.Q[:-1].sum(axis=-1) / self.past)

    @cached_property
    def grad_sq_along(self) -> Array:
        """The mean of |grad Phi_t|^2 over the points along task t, (T,)."""
        return np.asarray(np.nanmean(self.along, axis=-1))

    @property
    def has_memory(self) -> bool:
        """Whether a memory loss was measured at all."""
        return bool(np.isfinite(self.hat).any())

    @cached_property
    def L(self) -> float:
        """The largest curvature of any task that was met."""
        return float(self.curvature_phi.max())

    @cached_property
    def l(self) -> float:  # noqa: E743  (the paper's letter)
        """The largest curvature of any memory loss that was met; 0 if there was none."""
        known = self.curvature_hat[np.tri(self.T, k=-1, dtype=bool)]
        return float(known.max()) if known.size else 0.0

    @cached_property
    def alpha(self) -> Array:
        """alpha_t = V L + l sum_k beta_k, with the queues at the start of task t: (T,)."""
        share = np.ones(self.T) if self.setting.weights == "mean" else self.past
        total = share * self.Qbar
        return np.asarray(self.setting.V * self.L + np.where(total > 0, self.l * total, 0.0))

    def numbers(self) -> dict[str, float | None]:
        """The averages over tasks, for `result.json`."""
        kept, queues = self.has_memory, self.setting.has_queues
        found: dict[str, float | None] = {
            "avg_grad_sq_before": float(self.grad_sq_before.mean()),
            "avg_grad_sq_after": float(self.grad_sq_after.mean()),
            "avg_grad_sq_along": float(self.grad_sq_along.mean()),
            "Delta_bar": float(self.Delta.mean()) if kept else None,
            "D_phi_trajectory": float(self.variation.mean()),
            "rho_bar_trajectory": float(self.rho_minus.mean()) if kept else None,
            "L": self.L,
            "l": self.l if kept else None,
            "alpha_max": float(self.alpha.max()) if queues else None,
            "eta_alpha_max": float(self.setting.eta * self.alpha.max()) if queues else None,
            "avg_Qbar": float(self.Qbar.mean()) if queues else None,
        }
        return {name: None if x is None or not math.isfinite(x) else x for name, x in found.items()}

    def per_task(self) -> dict[str, Array]:
        """The terms of the averages, (T,) each."""
        named = {
            "phi_before": self.phi_before,
            "phi_after": self.phi_after,
            "grad_sq_before": self.grad_sq_before,
            "grad_sq_after": self.grad_sq_after,
            "grad_sq_along": self.grad_sq_along,
            "variation": self.variation,
            "curvature": np.asarray(self.curvature_phi.max(axis=-1)),
        }
        if self.has_memory:
            named |= {"Delta": self.Delta, "rho_minus": self.rho_minus}
        if self.setting.has_queues:
            named |= {"Qbar": self.Qbar, "alpha": self.alpha}
        return named

    def arrays(self) -> dict[str, Array]:
        """Everything, for `arrays.npz`."""
        more = {"along": self.along, "along_at": self.along_at}
        if self.has_memory:
            more |= {"hat": self.hat, "products": self.products}
        return {f"diag_{name}": array for name, array in {**self.per_task(), **more}.items()}


def _lower(rows: Sequence[Sequence[float]], width: int) -> Array:
    """Rows of growing length as one matrix, NaN beyond their ends."""
    matrix = np.full((len(rows), width), np.nan)
    for row, values in zip(matrix, rows, strict=True):
        row[: len(values)] = values
    return matrix


def _ragged(rows: Sequence[Sequence[float]]) -> Array:
    return _lower(rows, max(map(len, rows), default=0))
