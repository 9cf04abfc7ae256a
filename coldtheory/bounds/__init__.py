"""Every statement of the paper as a bound that can be evaluated on runs: as printed, corrected, and sharpened; and
theorems that the paper lacks.

Statements of your own, in a file or a package, are evaluated in the same way; see `coldtheory.bounds.own`.

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
from ..ground.errors import ColdError, unknown_name
from ..simulation import Run
from . import (
    adaptive_step,
    constraint,
    cor1,
    cor2,
    creeping,
    forgetting,
    forgetting_uniform,
    gradient_noise,
    leaky_queue,
    lemma1_drift,
    lemma2_smoothness,
    lemma_dpp,
    lemma_gap,
    lindley,
    memory_size,
    moving_v,
    no_tradeoff,
    pareto,
    thm1_gap,
    thm2_queue,
    thm3_gradient,
    thm3_sharp,
    thm4_queue,
    yu_neely,
)
from .base import Bound, Explanation, Statement, quiet
from .comparators import Comparators, comparators
from .facts import Facts
from .own import bound, form, load_statement, plugged_statements
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
        memory_size.STATEMENT,
        forgetting_uniform.STATEMENT,
        leaky_queue.STATEMENT,
        yu_neely.STATEMENT,
        adaptive_step.STATEMENT,
        moving_v.GAP,
        moving_v.QUEUE,
        moving_v.GRADIENT,
        gradient_noise.GRADIENT,
        gradient_noise.QUEUE,
        creeping.STATEMENT,
        pareto.STATEMENT,
        no_tradeoff.STATEMENT,
    )
}


def find_statement(given: str | Statement) -> Statement:
    """A statement by its name, from this package or another installed one. No file is run.

    >>> find_statement("thm3").title
    'Theorem 3: average squared gradient, gradient descent'
    """
    if isinstance(given, Statement):
        return given
    if isinstance(given, str) and given in STATEMENTS:
        return STATEMENTS[given]
    if isinstance(given, str) and given.endswith(".py"):
        raise ColdError(f"{given} is a file, which is run only if you name it: load_statement, or --statement {given}")
    known = STATEMENTS | plugged_statements(taken=STATEMENTS)
    return known[choice("statement", given, known)]


def named_statement(word: str) -> Statement:
    """A statement that the user names: FILE.py, which is run, or a name. Never for a word that was read from a file."""
    return load_statement(word) if word.endswith(".py") else find_statement(word)


def evaluate(id: str | Statement, form: str, run: Run | Facts, ball: Ball | None = None, **options: Any) -> Bound:
    """A statement in one of its forms, on all runs at once. W is `ball`, or each run's smallest one.

    Options: `delta_prime` and `w_star` where the ideal problem is compared with, `constant` for the printed queue
    part of Corollary 2.
    Pass `facts_of(run, ball)` in place of the run to share work between statements.
    """
    statement = find_statement(id)
    forms = statement.forms
    choice(f"form of {statement.id}", form, forms)
    _facts, *known = inspect.signature(forms[form]).parameters
    for name in options:
        if name not in known:
            raise unknown_name(f"option of {statement.id} ({form})", name, known or ["none"])
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
    "bound",
    "comparators",
    "evaluate",
    "facts_of",
    "find_statement",
    "follow",
    "form",
    "load_statement",
    "named_statement",
    "plugged_statements",
]
