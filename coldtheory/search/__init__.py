"""Adversarial search: the run on which a statement is tightest, or fails.

>>> from coldtheory.search import search
>>> found = search("lemma1", "printed", rounds=1)
>>> found.best.broken
True
"""

from .challenge import Challenge, Tally, challenge
from .driver import Found, Limits, SearchProgress, search
from .files import save_instance
from .instance import Confirmed
from .plans import Plan, plan_for

__all__ = [
    "Challenge",
    "Confirmed",
    "Found",
    "Limits",
    "Plan",
    "SearchProgress",
    "Tally",
    "challenge",
    "plan_for",
    "save_instance",
    "search",
]
