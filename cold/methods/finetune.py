"""Fine-tuning: the present task alone, no memory."""

from __future__ import annotations

from .base import Method


class FineTune(Method):
    """theta <- theta - eta grad CE(B)."""

    name = "finetune"
    title = "Fine-tune"
    over_processes = True
