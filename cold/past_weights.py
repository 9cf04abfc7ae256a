"""How much each past task counts in a step's objective: its queue over V, a rule for V, or the gauge.

The objective is V * (present loss) + sum_k beta_k * (constraint of task k), or the same divided by V where V follows
from the number of steps, where past tasks are held to their logits, and where forgetting is requested:

    (present loss) + sum_k (beta_k / V) * (constraint of task k)

so that a learning rate means the same for every V.
"""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor, nn

from coldtheory.ground.checks import number

from .config import AUTO
from .constraints import LogitDistance
from .forgetting import CEILING, looks_of
from .gauge import Gauge, RequestedWeight
from .queues import VirtualQueues

_V_PER_ROOT_STEP = 25.0  # V="auto" is this times the root of the steps of a task
_FRESH_DRAWS = 2.0  # so often a stored sample may be drawn during a task before it is as good as known by heart


class PastWeights:
    """The weights of the past tasks; settings and names are those of `cold.COLD`.

    start : where the queue of a task that has just ended starts, or "mean": at the mean of the others
    """

    def __init__(
        self,
        queues: VirtualQueues,
        V: float | str,
        *,
        start: float | str,
        distance: LogitDistance | None,
        requested: RequestedWeight | None,
    ) -> None:
        self.queues, self.requested = queues, requested
        self._start, self._distance = start, distance
        self._auto = V == AUTO
        self.V: float = _V_PER_ROOT_STEP if V == AUTO else number("V", V, above=0)  #: the weight of the present task
        self._normalised = self._auto or distance is not None or requested is not None

    def begin_task(self, past: int, steps: int, drawn: int, stored: int) -> None:
        """Before the first step of a task: its V, and the queue of the task that has just become a past one.

        steps         : of the task before
        drawn, stored : how many memory samples so many steps draw, and how many there are
        """
        if self.requested is not None:
            self.V = 1.0
            self.queues.Q[:past] = self.requested.weight
            return
        if self._auto:
            self.V = _V_PER_ROOT_STEP * math.sqrt(max(steps, 1)) * self._share_of_fresh_draws(drawn, stored)
        if isinstance(self._start, float):
            if self._start:
                self.queues.Q[past - 1] = self._start
        elif past > 1:
            self.queues.Q[past - 1] = self.queues.Q[: past - 1].mean()

    def of(self, past: int, excess: Tensor | None = None) -> Tensor:
        """The weights in the objective, (past,); of distances, with V="auto", none exceeds a ceiling.

        Where training is short, the logits of a task are small when it ends and its distance is large; its queue would
        grow until nothing new is learnt. With classes that come one after the other there is no ceiling.
        """
        beta = self.queues.beta(past, excess)
        if not self._normalised:
            return beta
        beta = beta * (1.0 / self.V)
        by_rule = self._auto and self.requested is None and self._distance is not None
        return beta.clamp(max=CEILING) if by_rule and not self._classes_come else beta

    @property
    def present(self) -> float:
        """The weight of the present task in the objective."""
        return 1.0 if self._normalised else self.V

    @property
    def starts_at_zero(self) -> bool:
        """Whether the queue of a task that has just ended is empty, as in the paper."""
        return self._start == 0.0 and self.requested is None

    def look(self, gauge: Gauge, model: nn.Module, *, past: int, step: int, steps: int, batch: int) -> None:
        """Now and then the requested forgetting is compared with the gauge, and the weight of the past moves.

        step  : the number of this step within its task; `steps`: how many the task before had
        batch : how many samples a step trains on, those of the memory included
        """
        if self.requested is None:
            return
        every, samples = looks_of(steps, batch, past)
        if step % every == 0:
            progress = min(1.0, step / max(steps, 1))
            lost = gauge.forgetting(model, samples)
            self.requested.move(*lost, progress, max(1, steps // every), new_classes=self._classes_come)
            self.queues.Q[:past] = self.requested.weight

    @property
    def _classes_come(self) -> bool:
        """Whether classes come task after task to one head; known where past tasks are held to their logits."""
        return self._distance is not None and self._distance.grows

    def _share_of_fresh_draws(self, drawn: int, stored: int) -> float:
        """A factor of V="auto" where classes come task after task to one head, else 1.

        A sample that is drawn again and again is learnt by heart, and its distance no longer tells how much of the task
        is forgotten. The queue then rises too slowly, which costs most where old classes compete with new ones.
        """
        return min(1.0, _FRESH_DRAWS * stored / max(drawn, 1)) if self._classes_come else 1.0

    def state(self) -> dict[str, Any]:
        """What must be kept for a checkpoint, besides the queues and the requested weight."""
        return {"V": self.V}

    def load(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned; earlier versions did not keep V."""
        self.V = float(state.get("V", self.V))
