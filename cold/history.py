"""What happened at every step of your own loop: queues, losses and weights, as a table and as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from coldtheory.ground.checks import whole
from coldtheory.ground.errors import ColdError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_BLOCK = 256  # steps that are noted before they leave the device together
_PER_PAST_TASK = ("Q", "weight", "excess")
_SHOWN = 8  # past tasks that get an entry in the legend of the picture


@dataclass(frozen=True, eq=False)
class Step:
    """One step as `COLD.loss` saw it, before the optimiser moves the model; tensors without a graph, on the device."""

    number: int  #: counts all steps from 1
    task: int  #: the present task, from 0
    loss: Tensor  #: the objective, V * present + sum_k weight_k * (estimate of task k's memory loss)
    present: Tensor  #: mean loss on the batch of the present task
    batch: int  #: samples in that batch
    Q: Tensor  #: (past,), the queues after this step
    weight: Tensor  #: (past,), the weights beta_k of the past tasks in the objective
    excess: Tensor | None  #: (past,), present minus reference loss of the drawn samples; None: not measured


class History:
    """The steps of a run so far; `every` n-th of them is kept, with 0 none.

    Tasks count from 1 in the table and in the picture. Numbers of a task that is not yet past, and an excess that was
    not measured, are NaN.
    """

    def __init__(self, every: int = 1) -> None:
        self.every = whole("history", every, least=0)
        self._blocks: list[dict[str, Any]] = []  # finished: task, at (n,), values (n, 2 + 3 * past)
        self._at: list[int] = []
        self._values: list[Tensor] = []
        self._task = 0

    def __len__(self) -> int:
        return sum(len(block["at"]) for block in self._blocks) + len(self._at)

    def wants(self, number: int) -> bool:
        """Whether step `number` is kept."""
        return bool(self.every) and number % self.every == 0

    def note(self, step: Step) -> None:
        """Keep a step; its numbers stay on the device for a while."""
        if step.task != self._task or len(self._at) == _BLOCK:
            self._close()
            self._task = step.task
        excess = torch.full_like(step.Q, torch.nan) if step.excess is None else step.excess
        self._at.append(step.number)
        self._values.append(torch.cat([torch.stack([step.loss, step.present]), step.Q, step.weight, excess]))

    def columns(self) -> dict[str, NDArray[Any]]:
        """step, task, loss and present, (n,) each; Q, weight and excess, (n, past tasks) each."""
        self._close()
        past = max((block["task"] for block in self._blocks), default=0)
        found: dict[str, list[NDArray[Any]]] = {name: [] for name in ("step", "task", "loss", "present")}
        found |= {name: [] for name in _PER_PAST_TASK}
        for block in self._blocks:
            values, n, k = block["values"].numpy(), len(block["at"]), block["task"]
            found["step"].append(block["at"].numpy())
            found["task"].append(np.full(n, k + 1))
            found["loss"].append(values[:, 0])
            found["present"].append(values[:, 1])
            for i, name in enumerate(_PER_PAST_TASK):
                wide = np.full((n, past), np.nan)
                wide[:, :k] = values[:, 2 + i * k : 2 + (i + 1) * k]
                found[name].append(wide)
        empty = {name: np.zeros((0, past) if name in _PER_PAST_TASK else 0) for name in found}
        return {name: np.concatenate(parts) if parts else empty[name] for name, parts in found.items()}

    def frame(self) -> pd.DataFrame:
        """One row per step: step, task, loss, present, then Q_1, Q_2, ..., weight_1, ..., excess_1, ..."""
        import pandas as pd  # noqa: PLC0415  (nothing else in this package needs it)

        columns = self.columns()
        flat = {name: columns[name] for name in ("step", "task", "loss", "present")}
        for name in _PER_PAST_TASK:
            flat |= {f"{name}_{k + 1}": columns[name][:, k] for k in range(columns[name].shape[1])}
        return pd.DataFrame(flat)

    def _repr_html_(self) -> str:
        """The table, as a notebook shows it."""
        return str(self.frame().to_html(max_rows=20, index=False))

    def draw(self, path: Path | str | None = None) -> Figure:
        """The queues of the past tasks and the loss of the present one over the steps; dotted lines: a new task."""
        if not len(self):
            raise ColdError("there is no step to draw; call loss() first, and give COLD history=1")
        from coldtheory.figures import style  # noqa: PLC0415  (loads matplotlib)

        columns = self.columns()
        step, task = columns["step"], columns["task"]
        firsts = step[1:][np.diff(task) > 0]
        with style.styled():
            figure, axes = style.panels(1, 2, height=3.2, width=style.PAGE, sharex=True)
            upper, lower = axes[:, 0]
            for k, Q in enumerate(columns["Q"].T):
                label = f"task {k + 1}" if k < _SHOWN else None
                upper.plot(step, Q, color=style.PALETTE[k % len(style.PALETTE)], label=label)
            upper.set_ylabel("queue $Q_k$")
            if columns["Q"].shape[1]:
                upper.legend(title="queue of", ncols=2)
            lower.plot(step, columns["present"], color=style.GREY, linewidth=0.8)
            lower.set(xlabel="step", ylabel="loss of the present task")
            for ax in (upper, lower):
                for first in firsts:
                    ax.axvline(first, color=style.GREY, linestyle=":", linewidth=0.8)
            if path is not None:
                figure.savefig(path)
        vars(figure)["_repr_png_"] = lambda: style.picture_bytes(figure, "png")  # what a notebook shows
        return figure

    # ------------------------------------------------------------------------------------------------ keeping

    def _close(self) -> None:
        if self._at:
            values = torch.stack(self._values).double().cpu()
            self._blocks.append({"task": self._task, "at": torch.tensor(self._at), "values": values})
            self._at, self._values = [], []

    def state(self) -> dict[str, Any]:
        """All kept steps, for a checkpoint."""
        self._close()
        return {"blocks": [dict(block) for block in self._blocks]}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        self._at, self._values = [], []
        self._blocks = [dict(block) for block in state["blocks"]]
