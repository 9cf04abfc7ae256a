"""A package of someone else adds a claim, a command, a figure and a statement: built, installed, used as by a user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

pytest.importorskip("hatchling")

ROOT = Path(__file__).parents[2]
Command = Callable[..., "subprocess.CompletedProcess[str]"]

PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "tiny-plug-in"
version = "0.1"

[project.entry-points."coldtheory.claims"]
tiny = "tiny_plug_in:claims"

[project.entry-points."coldtheory.commands"]
hello = "tiny_plug_in:hello"

[project.entry-points."coldtheory.figures"]
tiny = "tiny_plug_in.pictures:figures"

[project.entry-points."coldtheory.statements"]
tiny_queues = "tiny_plug_in.queues"
"""
MODULE = '''
"""Two claims and one command."""

from pathlib import Path

from coldtheory.bounds import evaluate
from coldtheory.claims import Finding, NoRuns, Registry, RunSource

registry = Registry()


@registry.claim(
    id="tiny-drift", label="tiny:drift", section="Elsewhere", statement="Lemma 1 holds in its corrected form.",
    recorded="holds", explain="Lemma 1 on one run of the toy.",
)
def drift() -> Finding:
    import coldtheory as ct

    bound = evaluate("lemma1", "corrected", ct.simulate(ct.make_tasks("high", seeds=0, T=10), V=200.0))
    return Finding("false" if bound.violated.any() else "holds", None, "one run")


@registry.claim(
    id="tiny-runs", label="tiny:runs", section="Elsewhere", statement="There is a run.", recorded="holds",
    explain="It looks for a file.", runs=RunSource(lambda: Path("tiny-runs"), lambda folder: {}),
)
def there_is_a_run(folder: Path) -> Finding:
    if not folder.is_dir():
        raise NoRuns("there is no run", "tiny run")
    return Finding("holds", None, f"found in {folder.name}")


def claims():
    return registry.claims


def hello(name: str = "you") -> None:
    """Greet someone."""
    print(f"hello, {name}")
'''
PICTURES = '''
"""One figure, from a table that is computed when it is missing."""

from coldtheory.figures.figure import Figure, TableData
from coldtheory.figures.table import Table


def table(points, tell):
    return Table.of({"x": x, "y": x * x} for x in range(points))


def draw(tables):
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(3.25, 2.5))
    columns = tables["tiny-squares"].columns
    picture.subplots().plot(columns["x"], columns["y"])
    return picture


def figures(wanted):
    squares = TableData("tiny-squares", "coldtheory plot tiny-figure", "tiny_plug_in.pictures:table", {"points": 5})
    yield Figure("tiny-figure", "", "Squares", "They grow.", "theory", (squares,), "tiny_plug_in.pictures:draw")
'''
STATEMENT = '''
"""The average queue is at most a third of l r^2/2."""

from coldtheory.bounds import bound, form


@form(T=(2, 4))
def printed(facts):
    return bound(facts, facts.avg_Qbar, facts.l * facts.r**2 / 6, premises=["Case 1", "models in W"])


@form(T=8)
def longer(facts):
    return bound(facts, facts.avg_Qbar, facts.l * facts.r**2 / 6, premises=["Case 1", "models in W", "exact minimiser"])
'''


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """`coldtheory` with the plug-in installed beside it, called in an empty folder."""
    source, target, here = (tmp_path_factory.mktemp(name) for name in ("source", "target", "here"))
    (source / "tiny_plug_in").mkdir()
    (source / "tiny_plug_in" / "__init__.py").write_text(MODULE)
    (source / "tiny_plug_in" / "pictures.py").write_text(PICTURES)
    (source / "tiny_plug_in" / "queues.py").write_text(STATEMENT)
    (source / "pyproject.toml").write_text(PYPROJECT)
    quiet = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check")
    subprocess.run([sys.executable, "-m", "pip", "install", *quiet, "--target", target, source], check=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, target))), "COLUMNS": "200"}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        call = [sys.executable, "-c", "from coldtheory.cli import main; main()", *words]
        return subprocess.run(call, cwd=here, env=environment, capture_output=True, text=True, check=False)

    return run


def test_its_claim_is_checked_with_the_others(command: Command) -> None:
    done = command("check", "--only", "tiny-drift", "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert (row["verdict"], row["section"]) == ("holds", "Elsewhere")


def test_its_claim_on_runs_takes_their_folder(command: Command, tmp_path: Path) -> None:
    absent = command("check", "--only", "tiny-runs")
    assert absent.returncode == 0, absent.stderr
    assert "make them: tiny run" in absent.stdout
    (row,) = json.loads(command("check", "--only", "tiny-runs", "--runs", str(tmp_path), "--json").stdout)
    assert row["evidence"] == f"found in {tmp_path.name}"


def test_its_command_is_one_of_the_program(command: Command) -> None:
    done = command("hello", "--name", "Ada")
    assert (done.returncode, done.stdout) == (0, "hello, Ada\n"), done.stderr
    assert "Greet someone." in command("--help").stdout


def test_its_figure_is_listed_and_drawn(command: Command, tmp_path: Path) -> None:
    assert "tiny-figure" in command("figures").stdout
    done = command("plot", "tiny-figure", "--figures", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "tiny-figure.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "tiny-figure.csv").read_text().splitlines()[-1] == "4,16"


def test_its_statement_is_taken_as_one_of_ours(command: Command, tmp_path: Path) -> None:
    done = command("check", "tiny_queues", "--candidates", "2000", "--json")
    assert done.returncode in (0, 1), done.stderr
    assert [row["form"] for row in json.loads(done.stdout)] == ["printed", "longer"]
    saved = str(tmp_path / "found.toml")
    found = command("search", "tiny_queues", "--form", "longer", "--candidates", "20000", "--out", saved, "--json")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["statement"] == "tiny_queues"
    again = command("replay", saved, "--json")  # an installed package is trusted: no option is needed
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["lhs"] == json.loads(found.stdout)["lhs"]
    assert "did you mean tiny_queues" in command("search", "tiny_queue").stderr
