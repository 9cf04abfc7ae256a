"""Smooth losses that are not convex, on which every statement can still be computed: sums of cosines.

>>> import numpy as np
>>> from coldtheory.bounds import evaluate
>>> phi = Cosines.of(heights=[[1.0], [2.0]], centres=[[0.0], [1.5]], frequencies=[1.0])
>>> run = descend(phi, w0=[2.0], V=1.0, delta=1e-3, eta=0.2)
>>> evaluate("thm3", "corrected", run).outcome.tolist()
['holds']
"""

from .cosines import Cosines
from .facts import CosineFacts
from .run import descend, minimise_on_grid
from .sets import Box, Points

__all__ = ["Box", "CosineFacts", "Cosines", "Points", "descend", "minimise_on_grid"]
