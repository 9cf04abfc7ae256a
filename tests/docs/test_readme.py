"""Every block of the README and of the page of first commands that can be run is run, in an empty folder, and prints
what stands there."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.docs.pages import ROOT, Block, blocks, same_words

README, START = ROOT / "README.md", ROOT / "docs/start.md"
_MAKE = "make  "  # the two commands that make an environment: .ci/run starts them


def only(page: Path, language: str) -> Block:
    (found,) = [block for block in blocks(page) if block.language == language]
    return found


def typed(command: str, folder: Path) -> str:
    """What a line in a shell prints."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    place = {"PATH": programs, "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    done = subprocess.run(
        command, shell=True, cwd=folder, env={**os.environ, **place}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_python(text: str, name: str) -> str:
    printed = io.StringIO()
    with torch.random.fork_rng(), contextlib.redirect_stdout(printed):
        exec(compile(text, name, "exec"), {"__name__": "__main__"})
    return printed.getvalue()


def promised(text: str) -> str:
    """What a block of Python says that it prints: the comments that fill a line."""
    return "\n".join(re.findall(r"^# (.+)$", text, re.M))


def test_every_block_is_one_that_is_run():
    assert [block.language for block in blocks(README)] == ["", "console", "sh", "python"]
    assert blocks(README)[0].text.startswith(_MAKE)


def test_the_verdicts(tmp_path):
    command, _, shown = only(README, "console").text.removeprefix("$ ").partition("\n")
    assert same_words(typed(command, tmp_path), shown)


def test_the_picture_of_own_tasks(tmp_path):
    for line in only(README, "sh").text.splitlines():
        typed(line, tmp_path)
    (picture,) = tmp_path.glob("figures/queues*.png")
    assert picture.read_bytes().startswith(b"\x89PNG")


def numbers(text: str) -> np.ndarray:
    return np.array([float(number) for number in re.findall(r"\d\.\d+", text)])


def test_the_training_loop(tmp_path, monkeypatch):
    """With COLD and with plain cross-entropy; accuracies may differ by some samples from machine to machine."""
    monkeypatch.chdir(tmp_path)
    block = only(README, "python").text
    with_cold = numbers(run_python(block, "README.md"))
    assert with_cold == pytest.approx(numbers(promised(block)), abs=0.05)
    assert Path("queues.png").read_bytes().startswith(b"\x89PNG")

    plain = block.replace(
        "dpp.loss(model, x[rows], y[rows])", "torch.nn.functional.cross_entropy(model(x[rows]), y[rows])"
    )
    plain = "\n".join(line for line in plain.splitlines() if "dpp." not in line)
    without = numbers(run_python(plain, "README.md, without COLD"))
    (told,) = re.findall(r"plain cross-entropy ends at (\[.+?\])", README.read_text())
    assert without == pytest.approx(numbers(told), abs=0.1)
    assert with_cold.min() > without.min() + 0.3


def test_the_first_commands_in_python():
    block = only(START, "python").text
    assert same_words(run_python(block, "start.md"), promised(block))
