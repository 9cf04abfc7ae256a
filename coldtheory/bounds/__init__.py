"""Every statement of the paper as a bound that can be evaluated on runs: as printed, corrected, and sharpened; and
theorems that the paper lacks.

>>> from coldtheory import make_tasks, simulate
>>> from coldtheory.bounds import evaluate
>>> run = simulate(make_tasks("high", seeds=0, T=20), V=[50.0, 200.0])
>>> bound = evaluate("thm3", "corrected", run)
>>> bound.outcome.tolist(), sorted(bound.terms)
(['holds', 'holds'], ['conflict', 'first loss', 'queues', 'variation'])
"""

from __future__ import annotations

import inspect
from typing import Any

from ..geometry import Ball
from ..ground.checks import choice, number
from ..ground.dependencies import note
from ..ground.errors import unknown_name
from ..simulation import Run
from . import (
    adaptive_step,
    constraint,
    cor1,
    cor2,
    creeping,
    forgetting,
    gradient_noise,
    lemma1_drift,
    lemma2_smoothness,
    lemma_dpp,
    lemma_gap,
    lindley,
    moving_v,
    no_tradeoff,
    pareto,
    thm1_gap,
    thm2_queue,
    thm3_gradient,
    thm3_sharp,
    thm4_queue,
)
from .base import Bound, Explanation, Statement, quiet
from .comparators import Comparators, comparators
from .facts import Facts
from .run_facts import PrescribedRun, RunFacts, facts_of, follow

STATEMENTS: dict[str, Statement] = {
    statement.id: statement
    for statement in (
        lemma1_drift.STATEMENT,
        thm1_gap.STATEMENT,
        thm2_queue.STATEMENT,
        lemma2_smoothness.STATEMENT,
        thm3_gradient.STATEMENT,
        thm3_sharp.STATEMENT,
        thm4_queue.STATEMENT,
        cor1.STATEMENT,
        cor2.GRADIENT,
        cor2.QUEUE,
        lemma_gap.STATEMENT,
        lemma_dpp.STATEMENT,
        constraint.STATEMENT,
        lindley.STATEMENT,
        forgetting.STATEMENT,
        creeping.STATEMENT,
        pareto.STATEMENT,
        no_tradeoff.STATEMENT,
        adaptive_step.STATEMENT,
        moving_v.GAP,
        moving_v.QUEUE,
        moving_v.GRADIENT,
        gradient_noise.GRADIENT,
        gradient_noise.QUEUE,
    )
}


def evaluate(id: str, form: str, run: Run | Facts, ball: Ball | None = None, **options: Any) -> Bound:
    """The statement `id` in one of its forms, on all runs at once. W is `ball`, or each run's smallest one.

    Options: `delta_prime` and `w_star` where the ideal problem is compared with, `constant` for the printed queue
    part of Corollary 2.
    Pass `facts_of(run, ball)` in place of the run to share work between statements.
    """
    forms = STATEMENTS[choice("statement", id, STATEMENTS)].forms
    choice(f"form of {id}", form, forms)
    known = [name for name in inspect.signature(forms[form]).parameters if name != "facts"]
    for name in options:
        if name not in known:
            raise unknown_name(f"option of {id} ({form})", name, known or ["none"])
    if "constant" in options:
        options["constant"] = number("constant", options["constant"])
    note("code", forms[form].__module__)
    with quiet():
        return forms[form](facts_of(run, ball), **options)


__all__ = [
    "STATEMENTS",
    "Bound",
    "Comparators",
    "Explanation",
    "Facts",
    "PrescribedRun",
    "RunFacts",
    "Statement",
    "comparators",
    "evaluate",
    "facts_of",
    "follow",
]
