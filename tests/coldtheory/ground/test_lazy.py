"""Names that a package loads when somebody asks for them."""

from __future__ import annotations

import subprocess
import sys


def test_names_are_offered_before_they_are_loaded():
    code = (
        "import sys, coldtheory, cold\n"
        "assert {'simulate', 'advise'} <= set(dir(coldtheory)) and {'COLD', 'Trainer'} <= set(dir(cold))\n"
        "assert not {'numpy', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
