"""The shared loop: every method runs, runs repeat, methods see the same batches, bad input is said in one line."""

from __future__ import annotations

import json
import math
import os

import numpy as np
import pytest
import torch
from torch import nn

from cold.compute import repeatable
from cold.config import make_config
from cold.data import from_tensors
from cold.methods import all_methods
from cold.runs import read_result
from cold.trainer import Trainer
from coldtheory.ground.errors import ColdError
from tests.cold.tiny_runs import TINY, same_results, tiny

METHODS = ("cold", "cold-oracle", "er", "finetune")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_and_repeats(method, tmp_path):
    first = Trainer(tiny(method=method), out=tmp_path).run()
    torch.manual_seed(99)  # global random state has no say
    second = Trainer(tiny(method=method)).run()
    same_results(first, second)
    assert first.arrays["accuracy"].shape == (3, 3)
    stored = read_result(tmp_path / first.run_id)
    same_results(first, stored)
    content = json.loads((tmp_path / first.run_id / "result.json").read_text())
    assert content["format"] == "cold-run/1"
    assert content["config"]["profile"] is None
    assert content["provenance"]["packages"]["torch"]
    assert (tmp_path / first.run_id / "model.safetensors").exists()
    if method.startswith("cold"):
        assert first.arrays["queues"].shape == (4, 3)
        assert (first.arrays["queues"][:2] == 0).all()  # no past task before the second


def test_seeds_differ():
    a, b = Trainer(tiny(seed=0)).run(), Trainer(tiny(seed=1)).run()
    assert not np.array_equal(a.arrays["accuracy"], b.arrays["accuracy"])


def test_methods_see_the_same_batches_and_the_same_memory():
    seen = {}
    for method in ("cold", "er"):
        trainer = Trainer(tiny(method=method))
        batches = []
        step = trainer.method.step

        def watched(batch, step=step, batches=batches):
            batches.append(batch.raw.clone())
            return step(batch)

        trainer.method.step = watched
        trainer.run()
        memory = trainer.method.memory if method == "er" else trainer.method.dpp.memory
        seen[method] = (torch.cat(batches), memory.raw)
    for left, right in zip(seen["cold"], seen["er"], strict=True):
        assert torch.equal(left, right)


def test_one_task_and_an_incomplete_last_batch():
    result = Trainer(tiny(tasks=1, limit_train=50, data_options={"classes": 2})).run()
    assert result.timing["steps"] == 2 * math.ceil(50 / 20)
    assert result.metrics["forgetting"] is None


@pytest.mark.parametrize("changes", [
    {"optimizer": "sgdm"}, {"replay": "mixed", "memory_batch": 5}, {"queue_update": "epoch"}, {"queue_update": "task"},
    {"weights": "mean"}, {"memory_policy": "reservoir", "replay": "mixed"}, {"reset_optimizer": True},
    {"method": "cold-oracle", "oracle": "window:1"}, {"method": "cold-oracle", "oracle": "streaming"},
    {"validation": 0.2, "evaluate_on": "validation"}, {"amp": "bf16"}, {"iid": True},
    {"data_options": {"permuted": True}, "tasks": 3}, {"channels_last": True, "model": "conv", "width": 4},
    {"model": "resnet18", "width": 2, "epochs": 1},
])  # fmt: skip
def test_switches(changes):
    result = Trainer(tiny(**changes)).run()
    assert np.isfinite(result.arrays["accuracy"]).all()
    assert result.metrics["acc"] > 30


def test_own_module_and_own_tasks():
    g = torch.Generator().manual_seed(0)

    def task(shift: float) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.randint(2, (80,), generator=g)
        return torch.randn(80, 5, generator=g) + (2 * y[:, None] - 1) * shift, y

    tasks = [(*task(s), *task(s)) for s in (1.5, -1.5)]
    benchmark = from_tensors(tasks, scenario="task")
    torch.manual_seed(0)  # torch's own generator starts the module's weights
    module = nn.Sequential(nn.Linear(5, 8), nn.Tanh())
    config = make_config(
        {k: v for k, v in TINY.items() if k not in ("dataset", "data_options", "limit_train", "limit_test", "tasks")}
    )
    result = Trainer(config, benchmark=benchmark, module=module).run()
    assert result.metrics["acc"] > 80
    assert result.config["dataset"] == benchmark.name


def test_nan_stops_and_says_where(tmp_path):
    trainer = Trainer(tiny(), out=tmp_path)
    honest = trainer.method.loss
    calls = []

    def broken(batch):
        calls.append(batch.task)
        return honest(batch) * (math.nan if len(calls) == 9 else 1.0)

    trainer.method.loss = broken
    with pytest.raises(
        ColdError, match=r"the loss is nan at step 3 of task 2 \(of 3\); the last good checkpoint stays"
    ):
        trainer.run()
    kept = list(trainer.folder.glob("checkpoint-*.pt"))
    assert [path.name for path in kept] == ["checkpoint-0000000006.pt"]  # the one after task 1


@pytest.mark.parametrize(("changes", "message"), [
    ({"memory": 2}, "less than one sample of each of 3 tasks"),
    ({"memory_batch": 11}, "memory batch of 11 is larger than the 10 samples"),
    ({"method": "er", "memory_batch": 11}, "memory batch of 11 is larger than the 10 samples"),
    ({"method": "colt"}, "did you mean cold"),
    ({"device": "cuda:7"}, "cannot be used here"),
    ({"options": {"alpha": 1}}, "cold has no options of its own"),
    ({"oracle": "best", "method": "cold-oracle"}, "exact, streaming or window:N"),
])  # fmt: skip
def test_bad_input_in_one_line(changes, message):
    with pytest.raises(ColdError, match=message) as caught:
        Trainer(tiny(**changes)).run()
    assert "\n" not in str(caught.value)


def settings_of_torch():
    cudnn = torch.backends.cudnn
    return (
        torch.are_deterministic_algorithms_enabled(), torch.get_float32_matmul_precision(), cudnn.deterministic,
        cudnn.benchmark, cudnn.allow_tf32, os.environ.get("CUBLAS_WORKSPACE_CONFIG"),
    )  # fmt: skip


def test_deterministic_holds_during_the_run_and_not_after_it():
    before = settings_of_torch()
    trainer = Trainer(tiny(method="er", deterministic=True))
    seen, step = [], trainer.method.step
    trainer.method.step = lambda batch: (seen.append(settings_of_torch()), step(batch))[1]
    result = trainer.run()
    assert set(seen) == {(True, "highest", True, False, False, ":4096:8")}
    assert settings_of_torch() == before
    plain = Trainer(tiny(method="er")).run()
    assert result.run_id != plain.run_id
    assert result.metrics == plain.metrics  # on a CPU it changes nothing


def test_deterministic_leaves_a_workspace_that_the_user_chose(monkeypatch):
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    before = settings_of_torch()
    with repeatable(True):
        assert settings_of_torch()[-1] == ":16:8"
    assert settings_of_torch() == before


def test_an_operation_that_cannot_repeat_is_an_error_in_one_line():
    before = settings_of_torch()
    with (
        pytest.raises(ColdError, match=r"put_ does not have a deterministic implementation; leave") as caught,
        repeatable(True),
    ):
        torch.zeros(3).put_(torch.tensor([0]), torch.tensor([1.0]))
    assert "\n" not in str(caught.value)
    assert settings_of_torch() == before


def test_methods_declare_themselves():
    found = {method.name: method for method in all_methods()}
    assert set(METHODS) <= set(found)
    assert all(method.title for method in found.values())
