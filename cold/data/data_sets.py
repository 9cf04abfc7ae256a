"""The data sets that the project knows; the benchmarks made of them are in `cold.catalogue`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from coldtheory.ground.errors import ColdError, unknown_name

from . import binary, encoded
from .binary import is_jpeg_copy
from .cache import identity
from .images import Images

if TYPE_CHECKING:
    from .augment import Transform


@dataclass(frozen=True)
class DataSet:
    """`find` looks for the files below a data root, `read` makes images of what it found, `counts` tells how
    many it holds (training images, test images, classes); `whole` is how many training and test images there should be.

    `mean` and `std` are those of the canonical training images, per channel, in units of 255; `padding` and `flip` is
    the usual augmentation.
    """

    name: str
    title: str
    whole: tuple[int, int]
    find: Callable[[Path], Path | None]
    read: Callable[[Path], Images]
    counts: Callable[[Path], tuple[int, int, int]]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    padding: int = 0
    flip: bool = False

    def transform(self, augment: bool | None) -> Transform:
        """Return the normalisation, with the usual augmentation unless `augment` is False."""
        from .augment import Transform  # noqa: PLC0415  (torch: listing what is there needs none)

        if augment and not (self.padding or self.flip):
            raise ColdError(f"{self.name} has no augmentation that keeps its labels; leave augment out")
        return Transform(self.mean, self.std, *((0, False) if augment is False else (self.padding, self.flip)))

    def is_part(self, train: int, test: int) -> bool:
        """Whether images of the set are missing."""
        return (train, test) != self.whole

    def about(self, train: int, test: int, source: str) -> str:
        """How what was found differs from the whole data set in its canonical form; empty if it does not.

        train, test : numbers of images
        source      : the name of the file or folder that they come from
        """
        words = []
        if self.is_part(train, test):
            words.append(
                f"a part of {self.title} ({train:,} of {self.whole[0]:,} training and {test:,} of {self.whole[1]:,} "
                "test images)"
            )
        if is_jpeg_copy(source):
            words.append(f"JPEG copies of {self.title}'s images (lossy)")
        return "; ".join(words)

    def load(self, root: Path) -> Images:
        """The images below a folder; raises `ColdError` with the command that fetches them if they are absent."""
        found = self.find(root)
        if found is None:
            raise ColdError(
                f"there is no {self.name} below {root}; get it with 'cold data fetch {self.name}', or name another "
                "folder with --data-root or COLD_DATA"
            )
        return _shared(self, found, identity(found))


@lru_cache(maxsize=2)
def _shared(data: DataSet, found: Path, _identity: tuple[str, int, str]) -> Images:
    """Read a data set once per process as long as no file changes; the runs of a grid share its images."""
    return data.read(found)


def _idx(layout: binary.IdxLayout, mean: float, std: float) -> DataSet:
    return DataSet(
        layout.name,
        layout.title,
        (60_000, 10_000),
        find=partial(binary.find_idx, layout=layout),
        read=partial(binary.read_idx_set, layout=layout),
        counts=partial(binary.count_idx_set, layout=layout),
        mean=(mean,),
        std=(std,),
    )


def _cifar(layout: binary.CifarLayout, mean: tuple[float, ...], std: tuple[float, ...]) -> DataSet:
    return DataSet(
        layout.name,
        layout.title,
        (50_000, 10_000),
        find=partial(binary.find_cifar, layout=layout),
        read=partial(binary.read_cifar, layout=layout),
        counts=partial(binary.count_cifar, layout=layout),
        mean=mean,
        std=std,
        padding=4,
        flip=True,
    )


DATA_SETS = {
    data.name: data
    for data in (
        _idx(binary.MNIST, 0.1307, 0.3081),
        _idx(binary.FASHION, 0.2860, 0.3530),
        _cifar(binary.CIFAR10, (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
        _cifar(binary.CIFAR100, (0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)),
        DataSet(
            "tinyimagenet",
            "TinyImageNet",
            (100_000, 10_000),
            encoded.find_tinyimagenet,
            encoded.read_tinyimagenet,
            encoded.count_tinyimagenet,
            mean=(0.4802, 0.4481, 0.3975),
            std=(0.2770, 0.2691, 0.2821),
            padding=4,
            flip=True,
        ),
    )
}


def data_set(name: str) -> DataSet:
    """The data set of that name; raises `ColdError` with the nearest names if there is none."""
    if name not in DATA_SETS:
        raise unknown_name("data set", name, DATA_SETS)
    return DATA_SETS[name]
