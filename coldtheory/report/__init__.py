"""One self-contained HTML page: verdicts, figures, and the method to play with.

>>> from pathlib import Path
>>> page = build_report([], results=Path("results"), figures=Path("figures"))
>>> page.startswith("<!doctype html>")
True
"""

from .builder import build_report
from .claims import read_outcomes, run_checks
from .server import make_server

__all__ = ["build_report", "make_server", "read_outcomes", "run_checks"]
