"""Where to look for each statement's worst case: the family of runs that is searched, and good defaults for it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any, Literal, get_args

from ..bounds import Statement, find_statement
from ..bounds.own import LABEL
from ..controllers import CONTROLLERS, controller_of
from ..ground.checks import choice, number, shown, whole
from ..ground.errors import ColdError
from ..settings import Reference, Solver, Weights

Hessians = Literal["identity", "scalar", "psd"]
Moves = Literal["no", "up", "down", "any"]
EtaRule = Literal["constant", "auto"]

_LARGEST_T, _LARGEST_D = 60, 8
MAIN_FORMS = ("corrected", "proved")  #: names of the form of a statement that is true


@dataclass(frozen=True)
class Plan:
    """A family of runs. Optima, curvatures, memory, x_0, V, its moves, delta, delta', eta and the size of the noise are
    searched within it."""

    T: tuple[int, int] = (3, 3)  #: first and last number of tasks; every restart takes the next one
    d: int = 1
    blocks: int | None = None  #: so many blocks of equal tasks, their lengths searched; None: every task its own
    reference: Reference = "previous"
    weights: Weights = "mean"
    solver: Solver = "gd"
    hessians: Hessians = "identity"
    memory: bool = False  #: whether the memory's losses may differ from the tasks'
    steps: int = 1
    step_limit: float = 1.0  #: eta alpha_t stays at or below this
    printed_alpha: bool = False  #: the limit is for V L + l Qbar[t-1], whatever the weights
    ideal: bool = False  #: the statement compares with eq. ideal_cl, so delta and delta' must leave it feasible
    V_moves: Moves = "no"  #: how V_t may change from task to task: not at all, never fall, never rise, or freely
    eta_rule: EtaRule = "constant"  #: "auto": eta_t = c/alpha_t, where c is searched below step_limit
    controller: str = "queue"  #: as `coldtheory.controllers.controller_of` reads it
    noise_seeds: int = 0  #: gradients are noisy, and a candidate is judged by its mean over so many runs; 0: no noise

    def checked(self) -> Plan:
        """The plan itself; raises `ColdError` if one of its fields makes no sense."""
        for kind, name, known in (
            ("reference", self.reference, Reference),
            ("weights", self.weights, Weights),
            ("solver", self.solver, Solver),
            ("kind of Hessians", self.hessians, Hessians),
            ("way in which V moves", self.V_moves, Moves),
            ("rule of eta", self.eta_rule, EtaRule),
        ):
            choice(kind, name, get_args(known))
        given = (("T", self.T[0]), ("T", self.T[1]), ("d", self.d), ("steps", self.steps), ("blocks", self.blocks))
        for what, value in given:
            if value is not None or what != "blocks":
                whole(what, value)
        number("step_limit", self.step_limit)
        low, high = self.T
        if not 1 <= low <= high <= _LARGEST_T:
            raise ColdError(f"T must be between 1 and {_LARGEST_T}, given as 3 or 3:8, got {low}:{high}")
        if not 1 <= self.d <= _LARGEST_D:
            raise ColdError(f"d must be between 1 and {_LARGEST_D}, got {self.d}")
        if self.blocks is not None and not 1 <= self.blocks <= low:
            raise ColdError(f"blocks must be between 1 and T, got {self.blocks} with T = {low}")
        if not 1 <= self.steps <= 100:
            raise ColdError(f"steps must be between 1 and 100, got {self.steps}")
        if not 0 < self.step_limit <= 100:
            raise ColdError(f"step_limit must be above 0 and at most 100, got {self.step_limit}")
        rule = controller_of(self.controller)
        if self.solver == "exact" and (rule.looks == "always" or self.noise_seeds):
            what = "noise_seeds" if self.noise_seeds else f"the controller {rule.name}"
            raise ColdError(f"{what} and the exact minimiser do not go together: take solver gd")
        whole("noise_seeds", self.noise_seeds, least=0, most=10_000)
        return self


# Where a printed form is false the family is the smallest one known to break it; elsewhere it is a wide one.
_DESCENT = Plan(T=(2, 4), hessians="scalar")
_ANY = Plan(T=(3, 4), solver="exact")
_PLANS: dict[str, Plan] = {
    "lemma1": replace(_ANY, T=(3, 3)),
    "thm1": Plan(reference="best", weights="sum", solver="exact", hessians="scalar", ideal=True),
    "thm2": Plan(reference="best", solver="exact", hessians="scalar", ideal=True),
    "lemma2": replace(_ANY, weights="sum"),
    "thm3": _DESCENT,
    "thm3_sharp": _DESCENT,
    "thm4": Plan(T=(3, 8), memory=True),
    "cor1": _DESCENT,
    "cor2_gradient": _DESCENT,
    "cor2_queue": Plan(T=(3, 8), memory=True),
    "lemma_gap": replace(_ANY, T=(2, 2)),
    "lemma_dpp": Plan(hessians="scalar", memory=True),
    "constraint": replace(_ANY, T=(2, 4)),
    "lindley": _ANY,
}
# A form with a premise or a freedom of its own.
_FORMS: dict[tuple[str, str], dict[str, Any]] = {
    ("thm3", "printed"): {"reference": "best", "weights": "sum", "step_limit": 0.5, "printed_alpha": True},
    ("thm3", "sharp"): {"step_limit": 1.999},
    ("thm3_sharp", "sharp"): {"step_limit": 1.999},
    ("thm1", "weighted"): {"weights": "sum"},
}


# Everything that a user's own statement leaves open is tried, the simplest first.
_OPEN: dict[str, tuple[Any, ...]] = {
    "d": (1, 2),
    "solver": ("gd", "exact"),
    "weights": ("mean", "sum"),
    "reference": ("previous", "best", "stored"),
}
# Further freedoms are tried one at a time, with the simplest of the above.
_ASIDE: dict[str, tuple[Any, ...]] = {"V_moves": ("any",), "controller": tuple(CONTROLLERS)[1:]}


def check_form(statement: str | Statement, form: str) -> None:
    """A `ColdError` with the nearest names unless this statement has this form."""
    told = find_statement(statement)
    choice(f"form of {told.id}", form, told.forms)


def first_form(statement: str | Statement) -> str:
    """The first of `printed`, `corrected` and `proved` that the statement has, else the form that it lists first."""
    forms = find_statement(statement).forms
    return next((name for name in ("printed", *MAIN_FORMS) if name in forms), next(iter(forms)))


def main_forms(statement: str | Statement) -> tuple[str, ...]:
    """The forms that are meant to be true: `corrected` or `proved`, else all after the first, the last one first."""
    forms = find_statement(statement).forms
    return tuple(name for name in MAIN_FORMS if name in forms) or tuple(reversed(list(forms)[1:]))


def plan_for(statement: str | Statement, form: str, **chosen: Any) -> Plan:
    """The default plan of a form with the user's choices (those that are not None) in place of its entries."""
    check_form(statement, form)
    told = find_statement(statement)
    family = {**_family(told, form), **_FORMS.get((told.id, form), {})}
    try:
        plan = _filled(_PLANS.get(told.id, Plan()), family)
    except ColdError as error:
        line = getattr(inspect.unwrap(told.forms[form]), "__code__", None)
        at = "" if line is None else f":{line.co_firstlineno}"
        raise ColdError(f"{told.id}{at} ({form}), where to look: {error}") from None
    return _filled(plan, {name: value for name, value in chosen.items() if value is not None})


def _filled(plan: Plan, entries: Mapping[str, Any]) -> Plan:
    """A plan with these entries, checked; one number of tasks may stand for a range."""
    for name in entries:
        choice("field of a plan", name, [field.name for field in fields(Plan)])
    T = entries.get("T", plan.T)
    span = (T, T) if isinstance(T, int) else T
    if not (isinstance(span, tuple | list) and len(span) == 2):
        raise ColdError(f"T is a number of tasks or a pair such as (2, 8), got {shown(T)}")
    return replace(plan, **{**entries, "T": tuple(span)}).checked()


def plans_for(statement: str | Statement, form: str, **chosen: Any) -> list[Plan]:
    """The plan of a form, and for a user's own statement the same with all that its premises leave open."""
    told = find_statement(statement)
    plan = plan_for(told, form, **chosen)
    if not told.label.startswith(LABEL):
        return [plan]
    fixed = {*_family(told, form), *(name for name, value in chosen.items() if value is not None)}
    free = {name: values for name, values in _OPEN.items() if name not in fixed}
    plans = [replace(plan, **dict(zip(free, values, strict=True))) for values in product(*free.values())]
    return plans + [replace(plans[0], **{name: value}) for name in _ASIDE if name not in fixed for value in _ASIDE[name]
                    if name != "controller" or _together(plans[0], value)]  # fmt: skip


def _together(plan: Plan, controller: str) -> bool:
    """Whether the plan's solver can go with this controller."""
    return plan.solver == "gd" or controller_of(controller).looks != "always"


def _family(told: Statement, form: str) -> dict[str, Any]:
    return {**told.family, **told.family_of_form.get(form, {})}
