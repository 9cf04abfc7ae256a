"""What a training step copies to a GPU and waits for: python benchmarks/device_traffic.py

Counted, not timed, and without a GPU: the runs compute on a device of the tests that keeps a GPU's rules and notes each
copy from the CPU and each number that is read back (`tests/cold/second_device.py`). Three short tasks; the steps of the
second and third count. A row is a method and a network with a way to fill the memory:

    copies, waits   per step, on average
    blocks          per step: copies of what many steps need, made on one of them
    loop            per step: what the trainer reads back between steps, the losses and queues of up to fifty of them

--package FOLDER counts in another version of the package (a checkout), --before FOLDER in that one and in this one:

    git worktree add ../before 2872e66
    python benchmarks/device_traffic.py --before ../before --json benchmarks/results/device_traffic.json
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import fields
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

ROOT = Path(__file__).parents[1]
NUMBERS = ("copies", "waits", "blocks", "loop")
Rows = list[dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=Path, default=ROOT, help="the folder that holds the package `cold`")
    parser.add_argument("--before", type=Path, help="also count in the version of this folder")
    parser.add_argument("--networks", nargs="+", default=["mlp", "resnet"])
    parser.add_argument("--methods", nargs="+", help="by default all")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    chosen = parser.parse_args()
    sides: dict[str, Any] = {}
    if chosen.before is not None:
        print(f"before: {chosen.before}")
        sides["before"] = in_another_process(chosen.before, chosen.networks, chosen.methods)
        print("after:")
    sides["after"] = counted(chosen.package, chosen.networks, chosen.methods)
    if chosen.before is not None:
        compare(sides["before"]["rows"], sides["after"]["rows"])
    if chosen.json is not None:
        record = sides if chosen.before is not None else sides["after"]
        chosen.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def counted(package: Path, networks: list[str], methods: list[str] | None) -> dict[str, Any]:
    sys.path[:0] = [str(package.resolve()), str(ROOT)]
    name_old_methods()

    from cold.catalogue import METHODS  # noqa: PLC0415  (of the package that was asked for)
    from tests.cold.traffic import fills, traffic  # noqa: PLC0415

    rows: Rows = []
    print(f"{'method':12} {'network':8} {'memory':9} steps copies   waits  blocks    loop")
    for method in methods or METHODS:
        for network in networks:
            for fill in fills(method):
                found = traffic(method, network, fill)
                assert found.most("mix") == 0, found.places
                values = (
                    found.per_step("copy"), found.per_step("wait"), found.blocks / found.steps,
                    found.between / found.steps,
                )  # fmt: skip
                numbers = dict(zip(NUMBERS, values, strict=True))
                rows.append({"method": method, "network": network, "fill": fill, "steps": found.steps, **numbers})
                shown = "  ".join(f"{value:6.2f}" for value in values)
                print(f"{method:12} {network:8} {fill:9} {found.steps:5} {shown}", flush=True)
    return {"commit": commit(package), "rows": rows}


def name_old_methods() -> None:
    """Versions before `cold.catalogue` list their methods elsewhere: a module of that name with what is needed here."""
    try:
        import cold.catalogue  # noqa: F401, PLC0415
    except ModuleNotFoundError:
        from cold.methods import all_methods  # type: ignore[attr-defined]  # noqa: PLC0415

        catalogue: Any = ModuleType("cold.catalogue")
        catalogue.METHODS = {
            method.name: SimpleNamespace(defaults=lambda method=method: [f.name for f in fields(method.Options)])
            for method in all_methods()
        }
        sys.modules["cold.catalogue"] = catalogue


def in_another_process(package: Path, networks: list[str], methods: list[str] | None) -> dict[str, Any]:
    """The counts of another version, which needs its own Python process."""
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, __file__, "--package", package, "--networks", *networks, "--json", f"{folder}/found"]
        subprocess.run([*words, *(["--methods", *methods] if methods else [])], check=True)
        found: dict[str, Any] = json.loads(Path(f"{folder}/found").read_text(encoding="utf-8"))
    return found


def commit(folder: Path) -> str | None:
    done = subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def compare(before: Rows, after: Rows) -> None:
    """Copies (blocks among them) and waits per step, the loop's among them."""
    print("\nper step, before and after: copies (with blocks), waits (with the loop's)")
    old = {(row["method"], row["network"], row["fill"]): row for row in before}
    for row in after:
        was = old.get((row["method"], row["network"], row["fill"]))
        shown = [
            "     - " if one is None else f"{one[left] + one[right]:7.2f}"
            for left, right in (("copies", "blocks"), ("waits", "loop"))
            for one in (was, row)
        ]
        print(f"{row['method']:12} {row['network']:8} {row['fill']:9} " + " ".join(shown))


if __name__ == "__main__":
    main()
