"""Continual learning as drift-plus-penalty, on tasks where everything can be computed.

>>> import coldtheory as ct
>>> run = ct.simulate(ct.make_tasks("high", seeds=0), V=200.0)
>>> run.w.shape
(151, 25)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .ground.lazy import load_when_asked

if TYPE_CHECKING:
    from .advice import Advice, advise
    from .geometry import Ball
    from .ground.errors import ColdError, DivergenceWarning
    from .memory import memory_error, memory_needed
    from .quadratics import Quadratics
    from .settings import per_run
    from .simulation import Run, largest_stable_eta, simulate
    from .tasks import Tasks, as_tasks, from_optima, from_points, from_regression, make_tasks
else:
    __getattr__ = load_when_asked(
        __name__,
        {
            "advice": ("Advice", "advise"),
            "geometry": ("Ball",),
            "ground.errors": ("ColdError", "DivergenceWarning"),
            "memory": ("memory_error", "memory_needed"),
            "quadratics": ("Quadratics",),
            "settings": ("per_run",),
            "simulation": ("Run", "largest_stable_eta", "simulate"),
            "tasks": ("Tasks", "as_tasks", "from_optima", "from_points", "from_regression", "make_tasks"),
        },
    )

__version__ = "0.1.0"

__all__ = [
    "Advice",
    "Ball",
    "ColdError",
    "DivergenceWarning",
    "Quadratics",
    "Run",
    "Tasks",
    "advise",
    "as_tasks",
    "from_optima",
    "from_points",
    "from_regression",
    "largest_stable_eta",
    "make_tasks",
    "memory_error",
    "memory_needed",
    "per_run",
    "simulate",
]
