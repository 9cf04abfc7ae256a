"""What all tests share: helpers on the path, and a closing word on what this machine could not run."""

from __future__ import annotations

import shutil

import pytest

_PROGRAMS = ("gcc", "node", "npm", "chromium")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`@pytest.mark.needs("gcc")` leaves a test out, by name, where the program is missing."""
    for item in items:
        for mark in item.iter_markers("needs"):
            missing = [program for program in mark.args if shutil.which(program) is None]
            if missing:
                item.add_marker(pytest.mark.skip(reason=f"needs {', '.join(missing)}, not on this machine"))


def pytest_configure(config: pytest.Config) -> None:
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
