"""Files of an archive (tar or zip, packed in any usual way) or of a folder, one after the other.

An archive comes from elsewhere, so every entry is checked before it is used: no path that leads outside, no links
or devices, and no more data than a data set can have. What is asked for is read in memory; `extract` writes it.
"""

from __future__ import annotations

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
from pathlib import Path, PurePosixPath
from typing import IO

from coldtheory.ground.errors import ColdError

MAX_BYTES = 8 << 30  # unpacked; the largest data set here has 1.4 GB decoded
MAX_ENTRIES = 1_000_000
SUFFIXES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip")

Wanted = Callable[[str], bool]


def files(path: Path, wanted: Wanted = lambda _: True, *, max_bytes: int = MAX_BYTES) -> Iterator[tuple[str, bytes]]:
    """(name, content) of each wanted file; names are relative, with forward slashes, in the order of the source."""
    with _one_line_errors(path):
        for name, read in _entries(path, max_bytes):
            if wanted(name):
                yield name, read()


def names(path: Path, *, max_bytes: int = MAX_BYTES) -> Iterator[str]:
    """The names of all files."""
    with _one_line_errors(path):
        for name, _ in _entries(path, max_bytes):
            yield name


def extract(
    path: Path, into: Path, wanted: Wanted = lambda _: True, *, flat: bool = False, max_bytes: int = MAX_BYTES
) -> None:
    """Write the wanted files of an archive below `into`, which appears whole or not at all.

    `flat`: without the folders that they are in.
    """
    scratch = None
    try:
        into.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=into.parent, prefix=f".{into.name}."))
        for name, content in files(path, wanted, max_bytes=max_bytes):
            target = scratch / (PurePosixPath(name).name if flat else name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
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

_Reader = Callable[[], bytes]


def _entries(path: Path, max_bytes: int) -> Iterator[tuple[str, _Reader]]:
    kind = _in_folder if path.is_dir() else _in_zip if path.suffix == ".zip" else _in_tar
    budget, count = max_bytes, 0
    for name, size, read in kind(path):
        if kind is not _in_folder:
            _check_name(name, path)
        budget, count = budget - size, count + 1
        if budget < 0 or count > MAX_ENTRIES:
            raise ColdError(
                f"{path} unpacks to more than {max_bytes >> 20} MiB or {MAX_ENTRIES} files; it is not a data set of "
                "this project, remove it"
            )
        yield name, read


@contextmanager
def _one_line_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError):
        raise ColdError(
            f"{path} is truncated or damaged; remove it and fetch it again with 'cold data fetch'"
        ) from None
    except OSError as error:
        raise ColdError(f"cannot read {path}: {error.strerror or error}") from None


def _in_folder(path: Path) -> Iterator[tuple[str, int, _Reader]]:
    for folder, subfolders, here in os.walk(path):
        subfolders.sort()
        for name in sorted(here):
            file = Path(folder) / name
            yield file.relative_to(path).as_posix(), 0, file.read_bytes


def _in_tar(path: Path) -> Iterator[tuple[str, int, _Reader]]:
    with tarfile.open(path) as tar:
        for entry in tar:
            if entry.isdir():
                _check_name(entry.name, path)
                continue
            if not entry.isfile():
                raise ColdError(f"{path} holds a link or device ({entry.name}) and is not unpacked; fetch it again")
            yield entry.name.removeprefix("./"), entry.size, _tar_reader(tar, entry)


def _tar_reader(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> _Reader:
    def read() -> bytes:
        content: IO[bytes] | None = tar.extractfile(entry)
        assert content is not None  # it is a regular file
        with content:
            return content.read()

    return read


def _in_zip(path: Path) -> Iterator[tuple[str, int, _Reader]]:
    with zipfile.ZipFile(path) as packed:
        for entry in packed.infolist():
            if entry.is_dir():
                _check_name(entry.filename, path)
                continue
            if stat.S_ISLNK(entry.external_attr >> 16):
                raise ColdError(f"{path} holds a link or device ({entry.filename}) and is not unpacked; fetch it again")
            yield entry.filename, entry.file_size, _zip_reader(packed, entry)


def _zip_reader(packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> _Reader:
    return lambda: packed.read(entry)


def _check_name(name: str, path: Path) -> None:
    parts = PurePosixPath(name)
    if parts.is_absolute() or ".." in parts.parts or any(sign in name for sign in ("\\", "\0", ":/")):
        raise ColdError(f"{path} holds {name!r}, a path that leads out of its folder; it is not unpacked, remove it")
