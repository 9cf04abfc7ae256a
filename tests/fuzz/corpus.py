"""Good files of every format that is read back, small and quick to make: what the cases damage and what they name."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from cold.data import load_benchmark
from cold.data.binary import CIFAR10
from cold.grid.cells import write_failure
from cold.runs import pack
from cold.trainer import Stopped, Trainer
from cold.tuning.journal import Journal
from cold.tuning.settings_file import write_settings
from coldtheory import counterexamples
from coldtheory.cli import app as coldtheory_app
from coldtheory.figures.figure import TableData
from coldtheory.figures.gallery import FORMAT as FIGURE
from coldtheory.figures.table import Table
from coldtheory.ground.files import write_atomically
from coldtheory.report.outcomes import Outcomes, place, store_outcomes
from coldtheory.store import read_rows, row_files
from tests.cold.data.test_data_readers import image_tree, write_cifar, write_mnist, write_tar, write_tree
from tests.cold.runs.small_runs import as_earlier, config, store
from tests.cold.studies.test_studies import OWN
from tests.cold.tables.made_rows import TINY as TERMS
from tests.cold.tiny_runs import tiny
from tests.cold.tuning.test_settings_file import CHOSEN
from tests.cold.tuning.tiny_search import tiny as tiny_search
from tests.fuzz.databases import left_by_a_killed_program
from tests.fuzz.sandbox import EVIL, PRECIOUS, emptied

#: A method of one's own: what a user names with --method is run.
METHOD = "from cold.methods.er import ER\n\n\nclass Own(ER):\n    name = 'own'\n"
#: A statement of one's own, which is run in the same way.
STATEMENT = """'''The average queue is at most l r^2/2.'''
from coldtheory.bounds import bound, form


@form
def printed(facts):
    return bound(facts, facts.avg_Qbar, facts.l * facts.r**2 / 2, premises=["Case 1", "models in W"])
"""
SMALL = TableData("small", "coldtheory plot small", "tests.fuzz.corpus:table", {"n": 3})


def table(*, n: int, tell: object) -> Table:
    return Table.of({"V": float(i), "name": "a"} for i in range(n))


def fresh(folder: Path) -> None:
    """The corpus in `folder`/inside, the working directory; made once, then copied from `folder`/template."""
    inside, template = folder / "inside", folder / "template"
    if not template.exists():
        make(inside)
        load_benchmark("folder:images")  # puts decoded images into the cache
        shutil.copytree(inside, template, symlinks=True)
        return
    emptied(inside)
    shutil.copytree(template, inside, symlinks=True, dirs_exist_ok=True)


def make(folder: Path) -> None:
    """One file or folder of each kind, below the working directory `folder`."""
    (folder / "evil.py").write_text(EVIL)
    (folder / PRECIOUS).write_text("stays")
    words = "sweep-V --V 50,200 --seeds 0-1 --T 5 --engine serial --out"
    done = CliRunner().invoke(coldtheory_app, [*words.split(), "results"])
    assert done.exit_code == 0, done.output
    _other_stores(folder)
    (folder / "own.py").write_text(METHOD)
    (folder / "mine.py").write_text(STATEMENT)
    row = {"id": "thm3", "verdict": "holds", "evidence": "found", "recorded": "holds", "changed": False, "margin": 0.5}
    origin = {"commit": "abc", "changed": False, "time": "2026-01-01T00:00:00+00:00"}
    store_outcomes(Outcomes(({**row, "data": {}, "depends_on": {"code x": "1"}},), origin), place(folder / "results"))
    SMALL.make(folder / "results", lambda *_: None)
    _figures(folder / "figures")
    store(folder / "runs", 0, 1)
    store(folder / "packed", 2, 3)
    pack(folder / "packed")
    store(folder / "earlier", 4, 5)
    pack(folder / "earlier")
    as_earlier(folder / "earlier", 2)
    write_failure(folder / "runs" / "failed", config(seed=9), "it failed", "")
    trained = Trainer(tiny(epochs=1), out=folder / "trained")
    trained.run()
    _begun(folder / "begun")
    (folder / "study.toml").write_text(OWN)
    (folder / "terms.toml").write_text(TERMS)
    (folder / "config.toml").write_text(
        'dataset = "synthetic"\nepochs = 1\nV = 5\n[options]\n[data_options]\nclasses = 4\n'
    )
    write_settings(folder / "settings.toml", CHOSEN)
    _tuning(folder / "tuning")
    (folder / "source.toml").write_text('regime = "high"\nT = 5\nd = 2\n')
    np.savez(folder / "optima.npz", optima=np.eye(3), hessians=np.ones(3))
    np.savetxt(folder / "optima.csv", np.eye(3), delimiter=",")
    for name in ("lemma1_main_text", "lemma_dpp_printed"):
        known = counterexamples.counterexample_names()
        chosen = name if name in known else known[-1]
        shutil.copy(counterexamples.path_of(chosen), folder / f"{name}.toml")
    costs = {"step_ms": [1.0, 2.0], "stored": [3, 4]}
    (folder / "measured.json").write_text(json.dumps({"methods": [{"name": "er", "measured": costs}]}))
    tree, _ = image_tree(["a", "b"], per_class=2, side=8)
    write_tree(folder / "images", tree)
    write_tar(folder / "images.tar.gz", tree)
    with zipfile.ZipFile(folder / "images.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in tree.items():
            packed.writestr(name, content)
    write_mnist(folder / "home" / "mnist", packed=True)
    write_cifar(folder / "home", CIFAR10, as_tar=True, n=10)


def _other_stores(folder: Path) -> None:
    """The same rows as earlier versions stored them, and with the journal that a killed program leaves."""
    (path,) = row_files(folder / "results")
    write_atomically(folder / "old" / f"{path.stem}.json", json.dumps(read_rows(path)))
    halted = folder / "halted" / path.name
    write_atomically(halted, path.read_bytes())
    halted.with_name(f"{path.name}-journal").write_bytes(left_by_a_killed_program(path))


def _figures(folder: Path) -> None:
    folder.mkdir()
    about = {
        "format": FIGURE,
        "figure": "gradient",
        "title": "A title",
        "sentence": "One.",
        "label": "fig:x",
        "command": "coldtheory plot gradient",
        "runs": None,
        "readings": [],
        "commit": ["abc"],
        "csv_sha256": "0" * 16,
        "data": {"sweep": {"key": "k", "config": {}, "provenance": []}},
    }
    (folder / "gradient.json").write_text(json.dumps(about))
    (folder / "gradient.csv").write_text("V,Q\n1,2\n")
    (folder / "gradient.png").write_bytes(image_tree(["a"], per_class=1, side=8)[0]["train/a/0000.png"])


def _tuning(folder: Path) -> None:
    """A search with a trial of each kind."""
    folder.mkdir()
    journal = Journal(folder / "journal.log", "search", tiny_search().space)
    for number in range(4):
        journal.add({"lr": 1e-3, "replay_weight": 1.0 + number})
        journal.report(number, 2, 50.0 + number)
    journal.stop(0)
    journal.finish(1, 60.0)
    journal.fail(2, "the loss is nan")


def _begun(folder: Path) -> None:
    """A run that was stopped in the middle of its second task."""
    steps = iter(range(100))
    trainer = Trainer(tiny(), out=folder, should_stop=lambda: next(steps) > 6)
    try:
        trainer.run()
    except Stopped:
        return
    raise AssertionError("the run should have stopped")
