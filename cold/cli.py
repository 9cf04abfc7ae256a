"""Entry point of the `cold` script."""

from __future__ import annotations

import sys


def main() -> None:
    """The trainer has no commands yet; say so and where to go, instead of a traceback."""
    print("error: this version has no training commands yet; the theory half runs with 'coldtheory'", file=sys.stderr)
    raise SystemExit(2)
