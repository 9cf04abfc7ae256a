"""The long form: `python -m tests.fuzz --calls 100000 --seed 1` (calls of programs; as many others in proportion).

The cases are drawn in portions, each from a seed of its own. With --keep FILE every portion that has ended is a line of
that file, and the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tests.fuzz import arguments, files, programs
from tests.fuzz.sandbox import Tally

_PORTION = 1000
_PARTS = {"programs": programs, "arguments": arguments, "files": files}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--calls", type=int, default=3000, help="calls of the two programs")
    parser.add_argument("--arguments", type=int, help="calls of functions; by default two for three calls of programs")
    parser.add_argument("--files", type=int, help="damaged files; by default one for six calls of programs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, metavar="FILE", help="where portions are kept that have ended")
    given = parser.parse_args()
    counts = {
        "programs": given.calls,
        "arguments": given.calls * 2 // 3 if given.arguments is None else given.arguments,
        "files": given.calls // 6 if given.files is None else given.files,
    }
    failed = 0
    for part, count in counts.items():
        if not count:
            continue
        with tempfile.TemporaryDirectory() as folder:
            tally = fuzz(part, count, given.seed, Path(folder), given.keep)
        print(f"{part}, seed {given.seed}: {tally}", flush=True)
        failed += len(tally.failures)
    return 1 if failed else 0


def fuzz(part: str, count: int, seed: int, folder: Path, keep: Path | None) -> Tally:
    """All portions of a part, those that were kept included."""
    total, kept = Tally(), _kept(keep)
    for number, first in enumerate(range(0, count, _PORTION)):
        cases = min(_PORTION, count - first)
        name = [part, seed, number, cases]
        tally = next((tally for known, tally in kept if known == name), None)
        if tally is None:
            tally = _PARTS[part].fuzz(cases, f"{seed} {number}", folder)
            if keep is not None:
                with keep.open("a") as file:
                    file.write(json.dumps({"portion": name, "tally": vars(tally)}) + "\n")
            print(f"{part}, seed {seed}, portion {number}: {tally}", file=sys.stderr, flush=True)
        total += tally
    return total


def _kept(path: Path | None) -> list[tuple[list[object], Tally]]:
    if path is None or not path.exists():
        return []
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [(line["portion"], Tally(**line["tally"])) for line in lines]


if __name__ == "__main__":
    sys.exit(main())
