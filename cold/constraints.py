"""What a past task is held to: its labels, or the answers that the network gave when the task ended.

**Label loss** (`--constraint loss`, the paper's): hatPhi_k is the mean label loss of task k's memory samples, compared
with that of a reference model. The samples are trained on, so that a network which learns them by heart looks as if it
had forgotten nothing.

**Distance of the logits** (`--constraint logits`): when task k ends, each memory sample (x, y) of it keeps the logits z
that the network gives it. With C the number of classes seen until then,

    s_k = mean over samples and classes seen of (z - mean of z over these classes)^2, at least 1
    z*  = z + sqrt(s_k) (onehot(y) - softmax(z))          shifted towards the label; "logits:shift=0" takes z* = z
    D_k = mean over drawn samples of |h - z*|^2 / (C s_k)

and D_k takes the place of hatPhi_k. It is 0 where the network answers z*, and its unit is the spread of the task's own
logits, so that tasks, widths and data sets share one scale. A spread below 1 is that of a network which has hardly
learnt the task: its softmax is nearly flat, and in units of so small a spread every step would be a large distance and
nothing new would be learnt. Nothing has to be measured when a task begins: the reference of D_k is 0. The distance
counts all outputs of the sample's head, also those of classes that came later: were they left out, a class-incremental
network would answer with the newest classes to old samples and pay nothing for it. They have no part in the unit C s_k,
for what a network says of classes it has never seen tells little.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .memory import Draw, Memory

_BATCHES = 512  # whose labels are kept before they are reduced to the different ones
_SMALLEST_SPREAD = 1.0  # s_k is at least this


class LogitDistance:
    """The stored answers of all memory samples, as columns of the memory, and how far the network has left them."""

    def __init__(self, memory: Memory, *, shift: bool = True) -> None:
        self._memory, self._shift = memory, shift
        self._seen: dict[int, Tensor] = {}  # head -> the labels that its tasks have had so far
        self._present: list[Tensor] = []  # labels of the present task, batch by batch: nothing to compute at a step
        self._one_width = True  # whether all heads so far are of one width
        #: whether classes have come, or are to come, to a head that had a task already: class-incremental learning
        self.grows = False

    def see(self, y: Tensor) -> None:
        """Labels of a batch of the present task."""
        self._present.append(y)
        if len(self._present) > _BATCHES:
            self._present = [torch.unique(torch.cat(self._present))]

    def end_task(self, head: int) -> None:
        """The labels of the present task are known from now on at its head."""
        before = [self._seen[head]] if head in self._seen else []
        self._seen[head] = torch.unique(torch.cat([*before, *self._present]))
        self._present = []
        self.grows = self.grows or (bool(before) and len(self._seen[head]) > len(before[0]))

    def store(self, slots: Tensor, head: int, logits: Tensor) -> None:
        """The answers to samples that were just stored, all of one finished task; `slots` is on the device."""
        logits = logits.float()
        seen = self._seen[head]
        self.grows = self.grows or logits.shape[1] > len(seen)
        z = logits[:, seen]
        spread = (z - z.mean(1, keepdim=True)).square().mean().clamp_min(_SMALLEST_SPREAD)
        if self._shift:
            label = functional.one_hot(self._memory.y[slots], logits.shape[1])
            logits = logits + spread.sqrt() * (label - logits.softmax(1))
        target, outputs, unit = self._columns(logits.shape[1])
        target[slots, : logits.shape[1]] = logits
        outputs[slots] = logits.shape[1]
        unit[slots] = 1.0 / (len(seen) * spread)
        self._one_width = self._one_width and logits.shape[1] == target.shape[1]

    def values(self, h: Tensor, draw: Draw) -> Tensor:
        """The distance of each drawn sample from its logits `h`, (n, C) -> (n,); D_k is the mean over task k's."""
        target, outputs, unit = self._columns(0)
        h = h if h.dtype == torch.float64 else h.float()
        width = min(h.shape[1], target.shape[1])  # the present task's head may be wider than all past ones
        kept = target.index_select(0, draw.slots).to(h.dtype)
        if h.shape[1] != target.shape[1]:
            h, kept = h[:, :width], kept[:, :width]
        away = h - kept
        if not self._one_width:  # in the place of what a narrow head lacks
            away = torch.where(torch.arange(width, device=h.device) < outputs[draw.slots][:, None], away, 0.0)
        return away.square().sum(1) * unit.index_select(0, draw.slots).to(h.dtype)

    def _columns(self, width: int) -> tuple[Tensor, Tensor, Tensor]:
        """Targets, (M, widest head so far), the outputs of each sample's head, (M,), and 1/(C s_k), (M,)."""
        memory = self._memory
        target = memory.column("target", width)
        missing = width - target.shape[1]
        if missing > 0:
            target = memory.extra["target"] = functional.pad(target, (0, missing))
            self._one_width = False
        return target, memory.column("outputs"), memory.column("unit")

    def state(self) -> dict[str, Any]:
        present = torch.unique(torch.cat(self._present)) if self._present else None
        seen = {str(head): labels.clone() for head, labels in self._seen.items()}
        return {"seen": seen, "present": present, "one_width": self._one_width, "grows": self.grows}

    def load(self, state: dict[str, Any]) -> None:
        device = self._memory.device
        self._seen = {int(head): seen.to(device) for head, seen in state["seen"].items()}
        self._present = [] if state["present"] is None else [state["present"].to(device)]
        self._one_width = bool(state["one_width"])
        self.grows = bool(state.get("grows", False))  # which earlier versions did not ask
