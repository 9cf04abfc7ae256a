"""GDumb's sampler: a memory whose classes stay as equal as they can be, whatever the stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor


class GreedyBalance:
    """Which class each of `size` slots holds.

    A sample is taken if its class is new or has less than size / (number of classes) slots; in a full
    memory it then takes a random slot of the largest class.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.slots: dict[int, list[int]] = {}  # class -> its slots

    def offer(self, classes: Sequence[int], generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """A stream of samples by their classes; (slots written, which of the samples each of them holds now)."""
        held = sum(map(len, self.slots.values()))
        written: dict[int, int] = {}
        for place, kind in enumerate(classes):
            own = self.slots.get(kind)
            if own is not None and len(own) * len(self.slots) >= self.size:
                continue
            if held < self.size:
                slot, held = held, held + 1
            else:
                largest = max(self.slots.values(), key=len)
                slot = largest.pop(int(torch.randint(len(largest), (), generator=generator)))
            self.slots.setdefault(kind, []).append(slot)
            written[slot] = place
        return torch.tensor(list(written), dtype=torch.int64), torch.tensor(list(written.values()), dtype=torch.int64)

    def state(self) -> dict[str, Any]:
        return {"slots": {kind: list(own) for kind, own in self.slots.items()}}

    def load(self, state: Mapping[str, Any]) -> None:
        self.slots = {int(kind): list(own) for kind, own in state["slots"].items()}
