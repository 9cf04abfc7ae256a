"""The notebooks run from their first cell to their last, as Python here, and in Jupyter where it is installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.docs.pages import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
IDS = [path.stem for path in NOTEBOOKS]


def cells(path: Path, kind: str) -> list[str]:
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == kind]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=IDS)
def test_runs_as_python(path, monkeypatch):
    """Each cell in the names that the cells before it left behind; a notebook's own claims are its assertions."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # for the programs that it starts
    threads, names = torch.get_num_threads(), {"__name__": "__main__"}
    with torch.random.fork_rng():
        for number, cell in enumerate(cells(path, "code")):
            exec(compile(cell, f"{path.name}, code cell {number + 1}", "exec"), names)
    torch.set_num_threads(threads)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=IDS)
def test_runs_in_jupyter(path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="needs Jupyter: pip install nbclient ipykernel")
    pytest.importorskip("ipykernel", reason="needs Jupyter: pip install nbclient ipykernel")
    import nbformat  # noqa: PLC0415

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=600).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("image/png" in output.get("data", {}) for output in outputs)  # the picture is shown


def test_own_tasks_take_six_lines():
    """As the text of the tutorial says."""
    made, advised = cells(ROOT / "docs" / "tutorials" / "own_tasks.ipynb", "code")[:2]
    assert "ct.advise(" in advised
    assert "run.plot()" in advised
    assert len([line for line in advised.splitlines() if line]) + len([*filter(None, made.splitlines()[:1])]) <= 6


def test_the_loop_is_thirty_lines_and_five_more():
    """As the text of the tutorial says."""
    plain, with_cold = (cell for cell in cells(ROOT / "docs" / "tutorials" / "own_loop.ipynb", "code")
                        if "def train_task" in cell)  # fmt: skip
    assert len(plain.splitlines()) <= 34
    new = [line for line in with_cold.splitlines() if "# +" in line]
    assert len(new) == 5
    kept = [line for line in with_cold.splitlines() if line and line not in new]
    old = plain.splitlines()
    changed = [line for line in kept if line not in old and "with_cold" not in line]
    assert changed == []
