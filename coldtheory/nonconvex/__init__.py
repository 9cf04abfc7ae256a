"""Losses that are not quadratic, on which statements can still be computed: sums of cosines, and losses of your own.

Sums of cosines are smooth and not convex, and have closed forms for all that the theorems ask:

>>> import numpy as np
>>> from coldtheory.bounds import evaluate
>>> phi = Cosines.of(heights=[[1.0], [2.0]], centres=[[0.0], [1.5]], frequencies=[1.0])
>>> run = descend(phi, w0=[2.0], V=1.0, delta=1e-3, eta=0.2)
>>> evaluate("thm3", "corrected", run).outcome.tolist()
['holds']

Any smooth functions with their gradients and a constant of smoothness can be used, too. No supremum of these over a set
W is known, so only the statements about the models alone apply:

>>> targets = [0.0, 1.5, -1.0]
>>> losses = [lambda w, a=a: float(np.log(np.cosh(w - a)).sum()) for a in targets]
>>> slopes = [lambda w, a=a: np.tanh(w - a) for a in targets]
>>> run = descend(Smooth.of(losses, slopes, smoothness=1.0, d=1), w0=[2.0], V=[1.0, 4.0], delta=1e-3, eta=0.2)
>>> evaluate("thm3", "trajectory", run).outcome.tolist(), evaluate("thm3", "corrected", run).outcome.tolist()
(['holds', 'holds'], ['not applicable', 'not applicable'])
"""

from .cosines import Cosines
from .facts import CosineFacts
from .run import descend, minimise_on_grid
from .sets import Box, Points
from .smooth import Smooth
from .trace import SmoothFacts

__all__ = ["Box", "CosineFacts", "Cosines", "Points", "Smooth", "SmoothFacts", "descend", "minimise_on_grid"]
