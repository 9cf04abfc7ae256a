"""`cold` starts without what a call does not need, torch above all."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer.main

from cold.cli.app import app
from tests.startup import calls_of_a_program, completion

HEAVY = {
    "torch", "pandas", "matplotlib", "seaborn", "joblib",
    "scipy.stats", "scipy.optimize", "scipy.special", "distributed",
}  # fmt: skip
COMMANDS = typer.main.get_command(app).list_commands(None)  # type: ignore[attr-defined]


def test_the_list_of_commands_loads_nothing_that_computes():
    ((output, modules),) = calls_of_a_program("cold", ["--help"])
    assert "compare" in output
    assert modules.isdisjoint({*HEAVY, "numpy", "msgspec"})
    assert {name for name in modules if name.split(".")[0] == "cold"} == {"cold", "cold.cli", "cold.cli.app"}


def test_the_help_of_every_command_loads_nothing_heavy():
    assert len(COMMANDS) > 8
    calls = [[name, "--help"] for name in COMMANDS]
    for name, (output, modules) in zip(COMMANDS, calls_of_a_program("cold", *calls), strict=True):
        assert "Usage: cold" in output, name
        assert not modules & HEAVY, name


def test_lists_need_no_torch(tmp_path):
    calls = (["data", "list"], ["methods"], ["study", "list"])
    words = ("data root", "finetune", "batch-size")
    found = calls_of_a_program("cold", *calls, environment={"COLD_DATA": str(tmp_path)})
    for word, (output, modules) in zip(words, found, strict=True):
        assert word in output
        assert not modules & HEAVY, word


@pytest.mark.parametrize(("typed", "answer"), [("cold comp", "compare"), ("cold run --data", "--dataset")])
def test_completion_loads_nothing_heavy(typed, answer):
    ((output, modules),) = calls_of_a_program("cold", [], environment=completion("cold", typed))
    assert answer in output.split()
    assert not modules & HEAVY


def test_the_package_loads_its_names_when_they_are_asked_for():
    code = (
        "import sys, cold, cold.data\n"
        "assert not {'numpy', 'torch'} & set(sys.modules)\n"
        "cold.make_config, cold.read_result\n"
        "assert 'torch' not in sys.modules\n"
        "for package in (cold, cold.data):\n"
        "    assert all(getattr(package, name) is not None for name in package.__all__)\n"
        "    assert not hasattr(package, 'no_such_name')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
