"""Files of every format that is read back, damaged at random and on purpose: they are read, or refused in one line.

Nothing that a file says is executed, and nothing outside the sandbox is written, whatever names and paths it holds.
"""

from __future__ import annotations

import io
import json
import random
import shutil
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cold.checkpoint import load_latest, save_checkpoint
from cold.data import load_benchmark
from cold.data.archive import extract
from cold.grid.cells import failures
from cold.presets import build_config
from cold.runs import find_runs, merge, pack, unpack
from cold.studies import planned, read_study
from cold.tuning.journal import Journal
from cold.tuning.settings_file import read_settings
from coldtheory.figures.gallery import read_caption
from coldtheory.ground.errors import ColdError
from coldtheory.ground.writing import to_toml
from coldtheory.report.outcomes import read_outcomes
from coldtheory.search.rerun import rerun
from coldtheory.sources import load_source
from coldtheory.store import StoredRows, stored_sweeps
from tests.cold.runs.small_runs import store
from tests.cold.tuning.tiny_search import tiny as tiny_search
from tests.fuzz import corpus, programs
from tests.fuzz.databases import damaged_database, damaged_journal
from tests.fuzz.sandbox import Tally, escaped, outcome_of, sandbox
from tests.fuzz.values import PLAIN, changed, damaged

Damage = Callable[[bytes, random.Random], bytes]
_SWEEP = "--seeds 0-1 --T 5 --engine serial --out FOLDER"


@dataclass(frozen=True)
class Format:
    """Files of one kind, how they can be damaged beyond their bytes, and who reads them."""

    files: str  #: below the sandbox, with wild cards
    read: Callable[[Path], Any]
    damage: Damage = damaged


def _call(program: str, *words: str) -> Callable[[Path], None]:
    """A reader that is a command; PATH, FOLDER and STEM stand for the damaged file, its folder and its name."""

    def read(path: Path) -> None:
        told = [word.replace("PATH", str(path)).replace("FOLDER", str(path.parent)) for word in words]
        told = [word.replace("STEM", path.name.partition(".")[0]) for word in told]
        outcome = programs.outcome_of(program, told)
        if outcome == "refused":
            raise ColdError(outcome)
        if outcome != "accepted":
            raise AssertionError(outcome)

    return read


def formats() -> list[Format]:
    """Every format with every reader that it has."""
    return [
        *[
            Format(files, read, damage)
            for files, damage in (
                ("results/high-*", damaged_database),
                ("old/high-*", _json),
                ("halted/*-journal", damaged_journal),
            )
            for read in (
                _stored,
                _call("coldtheory", "results", "ls", "--json", "--results", "FOLDER"),
                _call("coldtheory", "results", "export", "STEM", "--results", "FOLDER"),
                _call("coldtheory", *f"sweep-V --V 50,200,300 {_SWEEP}".split()),
                _call("coldtheory", *f"sweep-V --V 50,200 {_SWEEP}".split()),
            )
        ],
        Format("results/sweeps/V-high.json", lambda path: stored_sweeps(path.parents[1]), _json),
        Format("results/sweeps/V-high.json", _call("coldtheory", "plot", "gradient", "--format", "png"), _json),
        Format("results/checks/outcomes.json", read_outcomes, _json),
        Format("results/checks/outcomes.json", _call("coldtheory", "check", "--stale"), _json),
        Format(
            "results/data/small.*",
            lambda path: (corpus.SMALL.state(Path("results")), corpus.SMALL.load(Path("results"))),
            _json,
        ),
        Format("figures/gradient.json", read_caption, _json),
        Format("figures/gradient.json", _call("coldtheory", "plot", "gradient", "--check"), _json),
        Format("lemma1_main_text.toml", rerun, _toml),
        Format("lemma_dpp_printed.toml", _call("coldtheory", "replay", "PATH"), _toml),
        Format("source.toml", lambda path: load_source(str(path)).tasks([0]), _toml),
        Format("optima.npz", lambda path: load_source(str(path)).tasks([0]), _npz),
        Format("optima.csv", lambda path: load_source(str(path)).tasks([0])),
        Format("runs/pmnist*/result.json", lambda path: dict(find_runs(path.parents[1])), _json),
        Format("runs/pmnist*/result.json", _call("cold", "compare", "runs", "--all-measures"), _json),
        Format("runs/pmnist*/result.json", _call("cold", "show", "FOLDER"), _json),
        Format("runs/pmnist*/result.json", _call("cold", "study", "merge", "runs", "packed", "--out", "merged"), _json),
        Format("runs/pmnist*/arrays.npz", _call("cold", "show", "FOLDER"), _npz),
        Format("runs/pmnist*/arrays.npz", lambda path: merge([path.parents[1]], Path("merged")), _npz),
        Format("runs/failed/error.json", lambda path: failures(path.parents[1]), _json),
        Format("packed/rows.jsonl", lambda path: unpack(path.parent, Path("unpacked")), _rows),
        Format("packed/rows.jsonl", lambda path: unpack(path.parent, Path("unpacked")), _lines),
        Format("packed/rows.jsonl", _call("cold", "table", "pmnist", "--runs", "packed", "--format", "json"), _rows),
        Format("packed/rows.jsonl", _pack_more, _lines),
        Format("packed/arrays.npz", _call("cold", "study", "merge", "packed", "--out", "merged"), _npz),
        Format("packed/arrays.npz", lambda path: unpack(path.parent, Path("unpacked")), _npz),
        Format("earlier/rows.jsonl", lambda path: unpack(path.parent, Path("unpacked")), _rows),
        Format("earlier/arrays.npz", lambda path: unpack(path.parent, Path("unpacked")), _npz),
        Format("trained/*/result.json", _call("cold", "eval", "FOLDER"), _json),
        Format("trained/*/model.safetensors", _call("cold", "eval", "FOLDER")),
        Format("trained/*/model.safetensors", _call("cold", "export", "FOLDER", "out.safetensors")),
        Format("begun/*/checkpoint-*.pt", lambda path: load_latest(path.parent)),
        Format("begun/*/checkpoint-*.pt", _resume, _checkpoint),
        Format("study.toml", lambda path: [planned(read_study(path), "cpu")], _toml),
        Format("study.toml", _call("cold", "study", "status", "PATH"), _toml),
        Format("terms.toml", _call("cold", "table", "tiny", "--terms", "PATH", "--json"), _toml),
        Format("config.toml", lambda path: build_config(path, {}).run_id, _toml),
        Format("settings.toml", lambda path: read_settings(path).as_dict(), _toml),
        Format("settings.toml", _call("cold", "settings", "--runs", "FOLDER", "--json"), _toml),
        Format("settings.toml", _call("cold", "run", "--settings", "PATH", "--method", "er"), _toml),
        Format("tuning/journal.log", lambda path: Journal(path, "search", tiny_search().space).trials(), _rows),
        Format("measured.json", _call("cold", "table", "complexity", "--measured", "PATH"), _json),
        Format("home/mnist/*.gz", lambda path: load_benchmark("split-mnist", tasks=5)),
        Format("home/mnist/*.gz", _call("cold", "data", "list")),
        Format("home/*.tar.gz", lambda path: load_benchmark("split-cifar10", tasks=5), _tar),
        Format("images/train/*/*.png", lambda path: load_benchmark(f"folder:{path.parents[2]}")),
        Format("images/train/*/*.png", lambda path: load_benchmark(f"folder:{path.parents[2]}"), _no_file),
        Format("images.zip", lambda path: load_benchmark(f"folder:{path}"), _zip),
        Format("images.tar.gz", lambda path: extract(path, Path("extracted")), _tar),
        Format("home/*.safetensors", _cached),
    ]


def _stored(path: Path) -> None:
    """All that a store of rows can be asked."""
    with StoredRows(path.with_name(f"{path.name.partition('.')[0]}.sqlite")) as stored, stored.unchanged():
        _ = stored.source, stored.origins, stored.summary(), stored.has_another_schema()
        keys = [row["key"] for row in stored.rows()]
        _ = list(stored.rows(keys)), stored.having(keys), len(stored)


def _cached(path: Path) -> None:
    load_benchmark("folder:images")


def _pack_more(path: Path) -> None:
    """Packs another run into the folder of the file."""
    store(path.parent, 7)
    pack(path.parent)


def _resume(path: Path) -> None:
    """Goes on from the checkpoint, with the settings of the run that wrote it."""
    words = (
        "--limit-train 60 --limit-test 40 --epochs 2 --batch-size 20 --memory 30 --memory-batch 2 --lr 1e-2 --threads 1"
    )
    options = ("--data-option", "classes=6", "--data-option", "shape=[1,8,8]")
    told = ("run", "--dataset", "synthetic", "--tasks", "3", *words.split(), *options, "--resume", "--out", "begun")
    _call("cold", *told)(path)


# ----------------------------------------------------------------------------------------------------- kinds of damage


def _json(raw: bytes, rng: random.Random) -> bytes:
    try:
        tree = json.loads(raw)
    except ValueError:
        return damaged(raw, rng)
    return _dumped(changed(tree, rng)) if rng.random() < 0.75 else damaged(raw, rng)


def _dumped(tree: Any) -> bytes:
    try:
        return json.dumps(tree).encode()
    except RecursionError:
        return b"[" * 3000


def _rows(raw: bytes, rng: random.Random) -> bytes:
    lines = raw.splitlines()
    at = rng.randrange(len(lines))
    lines[at] = _json(lines[at], rng)
    return b"\n".join(lines)


def _lines(raw: bytes, rng: random.Random) -> bytes:
    """Good lines in a wrong order, some of them missing, repeated, or with what belongs to another one."""
    lines = raw.splitlines()
    one, other = rng.choice(lines), rng.choice(lines)
    mixed = json.dumps({**json.loads(one), **json.loads(other)}).encode()
    nowhere = json.dumps({**json.loads(one), "absent": {rng.choice(["config", "arrays"]): ["V", "no such"]}}).encode()
    return b"\n".join(rng.choices([*lines, mixed, nowhere], k=rng.randrange(1, 6)))


def _toml(raw: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.25:
        return rng.choice([damaged(raw, rng), b"a = " + b"[" * 3000, b"a." * 2000 + b"b = 1", b'regime = "self.toml"'])
    tree = changed(tomllib.loads(raw.decode()), rng)
    try:
        return to_toml(tree).encode() if isinstance(tree, dict) else b"= 1"
    except (RecursionError, AttributeError, TypeError):
        return b"a = " + b"{ a = " * 2000


def _npz(raw: bytes, rng: random.Random) -> bytes:
    """Wrong arrays, huge claims, pickles, hostile names, other ways of packing."""
    if rng.random() < 0.4:
        return damaged(raw, rng)
    with np.load(io.BytesIO(raw)) as content:
        arrays = {name: content[name] for name in content.files}
    name = rng.choice(sorted(arrays))
    new: Any = rng.choice(
        [
            np.array("text"),
            np.array([1j]),
            np.zeros(0),
            np.zeros((2, 2, 2, 2)),
            np.array(["a"]),
            np.full((3, 3), np.nan),
            np.array([{"a": 1}], dtype=object),
            np.array([1, 2], dtype="datetime64[s]"),
            np.full((3, 3), 2**62),
            np.ones((3, 3), bool),
            np.array(1.0),
            np.full((3, 3), 1e308),
            np.zeros((0, 0)),
            np.full((4, 3), -1),
            np.zeros(2, dtype=[("a", float)]),
        ]
    )
    buffer = io.BytesIO()
    np.save(buffer, new, allow_pickle=True)
    member = buffer.getvalue()
    if rng.random() < 0.4:
        head = "{'descr': '<f8', 'fortran_order': False, 'shape': (SHAPE), }\n"
        shape = rng.choice(["10**13,", "1000000, 1000000", "-1,", "9" * 30 + ",", "3, 3", "True,", "2.5,"])
        text = head.replace("SHAPE", shape).encode()
        member = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + b"\0" * rng.choice([0, 72, 1000])
    packed = io.BytesIO()
    way = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    with zipfile.ZipFile(packed, "w", way) as file:
        for other, array in arrays.items():
            if other != name or rng.random() < 0.5:
                buffer = io.BytesIO()
                np.save(buffer, array)
                file.writestr(f"{other}.npy", member if other == name else buffer.getvalue())
        file.writestr(
            rng.choice(["../../escaped.npy", "stranger.npy", f"{name}.npy", "x" * 300 + ".npy", "folder/"]), member
        )
    return _sign(packed.getvalue(), rng)


def _sign(raw: bytes, rng: random.Random) -> bytes:
    """Sometimes a zip file whose heads say other things: a password, another method, another size."""
    data = bytearray(raw)
    if rng.random() < 0.3:
        for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            at = data.find(mark) + offset + rng.choice([0, 2, 12, 16])
            if mark in data and at < len(data):
                data[at] ^= rng.choice([1, 8, 99])
    return bytes(data)


def _zip(raw: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.4:
        return _sign(damaged(raw, rng), rng)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file, zipfile.ZipFile(io.BytesIO(raw)) as good:
        for name in good.namelist():
            file.writestr(name, good.read(name))
        for name in rng.sample(_NAMES, 2):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = rng.choice([0, 0o120777 << 16, 0o010644 << 16, 0o060644 << 16, 0o100644 << 16])
            file.writestr(entry, rng.choice([b"/proc/version", b"\0" * 10_000_000, good.read(good.namelist()[0])]))
    return _sign(packed.getvalue(), rng)


_NAMES = [
    "../../escaped",
    "/dev/null/escaped",
    "train/a/../../../escaped",
    "train/a/x.png",
    "train/a/" + "x" * 300 + ".png",
    "train/../x.png",
    "train/a",
    "train/c/only.png",
    "test/z/strange.png",
    "C:/x.png",
    "a\\b.png",
    "train/a/new\nline.png",
    ".",
]


def _tar(raw: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.4:
        return damaged(raw, rng)
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=rng.choice(["w:gz", "w:bz2", "w:xz", "w"])) as tar:
        with tarfile.open(fileobj=io.BytesIO(raw)) as good:
            for entry in good:
                content = good.extractfile(entry)
                tar.addfile(entry, content if content is None else io.BytesIO(content.read()))
        for name in rng.sample(_NAMES, 2):
            entry = tarfile.TarInfo(name)
            entry.type = rng.choice(
                [tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE]
            )
            entry.linkname = "../../escaped"
            if entry.type == tarfile.REGTYPE:
                content = rng.choice([b"x", b"\0" * 10_000_000])
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
                continue
            tar.addfile(entry)
        if rng.random() < 0.3:
            entry = tarfile.TarInfo("train/a/huge.png")
            entry.size = 10**15  # a claim only
            tar.fileobj.write(entry.tobuf(tarfile.PAX_FORMAT))  # type: ignore[union-attr]
    return made.getvalue()


_LINK, _PIPE, _DEVICE = b"link out", b"pipe", b"device"


def _no_file(raw: bytes, rng: random.Random) -> bytes:
    """What `_put` makes something of that is no file."""
    return rng.choice([_LINK, _PIPE, _DEVICE])


def _checkpoint(raw: bytes, rng: random.Random) -> bytes:
    """The right checksum, and wrong content."""
    state = torch.load(io.BytesIO(raw.partition(b"\n")[2]), weights_only=True)
    for _ in range(rng.choice([1, 1, 2])):
        parent, key = rng.choice(_entries(state))
        kind = rng.random()
        if kind < 0.3 and isinstance(parent, dict):
            del parent[key]
        elif kind < 0.6 and isinstance(parent[key], torch.Tensor):
            old = parent[key]
            wrong = [
                old.flatten()[:1],
                old.double() + torch.nan if old.numel() else old,
                torch.zeros(3, 3, 3),
                old.to(torch.int8),
                old.long() + 10**9,
            ]
            parent[key] = rng.choice(wrong)
        else:
            parent[key] = rng.choice([value for value in PLAIN if not isinstance(value, int) or abs(value) < 2**63])
    folder = Path("scratch")
    folder.mkdir(exist_ok=True)
    if rng.random() < 0.05:
        state = rng.choice([[], {}, 1, {"config": {}}])
    made = save_checkpoint(folder, 1, state).read_bytes()
    shutil.rmtree(folder)
    return made


def _entries(tree: Any) -> list[tuple[Any, Any]]:
    found, waiting = [], [tree]
    while waiting:
        one = waiting.pop()
        places = list(one.items()) if isinstance(one, dict) else list(enumerate(one)) if isinstance(one, list) else []
        found += [(one, key) for key, _ in places]
        waiting += [value for _, value in places]
    return found


# ------------------------------------------------------------------------------------------------------- running


def _put(path: Path, content: bytes) -> None:
    """The damaged file in place of the good one."""
    path.unlink()
    if content == _LINK:
        path.symlink_to(Path("/proc/version"))
    elif content == _PIPE:
        import os  # noqa: PLC0415

        os.mkfifo(path)
    elif content == _DEVICE:
        path.symlink_to("/dev/zero")
    else:
        path.write_bytes(content)


def fuzz(count: int, seed: int | str, folder: Path, only: str = "") -> Tally:
    """So many damaged files; every format whose files have `only` in their names has its turn."""
    rng, tally = random.Random(seed), Tally()
    with sandbox(folder) as inside:
        known = [one for one in formats() if only in one.files]
        for number in range(count):
            one = known[number % len(known)]
            corpus.fresh(folder)
            found = sorted(path for path in inside.glob(one.files) if path.is_file())
            if not found:
                raise AssertionError(f"the corpus has no {one.files}")
            path = rng.choice(found)
            content = one.damage(path.read_bytes(), rng)
            _put(path, content)
            outcome = outcome_of(lambda one=one, path=path: one.read(path))
            tally.note(escaped(folder) or outcome, f"{path.relative_to(inside)}: {content[:200]!r}")
    return tally
