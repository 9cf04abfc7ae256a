"""One writer a run folder, on this machine and on others that share the disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from coldtheory.ground.errors import ColdError


class Busy(ColdError):
    """Another program is at work on the same run."""


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; the system lets go of it when the process ends, however it ends."""
    lock = FileLock(folder / ".lock", blocking=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise Busy(f"another program is running {folder}; wait for it, or use another --out") from None
    except OSError as error:
        raise ColdError(f"cannot write to {folder}: {error.strerror or error}; choose another --out") from None
    try:
        yield
    finally:
        lock.release()
