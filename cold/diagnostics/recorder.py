"""Numbers taken along a run, at the start and the end of each task and at some steps between."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from coldtheory.vocabulary import OLD_TRACE, with_present_names

from ..memory import Memory
from .derivatives import Loss, extreme_curvatures, gradient, value

Row = list[float]


@dataclass
class Trace:
    """What was measured so far; one entry per task, rows over past tasks. Plain lists: a checkpoint holds them."""

    phi_before: Row = field(default_factory=list)  #: Phi_t(x_{t-1})
    phi_after: Row = field(default_factory=list)  #: Phi_t(x_t)
    grad_sq_before: Row = field(default_factory=list)  #: |grad Phi_t(x_{t-1})|^2
    grad_sq_after: Row = field(default_factory=list)  #: |grad Phi_t(x_t)|^2
    along: list[Row] = field(default_factory=list)  #: |grad Phi_t|^2 at steps `along_at` of task t
    along_at: list[list[int]] = field(default_factory=list)
    products: list[Row] = field(default_factory=list)  #: <grad Phi_t, grad hatPhi_k>(x_{t-1}), k < t
    hat: list[Row] = field(default_factory=list)  #: hatPhi_k(x_t), k <= t
    reference: list[Row] = field(default_factory=list)  #: hatPhi_k(ref_{t,k}), k < t
    start_queues: list[Row] = field(default_factory=list)  #: Q_k[t-1], k < t
    curvature_phi: list[Row] = field(default_factory=list)  #: |Hessian of Phi_t| at x_{t-1} and x_t
    curvature_hat: list[Row] = field(default_factory=list)  #: |Hessian of hatPhi_k| at x_{t-1}, k < t


class Recorder:
    """Measures a model with losses phi(t) and hat(k), tasks counted from 0.

    weights   : the tensors that are trained
    phi, hat  : the loss of a task, and of a past task's memory; hat may give None where nothing is stored
    curvature : whether Hessians are measured; `for_curvature` may thin a loss out before
    """

    def __init__(
        self,
        weights: Sequence[Tensor],
        phi: Callable[[int], Loss],
        hat: Callable[[int], Loss | None],
        *,
        curvature: bool = True,
        for_curvature: Callable[[Loss], Loss] = lambda loss: loss,
    ) -> None:
        self.weights, self.phi, self.hat = list(weights), phi, hat
        self.trace = Trace()
        self._curvature, self._for_curvature = curvature, for_curvature

    def begin_task(self, t: int, queues: Sequence[float], reference: Sequence[float] | None = None) -> None:
        """At x_{t-1}, when references are known; without `reference` every past task is compared with x_{t-1}."""
        trace = self.trace
        loss, slope = gradient(self.phi(t), self.weights)
        past = [self.hat(k) for k in range(t)]
        trace.phi_before.append(loss)
        trace.grad_sq_before.append(float(slope @ slope))
        trace.along.append([trace.grad_sq_before[-1]])
        trace.along_at.append([0])
        slopes = (None if hat is None else gradient(hat, self.weights)[1] for hat in past)
        trace.products.append([float("nan") if other is None else float(slope @ other) for other in slopes])
        trace.reference.append([float(x) for x in (self._last_hat(t) if reference is None else reference)])
        trace.start_queues.append([float(q) for q in queues[:t]])
        trace.curvature_phi.append([self._norm(self.phi(t))])
        trace.curvature_hat.append([self._norm(hat) for hat in past])

    def during_task(self, t: int, step: int) -> None:
        """After `step` steps of task t."""
        _, slope = gradient(self.phi(t), self.weights)
        self.trace.along[t].append(float(slope @ slope))
        self.trace.along_at[t].append(step)

    def end_task(self, t: int) -> None:
        """At x_t, when samples of task t are stored."""
        trace = self.trace
        loss, slope = gradient(self.phi(t), self.weights)
        trace.phi_after.append(loss)
        trace.grad_sq_after.append(float(slope @ slope))
        stored = [self.hat(k) for k in range(t + 1)]
        trace.hat.append([float("nan") if hat is None else value(hat) for hat in stored])
        trace.curvature_phi[t].append(self._norm(self.phi(t)))

    def state(self) -> dict[str, Any]:
        """What was measured so far, as plain lists for a checkpoint."""
        return {name: list(rows) for name, rows in vars(self.trace).items()}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        self.trace = Trace(**with_present_names(state, OLD_TRACE))

    def _last_hat(self, t: int) -> Row:
        return self.trace.hat[t - 1][:t] if t else []

    def _norm(self, loss: Loss | None) -> float:
        if loss is None or not self._curvature:
            return float("nan")
        low, high = extreme_curvatures(self._for_curvature(loss), self.weights)
        return max(abs(low), abs(high))


def compared_losses(memory: Memory, chosen: Sequence[int], hat: Sequence[Row]) -> Row:
    """hatPhi_k of the model that past task k is compared with, as measured here; `chosen[k]` is that model's number.

    A model older than the task's memory was not measured on it here; the run's own number stands in.
    """
    past = len(chosen)
    slots = memory.everything(past)
    stored = memory.task_means(slots, memory.reference[slots.to(memory.device)].double(), past).tolist()
    return [hat[j][k] if j >= k else stored[k] for k, j in enumerate(chosen)]
