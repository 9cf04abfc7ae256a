"""The device of a run, and how much memory it took there."""

from __future__ import annotations

import resource
import sys

import torch

from coldtheory.ground.errors import ColdError


def pick_device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ColdError(
            f"device {name!r} cannot be used here: {str(error).splitlines()[0]}; take cpu or auto"
        ) from None
    return device


def peak_memory(device: torch.device) -> int:
    """The largest memory the process has used so far: of the GPU, or of the main memory."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
