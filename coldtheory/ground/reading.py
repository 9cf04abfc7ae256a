"""Careful reading of files that come from elsewhere: one reader each for bytes, JSON, TOML and numpy's npz.

Any problem with a file raises a `ColdError` of one line. Only regular files are opened, because a pipe or a device
may never end, and nothing is read that does not fit in memory. What a file *means* is checked by the reader of its
format.
"""

from __future__ import annotations

import io
import json
import os
import stat
import tomllib
import zipfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .errors import ColdError
from .limits import array_bytes, demand_memory

_LONGEST_HEADER = 10_000  # bytes; numpy refuses longer ones
_PIECE = 4096  # bytes, the least that zipfile reads at once
#: How entries may be packed. Not bzip2: numpy does not write it, and 4096 bytes of it can stand for gigabytes.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA)


def read_bytes(path: Path) -> bytes:
    """Return the content of a regular file; a folder, a pipe or a device raises a `ColdError`."""
    try:
        about = os.stat(path)
        if not stat.S_ISREG(about.st_mode):
            raise ColdError(f"cannot read {path}: it is not a regular file")
        demand_memory(about.st_size, f"reading {path}", "look at what it is")
        return path.read_bytes()
    except ColdError:  # which is a ValueError
        raise
    except OSError as error:
        raise ColdError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:  # a path with a null byte in it
        raise ColdError(f"cannot read {str(path)!r}: {error}") from None


def read_json(path: Path, remedy: str) -> Any:
    """Return the value in a JSON file."""
    raw = read_bytes(path)
    try:
        return json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):  # a ValueError also means wrong bytes, or a number with too many digits
        raise ColdError(f"{path} is damaged (truncated or not JSON); {remedy}") from None


def read_toml(path: Path, *, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Return the tables of a TOML file."""
    raw = read_bytes(path)
    try:
        return tomllib.loads(raw.decode("utf-8"), parse_float=parse_float)
    except UnicodeDecodeError:
        raise ColdError(f"cannot read {path}: it is not valid TOML, since it is not text in UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError, ArithmeticError, ValueError) as error:
        words = " ".join(str(error).split())[:200]
        raise ColdError(f"cannot read {path}: it is not valid TOML: {words}") from None


class Npz:
    """The arrays of a file in numpy's npz format; each is read when it is asked for.

    The size that an array claims is compared with the size of its entry, and both with the memory that is free, before
    anything is allocated; pickles are never read.
    """

    def __init__(self, path: Path, remedy: str) -> None:
        self.path, self._remedy = path, remedy
        raw = read_bytes(path)  # one open file per run would be too many
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(raw))
            self._entries = {entry.filename.removesuffix(".npy"): entry for entry in self._zip.infolist()}
        except Exception:  # a damaged file makes zipfile raise many kinds of errors
            raise self._damaged() from None

    def names(self) -> list[str]:
        """Return the names of the arrays, in the order of the file."""
        return list(self._entries)

    def read(self, name: str) -> NDArray[Any]:
        """Return one array; raise if it is damaged, or holds anything but numbers, truth values and texts."""
        if name not in self._entries:
            raise self._damaged()
        entry = self._entries[name]
        if entry.compress_type not in _METHODS:
            raise ColdError(f"{self.path} is damaged: the array {name} is not packed as npz files are; {self._remedy}")
        try:
            with self._zip.open(entry) as member:
                shape, in_columns, dtype = _header(member)
                if dtype.hasobject:  # a pickle, which could run code
                    raise ColdError(f"{self.path} is damaged: the array {name} does not hold numbers; {self._remedy}")
                size = array_bytes(shape, dtype.itemsize)
                if not 0 <= size <= entry.file_size:
                    raise self._damaged()
                demand_memory(size, f"the array {name} of {self.path}", self._remedy)
                content = _content(member, size)
            return np.ndarray(shape, dtype, content, order="F" if in_columns else "C")
        except ColdError:
            raise
        except Exception:  # numpy, zipfile and zlib raise another error for each kind of damage
            raise self._damaged() from None

    def _damaged(self) -> ColdError:
        return ColdError(f"{self.path} is damaged (truncated, pickled or not an npz file); {self._remedy}")


def _content(member: IO[bytes], size: int) -> bytearray:
    """Return so many bytes of an entry. They are asked for in small pieces: zipfile expands as many packed bytes as it
    is asked for at once, unless they are deflated, and a few bytes of LZMA can stand for thousands of times as many."""
    content = bytearray()
    while len(content) < size and (piece := member.read(min(_PIECE, size - len(content)))):
        content += piece
    return content


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return what the head of an array claims: its shape, whether it is stored by columns, and its type."""
    version = np.lib.format.read_magic(member)
    size = member.read(2 if version == (1, 0) else 4)
    return _header_of(version, size + member.read(min(int.from_bytes(size, "little"), _LONGEST_HEADER)))


@lru_cache(maxsize=1000)  # the arrays of many runs have the same heads, and numpy is slow to parse them
def _header_of(version: tuple[int, int], header: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(io.BytesIO(header))
