"""The checks of the claims on steps, moving V and noise can come out otherwise."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest

from coldtheory.bounds import STATEMENTS
from paper_checks import beyond_steps

CHECKS = {
    "adaptive_step": (beyond_steps.adaptive_step, "proved"),
    "moving_gap": (beyond_steps.moving_gap, "proved"),
    "moving_queue": (beyond_steps.moving_queue, "exact"),
    "moving_gradient": (beyond_steps.moving_gradient, "any_case"),
    "noise_gradient": (beyond_steps.noise_gradient, "proved"),
    "noise_queue": (beyond_steps.noise_queue, "proved"),
}


@pytest.mark.parametrize("id_", CHECKS)
def test_a_bound_that_is_too_small_is_found_false(id_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check, form = CHECKS[id_]
    assert check().verdict == "holds"
    original = STATEMENTS[id_].forms[form]

    def shrunk(facts, **options):
        bound = original(facts, **options)
        lost = {name: np.where(term > 0, -term, term) for name, term in bound.terms.items()}
        return replace(bound, terms=lost)

    shrunk.__signature__ = inspect.signature(original)
    monkeypatch.setitem(STATEMENTS[id_].forms, form, shrunk)
    assert check().verdict == "false"
