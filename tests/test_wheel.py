"""The wheel in an environment of its own, used in an empty folder: the evidence travels with the package."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
Command = Callable[..., "subprocess.CompletedProcess[str]"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Commands of an installed wheel, run in one empty folder."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    place = folder / "environment"
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(place), "platbase": str(place)}))
    # What the package depends on is taken from the environment of the tests; the package itself is not.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel], check=True)
    empty = folder / "empty"
    empty.mkdir()

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        call = [str(place / "bin" / words[0]), *words[1:]]
        clean = {"PATH": f"{place / 'bin'}:/usr/bin:/bin", "HOME": str(folder)}
        return subprocess.run(call, cwd=empty, env=clean, capture_output=True, text=True, check=False)

    where = run("python", "-c", "import coldtheory; print(coldtheory.__file__)").stdout
    assert str(place) in where, "the installed package is the one that is used"
    return run


def test_every_claim_has_the_verdict_of_a_checkout(command: Command) -> None:
    done = command("coldtheory", "check", "--json")
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout)
    assert len(outcomes) >= 180
    assert [row["id"] for row in outcomes if row["changed"]] == []
    page = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    waiting = {line.split("`")[1] for line in page.splitlines() if "| no runs here |" in line}
    assert {row["id"] for row in outcomes if row["verdict"] == "no runs here"} <= waiting


def test_every_figure_is_drawn(command: Command) -> None:
    done = command("coldtheory", "plot", "all", "--json")
    assert done.returncode == 0, done.stderr
    drawn = {entry["id"] for entry in json.loads(done.stdout)["drawn"]}
    assert drawn >= {path.stem for path in (ROOT / "figures").glob("*.png")}


def test_a_table_is_printed_from_the_runs_of_the_wheel(command: Command) -> None:
    done = command("cold", "table", "pmnist", "--json")
    assert done.returncode == 0, done.stderr
    (comparison,) = json.loads(done.stdout)["comparisons"]
    by_row = {row["row"]: row for row in comparison["rows"]}
    assert len(by_row["cold"]["runs"]) == 3
