"""Smooth losses of your own: functions, their gradients, and a constant for the smoothness.

    phi_t(w) >= 0,   |grad phi_t(w) - grad phi_t(v)| <= L_t |w - v| for all w, v,   t = 1..T

Nothing else is known of them, so no supremum over a set W can be computed. Of the statements in `coldtheory.bounds`
only those about the models apply, such as the forms `trajectory` and `sharp` of Theorem 3. What is declared of a loss
is checked wherever the run goes: a smooth loss differs from its tangent plane by at most L_t |w - v|^2/2, and a wrong
gradient or too small a constant would show there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from ..ground.checks import numbers, whole
from ..ground.errors import ColdError
from ..quadratics import Array

Function = Callable[[Array], object]

_ROUNDING = 1e-9  # share of the losses by which rounding may seem to break the bound on the tangent


@dataclass(frozen=True, eq=False)
class Smooth:
    """T losses of d parameters, the same for all R runs."""

    functions: tuple[Function, ...]  #: w (d,) -> a number
    slopes: tuple[Function, ...]  #: w (d,) -> the gradient, (d,)
    constants: Array  #: L_t, (T,)
    d: int
    convex: bool = False
    R: int = 1

    @staticmethod
    def of(
        functions: Sequence[Function],
        gradients: Sequence[Function],
        smoothness: ArrayLike,
        *,
        d: int,
        convex: bool = False,
    ) -> Smooth:
        """One function and one gradient per task, each of a vector w (d,); `smoothness` is one number for all tasks, or
        one per task.

        >>> import numpy as np
        >>> bowl = Smooth.of([lambda w: 0.5 * w @ w], [lambda w: w], smoothness=1.0, d=2)
        >>> float(bowl.values(np.array([[[3.0, 4.0]]]))[0, 0, 0])
        12.5
        """
        for name, given in (("functions", functions), ("gradients", gradients)):
            if not isinstance(given, Sequence) or not given or not all(map(callable, given)):
                raise ColdError(f"{name} must be a list with one function per task")
        if len(functions) != len(gradients):
            raise ColdError(
                f"there are {len(functions)} functions and {len(gradients)} gradients; give one each per task"
            )
        L = numbers("smoothness", smoothness)
        if L.shape not in ((), (len(functions),)) or not (L > 0).all():
            raise ColdError(f"smoothness must be one number > 0, or {len(functions)} of them, one per task")
        constants = np.broadcast_to(L, (len(functions),)).copy()
        return Smooth(tuple(functions), tuple(gradients), constants, whole("d", d, least=1), convex)

    def for_runs(self, R: int) -> Smooth:
        """The same losses for R runs."""
        return replace(self, R=R)

    @property
    def T(self) -> int:
        """The number of tasks."""
        return len(self.functions)

    @property
    def smoothness(self) -> Array:
        """The constant L (or l) of the paper, the largest of all tasks, (R,)."""
        return np.full(self.R, self.constants.max())

    def values(self, w: Array) -> Array:
        """phi_k(w_s) for every pair, (R, n, d) -> (R, n, T)."""
        found = [[[self.value(k, x) for k in range(self.T)] for x in points] for points in w]
        return np.array(found).reshape(*w.shape[:2], self.T)

    def gradients(self, w: Array) -> Array:
        """grad phi_k(w_s) for every pair: (R, n, d) -> (R, n, T, d)."""
        found = [[[self.slope(k, x) for k in range(self.T)] for x in points] for points in w]
        return np.array(found).reshape(*w.shape[:2], self.T, self.d)

    def gradients_at(self, w: Array) -> Array:
        """grad phi_t(w_t), each loss at its own point: (R, T, d) -> (R, T, d)."""
        return np.array([[self.slope(t, x) for t, x in enumerate(points)] for points in w])

    def rises(self, w: Array, dw: Array) -> Array:
        """phi_k(w + dw) - phi_k(w) for every k: w and dw (R, d) -> (R, T)."""
        return np.asarray((self.values((w + dw)[:, None]) - self.values(w[:, None]))[:, 0])

    def pull(self, w: Array, weights: Array) -> Array:
        """sum_k weights_k grad phi_k(w): w (R, d) and weights (R, T) -> (R, d); losses of weight 0 are not asked."""
        found = np.zeros_like(w)
        for r, k in zip(*np.nonzero(weights), strict=True):
            found[r] += weights[r, k] * self.slope(k, w[r])
        return found

    def check_step(self, tasks: Iterable[int], w: Array, v: Array) -> None:
        """Raises if one of these losses is not as declared, between w and v, (R, d) each."""
        for k, (x, y) in product(tasks, list(zip(w, v, strict=True))):
            if not np.isfinite([x, y]).all():  # a diverged run
                continue
            move, before, after = y - x, self.value(k, x), self.value(k, y)
            off = abs(after - before - float(self.slope(k, x) @ move))
            if off > 0.5 * self.constants[k] * float(move @ move) + _ROUNDING * (before + after):
                raise ColdError(
                    f"the loss of task {k + 1} leaves its tangent faster than smoothness {self.constants[k]:g} allows; "
                    "check its gradient, or give a larger constant"
                )

    def value(self, k: int, w: Array) -> float:
        """phi_k(w); raises `ColdError` if the function returns no number, or a negative one."""
        given = self.functions[k](w)
        try:
            found = float(given)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise ColdError(f"the function of task {k + 1} must return a number, got {type(given).__name__}") from None
        if found < 0:
            raise ColdError(f"the loss of task {k + 1} is {found:.3g}, and losses must be >= 0; add a constant to it")
        return found

    def slope(self, k: int, w: Array) -> Array:
        """grad phi_k(w), (d,); raises `ColdError` if the gradient has another shape."""
        found = numbers(f"the gradient of task {k + 1}", self.slopes[k](w), finite=False, copy=False)
        if found.shape != (self.d,):
            raise ColdError(f"the gradient of task {k + 1} must have shape {(self.d,)}, got {found.shape}")
        return found
