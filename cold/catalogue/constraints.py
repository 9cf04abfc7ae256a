"""The values of `--constraint`; `cold.constraints` explains what they mean."""

from __future__ import annotations

from dataclasses import dataclass

from coldtheory.ground.checks import shown
from coldtheory.ground.errors import ColdError

LOSS, LOGITS = "loss", "logits"


@dataclass(frozen=True)
class Constraint:
    """What `--constraint` says; `shift` moves the stored answers towards the labels."""

    name: str
    shift: bool = True

    @property
    def text(self) -> str:
        """
        >>> constraint_of("logits:shift=0").text, constraint_of("logits:shift=1").text
        ('logits:shift=0', 'logits')
        """
        return self.name if self.shift else f"{self.name}:shift=0"


def constraint_of(text: str) -> Constraint:
    """The constraint that a text names: loss, logits or logits:shift=0."""
    known = {"loss": Constraint(LOSS), "logits": Constraint(LOGITS), "logits:shift=1": Constraint(LOGITS),
             "logits:shift=0": Constraint(LOGITS, shift=False)}  # fmt: skip
    if not isinstance(text, str) or text not in known:
        raise ColdError(f"constraint must be loss, logits or logits:shift=0, got {shown(text)}")
    return known[text]
