"""Where data are on this machine: the data root, and a cache of decoded images.

Images that took a minute to decode are read in a second the next time. There is one safetensors file per source,
uncompressed, with a checksum and its provenance in the head. It is written in one step, and made again if it is
damaged. Its name depends on the name, the size and the time of the source, so that a changed source is decoded again.
The checksum, which every start compares with what it has read, also yields the fingerprint of the images, so that a
later run need not compute it.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock
from safetensors import SafetensorError, safe_open

from coldtheory.ground.provenance import provenance

from .images import Images, as_tensor, checksum_of, fingerprint

FORMAT = "cold-images/1"
_PARTS = ("train_x", "train_y", "test_x", "test_y")


def data_root(given: Path | None = None) -> Path:
    """Return --data-root, or the environment variable COLD_DATA, or a folder of the user's cache."""
    if given is not None:
        return Path(given).expanduser()
    named = os.environ.get("COLD_DATA")
    return Path(named).expanduser() if named else _user_cache() / "data"


def cache_folder() -> Path:
    """Return the folder of decoded images: COLD_CACHE, or one in the user's cache. The data root may be read-only."""
    named = os.environ.get("COLD_CACHE")
    return Path(named).expanduser() if named else _user_cache() / "decoded"


def _user_cache() -> Path:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "cold"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "cold"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "cold"


class CacheWarning(UserWarning):
    """Decoded images could not be stored, so that the next start must decode them again."""


def cached(source: Path, make: Callable[[], Images], *, settings: str = "") -> Images:
    """Return the images of `source` from the cache; if they are not there, make them and store them."""
    path = cache_path(source, settings)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock")):  # if a run has several processes, one of them decodes
            images = _load(path)
            if images is None:
                images = make()
                _save(path, images)
            return images
    except OSError as error:
        warnings.warn(f"cannot keep decoded images in {path.parent}: {error.strerror or error}", CacheWarning, 2)
        return make()


def cached_counts(source: Path, settings: str = "") -> tuple[int, int, int] | None:
    """Return the numbers of training images, test images and classes of a cached source, from the head of its file."""
    try:
        with safe_open(cache_path(source, settings), framework="np") as file:
            counts = [int(file.get_slice(part).get_shape()[0]) for part in ("train_y", "test_y")]
            return counts[0], counts[1], len(json.loads(file.metadata()["classes"]))
    except (OSError, SafetensorError, KeyError, IndexError, TypeError, ValueError, RecursionError):
        return None


def cache_path(source: Path, settings: str = "") -> Path:
    """The cache file of a source that was read with these settings; a changed source gets another file."""
    text = json.dumps([FORMAT, settings, identity(source)])
    stem = source.name.split(".")[0] or "images"
    return cache_folder() / f"{stem}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.safetensors"


def identity(source: Path) -> tuple[str, int, str]:
    """Identify a source by name, size and time of its file, or of every file in a folder."""
    found = sorted(p for p in source.rglob("*") if p.is_file()) if source.is_dir() else [source]
    total = hashlib.sha256()
    for file in found:
        status = file.stat()
        total.update(f"{file.relative_to(source.parent)}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return source.name, len(found), total.hexdigest()


def _load(path: Path) -> Images | None:
    try:
        with safe_open(path, framework="pt") as file:
            head = file.metadata()
            tensors = {part: file.get_tensor(part) for part in _PARTS}
        arrays = [tensors[part] for part in _PARTS]
        if head["format"] != FORMAT or head["sha256"] != checksum_of(arrays):
            return None
        y = {part: tensors[part].numpy() for part in ("train_y", "test_y")}
        classes = tuple(str(name) for name in json.loads(head["classes"]))
        known = fingerprint(arrays, classes=len(classes), checksum=head["sha256"])
        return Images(tensors["train_x"], y["train_y"], tensors["test_x"], y["test_y"], classes, head["source"], known)
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, RecursionError):  # ColdError is a ValueError
        return None


def _save(path: Path, images: Images) -> None:
    from safetensors.torch import save_file  # noqa: PLC0415  (torch, only where images are read)

    tensors = {
        "train_x": images.train_x.contiguous(),
        "train_y": as_tensor(images.train_y),
        "test_x": images.test_x.contiguous(),
        "test_y": as_tensor(images.test_y),
    }
    head = {
        "format": FORMAT,
        "sha256": checksum_of([tensors[part] for part in _PARTS]),
        "classes": json.dumps(images.classes),
        "source": images.source,
        "provenance": json.dumps(provenance()),
    }
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    try:
        try:
            save_file(tensors, scratch, metadata=head)
        except SafetensorError as error:  # this is how the library reports a full disk
            raise OSError(str(error)) from None
        with open(scratch, "rb") as file:
            os.fsync(file.fileno())
        os.chmod(scratch, 0o644)
        os.replace(scratch, path)
    except OSError as error:
        os.unlink(scratch)
        warnings.warn(f"cannot keep decoded images in {path.parent}: {error.strerror or error}", CacheWarning, 3)
