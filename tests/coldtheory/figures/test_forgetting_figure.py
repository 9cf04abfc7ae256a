"""The numbers behind the figure of real forgetting: what the theorem says of long streams."""

from __future__ import annotations

import math

import numpy as np
import pytest

from coldtheory.figures import forgetting

pytestmark = pytest.mark.kernels


def test_real_forgetting_of_the_alternating_stream_at_3200_tasks() -> None:
    """Case 3 forgets .499 and may forget .535, Case 1 forgets 1.000; the proved excess falls as the root of T."""
    table = forgetting.forgetting(lengths=[100, 200, 400, 800], V={"alternating": [1.0]}, seed=0)
    last = forgetting.forgetting(lengths=[3200], V={"alternating": [1.0]}, seed=0)
    at_last = {case: last.where(reference=case) for case in ("previous", "best", "stored")}
    found = {case: float(rows["avg_forgetting"][0]) for case, rows in at_last.items()}
    assert found == pytest.approx({"previous": 1.000, "best": 0.153, "stored": 0.499}, abs=5e-4)
    assert float(at_last["stored"]["bound"][0]) == pytest.approx(0.535, abs=5e-4)
    assert (table["holds"] == 1.0).all()
    assert (last["holds"] == 1.0).all()
    proved = table.where(reference="stored")
    T = np.append(proved["T"], 3200)
    excess = np.append(proved["bound"], at_last["stored"]["bound"]) - 0.5
    assert forgetting.exponent(T, excess) == pytest.approx(-0.5, abs=0.05)
    # and grows as the root of V: once V exceeds what the losses are, tenfold V is sqrt(10) times the excess
    wide = forgetting.forgetting(lengths=[800], V={"alternating": [10.0, 100.0]}, seed=0)
    ten, hundred = (float(wide.where(reference="stored", V=v)["bound"][0]) - 0.5 for v in (10.0, 100.0))
    assert math.log10(hundred / ten) == pytest.approx(0.5, abs=0.1)


def test_the_creeping_stream_leaves_the_queues_of_case_1_empty() -> None:
    table = forgetting.forgetting(lengths=[200], V={"creeping": [1.0]}, seed=0)
    case_1 = table.where(reference="previous")
    assert float(case_1["avg_Qbar"][0]) < 1e-12
    assert float(case_1["avg_forgetting"][0]) > 1.5 * float(case_1["delta"][0])
    for case in ("best", "stored"):
        here = table.where(reference=case)
        assert float(here["avg_forgetting"][0]) < float(here["delta"][0])
