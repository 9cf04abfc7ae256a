"""Where a number comes from: the commit, and whether any code was changed since."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "coldtheory" / "ground" / "provenance.py"


@pytest.mark.parametrize(("place", "changed"), [
    (None, False), ("coldtheory/a.py", True), ("cold/methods/a.py", True), ("paper_checks/a.py", True),
    ("runs/a.json", False),
])  # fmt: skip
def test_a_change_of_any_code_is_told(tmp_path, place, changed):
    (tmp_path / "coldtheory" / "ground").mkdir(parents=True)
    for package in ("coldtheory", "coldtheory/ground"):
        (tmp_path / package / "__init__.py").touch()  # a package that comes before the installed one
    shutil.copy(SOURCE, tmp_path / "coldtheory" / "ground" / "provenance.py")
    name = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "."), (*name, "commit", "-qm", "all")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    if place is not None:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("x = 1\n")
    code = "from coldtheory.ground.provenance import provenance; print(provenance()['changed'])"
    done = subprocess.run([sys.executable, "-B", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(changed)
