"""Run a piece of code in a process in which torch cannot be imported."""

from __future__ import annotations

import subprocess
import sys

_BARRIER = """
import sys
class Barrier:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] == 'torch':
            raise ImportError('torch is not here')
sys.meta_path.insert(0, Barrier())
"""


def run_without_torch(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    """`words` are sys.argv[1:]."""
    command = [sys.executable, "-c", _BARRIER + code, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)
