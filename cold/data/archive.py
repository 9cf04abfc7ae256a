"""Files of an archive (tar or zip, packed in any usual way) or of a folder, one after the other.

An archive comes from elsewhere, so every entry is checked before it is used: no path that leads outside, no links
or devices, and no more data than a data set can have. Archives are unpacked as a stream, whose bytes are counted: the
sizes that an archive claims are not trusted. In a folder of the user's own, links are followed as long as they stay
inside; pipes and devices are refused. What is asked for is read in memory, if it fits; `extract` writes it.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any

from coldtheory.ground.errors import ColdError
from coldtheory.ground.limits import demand_memory

MAX_BYTES = 8 << 30  # unpacked; the largest data set here has 1.4 GB decoded
MAX_ENTRIES = 1_000_000
SUFFIXES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip")
_PACKERS: dict[bytes, Callable[[Any], Any]] = {  # by how a file begins
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ": lzma.LZMAFile,
}

Wanted = Callable[[str], bool]


def files(path: Path, wanted: Wanted = lambda _: True, *, max_bytes: int = MAX_BYTES) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of each wanted file in the order of the source; names are relative, with slashes."""
    with _one_line_errors(path):
        for name, size, open_entry in _entries(path, max_bytes):
            if wanted(name):
                demand_memory(size, f"{name} of {path}", "it is not a data set of this project; remove it")
                with open_entry() as content:
                    yield name, content.read()


def names(path: Path, *, max_bytes: int = MAX_BYTES) -> Iterator[str]:
    """Return the names of all files."""
    with _one_line_errors(path):
        for name, _, _ in _entries(path, max_bytes):
            yield name


def extract(
    path: Path, into: Path, wanted: Wanted = lambda _: True, *, flat: bool = False, max_bytes: int = MAX_BYTES
) -> None:
    """Write the wanted files of an archive below `into`, which appears as a whole or not at all.

    flat : leave out the folders that they are in
    """
    scratch = None
    try:
        into.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=into.parent, prefix=f".{into.name}."))
        with _one_line_errors(path):
            for name, _, open_entry in _entries(path, max_bytes):
                if wanted(name):
                    target = scratch / (PurePosixPath(name).name if flat else name)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with open_entry() as content, target.open("wb") as file:
                        shutil.copyfileobj(content, file)
        scratch.chmod(0o755)
        if into.exists():
            shutil.rmtree(into)
        scratch.rename(into)
        scratch = None
    except OSError as error:
        raise ColdError(f"cannot unpack {path.name} to {into}: {error.strerror or error}") from None
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)


# ---------------------------------------------------------------------------------------------------

_Opener = Callable[[], IO[bytes]]
_Entry = tuple[str, int, _Opener]  # name, bytes, and how to read it


def _entries(path: Path, max_bytes: int) -> Iterator[_Entry]:
    if path.is_dir():
        yield from _in_folder(path)  # the user's own, of any size
        return
    if not path.is_file():
        raise ColdError(f"{path} is not a regular file; name an archive or a folder")
    budget, count = max_bytes, 0
    for name, size, open_entry in _in_zip(path) if path.suffix == ".zip" else _in_tar(path, max_bytes):
        _check_name(name, path)
        budget, count = budget - size, count + 1
        if budget < 0 or count > MAX_ENTRIES:
            raise _too_large(path, max_bytes)
        yield name, size, open_entry


def _too_large(path: Path, max_bytes: int) -> ColdError:
    return ColdError(
        f"{path} unpacks to more than {max_bytes >> 20} MiB or {MAX_ENTRIES} files; it is not a data set of "
        "this project, remove it"
    )


@contextmanager
def _one_line_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except ColdError:
        raise
    except OSError as error:
        if error.errno is None:  # about the packed data, not about the disk
            raise _damaged(path) from None
        raise ColdError(f"cannot read {path}: {error.strerror or error}") from None
    except (
        tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError,
        ValueError, OverflowError, NotImplementedError, RuntimeError,  # wrong sizes, unknown compression, passwords
    ):  # fmt: skip
        raise _damaged(path) from None


def _damaged(path: Path) -> ColdError:
    return ColdError(f"{path} is truncated or damaged; remove it and fetch it again with 'cold data fetch'")


def _in_folder(path: Path) -> Iterator[_Entry]:
    inside = path.resolve()
    for folder, subfolders, here in os.walk(path):
        subfolders.sort()
        for name in sorted(here):
            file = Path(folder) / name
            yield file.relative_to(path).as_posix(), _size(file), partial(_open_inside, file, inside)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # a dead link, which matters only if it is opened
        return 0


def _open_inside(file: Path, inside: Path) -> IO[bytes]:
    if not file.resolve().is_relative_to(inside):
        raise ColdError(f"{file} is a link that leads out of {inside}; put the file itself there")
    if file.exists() and not file.is_file():
        raise ColdError(f"{file} is not a regular file; remove it from the folder")
    return file.open("rb")


def _in_tar(path: Path, max_bytes: int) -> Iterator[_Entry]:
    with path.open("rb") as raw:
        begin = raw.read(6)
        raw.seek(0)
        unpack = next((made for mark, made in _PACKERS.items() if begin.startswith(mark)), lambda file: file)
        stream = _Counted(unpack(raw), path, max_bytes)
        with tarfile.open(fileobj=stream, mode="r:") as tar:
            for entry in tar:
                if entry.isdir():
                    if entry.name != ".":  # the folder itself, which leads nowhere
                        _check_name(entry.name, path)
                    continue
                if not entry.isfile():
                    raise ColdError(f"{path} holds a link or device ({entry.name}) and is not unpacked; fetch it again")
                yield entry.name.removeprefix("./"), entry.size, partial(_tar_member, tar, entry)


def _tar_member(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> IO[bytes]:
    content = tar.extractfile(entry)
    assert content is not None  # it is a regular file
    return content


class _Counted(io.RawIOBase):
    """An unpacked stream that raises an error at a limit of bytes, headers included."""

    def __init__(self, stream: Any, path: Path, most: int) -> None:
        self._stream, self._path = stream, path
        self._most = most + (most >> 3) + (1 << 20)  # heads and padding of the entries

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if size < 0 or self._stream.tell() + size > self._most:
            raise _too_large(self._path, self._most)
        demand_memory(size, f"a part of {self._path}", "remove it")
        content: bytes = self._stream.read(size)
        return content

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence != os.SEEK_SET or offset > self._most:
            raise _too_large(self._path, self._most)
        return int(self._stream.seek(offset))

    def tell(self) -> int:
        return int(self._stream.tell())


def _in_zip(path: Path) -> Iterator[_Entry]:
    with zipfile.ZipFile(path) as packed:
        for entry in packed.infolist():
            if entry.is_dir():
                _check_name(entry.filename, path)
                continue
            kind = stat.S_IFMT(entry.external_attr >> 16)
            if kind not in (0, stat.S_IFREG):
                raise ColdError(f"{path} holds a link or device ({entry.filename}) and is not unpacked; fetch it again")
            # never more is unpacked than the entry claims
            yield entry.filename, entry.file_size, partial(packed.open, entry)


def _check_name(name: str, path: Path) -> None:
    parts = PurePosixPath(name)
    if (
        not parts.parts
        or parts.is_absolute()
        or ".." in parts.parts
        or any(sign in name for sign in ("\\", "\0", ":/"))
    ):
        raise ColdError(f"{path} holds {name!r}, a path that leads out of its folder; it is not unpacked, so remove it")
