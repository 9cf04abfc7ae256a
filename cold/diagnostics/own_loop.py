"""The quantities of the theory in your own loop: a callback of `cold.COLD` that measures when tasks begin and end.

    watch = Diagnostics(optimizer)
    dpp = cold.COLD(V=20.0, delta=0.01, memory=60, callbacks=[watch])
    ...
    watch.report()["D_phi_trajectory"], watch.report()["bounds"]

Names and meanings are those of `cold run --diagnostics`, see `cold.diagnostics`. The labels of a task must be known
when it begins: `begin_task(model, x, y)`, or a data set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from coldtheory.ground.checks import kind_of, whole
from coldtheory.ground.errors import ColdError

from ..dpp import COLD, Callback
from ..history import Step
from ..layer_modes import evaluating, is_noisy, shares_statistics
from ..memory import picked
from .facts import report
from .measures import Measures, Setting
from .recorder import Recorder, compared_losses

_PIECE = 2048
_CURVATURE_SAMPLES = 2000


@dataclass(frozen=True, eq=False)
class _Samples:
    """The mean loss of samples of one task, as `COLD` computes it."""

    dpp: COLD
    model: nn.Module
    raw: Tensor
    y: Tensor
    task: int

    def pieces(self) -> Iterator[Tensor]:
        for raw, y in zip(torch.split(self.raw, _PIECE), torch.split(self.y, _PIECE), strict=True):
            yield self.dpp.sample_losses(self.model, raw, y, self.task).sum() / len(self.y)

    def thinned(self) -> _Samples:
        if len(self.y) <= _CURVATURE_SAMPLES:
            return self
        rows = torch.linspace(0, len(self.y) - 1, _CURVATURE_SAMPLES, device=self.y.device).round().long()
        return _Samples(self.dpp, self.model, self.raw[rows], self.y[rows], self.task)


class Diagnostics(Callback):
    """Gradients, Delta, D_Phi, rho, alpha_t and the statements that apply, measured along your own loop.

    optimizer : the loop's own; the premises ask for its step size and for plain gradient descent
    every     : gradients between the start and the end of a task, after every so many steps; 0: none
    curvature : whether L, l and alpha_t are measured, which takes some forty passes over the samples per task
    """

    def __init__(self, optimizer: torch.optim.Optimizer, *, every: int = 0, curvature: bool = True) -> None:
        kind_of("optimizer", optimizer, torch.optim.Optimizer, "give that of your loop")
        self._optimizer, self._every, self._curvature = optimizer, whole("every", every, least=0), curvature
        self._recorder: Recorder | None = None
        self._kept: Mapping[str, Any] | None = None  # of a state that came before the first task
        self._dpp: COLD | None = None
        self._model: nn.Module | None = None
        self._phi: _Samples | None = None
        self._steps, self._most, self._full = 0, 1, True

    def begin_task(self, dpp: COLD, model: nn.Module) -> None:
        recorder = self._started(dpp, model)
        t, memory = dpp.task, dpp.memory
        reference = None
        if dpp.compares != "previous" and t:
            reference = compared_losses(memory, dpp.compared_with[t, :t].tolist(), recorder.trace.hat)
        with evaluating(model):
            recorder.begin_task(t, dpp.queues.Q.tolist(), reference)
        self._steps = 0

    def resume_task(self, dpp: COLD, model: nn.Module) -> None:
        self._started(dpp, model)

    def step(self, dpp: COLD, step: Step) -> None:
        assert self._model is not None
        recorder = self._started(dpp, self._model)
        if self._every and self._steps and self._steps % self._every == 0:
            with evaluating(self._model):
                recorder.during_task(dpp.task, self._steps)
        self._steps += 1
        self._most = max(self._most, self._steps)
        self._full = self._full and step.batch == len(self._phi.y if self._phi is not None else ())

    def end_task(self, dpp: COLD, model: nn.Module) -> None:
        recorder = self._started(dpp, model)
        with evaluating(model):
            recorder.end_task(dpp.task)

    def report(self) -> dict[str, Any]:
        """What `result.json` of a run of the trainer holds under "diagnostics"."""
        if self._recorder is None or self._dpp is None or not self._recorder.trace.phi_after:
            raise ColdError("there is nothing to report before the first end_task(model, x, y)")
        setting = self.setting()
        return report(Measures(self._recorder.trace, setting, self._dpp.queues.Q.tolist()), setting)

    def setting(self) -> Setting:
        """The loop in the words of the theory's premises."""
        dpp, model = self._dpp, self._model
        assert dpp is not None
        assert model is not None
        group = self._optimizer.param_groups[0]
        plain = type(self._optimizer) is torch.optim.SGD and len(self._optimizer.param_groups) == 1
        exact = not (shares_statistics(model) or is_noisy(model) or dpp.augments)
        return Setting(
            V=dpp.V,
            delta=dpp.queues.delta,
            eta=float(group["lr"]),
            steps=self._most,
            weights=dpp.queues.weights,
            reference=dpp.compares,
            controller=dpp.queues.controller.name,
            queue_per_task=dpp.queue_update == "task",
            gradient_descent=plain and not group["momentum"] and not group["weight_decay"],
            full_batch=exact and self._full and dpp.draws_all,
            memory_stays=dpp.memory.policy == "uniform" and not dpp.memory.grows,
            on_label_loss=dpp.distance is None,
            starts_at_zero=dpp.starts_at_zero,
        )

    def state(self) -> dict[str, Any]:
        """To be kept beside the state of `COLD`."""
        trace = {} if self._recorder is None else self._recorder.state()
        return {"trace": trace, "steps": self._steps, "most": self._most, "full": self._full}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        self._steps, self._most, self._full = int(state["steps"]), int(state["most"]), bool(state["full"])
        self._kept, self._recorder = state["trace"] or None, None

    # ------------------------------------------------------------------------------------------------ losses

    def _started(self, dpp: COLD, model: nn.Module) -> Recorder:
        """The recorder, with the data of the present task at hand."""
        self._dpp, self._model = dpp, model
        if self._phi is None or self._phi.task != dpp.task:
            if not dpp.labelled:
                raise ColdError("diagnostics need the labels when a task begins; call begin_task(model, x, y)")
            raw, y = picked(dpp.samples, torch.arange(len(dpp.samples)))
            self._phi = _Samples(dpp, model, raw.to(dpp.device), y.to(dpp.device), dpp.task)
        if self._recorder is None:
            weights = [p for p in model.parameters() if p.requires_grad]
            self._recorder = Recorder(
                weights,
                self._present,
                self._past,
                curvature=self._curvature,
                for_curvature=lambda loss: loss.thinned() if isinstance(loss, _Samples) else loss,
            )
            if self._kept is not None:
                self._recorder.load(self._kept)
        return self._recorder

    def _present(self, t: int) -> _Samples:
        assert self._phi is not None
        return self._phi

    def _past(self, k: int) -> _Samples | None:
        assert self._dpp is not None
        assert self._model is not None
        memory = self._dpp.memory
        slots = (memory.owner == k).nonzero()[:, 0].to(memory.device)
        if memory.raw is None or not len(slots):
            return None
        return _Samples(self._dpp, self._model, memory.raw[slots], memory.y[slots], k)
