"""Measures of an accuracy matrix, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cold.metrics import metrics, per_task_forgetting
from coldtheory.ground.errors import ColdError

A = np.array([[0.9, 0.3, 0.1], [0.6, 0.8, 0.2], [0.5, 0.9, 0.7]])


def test_by_hand():
    start = np.array([0.1, 0.1, 0.1])
    m = metrics(A, start)
    assert m.acc == pytest.approx(70.0)
    assert m.forgetting == pytest.approx(((0.9 - 0.5) + (0.8 - 0.9)) / 2)  # can be negative: the last row is not in it
    assert m.bwt == pytest.approx(((0.5 - 0.9) + (0.9 - 0.8)) / 2)
    assert m.fwt == pytest.approx(((0.3 - 0.1) + (0.2 - 0.1)) / 2)
    assert m.learning_acc == pytest.approx(80.0)


def test_printed_forgetting_counts_models_before_the_task():
    """max over l in [T-1], literally: a model that has not seen task 2 yet, but is good at it, counts."""
    lucky = A.copy()
    lucky[0, 1] = 0.95
    assert metrics(lucky).forgetting == pytest.approx((0.4 + 0.05) / 2)
    assert metrics(lucky).forgetting_after == pytest.approx((0.4 - 0.1) / 2)
    assert per_task_forgetting(lucky).tolist() == pytest.approx([0.4, 0.05])
    assert per_task_forgetting(lucky, after=True).tolist() == pytest.approx([0.4, -0.1])


def test_one_task_has_no_forgetting():
    m = metrics(np.array([[0.5]]))
    assert (m.acc, m.forgetting, m.bwt, m.fwt) == (50.0, None, None, None)
    assert per_task_forgetting(np.array([[0.5]])).shape == (0,)


def test_not_a_matrix():
    with pytest.raises(ColdError, match=r"shape \(T, T\)"):
        metrics(np.zeros((2, 3)))
