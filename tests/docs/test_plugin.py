"""The plug-in of the architecture page, installed from its two code blocks: a figure, a claim, a command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib

import pytest

from tests.docs.pages import ROOT, blocks


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder that holds the module and, as pip would write it, its metadata."""
    folder = tmp_path_factory.mktemp("plugin")
    found = {block.language: block.text for block in blocks(ROOT / "docs/architecture.md")}
    project = tomllib.loads(found["toml"])["project"]
    (folder / "cold_example_plugin.py").write_text(found["python"])
    about = folder / f"cold_example_plugin-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = project["entry-points"].items()
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in entries.items()) for group, entries in groups]
    (about / "entry_points.txt").write_text("\n".join(lines))
    return folder


def coldtheory(installed, cwd, *words):
    path = os.pathsep.join([str(installed), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-c", "from coldtheory.cli import main; main()", *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command(installed, tmp_path):
    done = coldtheory(installed, tmp_path, "hello", "--name", "reader")
    assert (done.returncode, done.stdout) == (0, "hello, reader\n"), done.stderr
    assert "hello" in coldtheory(installed, tmp_path, "--help").stdout


def test_the_figure(installed, tmp_path):
    done = coldtheory(installed, tmp_path, "plot", "first_queue")
    assert done.returncode == 0, done.stderr
    assert {path.suffix for path in (tmp_path / "figures").glob("first_queue.*")} == {".png", ".pdf", ".csv", ".json"}
    columns = (tmp_path / "figures/first_queue.csv").read_text().splitlines()[0].split(",")
    assert {"V", "t", "Q"} <= set(columns)


def test_the_claim(installed, tmp_path):
    done = coldtheory(installed, tmp_path, "check", "--only", "first-queue-empty", "--json")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)
    assert (found["verdict"], found["changed"]) == ("holds", False)


def test_without_the_plug_in_nothing_of_it_is_there(tmp_path):
    done = coldtheory(tmp_path, tmp_path, "hello")
    assert done.returncode == 2
