"""Every method on every kind of benchmark; each goes on after a stop as if nothing had happened; replay helps."""

from __future__ import annotations

import inspect
from dataclasses import fields

import numpy as np
import pytest
import torch

from cold.config import make_config
from cold.methods import all_methods, find_method
from cold.methods.replay import Replay
from cold.trainer import Stopped, Trainer
from coldtheory.ground.errors import ColdError
from tests.cold.methods.method_cases import BENCHMARKS, SMALL_OPTIONS, STREAM, TINY, trainer, two_widths

METHODS = sorted(method.name for method in all_methods())
REPLAY = sorted(method.name for method in all_methods() if method.uses_memory)
EXPECTED = {
    "finetune", "ewc", "ewc-online", "gem", "agem", "mer", "gdumb", "er", "der", "derpp", "er-ace", "cba", "nccl",
    "refresh", "star", "cls-er", "joint", "cold", "cold-oracle", "cold-distill",
}  # fmt: skip


def test_all_are_there():
    assert set(METHODS) == EXPECTED


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("method", METHODS)
def test_two_tiny_tasks(method, benchmark):
    made = trainer(method, BENCHMARKS[benchmark](), epochs=1, **({"memory_batch": 1} if method == "mer" else {}))
    result = made.run()
    tasks = len(made.benchmark.tasks)
    assert result.arrays["accuracy"].shape == (tasks, tasks)
    assert all(bool(torch.isfinite(p).all()) for p in made.method.network_for_evaluation().parameters())
    if method != "gdumb":
        fresh = trainer(method, BENCHMARKS[benchmark]())
        assert not torch.equal(fresh.model.heads[-1].weight, made.model.heads[-1].weight)  # the last task was learnt


@pytest.mark.parametrize(
    "method", ["er", "der", "derpp", "er-ace", "cba", "nccl", "refresh", "star", "cls-er", "agem", "gem", "mer"]
)
def test_reservoir_along_the_stream(method):
    made = trainer(method, two_widths(), **{**STREAM, "memory": 30}, epochs=1)
    made.run()
    assert made.method.memory.seen == 3 * 36
    assert len(made.method.memory) == 30
    with pytest.raises(ColdError, match="fill=stream needs"):
        trainer(method, two_widths(), options={"fill": "stream"})


CASES = [*((m, {}) for m in METHODS), ("cba", {"base": "der++"}), ("mer", {"form": "mini-batch"})]


@pytest.mark.parametrize(("method", "options"), CASES, ids=str)
def test_stopped_runs_end_the_same(method, options, tmp_path):
    options = {**SMALL_OPTIONS.get(method, {}), **options}
    small = {"memory_batch": 1, "batch_size": 18} if method == "mer" else {"batch_size": 12}
    config = make_config(TINY, {"method": method, "options": options, "epochs": 1, **small})
    whole = Trainer(config, benchmark=two_widths())
    expected = whole.run()
    count = iter(range(10**9))
    with pytest.raises(Stopped):  # in the middle of the second task
        Trainer(
            config,
            benchmark=two_widths(),
            out=tmp_path,
            should_stop=lambda: next(count) >= small["batch_size"] // 6 + 1,
        ).run()
    again = Trainer(config, benchmark=two_widths(), out=tmp_path)
    result = again.run(resume=True)
    assert again.resumed
    assert np.array_equal(result.arrays["accuracy"], expected.arrays["accuracy"])
    for left, right in zip(whole.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(left, right)


# Conflicting tasks on one head: what is not replayed is forgotten.
HARD = {
    "dataset": "synthetic", "tasks": 4, "epochs": 6, "batch_size": 15, "memory": 120, "memory_batch": 8, "lr": 0.01,
    "optimizer": "adam", "model": "mlp-32", "limit_train": 60, "limit_test": 100, "threads": 1,
    "data_options": {"classes": 8, "shape": [1, 8, 8], "heads": "shared", "noise": 0.3},
}  # fmt: skip
TUNED = {
    "mer": {"form": "mini-batch", "batches": 2, "beta": 0.5}, "gdumb": {"passes": 30, "final_only": True},
    "der": {"alpha": 1.0}, "cls-er": SMALL_OPTIONS["cls-er"],
}  # fmt: skip


def accuracy(method, seed):
    config = make_config(HARD, {"method": method, "seed": seed, "options": TUNED.get(method, {})})
    return Trainer(config).run().metrics["acc"]


@pytest.fixture(scope="module")
def forgetful():
    return [accuracy("finetune", seed) for seed in range(3)]


@pytest.mark.parametrize("method", [*REPLAY, "joint"])
def test_replay_beats_fine_tuning(method, forgetful):
    found = [accuracy(method, seed) for seed in range(3)]
    assert all(ours > plain for ours, plain in zip(found, forgetful, strict=True)), (found, forgetful)


@pytest.mark.parametrize("method", METHODS)
def test_methods_declare_themselves(method):
    cls = find_method(method)
    assert cls.title
    assert cls.paper or method == "finetune"
    assert cls.cost
    assert set(cls.settings) - {"task-free"} == {"task", "domain", "class"}
    assert all(f.default is not inspect.Parameter.empty for f in fields(cls.Options))
    for dataset, settings in cls.published.items():  # what papers print can be asked for
        config = make_config(settings, {"method": method, "dataset": dataset})
        assert cls.Options(**config.options)


def test_replay_methods_share_one_memory_and_one_sampler():
    for method in all_methods():
        if method.uses_memory and not method.name.startswith("cold"):
            assert issubclass(method, Replay)
            assert method.draw is Replay.draw
            assert method.sample is Replay.sample


def test_no_method_is_long():
    """What a class adds to its base class fits on two screens."""
    for method in all_methods():
        lines = len(inspect.getsource(method).splitlines())
        assert lines <= 85, (method.name, lines)


@pytest.mark.parametrize(("method", "options", "message"), [
    ("er", {"replay_weight": -1.0}, "replay_weight must be >= 0"),
    ("ewc", {"fisher": "true"}, "unknown value of option"),
    ("mer", {"batches": 0}, "batches must be > 0"), ("cba", {"base": "gem"}, "unknown value of option base"),
    ("der", {"fill": "never"}, "unknown value of option fill"), ("gem", {"marg": 1.0}, "unknown option of gem"),
])  # fmt: skip
def test_bad_options_in_one_line(method, options, message):
    with pytest.raises(ColdError, match=message) as caught:
        trainer(method, two_widths(), options=options)
    assert "\n" not in str(caught.value)
