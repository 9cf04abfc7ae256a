"""Stored runs, made again from their own records."""

from .again import Again, run_again

__all__ = ["Again", "run_again"]
