"""Checkpoints: tensors and JSON only, written in one move, with a checksum; a damaged one falls back to the one before.

A file is one line, "cold-checkpoint/1 <sha256> <bytes>", then what `torch.save` wrote. It is read with
`weights_only=True`, so a foreign file cannot run code.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import torch

from coldtheory.ground.errors import ColdError
from coldtheory.ground.files import write_atomically
from coldtheory.ground.reading import read_bytes

FORMAT = "cold-checkpoint/1"
_KEPT = 2


class Unusable(ColdError):
    """A run cannot continue from its checkpoints; `why` is the message without the remedy, which is different for a
    grid."""

    def __init__(self, why: str, remedy: str = "start over with --fresh") -> None:
        self.why = why
        super().__init__(f"{why}; {remedy}")


def save_checkpoint(folder: Path, step: int, state: dict[str, Any]) -> Path:
    """Write the state after `step` steps and remove all but the newest two."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    payload = buffer.getbuffer()
    digest = hashlib.sha256(payload).hexdigest()
    path = folder / f"checkpoint-{step:010d}.pt"
    write_atomically(path, b"".join([f"{FORMAT} {digest} {len(payload)}\n".encode(), payload]))
    for old in checkpoints(folder)[_KEPT:]:
        old.unlink(missing_ok=True)
    return path


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints of a run, newest first."""
    return sorted(folder.glob("checkpoint-*.pt"), reverse=True)


def remove_checkpoints(folder: Path) -> None:
    """Remove all checkpoints of a run; the other files in its folder stay."""
    for path in checkpoints(folder):
        path.unlink(missing_ok=True)


def load_latest(folder: Path) -> tuple[dict[str, Any], list[str]] | None:
    """The newest readable state and a line on each damaged file that was passed over; None if there are no files."""
    problems: list[str] = []
    found = checkpoints(folder)
    for path in found:
        try:
            return read_checkpoint(path), problems
        except ColdError as error:
            problems.append(str(error))
    if found:
        raise Unusable(f"no checkpoint in {folder} can be read ({problems[0]})")
    return None


def read_checkpoint(path: Path) -> dict[str, Any]:
    """One checkpoint, checked, on the CPU."""
    header, _, payload = read_bytes(path).partition(b"\n")
    words = header.decode("ascii", errors="replace").split(" ")
    if len(words) != 3 or words[0] != FORMAT:
        raise ColdError(f"{path} is damaged or not a checkpoint of this version ({FORMAT})")
    if str(len(payload)) != words[2] or hashlib.sha256(payload).hexdigest() != words[1]:
        raise ColdError(f"{path} is damaged: its checksum does not fit")
    try:
        state = torch.load(io.BytesIO(payload), map_location="cpu", weights_only=True)
    except Exception as error:  # a checksum says that a file is whole, not what is in it
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise ColdError(f"{path} cannot be read: {reason}") from None
    if not isinstance(state, dict):
        raise ColdError(f"{path} is not a checkpoint of a run: it holds no state")
    return state
