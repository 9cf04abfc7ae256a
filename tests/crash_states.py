"""What a disk may hold if the power fails at any moment of a program, made from a record of the program's writes.

The program runs once, with `recorder.c` in front of the system's calls. Its calls that change files are then replayed
up to every point, and after each of them a folder is made as it may be found afterwards:

    killed    the program alone has ended: all that it wrote is there
    synced    the machine has lost what no `fsync` had brought to the disk: of a file its content, of a folder its names
    random    as `synced`, with some of what need not be there: some writes, some of them in part, in any order; of each
              folder the first few of its changed names

The last two are what POSIX allows. Files lose whole sectors of 512 bytes; names change whole.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

_SECTOR = 512
_HERE = Path(__file__).parent
_MARK = """
import json, os, sys
from pathlib import Path
def done(what):
    "From here on, what was written must survive."
    with open(os.environ["CRASH_LOG"], "ab") as log: log.write(f"mark 0 0 {what}\\n".encode())
folder = Path(sys.argv[1])
"""


@dataclass(frozen=True)
class Call:
    """kind: create, write, truncate, sync, rename, remove, folder; or mark, a word of the program's own."""

    kind: str
    offset: int
    data: bytes
    path: str  #: below the folder

    @property
    def new_path(self) -> str:
        return self.data.decode()


@dataclass(frozen=True)
class State:
    """A folder as it may be found after the first `calls` calls, and how many marks the program had passed."""

    folder: Path
    kind: str
    calls: int
    marks: int

    def __str__(self) -> str:
        return f"{self.kind} after {self.calls} calls and {self.marks} marks"


def record(program: str, folder: Path, scratch: Path, *arguments: object) -> list[Call]:
    """The calls of a Python program that changes files of `folder`.

    It finds the folder under this name, the further arguments in sys.argv[2:], and may say `done(what)`.
    """
    scratch.mkdir()
    library, log = scratch / "recorder.so", scratch / "calls"
    words = ["gcc", "-shared", "-fPIC", "-O1", "-o", str(library), str(_HERE / "recorder.c"), "-ldl"]
    subprocess.run(words, check=True)
    place = {"LD_PRELOAD": str(library), "CRASH_ROOT": str(folder), "CRASH_LOG": str(log)}
    command = [sys.executable, "-c", _MARK + program, str(folder), *map(str, arguments)]
    subprocess.run(command, env={**os.environ, **place}, check=True, cwd=_HERE.parent)
    content, at, calls = log.read_bytes(), 0, []
    while at < len(content):
        end = content.index(b"\n", at)
        kind, offset, length, path = content[at:end].decode().split(" ", 3)
        at = end + 1 + int(length)
        data = content[end + 1 : at]
        here = path if kind == "mark" else os.path.relpath(path, folder)
        if kind == "rename":
            data = os.path.relpath(data.decode(), folder).encode()
        calls.append(Call(kind, int(offset), data, here))
    return calls


def states(before: Path, calls: list[Call], scratch: Path, *, chances: int = 3, seed: int = 0) -> Iterator[State]:
    """Every state after every call, one at a time; `before` holds the folder as it was."""
    rng = random.Random(seed)
    disk, changes = _Disk.of(before), _changes(before, calls)
    for count in range(len(calls) + 1):
        marks = sum(call.kind == "mark" for call in calls[:count])
        for kind in ("killed", "synced", *["random"] * chances):
            here = changes[:count]
            kept = here if kind == "killed" else list(_kept(here, rng if kind == "random" else None))
            folder = scratch / "state"
            disk.after(kept).write(folder)
            yield State(folder, kind, count, marks)
            shutil.rmtree(folder)


def replayed(before: Path, calls: list[Call], folder: Path) -> dict[str, bytes]:
    """The files after all calls: what the program really left, if nothing was missed in the record."""
    _Disk.of(before).after(_changes(before, calls)).write(folder)
    return contents(folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@dataclass(frozen=True)
class _Change:
    """A call, the file that it is about, and what must be synced for it to last: that file's content, or a folder."""

    call: Call
    file: int
    held_by: int | str | None


@dataclass(frozen=True)
class _Disk:
    """Files by number, so that what is written to one finds it under whichever name it has."""

    folders: frozenset[str]
    names: Mapping[str, int]
    content: Mapping[int, bytes]

    @classmethod
    def of(cls, folder: Path) -> _Disk:
        found = sorted(folder.rglob("*"))
        files = [path for path in found if path.is_file()]
        return cls(
            frozenset({".", *(str(path.relative_to(folder)) for path in found if path.is_dir())}),
            {str(path.relative_to(folder)): -1 - number for number, path in enumerate(files)},
            {-1 - number: path.read_bytes() for number, path in enumerate(files)},
        )

    def after(self, changes: Iterable[_Change]) -> _Disk:
        folders, names = set(self.folders), dict(self.names)
        content = {number: bytearray(data) for number, data in self.content.items()}
        for change in changes:
            call = change.call
            if call.kind == "create":
                names[call.path] = change.file
            elif call.kind == "folder":
                folders.add(call.path)
            elif call.kind == "rename":
                names[call.new_path] = names.pop(call.path)
            elif call.kind == "remove":
                folders.discard(call.path)
                names.pop(call.path, None)
            elif call.kind in ("write", "truncate"):
                data = content.setdefault(change.file, bytearray())
                end = call.offset + len(call.data)
                data.extend(bytes(max(0, end - len(data))))
                if call.kind == "truncate":
                    del data[end:]
                else:
                    data[call.offset : end] = call.data
        return _Disk(frozenset(folders), names, {number: bytes(data) for number, data in content.items()})

    def write(self, folder: Path) -> None:
        """As a folder; what is in a folder without a name is lost with it."""
        for name in sorted(self.folders):
            if all(str(above) in self.folders for above in Path(name).parents):
                (folder / name).mkdir(exist_ok=True)
        for name, number in self.names.items():
            if (folder / name).parent.is_dir():
                (folder / name).write_bytes(self.content.get(number, b""))


def _changes(before: Path, calls: list[Call]) -> list[_Change]:
    file_of = dict(_Disk.of(before).names)
    changes = []
    for number, call in enumerate(calls):
        file, held_by = file_of.get(call.path, number), None
        if call.kind in ("write", "truncate"):
            held_by = file
        elif call.kind in ("create", "rename", "remove", "folder"):
            held_by = os.path.dirname(call.path) or "."
        if call.kind == "create":
            file_of[call.path] = file = number
        elif call.kind == "rename":
            assert os.path.dirname(call.path) == os.path.dirname(call.new_path)
            file_of[call.new_path] = file_of.pop(call.path)
        elif call.kind == "remove":
            file_of.pop(call.path, None)
        changes.append(_Change(call, file, held_by))
    return changes


def _kept(changes: list[_Change], rng: random.Random | None) -> Iterator[_Change]:
    """What is on the disk: all that was synced and, with `rng`, some of the rest."""
    synced: dict[int | str, int] = {}  # up to which change
    for number, change in enumerate(changes):
        if change.call.kind == "sync":  # of a file, or of a folder, which is no file of ours
            path = change.call.path
            synced[path if change.file == number else change.file] = number
    names_more: dict[str, int] = {}  # of each folder: how many changes of names beyond those
    for number, change in enumerate(changes):
        owner, call = change.held_by, change.call
        if owner is None:
            continue
        if number < synced.get(owner, -1):
            yield change
        elif rng is not None and isinstance(owner, str):
            if names_more.setdefault(owner, rng.randrange(4)):
                names_more[owner] -= 1
                yield change
        elif rng is not None and rng.random() < 0.5:
            length = rng.choice([len(call.data), rng.randrange(len(call.data) // _SECTOR + 1) * _SECTOR])
            yield replace(change, call=replace(call, data=call.data[:length]))
