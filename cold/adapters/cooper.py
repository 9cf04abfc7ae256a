"""COLD and Cooper, a library for constrained deep learning, in each other's terms.

The queue is projected dual ascent: with the multipliers lambda = Q / V of the constraints g_k <= 0,

    Q_k <- max(Q_k + g_k, 0)     is     lambda_k <- max(lambda_k + g_k / V, 0),

so a constrained problem of Cooper runs with the queue, or with the leaky queue or nuPI of `coldtheory.controllers`, by

    dual = QueueAscent(multiplier.parameters(), V=20.0, controller="leaky:a=0.1")
    cooper.optim.SimultaneousOptimizer(cmp=problem, primal_optimizers=primal, dual_optimizers=dual)

The other way round, two rules of Cooper are controllers of `cold.COLD`, computed by Cooper itself:

    cold.COLD(V=20.0, delta=0.0, memory=60, controller=CooperNuPI(Kp=2.0))
    cold.COLD(V=20.0, delta=0.0, memory=60, controller=CooperAugmented(c=0.5))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from coldtheory.controllers import Controller, Maximum, State, Values, controller_of
from coldtheory.ground.checks import number
from coldtheory.ground.errors import ColdError

from ..queues import maximum as larger
from . import MissingExtra

try:
    import cooper
except ImportError:
    raise MissingExtra("cooper") from None


class QueueAscent(torch.optim.Optimizer):
    """A dual optimiser whose multipliers are queues over V: each step moves them by their violation.

    controller : "queue", "leaky:a=..." or "nupi:..."; a rule whose weight depends on the violation of the same step is
                 a formulation in Cooper, not an optimiser: take `cooper.formulations.AugmentedLagrangian`
    """

    def __init__(self, params: Iterable[Tensor], *, V: float = 1.0, controller: Controller | str | None = None) -> None:
        self.controller = controller_of(controller)
        if self.controller.looks != "never":
            raise ColdError(
                f"the controller {self.controller.name} is not a dual optimiser; take queue, leaky or nupi, or "
                "Cooper's AugmentedLagrangian"
            )
        super().__init__(params, {"V": number("V", V, above=0), "maximize": True})  # Cooper asks for "maximize"

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Move every multiplier by its violation, which Cooper has stored as its gradient."""
        for group in self.param_groups:
            V = group["V"]
            for multiplier in group["params"]:
                if multiplier.grad is None:
                    continue
                kept = self.state[multiplier]
                if not kept:
                    kept["more"] = list(self.controller.start(multiplier.grad, larger)[1:])
                Q, *more = self.controller.update((V * multiplier, *kept["more"]), multiplier.grad, larger)
                multiplier.copy_(Q / V)
                kept["more"] = more


@dataclass(frozen=True)
class CooperNuPI(Controller):
    """Cooper's nuPI optimiser as the rule of the queues; parameters as Cooper names them."""

    lr: float = 1.0
    Kp: float = 1.0
    Ki: float = 1.0
    ema_nu: float = 0.0

    name = "cooper-nupi"
    _limits: ClassVar[dict[str, tuple[float, float]]] = {
        "lr": (0.0, math.inf), "Kp": (0.0, math.inf), "Ki": (0.0, math.inf), "ema_nu": (0.0, math.nextafter(1.0, 0.0)),
    }  # fmt: skip

    def start(self, g: Values, maximum: Maximum) -> State:
        return (0.0 * g, 0.0 * g)

    def update(self, state: State, g: Values, maximum: Maximum) -> State:
        multiplier = _multiplier(state[0])
        ascent = cooper.optim.nuPI(
            multiplier.parameters(), lr=self.lr, Kp=self.Kp, Ki=self.Ki, ema_nu=self.ema_nu,
            init_type=cooper.optim.nuPIInitType.ZEROS, maximize=True,
        )  # fmt: skip
        ascent.state[multiplier.weight]["xi"] = state[1].clone()
        return (_moved(multiplier, ascent, g), ascent.state[multiplier.weight]["xi"])


@dataclass(frozen=True)
class CooperAugmented(Controller):
    """Cooper's augmented Lagrangian of penalty `c`: its gradient is the weight; ascent of step `c` moves the queue."""

    c: float = 1.0

    name = "cooper-augmented"
    looks = "always"
    _limits: ClassVar[dict[str, tuple[float, float]]] = {"c": (1e-12, math.inf)}

    def weight(self, state: State, g: Values, maximum: Maximum) -> Values:
        rule = cooper.formulations.AugmentedLagrangian(cooper.ConstraintType.INEQUALITY)
        with torch.enable_grad():
            violation = g.detach().clone().requires_grad_()
            penalty = cooper.penalty_coefficients.DensePenaltyCoefficient(torch.full_like(g, self.c))
            found = rule.compute_contribution_to_primal_lagrangian(
                cooper.ConstraintState(violation), _multiplier(state[0]), penalty
            )
            return torch.autograd.grad(found.lagrangian_contribution, violation)[0]

    def update(self, state: State, g: Values, maximum: Maximum) -> State:
        multiplier = _multiplier(state[0])
        return (_moved(multiplier, torch.optim.SGD(multiplier.parameters(), lr=self.c, maximize=True), g),)


def _multiplier(Q: Tensor) -> Any:
    multiplier = cooper.multipliers.DenseMultiplier(init=Q.detach().clone(), device=Q.device, dtype=Q.dtype)
    multiplier.set_constraint_type(cooper.ConstraintType.INEQUALITY)
    return multiplier


def _moved(multiplier: Any, ascent: torch.optim.Optimizer, g: Tensor) -> Tensor:
    """The multiplier after Cooper's step and projection."""
    multiplier.weight.grad = g.detach().clone()
    ascent.step()
    multiplier.post_step_()
    moved: Tensor = multiplier.weight.detach()
    return moved
