"""Continual learning as drift-plus-penalty, on tasks where everything can be computed.

>>> import coldtheory as ct
>>> run = ct.simulate(ct.make_tasks("high", seeds=0), V=200.0)
>>> run.w.shape
(151, 25)
"""

from .errors import ColdError, DivergenceWarning
from .geometry import Ball
from .quadratics import Quadratics
from .simulate import Run, largest_stable_eta, simulate
from .tasks import Tasks, as_tasks, from_optima, from_points, from_regression, make_tasks

__version__ = "0.1.0"

__all__ = [
    "Ball",
    "ColdError",
    "DivergenceWarning",
    "Quadratics",
    "Run",
    "Tasks",
    "as_tasks",
    "from_optima",
    "from_points",
    "from_regression",
    "largest_stable_eta",
    "make_tasks",
    "simulate",
]
