"""What became of the claims that were open at an earlier commit: python tools/open_claims.py COMMIT

Reads docs/claims.md at that commit and as it is now. A claim is open where more evidence could change its verdict. What
each open claim would cost is printed by coldtheory check --power.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

PAGE = "docs/claims.md"
OPEN = ("not settled", "not reproducible here", "no runs here", "open")
#: a claim's line on that page
ROW = re.compile(r"^\| `(?P<id>[^`]+)` \| `[^`]+` \| (?P<verdict>[^|]+) \| (?P<margin>[^|]*) \| ", re.M)


def verdicts(page: str) -> dict[str, str]:
    """Claim -> verdict."""
    return {row["id"]: row["verdict"] for row in ROW.finditer(page)}


def main(commit: str) -> None:
    """One line per pair of verdicts, with the names of the claims whose verdict changed."""
    told = subprocess.run(["git", "show", f"{commit}:{PAGE}"], capture_output=True, text=True, check=True)
    before, now = verdicts(told.stdout), verdicts(Path(PAGE).read_text(encoding="utf-8"))
    changes = Counter(
        (before.get(claim, "(new)"), now.get(claim, "(gone)"))
        for claim in before | now
        if before.get(claim) in OPEN or now.get(claim) in OPEN
    )
    print("| before | now | claims | which |\n| --- | --- | ---: | --- |")
    for (old, new), count in sorted(changes.items()):
        settled = old in OPEN and new not in OPEN
        names = [claim for claim in now if (before.get(claim), now[claim]) == (old, new)] if settled else []
        print(f"| {old} | {new} | {count} | {', '.join(f'`{name}`' for name in names)} |")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
