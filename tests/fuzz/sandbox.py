"""Where a case runs: a folder of its own, no network, no processes, little memory, a limited number of calls.

What a case is allowed to do is counted, not timed: a call that is accepted and would go on for hours ends after so many
function calls with `Enough`, and counts as accepted.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import shutil
import sys
import traceback
import urllib.error
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import torch
import typer.main

from coldtheory.ground.errors import ColdError

MEMORY = 2e8  # bytes that a case may ask for
CALLS = 80_000  # of functions, after which an accepted case is left alone
_RELEASES = ("__exit__", "release", "_release_save", "close", "__del__")
EVIL = "from pathlib import Path\nPath(__file__).with_name('executed').write_text('x')\n"


PRECIOUS = "precious"  #: a file in the sandbox that nothing may remove; no case names one outside that could be


class Enough(BaseException):
    """The case was accepted and has worked long enough."""


@dataclass
class Tally:
    """What became of the cases of one kind."""

    cases: int = 0
    accepted: int = 0
    refused: int = 0
    failures: list[str] = field(default_factory=list)

    def note(self, outcome: str, what: str) -> None:
        """`outcome` is "accepted", "refused", or what went wrong."""
        self.cases += 1
        if outcome in ("accepted", "refused"):
            setattr(self, outcome, getattr(self, outcome) + 1)
        else:
            self.failures.append(f"{outcome}\n    by {what}")

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, name) + getattr(other, name) for name in vars(self)))

    def __str__(self) -> str:
        alike = Counter(line.partition("\n")[0] for line in self.failures)
        shown = [
            f"{count} x {next(f for f in self.failures if f.startswith(why))}" for why, count in alike.most_common()
        ]
        head = f"{self.cases} cases: {self.accepted} accepted, {self.refused} refused, {len(self.failures)} failed"
        return "\n".join([head, *shown])


def where(error: BaseException) -> str:
    """A failure in one line: the error, and the innermost line of this project that it went through."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/tests/" not in f.filename]
    ours = [f for f in frames if any(f"/{name}/" in f.filename for name in ("coldtheory", "cold", "paper_checks"))]
    frame = (ours or frames or [None])[-1]
    place = "?" if frame is None else f"{Path(frame.filename).name}:{frame.lineno}"
    return f"{type(error).__name__} at {place}: {' '.join(str(error).split())[:160]}"


def limited(work: Callable[[], Any], calls: int = CALLS) -> Any:
    """The result of the work; `Enough` after so many calls of functions."""
    left = calls

    def seen(frame: FrameType, event: str, argument: object) -> None:
        nonlocal left
        if event in ("call", "c_call"):
            left -= 1
            # not where a lock is about to be released: the next case would wait for it for ever
            if left < 0 and event == "call" and frame.f_code.co_name not in _RELEASES:
                raise Enough

    before, report = sys.getprofile(), sys.unraisablehook

    def unraised(about: Any) -> None:
        # in a finaliser or in a generator that is being closed nobody can catch it; the next call raises it again
        if not issubclass(about.exc_type, Enough):
            report(about)

    sys.setprofile(seen)
    sys.unraisablehook = unraised
    try:
        return work()
    finally:
        sys.setprofile(before)
        sys.unraisablehook = report
        torch.set_grad_enabled(True)  # a case may be cut off where it would have put this back


def outcome_of(work: Callable[[], Any]) -> str:
    """What became of a call of a function: see `Tally.note`."""
    try:
        limited(work)
    except Enough:
        return "accepted"
    except ColdError as error:
        return "refused" if str(error) and "\n" not in str(error) else f"a message of several lines: {str(error)!r}"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return where(error)
    return "accepted"


@contextmanager
def sandbox(folder: Path) -> Iterator[Path]:
    """The folder `folder`/inside as the working directory, with everything that leads out of it replaced."""
    inside = folder / "inside"
    inside.mkdir(parents=True, exist_ok=True)
    load_everything()
    home = {name: str(inside / "home") for name in ("HOME", "COLD_DATA", "COLD_CACHE", "XDG_CACHE_HOME")}
    before = Path.cwd()
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(patch.dict(os.environ, {**home, "COLD_MEMORY": str(MEMORY), "COLUMNS": "100"}))
        for name, stand_in in _STAND_INS.items():
            stack.enter_context(patch(name, stand_in))
        os.chdir(inside)
        try:
            yield inside
        finally:
            os.chdir(before)


def escaped(folder: Path) -> str | None:
    """What a case left outside its folder, or executed inside; None: nothing."""
    outside = [path.name for path in folder.iterdir() if path.name not in ("inside", "template")]
    if outside:
        return f"wrote outside: {outside}"
    executed = list((folder / "inside").rglob("executed"))
    for mark in executed:
        mark.unlink()  # it is the fault of one case
    if executed:
        return "executed a file"
    removed = (folder / "template").exists() and not (folder / "inside" / PRECIOUS).exists()
    return "removed a file" if removed else None


def emptied(inside: Path) -> None:
    for path in inside.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def _no_network(*_: object, **__: object) -> Any:
    raise urllib.error.URLError("no network in a sandbox")


def _no_cluster(*_: object, **__: object) -> Any:
    raise ColdError("no cluster in a sandbox")


def _here(function: Callable[[Any], Any], jobs: Any, **_: object) -> Iterator[Any]:
    yield from map(function, jobs)


def _left_out(*_: object, **__: object) -> Any:
    raise ColdError("left out")


_STAND_INS: dict[str, Any] = {
    "urllib.request.urlopen": _no_network,
    "webbrowser.open": lambda *_: True,
    "socketserver.BaseServer.serve_forever": lambda *_, **__: None,
    "coldtheory.ground.engines.run_on_processes": _here,
    "coldtheory.ground.engines.dask_client": _no_cluster,
    "cold.grid.engines.run_on_processes": _here,
    "cold.grid.engines.dask_client": _no_cluster,
    "coldtheory.report.outcomes.run_claim": _left_out,
    "coldtheory.certify.run_certificate": _left_out,
    "torch.nn.Module.compile": lambda *_, **__: None,
    "time.sleep": lambda _: None,
    "typer.testing._get_command": cache(typer.main.get_command),  # built once, not in every case
}


def load_everything() -> None:
    """All modules, so that no case pays for (or is cut off in) an import."""
    for name in ("coldtheory", "cold", "paper_checks"):
        package = importlib.import_module(name)
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not found.name.endswith("__main__"):
                with suppress(*([ImportError] if ".adapters." in found.name else [])):  # to packages that may be absent
                    importlib.import_module(found.name)
    for name in (
        "seaborn",
        "matplotlib.backends.backend_agg",
        "matplotlib.backends.backend_pdf",
        "PIL.Image",
        "tarfile",
    ):
        importlib.import_module(name)
    importlib.import_module("PIL.Image").init()
