"""Which GPU a worker process takes, where an engine does not say it itself.

A GPU has 1 / share places, each a lock file; a process takes the first free place when its first cell runs and keeps
it until it ends, so that loky's and dask's workers on one machine spread over the GPUs without knowing of one another.
CUDA_VISIBLE_DEVICES holds as always: GPUs are numbered among the visible ones.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from filelock import FileLock, Timeout

from coldtheory.ground.errors import ColdError

_held: dict[str, FileLock] = {}  # this process's place; the lock lives as long as the process


def places(share: float) -> int:
    """How many runs a GPU takes at once.

    >>> places(1.0), places(0.5), places(0.3)
    (1, 2, 3)
    """
    if not 0 < share <= 1:
        raise ColdError(f"the share of a GPU is above 0 and at most 1, got {share:g}")
    return int(1 / share + 1e-9)


def take_gpu(share: float, count: int, folder: Path | None = None) -> str:
    """The device of this process: "cuda:k" of a GPU with a free place; "cpu" where there is no GPU."""
    if count == 0:
        return "cpu"
    if _held:
        return next(iter(_held))
    shared = folder or Path(tempfile.gettempdir()) / f"cold-gpus-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    shared.mkdir(parents=True, exist_ok=True)
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "all").replace(",", "-")
    for place in range(places(share)):
        for gpu in range(count):
            lock = FileLock(shared / f"{visible}-{gpu}-{place}.lock", blocking=False)
            try:
                lock.acquire()
            except Timeout:
                continue
            _held[f"cuda:{gpu}"] = lock
            return f"cuda:{gpu}"
    raise ColdError(f"all {count} GPUs have {places(share)} runs each; take fewer --jobs or a smaller --gpu share")
