"""The page: five lines first, at most 80 columns, numbers that are those of the advice, and JSON without NaN."""

from __future__ import annotations

import json

import numpy as np
import pytest

from coldtheory import ColdError, advise, from_optima, from_points, make_tasks
from coldtheory.advice import Page, Part, Table
from coldtheory.advice.text import percent, shown
from coldtheory.advice.verdicts import ABOUT, SPECIAL
from coldtheory.bounds import STATEMENTS

rng = np.random.default_rng(0)
FEW = rng.normal(size=(8, 2))
MATRICES = rng.standard_normal((6, 3, 3))
CASES = {
    "one task": (np.ones((1, 2)), {}),
    "two tasks": ([[0.0], [1.0]], {"eta": 0.1}),
    "equal tasks": (np.ones((5, 2)), {}),
    "tasks at the start": (np.zeros((5, 2)), {}),
    "exact": (FEW, {"solver": "exact", "delta": 0.5}),
    "auto": (FEW, {"eta": "auto"}),
    "sum": (FEW, {"weights": "sum", "eta": 0.01}),
    "none": (FEW, {"weights": "none", "eta": 0.01}),
    "best": (FEW, {"reference": "best", "eta": 0.01}),
    "promised": (FEW, {"reference": "stored", "eta": 0.01, "delta": 5.0}),
    "own rule": (FEW, {"reference": lambda past: past.losses.mean(axis=-2), "eta": 0.01}),
    "matrices": (from_optima(rng.normal(size=(6, 3)), MATRICES @ MATRICES.swapaxes(1, 2)), {"eta": 0.01}),
    "streams": (rng.normal(size=(3, 8, 2)), {"eta": 0.01}),
    "diverges": (FEW, {"eta": 0.01, "V": 1000.0}),
    "beyond Theorem 3": (FEW, {"eta": 0.01, "V": 150.0}),
    "sampled": (from_points(rng.normal(size=(8, 12, 2)), m=4), {"eta": 0.01}),
    "own start": (FEW + 100.0, {"eta": 0.01, "w0": [100.0, 100.0]}),
    "small numbers": (FEW * 1e-8, {"eta": 0.01}),
}
LABELS = ["V", "step size", "queues", "guarantee", "forgetting"]


@pytest.mark.parametrize("case", CASES)
def test_every_page(case):
    tasks, settings = CASES[case]
    advice = advise(tasks, **settings)
    lines = str(advice).splitlines()
    assert max(map(len, lines)) <= 80
    if case not in ("diverges", "small numbers"):
        assert [line.partition("  ")[0] for line in lines[:6]] == [*LABELS, ""], "the first five lines are the answer"
    assert "nan" not in str(advice)
    assert "inf" not in str(advice).replace("infimum", "")
    data = json.loads(json.dumps(advice.page.data, allow_nan=False))
    assert data["V"] == advice.balance.V
    assert data["V_judged"] == advice.V
    assert advice.plot() is not None


def test_the_answer_says_what_was_computed():
    advice = advise(make_tasks("high", seeds=0))
    first, step, queues, guarantee, forgetting = advice.page.answer_lines()
    assert f"{shown(advice.balance.V)} for the next task (closed form)" in first
    assert shown(advice.eta_theorem) in step
    assert "hardly act" in queues
    thm3 = next(one for one in advice.rulings if one.statement == "thm3")
    assert f"at most {shown(thm3.main.bound)}" in guarantee
    assert f"measured {shown(float(advice.run.avg_grad_sq_before))}" in guarantee
    assert forgetting.startswith(f"forgetting  {shown(float(advice.run.avg_forgetting))} on average")


def test_words_follow_the_numbers():
    assert "act: gradient +" in str(advise(make_tasks("conflict", seeds=0)))
    assert "stay empty" in str(advise(FEW, eta=0.01, delta=100.0))
    assert "have no weight, as you asked" in str(advise(FEW, eta=0.01, weights="none"))
    assert "is too large" in str(advise(FEW, eta=0.01, V=1000.0))
    assert "the run diverges at this V" in str(advise(FEW, eta=0.01, V=1000.0))
    assert "promised at most" in str(advise(FEW, eta=0.01, reference="stored", delta=5.0))
    assert "eta = auto keeps" in str(advise(FEW, eta="auto"))
    assert "in each of 3 streams" in str(advise(rng.normal(size=(3, 8, 2)), eta=0.01))
    assert "none helps the next task" in str(advise([[1.0], [-1.0]] * 4, eta=0.01))


@pytest.mark.parametrize(
    ("tasks", "settings", "words"),
    [
        (np.zeros(4), {}, "optima must have shape"),
        (np.zeros((2, 2, 3, 1)), {}, "tasks must have optima"),
        (FEW, {"V": -1.0}, "V must be > 0"),
        (FEW, {"eta": "fast"}, "eta must be a number > 0 or 'auto'"),
        (FEW, {"eta": 0.0}, "eta must be > 0"),
        (FEW, {"delta": -1.0}, "delta must be >= 0"),
        (FEW, {"steps": 1.5}, "whole number"),
        (FEW, {"weights": "meen"}, "did you mean mean"),
        (FEW, {"reference": "prevoius"}, "did you mean previous"),
        (FEW, {"solver": "sgd"}, "unknown solver"),
        (FEW, {"w0": [1.0, 2.0, 3.0]}, "w0 must be numbers of shape"),
        (FEW, {"statement": "thm33"}, "did you mean thm3"),
    ],
)
def test_wrong_input_is_told_in_one_line(tasks, settings, words):
    with pytest.raises(ColdError, match=words):
        advise(tasks, **settings)


def test_numbers_as_text():
    assert [shown(x) for x in (0.0, 1.0, 0.000123456, 1234.5, 9.9996e5, 1e6, -2.5e-7, float("nan"))] == [
        "0", "1", "0.000123", "1,230", "1e6", "1e6", "-2.5e-7", "–",
    ]  # fmt: skip
    assert percent(0.0) == "0 %"


def test_tables_wrap_their_last_column():
    table = Table(("name ", "value", "words "), (("a", "1", "one " * 30), ("bb", "22", "two")))
    lines = table.lines(40)
    assert max(map(len, lines)) <= 40
    assert lines[0] == "name  value  words"
    assert lines[-1] == "bb       22  two"
    page = Page([("label", "words")], [Part("A part", ["A paragraph.", table])], {})
    assert page.text(40).startswith("label  words\n\nA PART\nA paragraph.\n\nname  value")


def test_every_statement_has_a_line_or_is_a_step_of_a_proof():
    lemmas = {"lemma1", "lemma2", "lemma_gap", "lemma_dpp"}
    assert set(ABOUT) | lemmas == set(STATEMENTS)
    for id_, (about, forms) in ABOUT.items():
        assert about
        assert set(forms) <= set(STATEMENTS[id_].forms)
    assert set(SPECIAL) <= set(ABOUT)
