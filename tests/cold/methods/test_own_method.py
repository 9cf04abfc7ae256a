"""A method of one's own: one file anywhere, nothing else touched."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from cold.cli.app import app
from cold.config import make_config
from cold.methods import find_method
from cold.trainer import Trainer
from coldtheory.ground.errors import ColdError
from tests.cold.methods.method_cases import two_widths

OWN = '''
"""Replay with a penalty on large logits of the past."""

from dataclasses import dataclass

from cold.methods.replay import Replay, cross_entropy


class CalmReplay(Replay):
    name = "calm"
    title = "Calm replay"

    @dataclass(frozen=True)
    class Options(Replay.Options):
        calm: float = 0.1

    def loss(self, batch):
        draw = self.sample(batch)
        if draw is None:
            return self.batch_losses(batch).mean()
        (now, y), (past, old) = self.logits(self.company(batch, draw))
        large = past.clamp_min(-10).square().mean()
        return cross_entropy(now, y) + cross_entropy(past, old) + self.options.calm * large
'''
TINY = ["--dataset", "synthetic", "--tasks", "2", "--limit-train", "20", "--limit-test", "10", "--epochs", "1",
        "--batch-size", "10", "--memory", "10", "--memory-batch", "2", "--model", "mlp-8", "--data-option", "classes=4",
        "--json"]  # fmt: skip


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "calm.py"
    path.write_text(OWN)
    return path


def test_from_the_command_line(own, tmp_path):
    words = ["run", *TINY, "--method", str(own), "--option", "calm=0.5", "--out", str(tmp_path / "runs")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert result["config"]["options"] == {"calm": 0.5}
    assert (tmp_path / "runs" / result["run_id"] / "result.json").exists()
    again = CliRunner().invoke(app, [*words, "--resume"])
    assert again.exit_code == 0


def test_from_python_with_heads_of_two_widths(own):
    made = Trainer(make_config({"method": f"{own}:CalmReplay", "memory": 9, "memory_batch": 2, "epochs": 1}),
                   benchmark=two_widths())  # fmt: skip
    assert made.method.options.calm == 0.1
    assert made.run().arrays["accuracy"].shape == (3, 3)
    assert len(made.method.memory) == 9


@pytest.mark.parametrize(("content", "suffix", "message"), [
    (None, "", "no method file"), (OWN, ":Other", "unknown method in"), ("x = 1\n", "", "must hold one class"),
    ("import nothing_like_this\n", "", "cannot load the method file"), ("def broken(:\n", "", "SyntaxError"),
])  # fmt: skip
def test_mistakes_are_said_in_one_line(tmp_path, content, suffix, message):
    path = tmp_path / "mine.py"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ColdError, match=message) as caught:
        find_method(f"{path}{suffix}")
    assert "\n" not in str(caught.value)
