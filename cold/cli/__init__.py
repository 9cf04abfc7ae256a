"""The `cold` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the `cold` script. If torch is missing, it says how to install it."""
    from .app import main as run  # noqa: PLC0415  (`import cold.cli` costs nothing)

    try:
        run()
    except ModuleNotFoundError as error:  # a command needs torch, and it is not installed
        if error.name not in ("torch", "safetensors", "PIL"):
            raise
        print(f"error: cold needs {error.name}; install it with pip install 'cold-continual[train]'", file=sys.stderr)
        raise SystemExit(2) from None
