"""What the report costs to write and to open: python benchmarks/report.py

    write   seconds of CPU of `coldtheory report` in an empty folder, which checks all claims first (those of worker
            processes included); again, with the verdicts that are then stored; and with the figures of the repository,
            which are drawn once
    open    the page with figures in Chromium, 1400 and 360 pixels wide: its height, the number of elements, when
            something is painted first, and for how long tasks kept the page from answering while it loaded

Sizes and heights do not depend on what else the machine does; CPU seconds depend on it a little, and the times of
painting and of long tasks a lot. So versions take turns, and the least of several measurements is printed. --before
FOLDER measures another version (a checkout) as well:

    git worktree add ../before 0084db2
    python benchmarks/report.py --before ../before --json benchmarks/results/report.json
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.coldtheory.report.browser import Browser, chromium  # noqa: E402

TURNS = 3
VISITS = 3
_LONG_TASKS = (
    "window.tasks = []; new PerformanceObserver(l => tasks.push(...l.getEntries().map(e => e.duration)))"
    ".observe({ type: 'longtask', buffered: true });"
)
_READ = """({
  height: document.documentElement.scrollHeight, elements: document.querySelectorAll('*').length,
  paint: performance.getEntriesByType('paint')[0].startTime, blocked: tasks.reduce((sum, t) => sum + t, 0),
})"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="also measure the version of this folder")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    chosen = parser.parse_args()
    sides = {"before": chosen.before, "after": ROOT}
    found = measured({name: folder.resolve() for name, folder in sides.items() if folder is not None})
    for name, numbers in found.items():
        print(f"{name}:")
        for what, value in numbers.items():
            print(f"    {what:34} {value:,.2f}" if isinstance(value, float) else f"    {what:34} {value:,}")
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def measured(packages: dict[str, Path]) -> dict[str, dict[str, Any]]:
    """All numbers of every version."""
    found: dict[str, dict[str, Any]] = {name: {} for name in packages}
    with tempfile.TemporaryDirectory() as scratch:
        for turn in range(TURNS):
            for name, package in packages.items():
                folder = Path(scratch, f"{name}-{turn}")
                folder.mkdir()
                figures = ("--figures", str(package / "figures"))
                told = {
                    "empty folder, CPU s": written(package, folder),
                    "verdicts stored, CPU s": written(package, folder),
                    "figures for the first time, CPU s": written(package, folder, *figures),
                    "figures again, CPU s": written(package, folder, *figures),
                }
                page = folder / "report.html"
                for width in (1400, 360):
                    told |= {f"{what}, {width} px wide": value for what, value in opened(page, width).items()}
                best = found[name]
                found[name] = {what: min(value, best.get(what, value)) for what, value in told.items()}
                found[name]["bytes"] = page.stat().st_size
    return found


def written(package: Path, folder: Path, *words: str) -> float:
    """Seconds of CPU of `coldtheory report` in a folder, with those of its worker processes."""
    code = "from coldtheory.cli import main; main()"
    environment = os.environ | {"PYTHONPATH": str(package), "OMP_NUM_THREADS": "1"}
    start = spent()
    subprocess.run([sys.executable, "-c", code, "report", *words], cwd=folder, env=environment, check=True)
    return round(spent() - start, 2)


def spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def opened(page: Path, width: int) -> dict[str, Any]:
    """The page in a browser, the least of several visits; nothing where there is no Chromium."""
    program = chromium()
    if program is None:
        return {}
    browser = Browser(program)
    try:
        browser.send("Page.addScriptToEvaluateOnNewDocument", source=_LONG_TASKS)
        browser.size(width)
        visits = []
        for _ in range(VISITS):
            browser.open(page.as_uri(), until="document.getElementById('explorer')?.dataset.redraws > 0")
            visits.append(browser.run(_READ))
    finally:
        browser.close()
    last = visits[-1]
    return {
        "height, px": last["height"],
        "elements": last["elements"],
        "first paint, ms": round(min(visit["paint"] for visit in visits)),
        "long tasks, ms": round(min(visit["blocked"] for visit in visits)),
    }


if __name__ == "__main__":
    main()
