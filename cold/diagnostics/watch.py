"""The recorder in the trainer: which losses, at which steps, and what is written at the end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from numpy.typing import NDArray

from coldtheory.controllers import controller_of

from ..catalogue import LOSS, METHODS
from ..config import queue_start_of
from ..layer_modes import evaluating, is_noisy, shares_statistics
from ..memory import Memory
from ..methods.base import Context, Method
from .derivatives import Loss, Sampled
from .facts import report
from .measures import Measures, Setting
from .recorder import Recorder, compared_losses

_POINTS = 10  # gradients per task, the first step's included
_CURVATURE_SAMPLES = 2000  # a Lanczos iteration costs some forty passes over them


class Watch:
    """Diagnostics of one run of the trainer.

    steps_of_task : how many steps each task has, from which the points between are chosen
    """

    def __init__(self, context: Context, method: Method, steps_of_task: Sequence[int]) -> None:
        self.context, self.method = context, method
        self.steps = list(steps_of_task)
        weights = [p for p in context.model.parameters() if p.requires_grad]
        self.recorder = Recorder(
            weights, self._phi, self._hat, curvature=not context.config.compile, for_curvature=_thinned
        )
        self._before = [0, *accumulate(self.steps)]
        self.totals = {
            self._before[t] + step * i // _POINTS
            for t, step in enumerate(self.steps)
            for i in range(1, _POINTS)
            if step * i // _POINTS
        }

    def begin_task(self, t: int) -> None:
        """Measure at x_{t-1}, when task t begins."""
        with evaluating(self.context.model):
            self.recorder.begin_task(t, self._queues(), self._reference(t))

    def during_task(self, t: int, total: int) -> None:
        """After step number `total` of the run, if it is one of `totals`."""
        with evaluating(self.context.model):
            self.recorder.during_task(t, total - self._before[t])

    def end_task(self, t: int) -> None:
        """Measure at x_t, when task t ends."""
        with evaluating(self.context.model):
            self.recorder.end_task(t)

    def state(self) -> dict[str, Any]:
        """What was measured so far, for a checkpoint."""
        return self.recorder.state()

    def load(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned."""
        self.recorder.load(state)

    def finish(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What goes into `result.json` under "diagnostics", and the arrays."""
        setting = self.setting()
        measures = Measures(self.recorder.trace, setting, self._queues())
        return {**report(measures, setting), "notes": self._notes()}, dict(measures.arrays())

    def setting(self) -> Setting:
        """The run in the words of the theory's premises."""
        config, benchmark = self.context.config, self.context.benchmark
        has_queues, memory = self.method.queues() is not None, self._memory()
        exact = not (
            shares_statistics(self.context.model)
            or is_noisy(self.context.model)
            or benchmark.transform.augments
            or config.amp != "off"
        )
        whole_batch = all(config.batch_size >= len(task.train) for task in benchmark.tasks)
        whole_memory = memory is not None and config.replay == "per-task" and config.memory_batch == max(memory.counts)
        return Setting(
            V=self._V(),
            delta=config.delta,
            eta=config.lr,
            steps=max(self.steps),
            weights=config.weights,
            reference=getattr(self.method, "reference", "previous"),
            controller=controller_of(config.controller).name,
            has_queues=has_queues,
            queue_per_task=config.queue_update == "task",
            gradient_descent=config.optimizer == "sgdm" and config.momentum == 0 and config.weight_decay == 0,
            full_batch=exact and whole_batch and whole_memory,
            memory_stays=config.memory_policy == "uniform",
            on_label_loss=config.method not in METHODS or METHODS[config.method].constraint == LOSS,
            starts_at_zero=queue_start_of(config.queue_start) in (None, 0.0),
        )

    def _V(self) -> float:
        """V of the run; where it follows from the number of steps, the last one."""
        V = self.context.config.V
        return float(V) if isinstance(V, int | float) else float(vars(self.method)["dpp"].V)

    # ------------------------------------------------------------------------------------------------ losses

    def _phi(self, t: int) -> Loss:
        task = self.context.benchmark.tasks[t]
        return Sampled(self.context.model, task.train.raw, task.train.y, task.head, self.context.inputs)

    def _hat(self, k: int) -> Loss | None:
        memory = self._memory()
        if memory is None or memory.raw is None:
            return None
        slots = (memory.owner == k).nonzero()[:, 0].to(memory.device)
        if not len(slots):
            return None
        stored = memory.raw
        head = self.context.benchmark.tasks[k].head
        return Sampled(self.context.model, lambda rows: stored[slots[rows]], memory.y[slots], head, self.context.inputs)

    def _memory(self) -> Memory | None:
        owner = getattr(self.method, "dpp", self.method)
        memory = getattr(owner, "memory", None)
        return memory if isinstance(memory, Memory) else None

    def _queues(self) -> list[float]:
        queues = self.method.queues()
        return [] if queues is None else queues.tolist()

    def _reference(self, t: int) -> list[float] | None:
        """hatPhi_k of the reference, as measured here; None: the previous model, which the recorder knows."""
        memory = self._memory()
        if getattr(self.method, "reference", "previous") == "previous" or memory is None or not t:
            return None
        return compared_losses(memory, self.method.arrays()["compared_with"][t, :t].tolist(), self.recorder.trace.hat)

    def _notes(self) -> list[str]:
        config, benchmark = self.context.config, self.context.benchmark
        notes = []
        if len(benchmark.head_widths) > 1:
            notes.append(
                "each task has its own head: D_phi_trajectory and avg_grad_sq_before are taken at a task's start with "
                "a head that no step has trained, and gradients of two tasks meet in the backbone only"
            )
        if config.queue_update != "task" and self.method.queues() is not None:
            notes.append(
                f"the queues move every {config.queue_update}; Delta_t uses d_k[t] of whole tasks all the same"
            )
        if shares_statistics(self.context.model):
            notes.append(
                "losses are taken with the running statistics of BatchNorm, training steps use those of batches"
            )
        if config.compile:
            notes.append("no curvature: a compiled network has no second derivative")
        elif max(len(task.train) for task in benchmark.tasks) > _CURVATURE_SAMPLES:
            notes.append(f"curvature on {_CURVATURE_SAMPLES} samples per task")
        return notes


def _thinned(loss: Loss) -> Loss:
    return loss.thinned(_CURVATURE_SAMPLES) if isinstance(loss, Sampled) else loss
