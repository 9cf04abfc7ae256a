"""What all tests share: helpers on the path, and a closing word on what this machine could not run.

Hypothesis has the profile `ci`, or `nightly` with HYPOTHESIS_PROFILE=nightly: no example is judged by the clock, since
a busy machine would fail it, and the same examples are tried every time.
"""

from __future__ import annotations

import os
import shutil
import signal

import pytest
from hypothesis import HealthCheck, settings

_COMMON = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("ci", max_examples=100, derandomize=True, **_COMMON)
settings.register_profile("nightly", max_examples=2000, print_blob=True, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

_PROGRAMS = ("gcc", "node", "npm", "chromium")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`@pytest.mark.needs("gcc")` leaves a test out, by name, where the program is missing; `gpu` where a GPU is."""
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if on_gpu and not _has_gpu():
        for item in on_gpu:
            item.add_marker(pytest.mark.skip(reason="needs a GPU, not on this machine"))
    for item in items:
        for mark in item.iter_markers("needs"):
            missing = [program for program in mark.args if shutil.which(program) is None]
            if missing:
                item.add_marker(pytest.mark.skip(reason=f"needs {', '.join(missing)}, not on this machine"))


def _has_gpu() -> bool:
    import torch  # noqa: PLC0415  (slow to load, and most tests do without)

    return torch.cuda.is_available()


def pytest_configure(config: pytest.Config) -> None:
    # Programs that tests start inherit what is ignored: a test run in the background or under nohup ignores these.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "needs(*programs): programs that the test calls")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if not skipped:
        terminalreporter.write_line("left out: nothing")
        return
    terminalreporter.write_line(f"left out: {len(skipped)} tests")
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        terminalreporter.write_line(f"  {report.nodeid}: {reason.removeprefix('Skipped: ')}")
