"""How long the two programs take to start, in units of `python -c "import numpy"`.

    git worktree add ../before 0084db2                # the version in which --help loads every command
    python benchmarks/startup.py --before ../before   # some minutes
    python benchmarks/startup.py --repeat 5

"after" is this version, "before" the one of the given folder. Each call is a process of its own, and what counts is its
CPU time, with the start of Python. The calls and the versions take turns, so that whatever else the machine does
affects all of them alike. It can only add to the time of a call, so the least of each is divided by the least of
`import numpy`. Listed data sets are those of an empty folder.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LIMIT = 3.0  # of the calls that have a goal
UNIT = "import numpy"
PROGRAM = "import sys; sys.argv[0] = '{0}'; from {0}.cli import main; main()"


def calls() -> dict[str, tuple[list[str], Mapping[str, str], bool]]:
    """One call: its code and arguments, further environment variables, and whether a goal is set for it."""

    def typed(words: str, goal: bool = False) -> tuple[list[str], Mapping[str, str], bool]:
        program, *rest = words.split()
        return [PROGRAM.format(program), *rest], {}, goal

    def completed(words: str) -> tuple[list[str], Mapping[str, str], bool]:
        program = words.split(maxsplit=1)[0]
        asked = {
            f"_{program.upper()}_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        }
        return [PROGRAM.format(program)], asked, False

    return {
        UNIT: ([UNIT], {}, False),
        "coldtheory --help": typed("coldtheory --help", goal=True),
        "cold --help": typed("cold --help", goal=True),
        "coldtheory --version": typed("coldtheory --version"),
        "import coldtheory": (["import coldtheory"], {}, False),
        "import cold": (["import cold"], {}, False),
        "coldtheory sim<TAB>": completed("coldtheory sim"),
        "cold comp<TAB>": completed("cold comp"),
        "cold run --data<TAB>": completed("cold run --data"),
        "coldtheory sweep-V --help": typed("coldtheory sweep-V --help"),
        "coldtheory plot --help": typed("coldtheory plot --help"),
        "cold run --help": typed("cold run --help"),
        "cold methods": typed("cold methods"),
        "cold data list": typed("cold data list"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="a folder with an earlier version, to compare with")
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--out", type=Path, help="also write the numbers to this file, as JSON")
    options = parser.parse_args()
    given = {"before": options.before, "after": ROOT}
    sides = {side: folder.resolve() for side, folder in given.items() if folder is not None}
    record: dict[str, Any] = {"cores": os.cpu_count(), "repeat": options.repeat, "limit": LIMIT}
    for side, seconds in measured(sides, options.repeat).items():
        record[side] = {"seconds": seconds, "ratio": {name: s / seconds[UNIT] for name, s in seconds.items()}}
        record[side]["commit"] = commit_of(sides[side])
    show(record)
    if options.out is not None:
        options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def measured(sides: Mapping[str, Path], repeat: int) -> dict[str, dict[str, float]]:
    """The least CPU time of each call, of the version in every folder."""
    found: dict[str, dict[str, float]] = {side: {} for side in sides}
    with tempfile.TemporaryDirectory() as empty:
        for turn in range(repeat + 1):
            for name, (words, variables, _) in calls().items():
                for side, folder in sides.items():
                    environment = {**os.environ, "PYTHONPATH": str(folder), "COLD_DATA": empty, **variables}
                    seconds = cpu_of([sys.executable, "-c", *words], environment, empty)
                    if turn:  # the first time Python compiles what it loads
                        found[side][name] = min(seconds, found[side].get(name, seconds))
    return found


def cpu_of(command: list[str], environment: Mapping[str, str], folder: str) -> float:
    """The CPU time of one process; it may end with any exit code, as completion does."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, cwd=folder, check=False, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commit_of(folder: Path) -> str:
    command = ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def show(record: dict[str, Any]) -> None:
    sides = [side for side in ("before", "after") if side in record]
    print(f"{'CPU time':<27} " + " ".join(f"{side:>20}" for side in sides))
    for name, (_, _, goal) in calls().items():
        cells = [f"{record[s]['seconds'][name]:>9.3f} s {record[s]['ratio'][name]:>8.1f}" for s in sides]
        verdict = "yes" if record["after"]["ratio"][name] <= LIMIT else "NO"
        print(f"{name:<27} " + " ".join(cells) + (f"  at most {LIMIT:g}: {verdict}" if goal else ""))


if __name__ == "__main__":
    main()
