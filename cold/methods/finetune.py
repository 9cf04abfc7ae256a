"""Fine-tuning: the present task alone, no memory."""

from __future__ import annotations

from ..catalogue import METHODS
from .base import Method


class FineTune(Method, entry=METHODS["finetune"]):
    """theta <- theta - eta grad CE(B)."""

    over_processes = True
