"""The long form: `python -m tests.fuzz --calls 100000 --seed 1` (calls of programs; as many others in proportion)."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.fuzz import arguments, files, programs


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--calls", type=int, default=3000, help="calls of the two programs")
    parser.add_argument("--arguments", type=int, help="calls of functions; by default two for three calls of programs")
    parser.add_argument("--files", type=int, help="damaged files; by default one for six calls of programs")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counts = {
        programs: given.calls,
        arguments: given.calls * 2 // 3 if given.arguments is None else given.arguments,
        files: given.calls // 6 if given.files is None else given.files,
    }
    failed = 0
    for part, count in counts.items():
        with tempfile.TemporaryDirectory() as folder:
            tally = part.fuzz(count, given.seed, Path(folder))
        print(f"{part.__name__.rpartition('.')[2]}, seed {given.seed}: {tally}", flush=True)
        failed += len(tally.failures)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
