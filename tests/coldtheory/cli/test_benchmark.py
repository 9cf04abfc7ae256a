"""The benchmark runs and its programs agree; its times are for a person to read."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "simulator.py"


@pytest.mark.needs("gcc")
def test_all_four_programs_compute_the_same():
    done = subprocess.run([sys.executable, BENCHMARK, "--quick"], capture_output=True, text=True, check=True)
    differences = re.findall(r"│\s+([\d.]+e[+-]\d+) │", done.stdout)
    assert len(differences) == 4
    assert max(map(float, differences)) < 1e-10
