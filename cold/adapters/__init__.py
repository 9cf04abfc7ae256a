"""COLD inside other frameworks; each module needs its own extra.

avalanche   a plug-in for Avalanche's strategies, with metrics for its loggers
cooper      queues as a dual optimiser of Cooper, and Cooper's rules as controllers of `cold.COLD`
lightning   a callback for Lightning
mammoth     a single file to be copied into Mammoth's folder `models`
"""

from __future__ import annotations

from coldtheory.ground.errors import ColdError


class MissingExtra(ColdError, ImportError):
    """The framework of an adapter is not installed."""

    def __init__(self, extra: str) -> None:
        super().__init__(f"{extra} is not installed; pip install 'cold-continual[{extra}]'")
