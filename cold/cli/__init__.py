"""The `cold` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the `cold` script; without torch it says how to get it."""
    from .app import main as run  # noqa: PLC0415  (`import cold.cli` costs nothing)

    try:
        run()
    except ModuleNotFoundError as error:  # a command that trains, where torch is not installed
        if error.name not in ("torch", "safetensors", "PIL"):
            raise
        print(f"error: cold needs {error.name}; install it with pip install 'cold-continual[train]'", file=sys.stderr)
        raise SystemExit(2) from None
