"""Diagnostics along a run: parity with coldtheory, curvature against dense Hessians, bounds where they apply."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

import coldtheory as ct
from cold.config import RunConfig
from cold.diagnostics import Diagnostics, Measures, Recorder, Sampled, extreme_curvatures, gradient, value
from cold.diagnostics.facts import verdicts
from cold.diagnostics.measures import Setting
from cold.dpp import COLD
from cold.models.networks import HeadedModel
from cold.runs import read_result
from cold.trainer import Stopped, Trainer
from coldtheory.bounds import evaluate
from coldtheory.ground.errors import ColdError
from coldtheory.measures import loss_variation_terms, rho_minus
from tests.cold.test_torch_queues import Point, half_squares
from tests.cold.tiny_runs import tiny

PERMUTED = {"data_options": {"classes": 4, "shape": [1, 8, 8], "permuted": True}}
THEORY = {
    **PERMUTED, "optimizer": "sgdm", "momentum": 0.0, "queue_update": "task", "weights": "mean", "delta": 1e-3,
    "batch_size": 60, "memory_batch": 10, "lr": 0.02, "V": 1.0, "epochs": 20, "diagnostics": True,
}  # fmt: skip


# ---------------------------------------------------------------------------------------------------
# Derivatives


def small_loss(dtype: torch.dtype = torch.float64) -> tuple[Sampled, list[torch.Tensor]]:
    """300 samples through one of two heads of a smooth net with 59 weights, in pieces."""
    g = torch.Generator().manual_seed(3)
    model = HeadedModel(nn.Sequential(nn.Linear(5, 6), nn.Tanh()), [nn.Linear(6, 2), nn.Linear(6, 3)]).to(dtype)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn(p.shape, generator=g))
    x, y = torch.randn(300, 5, generator=g).to(dtype), torch.randint(3, (300,), generator=g)
    return Sampled(model, lambda rows: x[rows], y, 1, lambda raw: raw), list(model.parameters())


def dense_hessian(loss: Sampled, weights: list[torch.Tensor]) -> torch.Tensor:
    slopes = torch.autograd.grad(
        sum(loss.pieces()), weights, create_graph=True, allow_unused=True, materialize_grads=True
    )
    flat = torch.cat([slope.flatten() for slope in slopes])
    rows = [
        torch.cat(
            [
                part.flatten()
                for part in torch.autograd.grad(
                    entry, weights, retain_graph=True, allow_unused=True, materialize_grads=True
                )
            ]
        )
        if entry.requires_grad
        else torch.zeros(len(flat), dtype=flat.dtype)
        for entry in flat
    ]
    return torch.stack(rows)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_lanczos_meets_the_dense_hessian(dtype):
    loss, weights = small_loss(dtype)
    spectrum = torch.linalg.eigvalsh(dense_hessian(*small_loss()))
    low, high = extreme_curvatures(loss, weights)
    assert spectrum[0] < 0  # not convex
    assert high == pytest.approx(float(spectrum[-1]), rel=0.02)
    assert low >= float(spectrum[0]) - 1e-5  # Ritz values lie inside the spectrum
    exact = extreme_curvatures(*small_loss(), rtol=1e-10, iterations=60)
    assert exact == pytest.approx((float(spectrum[0]), float(spectrum[-1])), rel=1e-6)


def test_pieces_add_up(monkeypatch):
    loss, weights = small_loss()
    whole, slope = gradient(loss, weights)
    monkeypatch.setattr("cold.diagnostics.derivatives._PIECE", 7)
    parts, slope_of_parts = gradient(loss, weights)
    assert value(loss) == pytest.approx(whole, rel=1e-12)
    assert parts == pytest.approx(whole, rel=1e-12)
    assert torch.allclose(slope, slope_of_parts, rtol=1e-10)
    assert not slope[36:50].any()  # the other head has no part in it
    assert len(loss.thinned(50)) == 50
    assert loss.thinned(1000) is loss


# ---------------------------------------------------------------------------------------------------
# Parity with coldtheory on quadratics


class Quadratic:
    """1/2 |w - a|^2 as a loss."""

    def __init__(self, model: Point, a: torch.Tensor) -> None:
        self.model, self.a = model, a

    def pieces(self):
        yield 0.5 * self.model(self.a).square().sum()


def recorded(optima: np.ndarray, setting: Setting, oracle: str | None) -> Measures:
    """COLD on quadratics, in double precision, with a recorder beside it."""
    a = torch.tensor(optima)
    T = len(a)
    model = Point(torch.zeros(a.shape[1], dtype=torch.float64))
    optimizer = torch.optim.SGD(model.parameters(), lr=setting.eta)
    cold = COLD(
        V=setting.V, delta=setting.delta, tasks=T, memory=T, weights=setting.weights, oracle=oracle,
        queue_update="task", losses=half_squares, dtype=torch.float64,
    )  # fmt: skip
    recorder = Recorder([model.w], lambda t: Quadratic(model, a[t]), lambda k: Quadratic(model, a[k]))
    label = torch.zeros(1, dtype=torch.int64)
    for t in range(T):
        cold.begin_task(model, a[t : t + 1])
        recorder.begin_task(t, cold.queues.Q.tolist(), cold.memory.reference[:t].tolist() if oracle else None)
        for step in range(setting.steps):
            optimizer.zero_grad()
            cold.loss(model, a[t : t + 1], label).backward()
            optimizer.step()
            if step == 0:
                recorder.during_task(t, 1)
        cold.end_task(model, a[t : t + 1], label)
        recorder.end_task(t)
    return Measures(recorder.trace, setting, cold.queues.Q.tolist())


@pytest.mark.parametrize("reference", ["previous", "best", "stored"])
@pytest.mark.parametrize("stopped", [None, 5])
def test_a_loop_of_ones_own_measures_the_same(reference, stopped):
    """The callback, beside a loop that was stopped in the middle of a task or not, gives the simulator's numbers."""
    a = torch.tensor(ct.make_tasks("high", seeds=[0])[0].phi.optima[:6])
    numbers = {"V": 128.0, "eta": 4e-4, "delta": 1e-6, "steps": 3}
    setting = Setting(**numbers, weights="mean", reference=reference)
    label = torch.zeros(1, dtype=torch.int64)
    model = Point(torch.zeros(a.shape[1], dtype=torch.float64))
    optimizer = torch.optim.SGD(model.parameters(), lr=setting.eta)

    def begun() -> tuple[COLD, Diagnostics]:
        watch = Diagnostics(optimizer, every=1)
        return COLD(
            V=setting.V, delta=setting.delta, tasks=6, memory=6, weights="mean", reference=reference,
            queue_update="task", losses=half_squares, dtype=torch.float64, callbacks=[watch],
        ), watch  # fmt: skip

    cold, watch = begun()
    for t in range(6):
        cold.begin_task(model, a[t : t + 1], label)
        for step in range(3):
            if 3 * t + step == stopped:
                states = cold.state(), watch.state()
                cold, watch = begun()
                cold.load(states[0])
                watch.load(states[1])
                cold.begin_task(model, a[t : t + 1], label)
            optimizer.zero_grad()
            cold.loss(model, a[t : t + 1], label).backward()
            optimizer.step()
        cold.end_task(model)
    theory = ct.simulate(ct.from_optima(a.numpy()), reference=reference, weights="mean", **numbers)
    found = watch.report()
    assert watch.setting() == setting
    for name, theirs in (
        ("avg_grad_sq_before", theory.avg_grad_sq_before),
        ("avg_grad_sq_after", theory.avg_grad_sq_after),
        ("Delta_bar", theory.Delta_bar),
        ("avg_Qbar", theory.avg_Qbar),
        ("alpha_max", theory.alpha.max()),
        ("D_phi_trajectory", loss_variation_terms(theory, "trajectory").mean()),
        ("rho_bar_trajectory", rho_minus(theory, "trajectory").mean()),
    ):
        assert found[name] == pytest.approx(float(theirs), rel=1e-10)
    assert len(watch._recorder.trace.along[-1]) == 3  # before each step
    applies = {bound["statement"]: bound["outcome"] for bound in found["bounds"]}
    assert applies["lindley"] == ("holds" if reference == "previous" else "not applicable")


def test_diagnostics_in_a_loop_say_what_they_need():
    model = nn.Linear(2, 2)
    watch = Diagnostics(torch.optim.Adam(model.parameters(), lr=1e-3), curvature=False)
    with pytest.raises(ColdError, match="nothing to report before the first end_task"):
        watch.report()
    cold = COLD(V=1.0, delta=0.1, memory=4, callbacks=[watch])
    with pytest.raises(ColdError, match=r"need the labels when a task begins; call begin_task\(model, x, y\)"):
        cold.begin_task(model, torch.ones(3, 2))
    with pytest.raises(ColdError, match="optimizer must be a Optimizer"):
        Diagnostics(1e-3)
    cold.begin_task(model, torch.ones(3, 2), torch.zeros(3, dtype=torch.int64))
    cold.loss(model, torch.ones(2, 2), torch.zeros(2, dtype=torch.int64))
    cold.end_task(model)
    found = watch.report()
    assert found["alpha_max"] is None
    failing = {premise for bound in found["bounds"] for premise in bound.get("failing_premises", [])}
    assert {"queue per task", "memory samples stay"} <= failing  # this is no loop that the theorems speak about
    assert not watch.setting().gradient_descent
    assert not watch.setting().full_batch


@pytest.mark.parametrize("weights", ["sum", "mean"])
@pytest.mark.parametrize(("reference", "oracle"), [("previous", None), ("best", "exact")])
def test_numbers_are_those_of_coldtheory(reference, oracle, weights):
    optima = ct.make_tasks("high", seeds=[0])[0].phi.optima[:12]
    numbers = {"V": 128.0, "eta": 4e-4, "delta": 1e-6, "steps": 3}
    theory = ct.simulate(ct.from_optima(optima), reference=reference, weights=weights, **numbers)
    setting = Setting(**numbers, weights=weights, reference=reference, rounding=1e-9)
    found = recorded(optima, setting, oracle)
    assert theory.Q.max() > 1e-4  # the queues do something
    for ours, theirs in (
        (found.grad_sq_before, theory.grad_sq_before),
        (found.grad_sq_after, theory.grad_sq_after),
        (found.Delta, theory.Delta),
        (found.Qbar, theory.Qbar),
        (found.Q, theory.Q),
        (found.alpha, theory.alpha),
        (found.variation, loss_variation_terms(theory, "trajectory")),
        (found.rho_minus, rho_minus(theory, "trajectory")),
    ):
        assert np.abs(ours - theirs).max() <= 1e-10 * np.abs(theirs).max()
    shown = found.numbers()
    for name, theirs in (
        ("avg_grad_sq_before", theory.avg_grad_sq_before),
        ("avg_grad_sq_after", theory.avg_grad_sq_after),
        ("Delta_bar", theory.Delta_bar),
        ("avg_Qbar", theory.avg_Qbar),
        ("alpha_max", theory.alpha.max()),
    ):
        assert shown[name] == pytest.approx(float(theirs), rel=1e-10)
    for verdict in verdicts(found, setting):
        bound = verdict.bound
        if bound.id == "thm3":  # takes another r, see `cold.diagnostics.facts`
            assert verdict.outcome == "holds"
            continue
        wanted = evaluate(bound.id, bound.form, theory)
        assert verdict.outcome == str(wanted.outcome), bound.id
        if verdict.outcome == "holds":
            assert np.allclose(bound.lhs, wanted.lhs, rtol=1e-9, atol=1e-12)
            assert np.allclose(bound.rhs, wanted.rhs, rtol=1e-9, atol=1e-12)
            assert set(bound.terms) == set(wanted.terms)


# ---------------------------------------------------------------------------------------------------
# In the trainer


@pytest.fixture(scope="module")
def theory_run():
    trainer = Trainer(tiny(**THEORY))
    return trainer, trainer.run()


def test_bounds_hold_where_they_apply(theory_run):
    _, result = theory_run
    found = result.diagnostics
    assert {bound["statement"]: bound["outcome"] for bound in found["bounds"]} == {
        "thm3": "holds", "thm3_sharp": "holds", "thm4": "holds", "lindley": "holds", "forgetting": "not applicable",
    }  # fmt: skip
    by_name = {bound["statement"]: bound for bound in found["bounds"]}
    assert by_name.pop("forgetting")["failing_premises"] == ["no reference is worse than x_k"]  # Case 1
    assert 0 < found["eta_alpha_max"] <= 1
    assert by_name["thm3"]["lhs"] == pytest.approx(found["avg_grad_sq_before"])
    assert by_name["thm4"]["lhs"] == pytest.approx(found["avg_Qbar"])
    assert found["avg_Qbar"] > 1e-3  # the queues do something
    for bound in by_name.values():
        assert bound["lhs"] <= bound["rhs"] == pytest.approx(sum(bound["terms"].values()))
    assert result.arrays["diag_hat"].shape == (4, 3)
    assert np.isnan(result.arrays["diag_hat"][1, 1])
    assert found["per_task"]["variation"][0] == 0
    assert found["avg_grad_sq_before"] == pytest.approx(np.mean(found["per_task"]["grad_sq_before"]))
    assert result.arrays["diag_along_at"][0].tolist() == [0, 2, 4, 6, 8, 10, 12, 14, 16, 18]


def test_delta_is_the_residual_of_the_runs_own_queues(theory_run):
    """Queues that move once per task are the recursion of the d_k that the diagnostics measure."""
    trainer, result = theory_run
    found = Measures(trainer.watch.recorder.trace, trainer.watch.setting(), result.arrays["queues"][-1])
    Q = np.zeros((4, 3))
    for t in range(1, 4):
        Q[t] = np.maximum(Q[t - 1] + np.nan_to_num(found.d[t - 1]), 0.0)
    assert np.abs(Q - result.arrays["queues"]).max() <= 1e-5
    assert result.diagnostics["Delta_bar"] == pytest.approx(
        np.mean([0, *(np.nansum(found.d[t] ** 2) / (2 * t) for t in (1, 2))])
    )


def test_a_broken_queue_is_seen(theory_run):
    trainer, result = theory_run
    setting = trainer.watch.setting()
    found = Measures(trainer.watch.recorder.trace, setting, result.arrays["queues"][-1])
    found.Q[-1, 0] += 10.0
    outcomes = {verdict.bound.id: verdict.outcome for verdict in verdicts(found, setting)}
    assert outcomes["lindley"] == "violated"


@pytest.mark.parametrize(("changes", "premises"), [
    ({"queue_update": "step"}, {"queue per task"}),
    ({"delta": 0.0}, {"delta > 0"}),
    ({"momentum": 0.9}, {"gradient descent"}),
    ({"optimizer": "adam"}, {"gradient descent"}),
    ({"batch_size": 20}, {"exact gradients"}),
    ({"memory_batch": 2}, {"exact gradients"}),
    ({"V": 100.0}, {"eta <= 1/alpha_t"}),
    ({"method": "finetune"}, {"the method has queues", "queues drive the model"}),
])  # fmt: skip
def test_what_does_not_apply_says_why(changes, premises):
    result = Trainer(tiny(**{**THEORY, "epochs": 1, "tasks": 2, **changes})).run()
    theorem = result.diagnostics["bounds"][0]
    assert theorem["outcome"] == "not applicable"
    assert premises <= set(theorem["failing_premises"])
    assert "lhs" not in theorem
    if "queue_update" in changes or "delta" in changes:
        needs_delta = [bound for bound in result.diagnostics["bounds"] if bound["statement"] != "forgetting"]
        assert all(bound["outcome"] == "not applicable" for bound in needs_delta)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
@pytest.mark.parametrize("optimizer", ["adam", "sgdm"])
def test_case_three_guarantees_forgetting_on_a_network(delta, optimizer):
    """Whatever the optimiser: mean forgetting on the memory is at most delta and what the last queues hold."""
    rate = 1e-2 if optimizer == "adam" else 0.1
    changes = {"reference": "stored", "delta": delta, "optimizer": optimizer, "lr": rate, "batch_size": 20, "V": 0.1}
    result = Trainer(tiny(**{**THEORY, **changes})).run()
    found = next(bound for bound in result.diagnostics["bounds"] if bound["statement"] == "forgetting")
    hat = result.arrays["diag_hat"]  # [model, task], from the first model on
    tasks = hat.shape[1]
    by_hand = np.mean([hat[t, k] - hat[k + 1, k] for k in range(tasks) for t in range(k + 2, tasks + 1)])
    assert found["outcome"] == "holds"
    assert found["lhs"] == pytest.approx(by_hand, rel=1e-5, abs=1e-7)
    assert found["rhs"] == pytest.approx(
        delta + result.arrays["queues"][-1].sum() / (tasks * (tasks - 1) / 2), rel=1e-5
    )


@pytest.mark.parametrize(("changes", "premise"), [
    ({"method": "cold-distill", "V": 1.0}, "constraint on the label loss"),
    ({"reference": "stored", "queue_start": "mean"}, "queues start at 0"),
])  # fmt: skip
def test_what_the_guarantee_is_not_about(changes, premise):
    result = Trainer(tiny(**{**THEORY, "epochs": 1, "tasks": 2, **changes})).run()
    found = next(bound for bound in result.diagnostics["bounds"] if bound["statement"] == "forgetting")
    assert found["outcome"] == "not applicable"
    assert premise in found["failing_premises"]


def test_a_run_is_not_disturbed():
    changes = {"method": "cold-oracle", "model": "conv", "width": 4, "data_options": {"shape": [3, 8, 8], "classes": 6}}
    plain, watched = Trainer(tiny(**changes)), Trainer(tiny(**changes, diagnostics=True))
    left, right = plain.run(), watched.run()
    for name, weights in plain.model.state_dict().items():
        assert torch.equal(weights, watched.model.state_dict()[name]), name
    for name, array in left.arrays.items():
        assert np.array_equal(array, right.arrays[name]), name
    assert left.diagnostics == {}
    assert any("own head" in note for note in right.diagnostics["notes"])


def test_the_name_of_a_run_without_diagnostics_stays():
    assert RunConfig().run_id == "pmnist-cold-s0-44136fa3"  # the hash of no setting that differs from its default
    assert dataclasses.replace(RunConfig(), diagnostics=True).run_id != RunConfig().run_id


def test_resume_in_the_middle_of_a_task(tmp_path):
    config = tiny(**{**THEORY, "epochs": 12})
    whole = Trainer(config).run()
    asked = []

    def stop() -> bool:
        asked.append(None)
        return len(asked) == 17

    with pytest.raises(Stopped):
        Trainer(config, out=tmp_path, should_stop=stop).run()
    again = Trainer(config, out=tmp_path).run(resume=True)
    assert again.diagnostics == whole.diagnostics
    stored = read_result(tmp_path / again.run_id)
    assert stored.diagnostics == whole.diagnostics
    for name, array in whole.arrays.items():
        assert np.array_equal(array, stored.arrays[name], equal_nan=True), name
