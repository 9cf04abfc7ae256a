"""The helpers of this folder, and the worlds of the property tests, on the path."""

from __future__ import annotations

import sys
from pathlib import Path

for folder in ("bounds", "properties"):
    sys.path.insert(0, str(Path(__file__).parent.parent / folder))
