"""The tutorials are notebooks: each runs from its first cell to its last, as Python here, and in Jupyter where it is
installed, and has a page that shows it."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.docs.pages import ROOT, same_words

NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
IDS = [path.stem for path in NOTEBOOKS]


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def source(cell: Any) -> str:
    return "".join(cell["source"])


def shown(cell: Any) -> str:
    """What a cell printed when it was stored."""
    return "".join("".join(output["text"]) for output in cell["outputs"] if output.get("name") == "stdout")


@pytest.mark.kernels
@pytest.mark.parametrize("path", NOTEBOOKS, ids=IDS)
def test_runs_as_python(path, monkeypatch, tmp_path):
    """Each cell in the names that the cells before it left behind; a notebook's own claims are its assertions.

    Where the notebook's metadata say so, it prints the words that are stored in it.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # for the programs that it starts
    notebook = read(path)
    threads, names = torch.get_num_threads(), {"__name__": "__main__"}
    with torch.random.fork_rng():
        for number, cell in enumerate(cell for cell in notebook["cells"] if cell["cell_type"] == "code"):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(source(cell), f"{path.name}, code cell {number + 1}", "exec"), names)
            if "cold" in notebook["metadata"]:
                assert same_words(printed.getvalue(), shown(cell)), printed.getvalue()
    torch.set_num_threads(threads)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=IDS)
def test_runs_in_jupyter(path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="needs Jupyter: pip install nbclient ipykernel")
    pytest.importorskip("ipykernel", reason="needs Jupyter: pip install nbclient ipykernel")
    import nbformat  # noqa: PLC0415

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=1200).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("image/png" in output.get("data", {}) for output in outputs)  # the picture is shown


@pytest.mark.parametrize("path", NOTEBOOKS, ids=IDS)
def test_has_a_page_its_outputs_and_no_trace_of_a_machine(path):
    title = source(read(path)["cells"][0]).splitlines()[0]
    assert path.with_suffix(".md").read_text().startswith(f"{title}\n")
    assert f"]({path.stem}.md)" in (path.parent / "index.md").read_text()
    outputs = [output for cell in read(path)["cells"] for output in cell.get("outputs", ())]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    words = json.dumps([{**output, "data": sorted(output.get("data", ()))} for output in outputs])
    assert not [part for part in ("stderr", "Traceback", "/tmp/", "/root/", "/home/") if part in words]


def test_the_loop_is_thirty_lines_and_five_more():
    """As the text of the tutorial says."""
    cells = [source(cell) for cell in read(ROOT / "docs/tutorials/own_loop.ipynb")["cells"]]
    plain, with_cold = (cell for cell in cells if "def train_task" in cell)
    assert len(plain.splitlines()) <= 34
    new = [line for line in with_cold.splitlines() if "# +" in line]
    assert len(new) == 5
    kept = [line for line in with_cold.splitlines() if line and line not in new]
    old = plain.splitlines()
    changed = [line for line in kept if line not in old and "with_cold" not in line]
    assert changed == []
