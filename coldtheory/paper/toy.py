"""The settings of the paper's experiment on quadratics (subsec:exp_theoryvalidation).

They are the defaults of the simulator, the sweeps, the figures, the claims and the page; this is the only place where
they are written down.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ToySettings:
    """One setting of the experiment, in the paper's letters."""

    V: float = 200.0  #: weight of the present task's loss; the paper sweeps it, one run takes this value
    eta: float = 4e-4  #: step size
    delta: float = 4e-7  #: tolerance of the queues
    steps: int = 3  #: J, gradient steps per task
    T: int = 150  #: number of tasks
    d: int = 25  #: dimension of the model


TOY = ToySettings()
