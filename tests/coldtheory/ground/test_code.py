"""What a module depends on, read from source text alone."""

from __future__ import annotations

import sys

import pytest

from coldtheory.ground.code import Code
from coldtheory.ground.dependencies import note, recording, remembered

FILES = {
    "__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .lazy import slow\n",
    "lazy.py": "from . import below\n",
    "below.py": "",
    "asks.py": "from little import slow\n",
    "inside.py": "def f():\n    from .below import x\n",
    "broken.py": "def (:\n",
    "shown/__init__.py": "",
    "shows.py": "from .shown import page\nimport numpy, little.below\n",
    "shown/page.py": "from ..lazy import x\n",
    "parts/__init__.py": "from . import one, two\nfrom .base import b\n\nALL = (one, two)\n",
    "parts/base.py": 'NUMBERS = "numbers.toml"\n',
    "parts/one.py": "from .base import b\n",
    "parts/two.py": "from .one import a\nfrom ...little import below\n",
    "parts/numbers.toml": "a = 1\n",
    "uses.py": "from .parts import run\n",
    "passes/__init__.py": '"""Names."""\n\nfrom .first import a as b\nfrom .second import c\n\n__all__ = ["b", "c"]\n',
    "passes/first.py": "from ..below import x\n",
    "passes/second.py": '"""Nothing of other.toml."""\n',
    "passes/other.toml": "a = 1\n",
    "again/__init__.py": "from ..passes import b as d, c\n",
    "takes.py": "from .again import d\n",
    "takes_all.py": "from .passes import *\n",
}


@pytest.fixture
def little(tmp_path, monkeypatch):
    """A package on disk that is never imported."""
    for name, text in FILES.items():
        path = tmp_path / "little" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "little"
    assert "little" not in sys.modules


def closure(module, **options):
    found = Code(["little"], **options).closure(f"little.{module}")
    assert found[0] == "little"
    return {name.removeprefix("little.") for name in found[1:]}


def test_what_is_imported_counts_at_any_distance(little):
    assert closure("below") == {"below"}
    assert closure("inside") == {"inside", "below"}  # an import inside a function counts
    assert closure("asks") == {"asks", "lazy", "below"}  # a name that the package loads when it is asked for
    assert closure("uses") == {"uses", "parts", "parts.base", "parts.one", "parts.two", "below"}
    assert closure("broken") == {"broken"}


def test_a_package_that_only_passes_names_on_counts_for_the_names_that_are_taken(little):
    assert closure("takes") == {"takes", "again", "passes", "passes.first", "below"}
    assert closure("takes_all") == {"takes_all", "passes", "passes.first", "passes.second", "below"}
    assert closure("passes.second") == {"passes", "passes.second"}


def test_parts_can_be_left_out_or_stand_apart(little):
    assert closure("shows") == {"shows", "shown", "shown.page", "lazy", "below"}
    assert closure("shows", leave_out=["little.shown"]) == {"shows", "below"}
    apart = {"apart": ["little.parts.one", "little.parts.two"]}
    assert closure("uses", **apart) == {"uses", "parts", "parts.base"}
    assert closure("parts.two", **apart) == {"parts", "parts.base", "parts.two", "parts.one", "below"}


def test_a_digest_follows_its_files_and_no_others(little):
    def digests():
        code = Code(["little"])
        return {module: code.digest(f"little.{module}") for module in ("uses", "asks", "takes_all")}

    before = digests()
    assert before == digests()
    (little / "shows.py").write_text("changed = 1\n")
    (little / "passes" / "other.toml").write_text("a = 2\n")  # no code names it
    assert digests() == before
    (little / "parts" / "numbers.toml").write_text("a = 2\n")
    changed = digests()
    assert changed["uses"] != before["uses"]
    assert changed["asks"] == before["asks"]
    (little / "below.py").write_text("x = 1\n")
    assert digests()["asks"] != changed["asks"]


def test_what_is_not_there_has_no_digest(little):
    assert Code(["little", "no_such_package"]).digest("little.nothing") == ""
    assert Code(["no_such_package"]).digest("little") == ""


def test_notes_reach_every_recording_around_them():
    note("run", "dropped", "0")
    with recording() as outer:
        note("run", "a", "1")
        with recording() as inner:
            note("run", "b", "2")
        note("code", "m")
    assert inner == {"run b": "2"}
    assert outer == {"run a": "1", "run b": "2", "code m": ""}


def test_an_answer_from_memory_notes_what_the_first_one_noted():
    calls = []

    @remembered
    def read(name):
        calls.append(name)
        note("run", name, "1")
        return name.upper()

    for _ in range(2):
        with recording() as notes:
            assert read("a") == "A"
        assert notes == {"run a": "1"}
    assert read("a") == "A"
    assert calls == ["a"]
