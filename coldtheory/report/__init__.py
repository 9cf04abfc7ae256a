"""One self-contained HTML page: verdicts, figures, and the method to play with.

>>> from pathlib import Path
>>> page = build_report(Outcomes((), None), results=Path("results"), figures=None)
>>> page.startswith("<!doctype html>")
True
"""

from .builder import build_report
from .outcomes import Outcomes, read_outcomes, run_checks, store_outcomes
from .server import make_server

__all__ = ["Outcomes", "build_report", "make_server", "read_outcomes", "run_checks", "store_outcomes"]
