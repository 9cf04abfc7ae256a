"""Compare what two versions of a command printed as JSON: python tools/same_values.py OLD.json NEW.json

Every value of OLD must stand in NEW under the same key, or under the key that --renamed maps it to; numbers may differ
by --rtol of their size, which is what another order of the same additions does. Keys in --ignore (times, provenance)
are passed over, and new keys are listed. Exit code 1 if a value differs.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

IGNORED = ("seconds", "provenance", "time")


def differences(
    old: Any, new: Any, renamed: Mapping[str, str], ignored: tuple[str, ...], rtol: float, at: str = ""
) -> Iterator[str]:
    """One line for each value of `old` that `new` does not have."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            name = renamed.get(key, key)
            if key in ignored:
                continue
            if name not in new:
                yield f"{at}/{key}: gone"
            else:
                yield from differences(value, new[name], renamed, ignored, rtol, f"{at}/{key}")
        known = {renamed.get(key, key) for key in old}
        yield from (f"{at}/{key}: new" for key in new if key not in known)
    elif _by_id(old) and _by_id(new):  # their order does not count
        yield from differences(_by_id(old), _by_id(new), renamed, ignored, rtol, at)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{at}: {len(old)} entries became {len(new)}"
        for number, (left, right) in enumerate(zip(old, new, strict=False)):
            name = left.get("row", number) if isinstance(left, dict) else number
            yield from differences(left, right, renamed, ignored, rtol, f"{at}/{name}")
    elif isinstance(old, float) and isinstance(new, int | float) and not isinstance(new, bool):
        if not math.isclose(old, new, rel_tol=rtol, abs_tol=rtol):
            yield f"{at}: {old!r} became {new!r}"
    elif old != new:
        yield f"{at}: {old!r} became {new!r}"


def _by_id(entries: Any) -> dict[str, Any]:
    """Entries of a list by their ids; empty if they have none."""
    if not isinstance(entries, list) or not all(isinstance(entry, dict) and "id" in entry for entry in entries):
        return {}
    return {str(entry["id"]): entry for entry in entries}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--renamed", type=Path, help="tests/renamed_keys.json: sections of old key -> new key")
    parser.add_argument("--section", default="check", help="of that file")
    parser.add_argument("--ignore", default=",".join(IGNORED), help="keys by commas")
    parser.add_argument("--rtol", type=float, default=1e-12)
    given = parser.parse_args()
    renamed = {} if given.renamed is None else json.loads(given.renamed.read_text())[given.section]
    old, new = (json.loads(path.read_text()) for path in (given.old, given.new))
    found = list(differences(old, new, renamed, tuple(given.ignore.split(",")), given.rtol))
    added = [line for line in found if line.endswith(": new")]
    changed = [line for line in found if not line.endswith(": new")]
    for line in changed:
        print(line)
    print(f"{given.new.name}: {len(changed)} values differ, {len(added)} keys are new")
    sys.exit(1 if changed else 0)


if __name__ == "__main__":
    main()
