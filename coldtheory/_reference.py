"""A user's own reference rule along a chunk of runs: what it is shown, and what it answers.

Models are stored relative to the centre of the chunk, as in `coldtheory._batch`; the rule sees their true positions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ._dynamics import General, Isotropic
from .ground.checks import numbers
from .ground.errors import ColdError
from .quadratics import Array
from .settings import Past, Rule


@dataclass(frozen=True, eq=False)
class MemoryLosses:
    """hatPhi_k of some tasks, for S streams or for one run; see the protocol in `coldtheory.settings`."""

    dynamics: Isotropic | General
    rows: Array  # (S, tasks, K), or (tasks, K) of one run
    base: Array  # hatPhi_k at the centre, (S, tasks) or (tasks,)
    centre: Array  # (S, 1, d), or (d,)

    def of_first(self, count: int) -> MemoryLosses:
        return replace(self, rows=self.rows[:, :count], base=self.base[:, :count])

    def of_run(self, at: tuple[int, int]) -> MemoryLosses:
        stream, _ = at
        return MemoryLosses(self.dynamics, self.rows[stream], self.base[stream], self.centre[stream, 0])

    def __call__(self, models: ArrayLike) -> Array:
        w = numbers("the models of a reference", models, finite=False)
        lead = self.rows.ndim - 2  # 1 for streams, which have an axis of settings too; 0 for one run
        axes, (tasks, d) = 2 * lead, (self.rows.shape[-2], self.centre.shape[-1])
        if w.shape[axes:] == (d,):
            return self.around(w - self.centre)
        if w.shape[axes:] == (tasks, d):
            y = w - (self.centre[:, None] if lead else self.centre)
            return np.asarray(np.vecdot(self._change(y), self._wide(self.rows)) + self._wide(self.base))
        raise ColdError(
            f"a reference model must have {d} numbers, or {(tasks, d)} with one per past task, got {w.shape}"
        )

    def around(self, y: Array) -> Array:
        """At models around the centre, (S, P, d) or (d,)."""
        z = self._change(y)
        found = self.rows @ z if z.ndim == 1 else z @ self.rows.swapaxes(-1, -2)
        return np.asarray(found + self._wide(self.base))

    def _change(self, y: Array) -> Array:
        return self.dynamics.change(np.zeros_like(y), y, np.zeros(y.shape[:-1]))

    def _wide(self, values: Array) -> Array:
        """The same with an axis for the settings after the streams."""
        return values if self.rows.ndim == 2 else values[:, None]


class OwnReference:
    """Asks the rule before every task but the first, unless its answers (S, P, T, T) are known already."""

    def __init__(self, rule: Rule, memory: MemoryLosses, start: Array, answers: Array | None) -> None:
        self.rule, self.memory, self.answers = rule, memory, answers
        (S, P, d), T = start.shape, memory.rows.shape[1]
        self.models, self.losses = np.empty((S, P, T + 1, d)), np.empty((S, P, T + 1, T))
        self.add(0, start)

    def add(self, t: int, x: Array) -> None:
        """x_t, (S, P, d) around the centre."""
        self.models[:, :, t] = x + self.memory.centre
        self.losses[:, :, t] = self.memory.around(x)

    def losses_now(self, past: int) -> Array:
        """hatPhi_k of the present model, for so many past tasks, (S, P, past)."""
        return self.losses[:, :, past, :past]

    def losses_of_reference(self, past: int) -> Array:
        """hatPhi_k of what each past task is compared with, (S, P, past)."""
        if past == 0 or self.answers is not None:
            return self.losses_now(0) if self.answers is None else self.answers[:, :, past, :past]
        shown = Past(
            t=past + 1, T=self.losses.shape[-1], models=self.models[:, :, : past + 1],
            losses=self.losses[:, :, : past + 1, :past], loss=self.memory.of_first(past),
        )  # fmt: skip
        answer = numbers("what the reference rule returns", self.rule(shown), finite=False)
        wanted = (*self.losses.shape[:2], past)
        try:
            found = np.broadcast_to(answer, wanted)
        except ValueError:
            raise ColdError(
                f"the reference rule must return one loss per past task, so numbers that broadcast to {wanted} for "
                f"task {past + 1}, got {answer.shape}; a rule that is written for one run needs per_run"
            ) from None
        running = np.isfinite(self.losses[:, :, : past + 1]).all(axis=(-2, -1))  # a diverged run has no losses
        if not np.isfinite(found[running]).all():
            raise ColdError(f"the reference rule must return finite losses; for task {past + 1} one of them is not")
        return found
