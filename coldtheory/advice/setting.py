"""What a user fixes when asking for advice: everything but V."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..ground.errors import DivergenceWarning
from ..paper import TOY
from ..quadratics import Array
from ..settings import Reference, Rule, Solver, Weights
from ..simulation import Run, simulate
from ..tasks import Tasks


@dataclass(frozen=True, eq=False)
class Setting:
    """The arguments of `simulate` that stay the same; names and defaults are its own."""

    eta: float | Literal["auto"] = TOY.eta
    delta: float = TOY.delta
    steps: int = TOY.steps
    reference: Reference | Rule = "previous"
    weights: Weights = "mean"
    solver: Solver = "gd"
    w0: Array | None = None

    def run(self, tasks: Tasks, V: ArrayLike) -> Run:
        """Simulate; a run that diverges is a normal result here and causes no warning."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DivergenceWarning)
            return simulate(tasks, V=V, **vars(self))

    @property
    def fixed_step(self) -> bool:
        """Whether the model moves by gradient steps of one given size."""
        return self.solver == "gd" and not isinstance(self.eta, str)

    def as_json(self) -> dict[str, Any]:
        """The setting as plain values; a reference that is a function becomes "own"."""
        values = asdict(self) | {"reference": self.reference if isinstance(self.reference, str) else "own"}
        return values | {"w0": None if self.w0 is None else np.asarray(self.w0).tolist()}


def significant(value: float, digits: int = 3, *, up: bool | None = None) -> float:
    """A number with few digits: the nearest one, or with `up` the next one above or below.

    >>> significant(0.123456), significant(0.123456, 2, up=True), significant(199.96, up=False)
    (0.123, 0.13, 199.0)
    """
    if not np.isfinite(value) or value == 0:
        return value
    unit = 10.0 ** (np.floor(np.log10(abs(value))) - digits + 1)
    count = value / unit
    whole = (
        np.round(count)
        if up is None or abs(count - np.round(count)) < 1e-9
        else np.ceil(count)
        if up
        else np.floor(count)
    )
    return float(f"{whole * unit:.{digits}g}")
