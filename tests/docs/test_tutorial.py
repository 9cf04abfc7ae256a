"""The tutorial on one's own theorem, followed in an empty folder: the commands print what the page shows."""

from __future__ import annotations

import math
import shlex

import pytest
from typer.testing import CliRunner

from coldtheory.cli import app
from tests.docs.pages import ROOT, blocks

PAGE = ROOT / "docs/tutorials/own_theorem.md"


def sessions(text: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with what it prints."""
    parts = text.split("$ ")[1:]
    return [(command, printed) for command, _, printed in (part.partition("\n") for part in parts)]


def same(ours: str, theirs: str) -> bool:
    """Equal words; numbers may differ in digits that depend on the machine's linear algebra."""
    try:
        return math.isclose(float(ours), float(theirs), rel_tol=1e-3)
    except ValueError:
        return ours == theirs


@pytest.mark.kernels
def test_the_tutorial_prints_what_it_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = []
    for block in blocks(PAGE):
        if block.language == "python":
            (tmp_path / "forgetting.py").write_text(block.text)
        for command, shown in sessions(block.text) if block.language == "console" else ():
            program, *words = shlex.split(command)
            assert program == "coldtheory"
            done = CliRunner().invoke(app, words, env={"COLUMNS": "100"})
            printed = (done.stdout + done.stderr).split()
            assert len(printed) == len(shown.split()), f"{command}: {' '.join(printed)}"
            assert all(map(same, printed, shown.split())), f"{command}: {' '.join(printed)}"
            run.append((words[0], done.exit_code))
    assert run == [("check", 1), ("challenge", 1), ("replay", 2), ("replay", 0), ("check", 0), ("replay", 0)]
    assert (tmp_path / "broken.png").read_bytes().startswith(b"\x89PNG")
    for picture in ("broken.png", "bounds-forgetting.png"):
        assert (PAGE.parent / picture).is_file()
