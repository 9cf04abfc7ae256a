"""Advice for given tasks: which V and which step size, whether queues act, which theorem holds, and what to change.

balance    the V for the next task, and the V for all tasks seen
isometry   few tasks of many parameters in few dimensions
portrait   the numbers that bounds are made of, for given tasks
premises   by how much a premise is missed, and what would meet it
verdicts   every statement on one run
answer     all of it together
page       the same in plain words
text       numbers, tables and pages as text

other      advice that other packages give, such as advice on training runs
"""

from __future__ import annotations

from .answer import Advice, Queues, advise
from .balance import Balance, avg_seen_loss
from .other import advice_on
from .text import Page, Part, Table
from .verdicts import Remedy, Ruling, Verdict

__all__ = [
    "Advice",
    "Balance",
    "Page",
    "Part",
    "Queues",
    "Remedy",
    "Ruling",
    "Table",
    "Verdict",
    "advice_on",
    "advise",
    "avg_seen_loss",
]
