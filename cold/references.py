"""Whose loss a past task is compared with: the previous model's (COLD), the best past model's (COLD-ORACLE), or that
of the model at the end of that task, for ever (Case 3).

No second model is needed while a task is trained: each memory sample's reference loss is kept as a number, which is
refreshed when a task starts. Models count from 0: model j is the one after task j. At the start of task t, for the
memory of each task k < t:

    previous     model t-1
    exact        the model of 0..t-1 with the smallest mean loss on that memory; all weights are kept, on the CPU
    window:N     the same among the last N models
    stored       model k, so the queues count forgetting as the field defines it: each sample's loss is measured once,
                 when its task has just ended. The remark on streaming holds here too.
    streaming    the smallest mean loss since the memory was stored, that is among models k..t-1: O(t) numbers, no
                 weights. Where a forward shares statistics or is augmented, the kept number was measured beside the
                 samples of the task of that time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from coldtheory.ground.checks import shown
from coldtheory.ground.errors import ColdError

from .config import check_setting
from .memory import Memory

State = dict[str, Tensor]
Measure = Callable[[State | None], Tensor]  # a model's weights (None: the present ones) -> losses of all memory samples


_DIGITS = 9  # of the number of models in a window


class Previous:
    """Case 1: the model with which the task starts."""

    def refresh(self, memory: Memory, past: int, model: nn.Module, measure: Measure) -> Tensor:
        """Write every memory sample's reference loss; which model each past task is compared with, (past,)."""
        slots = memory.everything(past).to(memory.device)
        memory.reference[slots] = measure(None).to(memory.reference.dtype)
        return torch.full((past,), past - 1)

    def state(self) -> dict[str, Any]:
        """What must be kept for a checkpoint; here nothing."""
        return {}

    def load(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned."""
        pass


class Best(Previous):
    """Case 2: among all past models, or the last `window` of them."""

    def __init__(self, window: int | None = None) -> None:
        self.window = window
        self.models: dict[int, State] = {}

    def refresh(self, memory: Memory, past: int, model: nn.Module, measure: Measure) -> Tensor:
        self.models[past - 1] = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
        if self.window is not None:
            self.models = {j: weights for j, weights in self.models.items() if j >= past - self.window}
        slots = memory.everything(past)
        there = slots.to(memory.device)
        owner = memory.owner[slots].to(memory.device)
        best = torch.full((past,), torch.inf, device=memory.device)
        choice = torch.full((past,), -1)
        for j in sorted(self.models, reverse=True):  # of equals the newest
            losses = measure(None if j == past - 1 else self.models[j]).to(memory.reference.dtype)
            means = memory.task_means(slots, losses, past)
            better = means < best
            best = torch.where(better, means, best)
            choice[better.cpu()] = j
            memory.reference[there] = torch.where(better[owner], losses, memory.reference[there])
        return choice

    def state(self) -> dict[str, Any]:
        return {"models": dict(self.models)}

    def load(self, state: dict[str, Any]) -> None:
        self.models = dict(state["models"])


class Streaming(Previous):
    """Case 2 without stored weights: a running best per task."""

    def __init__(self, tasks: int, device: torch.device | str = "cpu") -> None:
        self.best = torch.full((tasks,), torch.inf, device=device)  # smallest mean loss so far
        self.choice = torch.full((tasks,), -1)

    def refresh(self, memory: Memory, past: int, model: nn.Module, measure: Measure) -> Tensor:
        slots = memory.everything(past)
        there = slots.to(memory.device)
        losses = measure(None).to(memory.reference.dtype)
        means = memory.task_means(slots, losses, past)
        better = means < self.best[:past]
        self.best[:past] = torch.where(better, means, self.best[:past])
        self.choice[:past][better.cpu()] = past - 1
        memory.reference[there] = torch.where(
            better[memory.owner[slots].to(memory.device)], losses, memory.reference[there]
        )
        return self.choice[:past].clone()

    def state(self) -> dict[str, Any]:
        return {"best": self.best.clone(), "choice": self.choice.clone()}

    def load(self, state: dict[str, Any]) -> None:
        self.best = state["best"].to(self.best.device)
        self.choice = state["choice"].cpu()


class Stored(Previous):
    """Case 3: the model at the end of the past task. Samples of the newest past task are measured, the others stay."""

    def refresh(self, memory: Memory, past: int, model: nn.Module, measure: Measure) -> Tensor:
        slots = memory.everything(past)
        new = (memory.owner[slots] == past - 1).to(memory.device)
        there = slots.to(memory.device)
        losses = measure(None).to(memory.reference.dtype)
        memory.reference[there] = torch.where(new, losses, memory.reference[there])
        return torch.arange(past)


def compared(reference: str | None, oracle: str | None, *, by_logits: bool) -> str:
    """The name of the reference that is meant where one setting or both are left out."""
    if oracle is not None and not isinstance(oracle, str):
        raise ColdError(f"oracle must be exact, streaming or window:N, got {shown(oracle)}")
    if not by_logits:
        return reference or ("previous" if oracle is None else "best")
    if reference not in (None, "stored") or oracle is not None:
        raise ColdError('constraint="logits" compares with the stored answers; leave reference and oracle out')
    return "stored"


def reference_of(reference: str, oracle: str, memory: Memory) -> Previous:
    """The reference that `--reference` names; `--oracle` says how the best is found."""
    check_setting("reference", reference)
    if reference == "best":
        return oracle_reference(oracle, memory)
    return Stored() if reference == "stored" else Previous()


def oracle_reference(text: str, memory: Memory) -> Previous:
    """The reference that `--oracle` names: exact, window:N or streaming."""
    if text == "exact":
        return Best()
    if text == "streaming":
        if memory.policy != "uniform":
            raise ColdError("--oracle streaming needs a memory that never changes; take the uniform memory policy")
        if memory.grows:
            raise ColdError("the streaming oracle needs a memory that never changes; say how many tasks= will come")
        return Streaming(memory.tasks, memory.device)
    if not isinstance(text, str):
        raise ColdError(f"oracle must be exact, streaming or window:N, got {text!r}")
    kind, _, number = text.partition(":")
    if kind == "window" and number.isdecimal() and len(number) <= _DIGITS and int(number) > 0:
        return Best(int(number))
    raise ColdError(f"cannot read --oracle {text!r}: give exact, streaming or window:N with N >= 1")
