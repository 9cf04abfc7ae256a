"""A file from the web: taken up where it stopped, and checked before it gets its name."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import os
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO

from coldtheory.ground.errors import ColdError
from coldtheory.ground.terminal import progress_bar

GZIP = b"\x1f\x8b"  #: how a gzip file begins
_CHUNK = 1 << 18
_TIMEOUT = 30.0  # seconds without an answer
_TRIES = 3  # of one address, when the connection breaks on the way


class CannotWrite(ColdError):
    """The disk is full or not ours: no other source helps."""


def download(url: str, target: Path, is_right: Callable[[Path], bool]) -> None:
    """A file from the web, checked with `is_right` before it gets its name; a broken one goes on where it stopped.

    What was begun earlier and turns out wrong may be of another version: it is then taken afresh, once.
    """
    if not url.startswith(("http://", "https://")):
        raise ColdError(f"{url} is not a web address")
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    begun = part.exists() and part.stat().st_size > 0
    for afresh in (False, True) if begun else (True,):
        _transfer(url, part)
        if is_right(part):
            os.replace(part, target)
            return
        part.unlink()
        if afresh:
            raise ColdError(f"{target.name} has the wrong checksum")


def _transfer(url: str, part: Path) -> None:
    reason = ""
    for _ in range(_TRIES):
        try:
            if _transfer_once(url, part):
                return
            reason = "the connection broke"
        except urllib.error.HTTPError as error:
            raise ColdError(f"answers {error.code} {error.reason}") from None
        except urllib.error.URLError as error:
            raise ColdError(f"cannot be reached ({error.reason})") from None
        except (OSError, http.client.HTTPException) as error:
            reason = str(error) or type(error).__name__
    raise ColdError(f"broke off {_TRIES} times ({reason}); what came is kept, run the command again to go on")


def _transfer_once(url: str, part: Path) -> bool:
    """Add to `part` what is missing; whether it is complete, as far as the server tells."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "cold-continual", "Accept-Encoding": "identity"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        answer = urllib.request.urlopen(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and have:
            return True  # there is no more: the checksum will tell whether it is right
        raise
    with answer:
        resumed = answer.status == http.HTTPStatus.PARTIAL_CONTENT
        start = have if resumed else 0  # a server that knows no ranges sends all
        length = answer.headers.get("Content-Length")
        total = start + int(length) if length is not None else None
        title = PurePosixPath(url).name
        with (
            part.open("ab" if resumed else "wb") as file,
            progress_bar(title, total, of_bytes=True, done=start) as advance,
        ):
            while chunk := answer.read(_CHUNK):
                _write(file, chunk)
                advance(len(chunk))
    return total is None or part.stat().st_size >= total


def _write(file: IO[bytes], chunk: bytes) -> None:
    try:
        file.write(chunk)
        file.flush()
    except OSError as error:
        raise CannotWrite(f"cannot write {file.name}: {error.strerror or error}; choose another --data-root") from None


def has_checksum(path: Path, *, md5: str) -> bool:
    """Whether a file exists and has this checksum."""
    total = hashlib.md5(usedforsecurity=False)
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                total.update(chunk)
    except OSError:
        return False
    return total.hexdigest() == md5


def holds(path: Path, *, md5: str) -> bool:
    """Whether a file exists and its content, unpacked if it is a gzip file, has this checksum."""
    try:
        return digest(path.read_bytes()) == md5
    except OSError:
        return False


def digest(data: bytes) -> str | None:
    """The checksum of a file's content, unpacked if it is a gzip file; None if it cannot be unpacked."""
    try:
        plain = gzip.decompress(data) if data[:2] == GZIP else data
    except (EOFError, zlib.error, OSError):
        return None
    return hashlib.md5(plain, usedforsecurity=False).hexdigest()
