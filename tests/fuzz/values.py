"""What nobody expects: texts, Python objects, and changes of trees of plain data."""

from __future__ import annotations

import copy
import math
import random
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

NUMBERS = [
    "0",
    "1",
    "2",
    "3",
    "-1",
    "1.5",
    "nan",
    "inf",
    "-inf",
    "1e300",
    "-1e300",
    "1e-320",
    "2147483648",
    "9" * 18,
    "9" * 40,
    "9" * 5000,
    "0x10",
    "1_0",
    "1e",
    "--1",
    "1,2",
    "1:2",
    "1:2:3log",
    "nan:nan",
    "inf:1:3",
    "1:1e308:999999999999",
    "-1:5:3log",
    "1:2:-3",
    "0-3",
    "3-0",
    "0-999999999999",
    "５",
    "²",
]
TEXTS = [
    "",
    " ",
    "\t",
    "x",
    "auto",
    "all",
    "none",
    "None",
    "null",
    "True",
    "{}",
    "[]",
    "[" * 5000,
    "{" * 3000,
    "a=b",
    "=",
    "a=",
    "=b",
    "a=[[[",
    "a=NaN",
    "a=1e999",
    "a=" + "9" * 5000,
    "x" * 300,
    "é" * 200,
    "\x1b[31mred",
    "a\nb",
    "\udcff",
    "\x00",
    "%s%n",
    "$(touch executed)",
    "`touch executed`",
    "'; --",
    "[bold]",
    "[/]",
    "[/nothing]",
    "-",
    "--",
    "-h",
    "evil.py",
    "evil.py:Evil",
    "evil:make",
    "os:system",
    "folder:",
    "folder:evil.py",
    "folder:.",
    "folder:nowhere",
    "mlp-99999999999",
    "mlp-0",
    "mlp-" + "9" * 5000,
    "mlp--1",
    "window:0",
    "window:" + "9" * 5000,
    "cuda:99",
    "meta",
    "high",
    "low",
    "conflict",
    "pmnist",
    "synthetic",
    "cold",
    "er",
    "thm3",
    "lemma1",
    "paper",
    "cpu",
    "smoke",
]
OBJECTS: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2**31,
    2**63,
    10**400,
    0.0,
    -0.0,
    0.5,
    1.5,
    -1.5,
    math.nan,
    math.inf,
    -math.inf,
    1e308,
    5e-324,
    1j,
    complex(math.nan, 0),
    "",
    "x",
    "1.0",
    "nan",
    b"bytes",
    [],
    [[]],
    [1, [2]],
    [None],
    ["a"],
    [1j],
    (),
    {},
    {"a": 1},
    set(),
    object(),
    object,
    print,
    range(3),
    range(10**15),
    Fraction(1, 3),
    Decimal("NaN"),
    Decimal("1e999"),
    Path("nowhere"),
    Ellipsis,
    NotImplemented,
    iter([1, 2]),
    np.nan,
    np.float32(1.5),
    np.int8(-1),
    np.bool_(True),
    np.datetime64("2020-01-01"),
    np.array(3.0),
    np.array([]),
    np.array([[1.0, np.nan]]),
    np.array([1j, 2]),
    np.array(["a", "b"]),
    np.array([1, "a"], dtype=object),
    np.array([None]),
    np.ones((2, 3)),
    np.ones((1, 2, 3, 4)),
    np.zeros((0, 3)),
    np.full((3, 2), 1e308),
    np.full((3, 2), np.inf),
    np.ones((3, 2), dtype=bool),
    np.array([1, 2], dtype="datetime64[s]"),
    np.zeros(2, dtype=[("a", float)]),
    np.ones((3, 2))[:, ::-1],
    [[1.0, 2.0], [3.0]],
    [1.0, "a"],
    ["1", "2"],
    [float("nan")] * 3,
    [10**400],
    [2**70],
]
#: In place of a value in a tree of plain data.
PLAIN: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    2**70,
    10**400,
    1e308,
    math.nan,
    math.inf,
    "",
    "x",
    "../../escaped",
    "/dev/null/escaped",
    "evil.py",
    "evil:make",
    "x" * 300,
    "a\nb\x1b[31m",
    [],
    [[]],
    {},
    {"a": 1},
    [1, "a", None],
    ["x"] * 20,
    [[1.0, 2.0], [3.0]],
]


def text(rng: random.Random) -> str:
    """A text for the command line."""
    return rng.choice(NUMBERS if rng.random() < 0.5 else TEXTS)


def changed(tree: Any, rng: random.Random) -> Any:
    """A copy of plain data with one to three changes: another value, a missing entry, a stranger, or deep nesting."""
    new = copy.deepcopy(tree)
    for _ in range(rng.choice([1, 1, 2, 3])):
        places = list(_places(new))
        if not places:
            return rng.choice(PLAIN)
        parent, key = rng.choice(places)
        kind = rng.random()
        if kind < 0.6:
            parent[key] = copy.deepcopy(rng.choice(PLAIN))
        elif kind < 0.8:
            del parent[key]
        elif kind < 0.9 and isinstance(parent, dict):
            parent[rng.choice(["stranger", "", "../x", "__class__", "x" * 300])] = rng.choice(PLAIN)
        else:
            parent[key] = _nested(rng.choice([5, 60, 3000]), rng)
    return new


def _nested(depth: int, rng: random.Random) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value] if rng.random() < 0.5 else {"a": value}
    return value


def _places(tree: Any, limit: int = 4000) -> list[tuple[Any, Any]]:
    """(container, key) of every value."""
    found, waiting = [], [tree]
    while waiting and len(found) < limit:
        one = waiting.pop()
        entries = list(one.items()) if isinstance(one, dict) else list(enumerate(one)) if isinstance(one, list) else []
        for key, value in entries:
            found.append((one, key))
            waiting.append(value)
    return found


def damaged(raw: bytes, rng: random.Random) -> bytes:
    """Bytes with flipped bits, cut off, doubled, filled up, or with other numbers in them."""
    data = bytearray(raw)
    kind = rng.randrange(9)
    at = rng.randrange(len(data)) if data else 0
    if kind == 0 and data:
        for _ in range(rng.choice([1, 1, 3, 30])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del data[at:]
    elif kind == 2:
        del data[:at]
    elif kind == 3:
        data[at:at] = data[at : at + rng.randrange(200)]
    elif kind == 4:
        data[at : at + rng.randrange(50)] = bytes(rng.randrange(256) for _ in range(rng.randrange(50)))
    elif kind == 5:
        data[at : at + 100] = b"\0" * 100
    elif kind == 6:
        digits = [i for i, byte in enumerate(data) if 48 <= byte <= 57]
        if digits:
            where = rng.choice(digits)
            new = rng.choice([b"9" * 30, b"NaN", b"-Infinity", b"null", b"1e999", b'"x"', b"[" * 50, b"-1", b"0"])
            data[where : where + 1] = new
    elif kind == 7:
        return rng.choice(
            [b"", b"\0", b"\xff\xfe", b"{}", b"[]", b"null", b"[" * 100_000, b'{"a":' * 20_000, b"PK\x03\x04"]
        )
    else:
        data += bytes(rng.randrange(256) for _ in range(20))
    return bytes(data)
