"""Trainer, methods and resume on a GPU: python -m pytest -m gpu

Without a GPU these are left out by name. What can be shown without one is shown in `test_device_traffic.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from cold.catalogue import METHODS
from cold.cli.app import app
from cold.config import RunConfig, make_config
from cold.trainer import Stopped, Trainer
from coldtheory.ground.errors import ColdError
from tests.cold.test_device_traffic import PROMISED
from tests.cold.tiny_runs import TINY, same_results
from tests.cold.traffic import FILLS, fills

pytestmark = pytest.mark.gpu

DEVICE = "cuda"
SHORT: dict[str, dict[str, Any]] = {
    "mer": {"limit_train": 20, "options": {"batches": 2}}, "gdumb": {"options": {"passes": 2}},
}  # fmt: skip
RESNET: dict[str, Any] = {
    "model": "resnet18", "width": 2, "augment": True, "epochs": 1, "data_options": {"classes": 6, "shape": [3, 16, 16]},
}  # fmt: skip


def on_gpu(method: str, *layers: dict[str, Any], **changes: Any) -> RunConfig:
    settings = {"method": method, "device": DEVICE, "deterministic": True}
    return make_config(TINY, SHORT.get(method, {}), settings, *layers, changes)


def weights(trainer: Trainer) -> list[torch.Tensor]:
    return [p.detach().cpu() for p in trainer.method.network_for_evaluation().parameters()]


def same_weights(left: Trainer, right: Trainer) -> bool:
    return all(torch.equal(a, b) for a, b in zip(weights(left), weights(right), strict=True))


@pytest.mark.parametrize("network", ["mlp", "resnet"])
@pytest.mark.parametrize("method", METHODS)
def test_deterministic_runs_repeat_bit_by_bit(method, network):
    config = on_gpu(method, RESNET if network == "resnet" else {})
    first, second = Trainer(config), Trainer(config)
    same_results(first.run(), second.run())
    assert same_weights(first, second)
    assert first.device.type == DEVICE


@pytest.mark.parametrize("method", METHODS)
def test_stopped_runs_end_the_same(method, tmp_path):
    for fill in fills(method):
        config = on_gpu(method, FILLS[fill])
        whole = Trainer(config)
        expected = whole.run()
        steps = iter(range(10**9))
        stop_at = whole.steps_of_task[0] + 1  # in the second task
        with pytest.raises(Stopped):
            Trainer(config, out=tmp_path, should_stop=lambda at=stop_at, steps=steps: next(steps) >= at).run()
        again = Trainer(config, out=tmp_path)
        same_results(expected, again.run(resume=True))
        assert again.resumed
        assert same_weights(whole, again)


@contextmanager
def waiting_is_an_error() -> Iterator[None]:
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("method", [name for name, limits in PROMISED.items() if limits == (0, 0)])
def test_torch_itself_sees_no_step_wait(method):
    for fill in fills(method):
        trainer = Trainer(on_gpu(method, FILLS[fill], deterministic=False))
        step = trainer.method.step

        def watched(batch, step=step):
            if not batch.task:  # what is made once, such as an optimiser's state, is made in the first task
                return step(batch)
            with waiting_is_an_error():
                return step(batch)

        trainer.method.step = watched
        trainer.run()


def test_batches_and_memory_are_those_of_the_cpu():
    """Data, order and draws come from the CPU's generators: the same on every device."""
    seen = {}
    for device in ("cpu", DEVICE):
        trainer = Trainer(on_gpu("er", device=device))
        batches, draws = [], []
        step, draw = trainer.method.step, trainer.method.draw

        def watched_step(batch, step=step, batches=batches):
            batches.append(batch.raw.cpu())
            return step(batch)

        def watched_draw(*args, draw=draw, draws=draws, **kwargs):
            drawn = draw(*args, **kwargs)
            draws.append(drawn.slots.cpu())
            return drawn

        trainer.method.step, trainer.method.draw = watched_step, watched_draw
        trainer.run()
        seen[device] = [torch.cat(batches), torch.cat(draws), trainer.method.memory.raw.cpu()]
    assert all(torch.equal(left, right) for left, right in zip(seen["cpu"], seen[DEVICE], strict=True))


@pytest.mark.parametrize("method", ["cold", "er", "ewc", "agem"])
def test_accuracies_are_near_the_cpus(method):
    """Not the same bits: other kernels round otherwise. Of 40 test samples per task some may flip."""
    ours, cpus = (Trainer(on_gpu(method, device=device)).run() for device in (DEVICE, "cpu"))
    assert np.abs(ours.arrays["accuracy"] - cpus.arrays["accuracy"]).max() <= 0.15


@pytest.mark.parametrize("amp", ["bf16", "fp16"])
@pytest.mark.parametrize("method", ["cold", "agem", "ewc"])
def test_reduced_precision(method, amp):
    result = Trainer(on_gpu(method, RESNET, amp=amp, deterministic=False)).run()
    assert np.isfinite(result.arrays["accuracy"]).all()


def test_an_operation_that_cannot_repeat_is_an_error_in_one_line():
    """The mean over a 2x2 grid in `conv` has no such kernel for gradients on a GPU."""
    with pytest.raises(ColdError, match="leave --deterministic out") as caught:
        Trainer(on_gpu("er", model="conv", width=4, data_options={"classes": 6, "shape": [1, 9, 9]})).run()
    assert "\n" not in str(caught.value)


def test_the_command(tmp_path):
    words = ["run", "--dataset", "synthetic", "--tasks", "2", "--limit-train", "40", "--limit-test", "20", "--json",
             "--online", "--memory", "10", "--device", DEVICE, "--deterministic", "--out", str(tmp_path)]  # fmt: skip
    printed = json.loads(CliRunner().invoke(app, words).stdout)
    assert printed["timing"]["device"].startswith(DEVICE)
    assert printed["config"]["deterministic"] is True
