"""Held against the real Cooper: the queue as a dual optimiser, and Cooper's rules as controllers, to 1e-6."""

from __future__ import annotations

import pytest
import torch

cooper = pytest.importorskip("cooper", reason="needs Cooper: pip install 'cold-continual[cooper]'")

from cold import COLD, VirtualQueues  # noqa: E402
from cold.adapters.cooper import CooperAugmented, CooperNuPI, QueueAscent  # noqa: E402
from coldtheory.controllers import controller_of  # noqa: E402
from coldtheory.ground.errors import ColdError  # noqa: E402

OPTIMA = torch.tensor([[2.0, 0.0], [-1.0, 1.5], [0.0, -2.0]])  # the present task, then two past ones
DELTA, V, LR, STEPS = 0.1, 5.0, 0.02, 200


def losses(w: torch.Tensor) -> torch.Tensor:
    return 0.5 * (w - OPTIMA.to(w.dtype)).square().sum(1)


def violations(w: torch.Tensor) -> torch.Tensor:
    """Of the past tasks, compared with the model that the task starts from, w = 0."""
    return losses(w)[1:] - losses(torch.zeros(2, dtype=w.dtype))[1:] - DELTA


class Toy(cooper.ConstrainedMinimizationProblem):
    """The present task's loss, weighted by `scale`, under the constraints that no past task gets worse."""

    def __init__(self, w: torch.Tensor, scale: float, formulation=None, penalty=None) -> None:
        super().__init__()
        self.w, self.scale = w, scale
        multiplier = cooper.multipliers.DenseMultiplier(num_constraints=2, dtype=w.dtype)
        self.constraint = cooper.Constraint(
            constraint_type=cooper.ConstraintType.INEQUALITY, multiplier=multiplier, penalty_coefficient=penalty,
            formulation_type=formulation or cooper.formulations.Lagrangian,
        )  # fmt: skip

    def compute_cmp_state(self) -> cooper.CMPState:
        state = cooper.ConstraintState(violation=violations(self.w))
        return cooper.CMPState(loss=self.scale * losses(self.w)[0], observed_constraints={self.constraint: state})


def cooper_path(scale: float, make_dual, lr: float, **formulation) -> tuple[torch.Tensor, torch.Tensor]:
    """Model and multipliers after every step of Cooper's simultaneous optimiser: (steps, 2) each."""
    w = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    toy = Toy(w, scale, **formulation)
    optimizer = cooper.optim.SimultaneousOptimizer(
        cmp=toy, primal_optimizers=torch.optim.SGD([w], lr=lr), dual_optimizers=make_dual(toy.dual_parameters())
    )
    models, multipliers = [], []
    for _ in range(STEPS):
        optimizer.roll()
        models.append(w.detach().clone())
        multipliers.append(toy.constraint.multiplier().detach().clone())
    return torch.stack(models), torch.stack(multipliers)


def cold_path(controller) -> tuple[torch.Tensor, torch.Tensor]:
    """Model and queues after every step on V * present loss + sum_k weight_k * violation_k."""
    w = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    queues = VirtualQueues(2, delta=0.0, controller=controller, dtype=torch.float64)
    models, kept = [], []
    for _ in range(STEPS):
        g = violations(w)
        weight = queues.beta(2, g.detach()).clone()
        (gradient,) = torch.autograd.grad(V * losses(w)[0] + weight @ g, w)
        queues.update(g.detach())
        with torch.no_grad():
            w -= LR * gradient
        models.append(w.detach().clone())
        kept.append(queues.Q.clone())
    return torch.stack(models), torch.stack(kept)


def close(left: tuple[torch.Tensor, ...], right: tuple[torch.Tensor, ...]) -> None:
    for a, b in zip(left, right, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-6)


@pytest.mark.parametrize("controller", ["queue", "leaky:a=0.05", "nupi:kappa_p=2,nu=0.3"])
def test_the_queue_is_a_dual_optimiser_of_cooper(controller):
    """On V f + Q g with V = 1 in the optimiser; and, divided by V, on f + (Q/V) g with the step V * LR."""
    models, queues = cold_path(controller)
    assert queues.max() > 0.5  # the constraints bind
    close(cooper_path(V, lambda p: QueueAscent(p, controller=controller), LR), (models, queues))
    close(cooper_path(1.0, lambda p: QueueAscent(p, V=V, controller=controller), V * LR), (models, queues / V))


def test_the_plain_queue_is_projected_ascent_of_step_one():
    close(cooper_path(V, lambda p: torch.optim.SGD(p, lr=1.0, maximize=True), LR), cold_path("queue"))


def test_nupi_of_cooper_is_nupi_of_cold():
    ours, theirs = "nupi:kappa_i=0.7,kappa_p=2,nu=0.3", CooperNuPI(Ki=0.7, Kp=2.0, ema_nu=0.3)
    close(cold_path(theirs), cold_path(ours))
    rule = lambda p: cooper.optim.nuPI(p, lr=1.0, Ki=0.7, Kp=2.0, ema_nu=0.3, maximize=True,  # noqa: E731
                                       init_type=cooper.optim.nuPIInitType.ZEROS)  # fmt: skip
    close(cold_path(theirs), cooper_path(V, rule, LR))


def test_augmented_lagrangian_of_cooper_is_that_of_cold():
    close(cold_path(CooperAugmented(c=0.5)), cold_path("augmented:c=0.5"))
    models, multipliers = cooper_path(
        V, lambda p: torch.optim.SGD(p, lr=0.5, maximize=True), LR,
        formulation=cooper.formulations.AugmentedLagrangian,
        penalty=cooper.penalty_coefficients.DensePenaltyCoefficient(torch.tensor(0.5, dtype=torch.float64)),
    )  # fmt: skip
    close(cold_path(CooperAugmented(c=0.5)), (models, multipliers))


@pytest.mark.parametrize(("theirs", "ours"), [
    (CooperNuPI(Kp=1.5), "nupi:kappa_p=1.5"),
    (CooperNuPI(Kp=0.0), "queue"),
    (CooperAugmented(c=0.3), "augmented:c=0.3"),
])  # fmt: skip
def test_rules_of_cooper_train_as_those_of_cold(theirs, ours):
    def trained(controller) -> tuple[torch.Tensor, torch.Tensor]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).double()
        dpp = COLD(V=1.0, delta=0.0, memory=20, memory_batch=3, controller=controller, dtype=torch.float64)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            x = torch.randn(30, 4, dtype=torch.float64)
            y = (x @ torch.randn(4, dtype=torch.float64) > 0).long()
            dpp.begin_task(model, x, y)
            for rows in torch.arange(30).repeat(3).split(10):
                optimizer.zero_grad()
                dpp.loss(model, x[rows], y[rows]).backward()
                optimizer.step()
            dpp.end_task(model)
        return torch.cat([p.detach().flatten() for p in model.parameters()]), dpp.queues.Q

    with torch.random.fork_rng():
        close(trained(theirs), trained(ours))


def test_a_rule_that_is_no_optimiser_is_told():
    with pytest.raises(ColdError, match="augmented is not a dual optimiser; take queue, leaky or nupi"):
        QueueAscent([torch.zeros(2, requires_grad=True)], controller="augmented")
    assert controller_of(CooperNuPI()).text.startswith("cooper-nupi:lr=1.0")
