"""`coldtheory` starts without what a call does not need."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer.main

from coldtheory.cli import app
from tests.startup import calls_of_a_program, completion

HEAVY = {
    "torch", "pandas", "matplotlib", "seaborn", "joblib",
    "scipy.stats", "scipy.optimize", "scipy.special", "z3", "pepit",
}  # fmt: skip
COMMANDS = typer.main.get_command(app).list_commands(None)  # type: ignore[attr-defined]


def test_the_list_of_commands_loads_nothing_that_computes():
    ((output, modules),) = calls_of_a_program("coldtheory", ["--help"])
    assert "sweep" in output
    assert modules.isdisjoint({*HEAVY, "numpy", "msgspec"})
    loaded = {name for name in modules if name.split(".")[0] in ("coldtheory", "cold", "paper_checks")}
    assert {name for name in loaded if not name.startswith("coldtheory.ground")} <= {
        "coldtheory",
        "coldtheory.cli",
        "coldtheory.cli.app",
    }


def test_the_help_of_every_command_loads_nothing_heavy():
    assert len(COMMANDS) > 15
    for name, (output, modules) in zip(
        COMMANDS, calls_of_a_program("coldtheory", *([name, "--help"] for name in COMMANDS)), strict=True
    ):
        assert "Usage: coldtheory" in output, name
        assert not modules & HEAVY, name


@pytest.mark.parametrize(
    ("typed", "answer"), [("coldtheory sim", "simulate"), ("coldtheory simulate --reg", "--regime")]
)
def test_completion_loads_nothing_heavy(typed, answer):
    ((output, modules),) = calls_of_a_program("coldtheory", [], environment=completion("coldtheory", typed))
    assert output.split() == [answer]
    assert not modules & HEAVY
    assert ("numpy" in modules) == (typed == "coldtheory simulate --reg")


def test_the_package_loads_its_names_when_they_are_asked_for():
    code = (
        "import sys, coldtheory\n"
        "assert 'numpy' not in sys.modules\n"
        "assert all(getattr(coldtheory, name) is not None for name in coldtheory.__all__)\n"
        "assert 'simulate' in vars(coldtheory)\n"
        "assert not hasattr(coldtheory, 'no_such_name')\n"
        f"assert not {HEAVY!r} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_completion_says_nothing_about_old_spellings():
    typed = "coldtheory plot --to x --for"
    ((output, _),) = calls_of_a_program("coldtheory", [], environment=completion("coldtheory", typed))
    assert output.split() == ["--format"]
