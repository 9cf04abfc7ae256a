"""The shared foundation, the names of quantities and the paper's numbers load without the simulator."""

from __future__ import annotations

import subprocess
import sys

_CODE = """
import sys
import coldtheory.paper, coldtheory.vocabulary
import coldtheory.ground.command_line, coldtheory.ground.engines, coldtheory.ground.files
import coldtheory.ground.provenance, coldtheory.ground.terminal
print(*sorted(name for name in sys.modules if name.split(".")[0] in ("coldtheory", "cold", "paper_checks")))
"""


def test_no_part_of_the_simulator_is_loaded():
    done = subprocess.run([sys.executable, "-c", _CODE], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    allowed = ("coldtheory.ground", "coldtheory.paper", "coldtheory.vocabulary")
    assert [name for name in loaded if name != "coldtheory" and not name.startswith(allowed)] == []
    assert set(allowed) <= set(loaded)
