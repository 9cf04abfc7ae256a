"""The numbers behind the theory figures, held against direct simulation and plain arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from coldtheory import make_tasks, simulate
from coldtheory.figures.bounds import BOUNDS, bound_terms
from coldtheory.figures.gradient import prediction
from coldtheory.figures.picture import picture
from coldtheory.figures.queues import queue_caps, queue_maps
from coldtheory.figures.table import Table, difference, joined, split
from coldtheory.figures.trajectory import trajectory
from coldtheory.figures.variation import variation
from coldtheory.ground.errors import ColdError
from coldtheory.ground.statistics import minimum_of, slope_of


def test_trajectory_is_the_simulators_series():
    table = trajectory(regimes=["high"], V=[50.0, 200.0], seeds=3, T=7)
    run = simulate(make_tasks("high", range(3), T=7), V=[50.0, 200.0])
    np.testing.assert_allclose(table.where(V=200.0)["grad_sq_before"], run.grad_sq_before[:, 1].mean(axis=0))
    np.testing.assert_allclose(
        table.where(V=50.0)["grad_sq_after_high"], np.quantile(run.grad_sq_after[:, 0], 0.9, axis=0)
    )


def test_queue_maps_hold_every_queue_of_a_past_task():
    table = queue_maps(
        regime="conflict", references=["previous", "best"], V=[200.0], delta=[4e-7], eta=1e-4, seed=3, T=9, stride=1
    )
    for reference in ("previous", "best"):
        run = simulate(make_tasks("conflict", 3, T=9), V=200.0, eta=1e-4, reference=reference)
        for row in table.where(reference=reference).rows():
            assert row["Q"] == pytest.approx(run.Q[int(row["t"]), int(row["k"]) - 1])
            assert row["k"] < row["t"]
        assert len(table.where(reference=reference)) == 9 * 8 // 2


@pytest.mark.parametrize("regime", ["low", "high"])
def test_closed_form_is_the_mean_of_simulations(regime):
    seeds, T, V = 200, 20, [50.0, 400.0, 1500.0]
    closed = prediction(regimes=[regime], V=V, seeds=seeds, T=[T]).grid("V", "avg_grad_sq_before")[1].mean(axis=0)
    run = simulate(make_tasks(regime, range(seeds), T=T), V=V, weights="none")
    np.testing.assert_allclose(closed, run.avg_grad_sq_before.mean(axis=0), rtol=0.02)


def test_terms_add_up_and_no_bound_is_below_what_it_bounds():
    table = bound_terms(regimes=["low", "high", "conflict"], V=[20.0, 200.0, 1000.0], seeds=6, T=15)
    keys = dict.fromkeys(zip(table["regime"], table["statement"], table["form"], strict=True))
    assert {key[1:] for key in keys} == set(BOUNDS)
    for regime, statement, form in keys:
        here = table.where(regime=regime, statement=statement, form=form)
        parts = [here.where(part=part)["mean"] for part in here.values("part") if part.startswith("term: ")]
        np.testing.assert_allclose(sum(parts), here.where(part="bound")["mean"], rtol=1e-9)
        ratio = here.where(part="ratio")["mean"]
        assert (ratio[np.isfinite(ratio)] >= 1 - 1e-9).all()
        if statement != "thm4":  # on LOW some queue of a short stream is 0
            assert np.isfinite(ratio).all()


def test_sharper_forms_are_sharper():
    table = bound_terms(regimes=["high", "conflict"], V=[50.0, 500.0], seeds=2, T=40)

    def ratio(statement, form):
        return table.where(statement=statement, form=form, part="ratio")["mean"]

    assert (ratio("thm3_sharp", "sharp") < ratio("thm3_sharp", "corrected")).all()
    assert (ratio("thm3_sharp", "corrected") < ratio("thm3", "corrected")).all()
    assert (ratio("thm3", "corrected") < ratio("cor1", "corrected")).all()
    assert (ratio("thm4", "by_lindley") < ratio("thm4", "a_priori")).all()


def test_no_queue_of_cold_passes_its_cap():
    table = queue_caps(eta={"low": 4e-4, "conflict": 1e-4}, V=[50.0, 1000.0], seeds=3, T=30)
    assert (table["Q_max"] <= table["cap"]).all()
    assert (table["Q_max"] > 0).any()


def test_picture_keeps_the_average_loss_near_delta_only_with_queues():
    table = picture(rounds=40, V=[1.0], slack=1.5)
    delta = table["delta"][0]
    ideal = table.where(what="ideal")
    assert len(ideal) == 3
    corners = np.stack([table.where(what="optimum")[n] for n in "xy"], axis=-1)
    away = np.stack([ideal["x"], ideal["y"]], axis=-1)[:, None] - corners
    assert (0.5 * (away**2).sum(axis=-1) <= delta * (1 + 1e-6)).all()  # in every ball
    assert table.where(what="off")["average"][-1] > 1.3 * delta
    assert table.where(what="model")["average"][-1] < 1.03 * delta


def test_variation_grows_with_noise_and_with_drift():
    table = variation(noise=[1e-3, 1e-1], drift=[0.0, 6.4], seeds=3, T=30, V=200.0)
    for axis in ("noise", "drift"):
        for name in ("D_phi", "rho_bar", "D_phi_trajectory"):
            means = table.where(axis=axis).grid("value", name)[1].mean(axis=0)
            assert means[1] > means[0], (axis, name)


def test_slope_and_turning_point_of_known_curves():
    x = np.geomspace(10, 1000, 20)
    fit = slope_of(x, np.stack([3 * x**-0.7, 5 * x**-0.9]), (50.0, 200.0))
    assert fit.slope == pytest.approx(-0.8)
    assert fit.half == pytest.approx(12.7062 * 0.1, rel=1e-4)  # t quantile of two seeds times s.d./sqrt(2)
    assert slope_of(x, np.stack([x, x]), (50.0, 60.0)) is None
    found = minimum_of(x, np.stack([np.exp((np.log(x) - np.log(V)) ** 2) for V in (70.0, 84.0)]))
    assert (found.mean, found.se) == pytest.approx((77.0, 7.0))
    assert minimum_of(x, x[None]) is None


def test_tables_survive_the_disk():
    table = Table.of([{"V": 1.0, "name": "a", "y": None}, {"V": 1 / 3, "name": "b,c", "y": 2.0}])
    back = Table.from_csv(table.to_csv())
    assert difference(table, back) is None
    assert back.to_csv() == table.to_csv()
    assert np.isnan(back["y"][0])
    parts = {"one": table, "two": Table.of([{"z": 4.0}])}
    again = split(Table.from_csv(joined(parts).to_csv()), ["one", "two"])
    assert [difference(parts[name], again[name]) for name in parts] == [None, None]
    with pytest.raises(ColdError, match="damaged"):
        Table.from_csv("a,b\n1\n")


def test_difference_names_the_place():
    old = Table.of([{"V": 1.0, "y": 1.0}, {"V": 2.0, "y": 3.0}])
    assert difference(old, Table.of([{"V": 1.0, "y": 1.0}, {"V": 2.0, "y": 3.1}])) == "y in row 2 was 3, is 3.1"
    assert difference(old, Table.of([{"V": 1.0, "y": 1.0}])) == "2 rows became 1"
    assert "columns" in difference(old, Table.of([{"V": 1.0}]))
    assert difference(old, Table.of([{"V": 1.0, "y": 1.0}, {"V": 2.0, "y": 3.0 + 1e-8}])) is None
