"""Controllers: how the weight of a past task in the objective follows from its constraint.

The constraint of past task k is g_k(x) = hatPhi_k(x) - hatPhi_k(ref_{t,k}) - delta, and it is met where g_k(x) <= 0. A
controller keeps a state per past task, the first part of which is called Q_k, and is made of three pure functions:

    start(g)          the state of a task that has just become a past task; g is its constraint at the present model
    weight(state, g)  the weight of its loss in the objective; g is its constraint before the step
    update(state, g)  the state after the step; g is its constraint at the new model

    queue       weight Q;            Q <- max(Q + g, 0)                                    (eq. queue_update)
    leaky       weight Q;            Q <- max((1 - a) Q + g, 0)
    nupi        weight Q;            xi' = nu xi + (1 - nu) g;  Q <- max(Q + kappa_i g + kappa_p (xi' - xi), 0)
    yu-neely    weight max(Q + g, 0);        Q <- max(-g, Q + g)
    augmented   weight max(Q + c g, 0), with g at the present iterate of the descent;     Q <- max(Q + c g, 0)

Dividing V Phi_t + sum_k Q_k g_k by V shows what the queue is: projected dual ascent with multipliers Q/V and step 1/V.
The others are known remedies for its slowness and its overshooting. The functions use operators and a `maximum` that
the caller passes, so the same lines serve numpy in the simulator and torch in the trainer:

>>> import numpy as np
>>> leaky = Leaky(a=0.5)
>>> leaky.update((np.array([1.0, 4.0]),), np.array([0.25, -3.0]), np.maximum)
(array([0.75, 0.  ]),)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from .ground.checks import choice, number, shown
from .ground.errors import ColdError

Values = Any  # an array or a tensor: one number per past task (and per run)
State = tuple[Values, ...]
Maximum = Callable[[Values, Any], Values]  # of two arrays, or of an array and a number, entry by entry


@dataclass(frozen=True)
class Controller:
    """What all controllers share; see the module's docstring for the formulas."""

    name: ClassVar[str]
    #: at which models the constraint enters the weight: at none, at the model before the step, or at every iterate
    looks: ClassVar[Literal["never", "before", "always"]] = "never"
    _limits: ClassVar[dict[str, tuple[float, float]]] = {}  # parameter -> the closed interval that it must lie in

    def __post_init__(self) -> None:
        for parameter, (low, high) in self._limits.items():
            most = None if math.isinf(high) else high
            given = number(f"{parameter} of the controller {self.name}", getattr(self, parameter), least=low, most=most)
            object.__setattr__(self, parameter, given)

    @property
    def text(self) -> str:
        """The controller as one types it, with all its parameters.

        >>> Leaky().text, Queue().text
        ('leaky:a=0.01', 'queue')
        """
        given = ",".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))
        return f"{self.name}:{given}" if given else self.name

    def start(self, g: Values, maximum: Maximum) -> State:
        """The state of a task that has just become a past task; g is its constraint at the present model."""
        return (0.0 * g,)

    def weight(self, state: State, g: Values, maximum: Maximum) -> Values:
        """The weight of the loss of each past task in the objective; g is the constraint before the step."""
        return state[0]

    def update(self, state: State, g: Values, maximum: Maximum) -> State:
        """The state after the step; g is the constraint at the new model."""
        raise NotImplementedError


@dataclass(frozen=True)
class Queue(Controller):
    """The paper's virtual queue: it adds up how far the constraint is broken."""

    name = "queue"

    def update(self, state: State, g: Values, maximum: Maximum) -> State:
        return (maximum(state[0] + g, 0.0),)


@dataclass(frozen=True)
class Leaky(Controller):
    """A queue that forgets a share `a` of its length at every update; a = 0 is the plain queue."""

    a: float = 0.01

    name = "leaky"
    _limits: ClassVar[dict[str, tuple[float, float]]] = {"a": (0.0, 1.0)}

    def update(self, state: State, g: Values, maximum: Maximum) -> State:
        return (maximum((1.0 - self.a) * state[0] + g, 0.0),)


@dataclass(frozen=True)
class NuPI(Controller):
    """A PI controller: besides adding up g it reacts to the change of xi, the running mean of g with memory `nu`.

    kappa_i = 1 and kappa_p = 0 is the plain queue. xi starts at 0.
    """

    kappa_i: float = 1.0
    kappa_p: float = 1.0
    nu: float = 0.0

    name = "nupi"
    _limits: ClassVar[dict[str, tuple[float, float]]] = {
        "kappa_i": (0.0, math.inf),
        "kappa_p": (0.0, math.inf),
        "nu": (0.0, 1.0),
    }

    def start(self, g: Values, maximum: Maximum) -> State:
        return (0.0 * g, 0.0 * g)

    def update(self, state: State, g: Values, maximum: Maximum) -> State:
        Q, xi = state
        ahead = self.nu * xi + (1.0 - self.nu) * g
        return (maximum(Q + self.kappa_i * g + self.kappa_p * (ahead - xi), 0.0), ahead)


@dataclass(frozen=True)
class YuNeely(Controller):
    """Yu and Neely's queue: the weight looks one constraint ahead, and the queue never falls below -g.

    With a fixed reference (Case 3) Q + g is never negative, so the weight needs no maximum there.
    """

    name = "yu-neely"
    looks = "before"

    def start(self, g: Values, maximum: Maximum) -> State:
        return (maximum(-g, 0.0),)

    def weight(self, state: State, g: Values, maximum: Maximum) -> Values:
        return maximum(state[0] + g, 0.0)

    def update(self, state: State, g: Values, maximum: Maximum) -> State:
        return (maximum(state[0] + g, -g),)


@dataclass(frozen=True)
class Augmented(Controller):
    """The augmented Lagrangian of penalty `c`: its gradient weighs each loss by max(Q + c g, 0) at the iterate."""

    c: float = 1.0

    name = "augmented"
    looks = "always"
    _limits: ClassVar[dict[str, tuple[float, float]]] = {"c": (0.0, math.inf)}

    def weight(self, state: State, g: Values, maximum: Maximum) -> Values:
        return maximum(state[0] + self.c * g, 0.0)

    def update(self, state: State, g: Values, maximum: Maximum) -> State:
        return (maximum(state[0] + self.c * g, 0.0),)


CONTROLLERS: dict[str, type[Controller]] = {kind.name: kind for kind in (Queue, Leaky, NuPI, YuNeely, Augmented)}


def controller_of(given: Controller | str | None) -> Controller:
    """The controller that a text names, such as `leaky:a=0.1`; None is the plain queue.

    >>> controller_of("nupi:kappa_p=2")
    NuPI(kappa_i=1.0, kappa_p=2.0, nu=0.0)
    """
    if given is None:
        return Queue()
    if isinstance(given, Controller):
        return given
    if not isinstance(given, str):
        raise ColdError(f"controller must be a text such as 'leaky:a=0.1' or a Controller, got {shown(given)}")
    name, _, rest = given.partition(":")
    kind = CONTROLLERS[choice("controller", name, CONTROLLERS)]
    known = [field.name for field in fields(kind)]
    parameters: dict[str, float] = {}
    for part in rest.split(",") if rest else ():
        key, _, value = part.partition("=")
        choice(f"parameter of the controller {name}", key, known or ["none"])
        try:
            parameters[key] = float(value)
        except ValueError:
            raise ColdError(f"cannot read the controller {shown(given)}: give NAME:key=number,...") from None
    return kind(**parameters)
