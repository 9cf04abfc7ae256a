"""What a training step copies to a GPU and waits for: python benchmarks/device_traffic.py

Counted, not timed, and without a GPU: the runs compute on a device of the tests that keeps a GPU's rules and notes each
copy from the CPU and each number that is read back (`tests/cold/second_device.py`). Three short tasks; the steps of the
second and third count. A row is a method and a network with a way to fill the memory:

    copies, waits   per step, in the mean
    blocks          per step: copies of what many steps need, made on one of them
    loop            per step: what the trainer reads back between steps, the losses and queues of up to fifty of them

--package FOLDER counts in another version of the package, --json FILE keeps the numbers.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description="Copies and waits per step of every method, without a GPU.")
    parser.add_argument("--package", type=Path, default=ROOT, help="the folder that holds the package `cold`")
    parser.add_argument("--networks", nargs="+", default=["mlp", "resnet"])
    parser.add_argument("--methods", nargs="+", help="by default all")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    chosen = parser.parse_args()
    sys.path[:0] = [str(chosen.package), str(ROOT)]

    from cold.catalogue import METHODS  # noqa: PLC0415  (of the package that was asked for)
    from tests.cold.traffic import fills, traffic  # noqa: PLC0415

    rows = []
    print(f"{'method':12} {'network':8} {'memory':9} steps copies   waits  blocks    loop")
    for method in chosen.methods or METHODS:
        for network in chosen.networks:
            for fill in fills(method):
                found = traffic(method, network, fill)
                numbers = {
                    "copies": found.per_step("copy"),
                    "waits": found.per_step("wait"),
                    "blocks": found.blocks / found.steps,
                    "loop": found.between / found.steps,
                }
                rows.append({"method": method, "network": network, "fill": fill, "steps": found.steps, **numbers})
                shown = "  ".join(f"{value:6.2f}" for value in numbers.values())
                print(f"{method:12} {network:8} {fill:9} {found.steps:5} {shown}", flush=True)
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
