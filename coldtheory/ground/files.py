"""Writing files so that they are only ever replaced as a whole, and short names for configurations."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import socket
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from .errors import ColdError

_KINDS = {
    stat.S_IFDIR: "a folder", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}  # fmt: skip
_LINKS = 40  # as many as the operating system follows


def config_key(config: Mapping[str, Any]) -> str:
    """Return a short name for a configuration; equal configurations have equal names on every machine.

    A number counts with its shortest exact decimal text, so that equal means equal to the last bit.
    """
    text = json.dumps(config, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write_atomically(path: Path, text: str | bytes) -> None:
    """Replace the file `path` in one step; if that fails, the old file stays and a `ColdError` says why."""
    with replacing(path) as file:
        file.write(text.encode() if isinstance(text, str) else text)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that replaces `path` in one step when the block ends, and is removed if the block fails.

    Whoever opens `path` sees the old content or the new one, also after a crash of the machine: the new content reaches
    the disk before it gets its name, and the name reaches the disk before this returns. A symbolic link stays, and what
    it leads to is replaced; an existing file keeps its mode. What is no regular file is refused.
    """
    scratch = None
    try:
        target = _end_of_links(path)
        mode = _mode(target, path)
        make_folder(target.parent)
        _remove_scratch_of_the_dead(target.parent)
        scratch = target.parent / f"{_scratch_prefix()}{os.getpid()}-{secrets.token_hex(4)}"
        # a private file must not become readable for others, not even for a moment
        handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(scratch, mode)
        os.replace(scratch, target)
        scratch = None
        _sync_folder(target.parent)
    except OSError as error:
        raise ColdError(f"cannot write {path}: {error.strerror or error}; choose another folder with --out") from None
    finally:
        if scratch is not None:
            with suppress(OSError):
                scratch.unlink()


def make_folder(folder: Path) -> None:
    """Make a folder and the missing ones above it, and make sure that their names reach the disk."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for made in missing:
        _sync_folder(made.parent)


def _end_of_links(path: Path) -> Path:
    """Follow symbolic links to the path they lead to, whether or not it exists; lists of open files are refused."""
    if "\0" in str(path):
        raise ColdError(f"{str(path)!r} cannot be the name of a file")
    found = path
    for _ in range(_LINKS):
        found = Path(os.path.realpath(found.parent)) / found.name
        # such as /dev/stdout; if the output goes to a file, that file must not be replaced either
        if found.parts[1:2] == ("proc",) or found.parts[1:3] == ("dev", "fd"):
            raise _no_file(path, "a name for an open file")
        if not found.is_symlink():
            return found
        found = found.parent / os.readlink(found)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _mode(target: Path, path: Path) -> int | None:
    """The permissions of the file that is there; None if there is none."""
    try:
        found = target.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found):
        raise _no_file(path, _KINDS.get(stat.S_IFMT(found), "something else"))
    return stat.S_IMODE(found)


def _no_file(path: Path, kind: str) -> ColdError:
    return ColdError(f"{path} is {kind} and cannot be replaced; give the name of a file")


def _scratch_prefix() -> str:
    """The beginning of names of scratch files. It names the machine, since several machines may share a folder."""
    return f".scratch-{re.sub(r'[^A-Za-z0-9]', '', socket.gethostname())[:40]}-"


def _remove_scratch_of_the_dead(folder: Path) -> None:
    """Remove the scratch files of processes of this machine that were killed."""
    if os.name == "nt":  # pragma: no cover  (there, asking for a process in this way would end it)
        return
    prefix = _scratch_prefix()
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.startswith(prefix):
                continue
            pid = entry.name.removeprefix(prefix).partition("-")[0]
            if pid.isdecimal() and not _is_alive(int(pid)):
                with suppress(OSError):
                    os.unlink(entry.path)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # the process belongs to another user, or the number is not one of a process
        return True
    return True


def _sync_folder(folder: Path) -> None:
    """Make sure that a new name reaches the disk, where the system offers that."""
    if not hasattr(os, "O_DIRECTORY"):  # pragma: no cover  (Windows)
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network disks do not offer it
            raise
    finally:
        os.close(handle)
