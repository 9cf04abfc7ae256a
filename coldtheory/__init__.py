"""Continual learning as drift-plus-penalty, on tasks where everything can be computed.

>>> import coldtheory as ct
>>> run = ct.simulate(ct.make_tasks("high", seeds=0), V=200.0)
>>> run.w.shape
(151, 25)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .advice import Advice, advise
    from .geometry import Ball
    from .ground.errors import ColdError, DivergenceWarning
    from .memory import memory_error, memory_needed
    from .quadratics import Quadratics
    from .settings import per_run
    from .simulation import Run, largest_stable_eta, simulate
    from .tasks import Tasks, as_tasks, from_optima, from_points, from_regression, make_tasks

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

_HOME = {
    "Advice": "advice",
    "Ball": "geometry",
    "ColdError": "ground.errors",
    "DivergenceWarning": "ground.errors",
    "Quadratics": "quadratics",
    "Run": "simulation",
    "Tasks": "tasks",
    "advise": "advice",
    "as_tasks": "tasks",
    "from_optima": "tasks",
    "from_points": "tasks",
    "from_regression": "tasks",
    "largest_stable_eta": "simulation",
    "make_tasks": "tasks",
    "memory_error": "memory",
    "memory_needed": "memory",
    "per_run": "settings",
    "simulate": "simulation",
}


def __getattr__(name: str) -> Any:
    """Loaded when asked for: the shared ground and the paper's numbers load without the simulator."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = found
    return found
