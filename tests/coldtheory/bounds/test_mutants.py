"""Would a wrong bound be noticed? Every mutant of every claimed form is met by a test that fails.

Mutants are generated from the terms of the records, so that a new term is checked without a word here. Two nets:

1. A mutant is *refuted*: some run of the stored pool (pool.json) breaks it, as a property test would see. Mutants that
   provably still hold are listed with the proof, those that no search has broken and nobody has proved are OPEN.
2. Whatever its truth, a mutant is *noticed*: it differs from the formula in rationals of test_terms.py.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from coldtheory import simulate
from coldtheory.bounds import Bound, Facts, evaluate, facts_of
from coldtheory.counterexamples import load_counterexample
from coldtheory.tasks import from_optima
from tests.coldtheory.bounds.mutants import NEVER_POSITIVE, Mutation, mutations
from tests.coldtheory.bounds.test_terms import CLAIMED, RUNS, both
from tests.coldtheory.properties.worlds import World, batch, cosine_batch

pytestmark = pytest.mark.kernels

POOL = json.loads((Path(__file__).parent / "pool.json").read_text(encoding="utf-8"))["runs"]

# Mutants that are theorems themselves.
_LAST_TASK = (
    "task T needs no descent: V^2 |grad Phi_T(x_{T-1})|^2 <= 2 L V^2 Phi_T(x_{T-1}), which is at most what telescoping "
    "leaves of V Phi_T(x_{T-1}), since 2 eta V L (1 - eta alpha/2) <= 1; its summand may go"
)
_SHARP = "form `sharp` of the same corollary has no such term"
PROVED = {
    **{
        (id_, form, f"earlier {term}"): _LAST_TASK
        for id_, forms, terms in (
            ("thm3", ("corrected", "trajectory", "sharp"), ("conflict", "queues")),
            ("cor1", ("mean", "corrected", "sharp"), ("conflict", "residual")),
            ("cor2_gradient", ("corrected",), ("conflict", "residual")),
        )
        for form in forms
        for term in terms
    },
    **{
        ("cor1", form, f"{kind} variation through the queues"): _SHARP
        for form in ("mean", "corrected")
        for kind in ("drop", "earlier")
    },
    ("cor1", "corrected", "drop first loss again"): _SHARP,
    ("thm2", "printed", "later tolerance"): "there is no queue at t = 1: form `corrected` has no such summand",
}
# Neither refuted nor proved. What they have in common: the queue part of Theorem 3 is generous, and for curvatures
# that are multiples of the identity it covers the conflict too.
OPEN = {
    *(
        ("thm3", form, f"drop {term}")
        for form in ("corrected", "trajectory", "sharp")
        for term in ("conflict", "queues")
    ),
    *(("thm3", form, f"halve {term}") for form in ("trajectory", "sharp") for term in ("conflict", "queues")),
    *(
        ("thm3", form, f"{kind} {term}")
        for form in ("inner_average", "after_update")
        for kind in ("drop", "earlier")
        for term in ("conflict", "queues")
    ),
    *(("cor1", form, f"drop {term}") for form in ("mean", "corrected", "sharp") for term in ("conflict", "residual")),
    ("cor2_gradient", "corrected", "drop residual"),
    *(("thm2", form, "earlier tolerance") for form in ("printed", "corrected", "trajectory")),
    *(("thm3_sharp", form, "double relief") for form in ("corrected", "ball")),
    ("thm3_sharp", "ball", "earlier conflict"),
}


@cache
def pool() -> list[tuple[Facts, dict[str, object]]]:
    return [_facts(entry) for entry in POOL]


def _facts(entry: dict) -> tuple[Facts, dict[str, object]]:
    if "world" in entry:
        return {"quadratics": batch, "cosines": cosine_batch}[entry["losses"]](World(**entry["world"]))
    if "counterexample" in entry:
        instance = load_counterexample(entry["counterexample"])
        options = dict(instance.options) if instance.statement in ("thm1", "thm2") else {}
        return facts_of(instance.run(), instance.ball), options
    return facts_of(simulate(from_optima(**entry["tasks"]), **entry["settings"])), entry["options"]


@cache
def evaluated(id_: str, form: str) -> list[Bound]:
    """The form on every run of the pool that it applies to."""
    needs = id_ in ("thm1", "thm2")
    bounds = [
        evaluate(id_, form, facts, **(options if needs else {})) for facts, options in pool() if options or not needs
    ]
    return [bound for bound in bounds if bound.applicable.any()]


def applies(mutation: Mutation, bound: Bound) -> bool:
    return mutation.term in (bound.series if mutation.kind in ("earlier", "later") else bound.terms)


def all_mutations(id_: str, form: str) -> list[Mutation]:
    named = {mutation: None for bound in evaluated(id_, form) for mutation in mutations(bound)}
    return list(named)


@pytest.mark.parametrize(("id_", "form"), CLAIMED, ids=["-".join(pair) for pair in CLAIMED])
def test_every_mutant_is_refuted_proved_or_open(id_: str, form: str) -> None:
    bounds = evaluated(id_, form)
    assert bounds
    assert not any(bound.violated.any() for bound in bounds), "the bound itself holds on the whole pool"
    for mutation in all_mutations(id_, form):
        mutants = [mutation.apply(bound) for bound in bounds if applies(mutation, bound)]
        refuted = any(mutant.violated.any() for mutant in mutants)
        name = (id_, form, str(mutation))
        if mutation.loosens:
            assert all(
                (np.asarray(bound.terms[mutation.term]) <= 0).all() for bound in bounds if mutation.term in bound.terms
            )
            assert not refuted, name
        elif mutation.kind == "later" and name not in PROVED:
            # The summand at t = 1 is an empty sum over past tasks, or the change from a task 0 that does not exist.
            assert all((bound.series[mutation.term][..., 0] == 0).all() for bound in bounds if applies(mutation, bound))
        elif name in PROVED or name in OPEN:
            assert not refuted, (name, "refuted: take it off the list")
        else:
            assert refuted, (name, "goes unnoticed by the pool")


@pytest.mark.parametrize(("id_", "form"), CLAIMED, ids=["-".join(pair) for pair in CLAIMED])
def test_every_mutant_differs_from_the_formula(id_: str, form: str) -> None:
    """So that test_terms.py fails on it, whether it is true or not."""
    records = [record for record in (both(id_, form, name)[0] for name in RUNS) if record.applicable]
    for mutation in {m: None for record in records for m in mutations(record)}:
        if mutation.kind == "later" and (id_, form, str(mutation)) not in PROVED:
            continue  # changes nothing, see above
        mutants = [(record, mutation.apply(record)) for record in records if applies(mutation, record)]
        assert any((np.abs(mutant.rhs - record.rhs) > 1e-6 * record.scale).any() for record, mutant in mutants), (
            mutation
        )


def test_the_lists_name_mutants_that_exist() -> None:
    known = {(id_, form, str(mutation)) for id_, form in CLAIMED for mutation in all_mutations(id_, form)}
    assert set(PROVED) <= known
    assert known >= OPEN
    assert not OPEN & set(PROVED)
    terms = {mutation.term for id_, form in CLAIMED for mutation in all_mutations(id_, form)}
    assert set(NEVER_POSITIVE) <= terms
