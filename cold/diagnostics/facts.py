"""A measured run as `coldtheory.bounds` sees it, and the statements evaluated on it.

Two things differ from runs on quadratics. L and l are the largest curvatures that were met, not suprema over W, so the
premise on the step size is checked with estimates. And a cross-entropy has no finite minimiser from which a distance r
could be measured; the proofs use r only through l r^2/2 >= hatPhi_k(x_s) - hatPhi_k(x_t), and since losses are >= 0
the largest memory loss of the run serves as l r^2/2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coldtheory.bounds import evaluate
from coldtheory.bounds.base import Bound
from coldtheory.bounds.facts import Facts, Reading

from .measures import Measures, Setting

Array = NDArray[np.float64]

#: Statement and form, as `coldtheory.bounds` names them: those that need no set W.
STATEMENTS = (
    ("thm3", "trajectory"), ("thm3_sharp", "corrected"), ("thm4", "trajectory"), ("lindley", "corrected"),
    ("forgetting", "queues"),
)  # fmt: skip
#: Statements that hold for every tolerance.
_ANY_DELTA = ("forgetting",)


@dataclass(frozen=True)
class Verdict:
    """One statement on one run."""

    bound: Bound
    rounding: float  #: relative error of the run's numbers

    @property
    def failing(self) -> list[str]:
        """The premises that the run does not meet."""
        return [name for name, met in self.bound.assumptions.items() if not bool(met)]

    @property
    def outcome(self) -> str:
        """ "holds", "violated" or "not applicable"."""
        if not bool(self.bound.applicable):
            return "not applicable"
        close = self.bound.lhs <= self.bound.rhs + self.rounding * self.bound.scale
        return "holds" if bool(np.all(close)) else "violated"

    def as_json(self) -> dict[str, Any]:
        """The verdict as plain values: both sides and terms where it applies, else the premises that fail."""
        about = {"statement": self.bound.id, "form": self.bound.form, "label": self.bound.label}
        if self.outcome == "not applicable":
            return {**about, "outcome": self.outcome, "failing_premises": self.failing or ["both sides are numbers"]}
        worst = self.bound.worst()
        terms = {name: float(term) for name, term in worst.terms.items()}
        return {**about, "outcome": self.outcome, "lhs": float(worst.lhs), "rhs": float(worst.rhs), "terms": terms}


class MeasuredFacts(Facts):
    """The numbers of one run that the statements of `STATEMENTS` ask for; no leading axes."""

    def __init__(self, measures: Measures, setting: Setting) -> None:
        self.T, self.lead = measures.T, ()
        self.reference, self.controller = setting.reference, setting.controller
        self.weights = setting.weights if setting.has_queues else "none"
        self.solver = "gd" if setting.gradient_descent else "prescribed"
        self.projected, self.noisy, self.convex = False, not setting.full_batch, False
        self.V, self.delta, self.steps = np.asarray(setting.V), np.asarray(setting.delta), np.asarray(setting.steps)
        self.L, self.l = np.asarray(measures.L), np.asarray(measures.l)
        self.eta = np.full(self.T, setting.eta)
        self.alpha, self.Q, self.Qbar, self.Delta = measures.alpha, measures.Q, measures.Qbar, measures.Delta
        self.bounded = np.asarray(np.isfinite(measures.phi_after).all())
        d = np.where(np.tri(self.T, k=-1, dtype=bool), measures.d, 0.0)
        self.cross = (self.Q[:-1] * d).sum(axis=-1)
        squares = np.square(self.Q).sum(axis=-1)
        self.lyapunov = np.concatenate([squares[:1], squares[1:] / (2.0 * self.past)])
        self.grad_sq_before, self.grad_sq_after = measures.grad_sq_before, measures.grad_sq_after
        self.phi_before, self.phi_after = measures.phi_before, measures.phi_after
        self.hat, self.hat_ref = np.nan_to_num(measures.hat), np.nan_to_num(measures.reference)
        self.conflict = np.nansum(self.beta * np.maximum(-measures.products, 0.0), axis=-1)
        highest = max(float(self.hat.max()), 0.0)
        self.r_models = np.sqrt(2.0 * highest / self.l) if float(self.l) > 0 else np.asarray(0.0)
        self._variation, self._rho = measures.variation, measures.rho_minus

    def variation(self, reading: Reading) -> Array:
        return self._variation

    def rho(self, reading: Reading) -> Array:
        return self._rho


def verdicts(measures: Measures, setting: Setting) -> list[Verdict]:
    """Every statement, with the premises that only a real run can fail."""
    facts = MeasuredFacts(measures, setting)
    more = {
        "the method has queues": setting.has_queues,
        "queue per task": setting.queue_per_task,
        "memory samples stay": setting.memory_stays,
        "constraint on the label loss": setting.on_label_loss,
        "queues start at 0": setting.starts_at_zero,
    }
    found = []
    for id_, form in STATEMENTS:
        bound = evaluate(id_, form, facts)
        asked = more if id_ in _ANY_DELTA else {**more, "delta > 0": setting.delta > 0}
        named: Mapping[str, Any] = {**{name: np.asarray(met) for name, met in asked.items()}, **bound.assumptions}
        if any("alpha" in premise for premise in named):
            named = {**named, "curvature was measured": np.asarray(np.isfinite(measures.alpha).all())}
        found.append(Verdict(replace(bound, assumptions=named), setting.rounding))
    return found


def report(measures: Measures, setting: Setting) -> dict[str, Any]:
    """All numbers of a run: averages, their terms per task, and every statement."""
    return {
        **measures.numbers(),
        "per_task": {name: _plain(values) for name, values in measures.per_task().items()},
        "bounds": [verdict.as_json() for verdict in verdicts(measures, setting)],
    }


def _plain(values: Array) -> list[float | None]:
    return [float(x) if np.isfinite(x) else None for x in values]
