"""How far the kernels of a processor move a stored result: python tools/kernels.py RUN_ID [RUN_ID ...] [--runs FOLDER]

Each run is made again from its own record, once for every set of kernels that this processor can take, in a process of
its own: the environment variables have to be set before torch is loaded. Printed are ACC in per cent, how far it is
from the stored one, and whether all accuracies are those that this processor's own kernels give, bit for bit. With
--tree FOLDER the code of another checkout makes the runs, so that old code and new can be compared on one machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from cold.runs import find_runs
from coldtheory.ground.errors import ColdError

SETTINGS = (
    "",
    "ATEN_CPU_CAPABILITY=default",
    "ATEN_CPU_CAPABILITY=avx2",
    "MKL_ENABLE_INSTRUCTIONS=AVX2",
    "MKL_CBWR=COMPATIBLE",
)
_AGAIN = """
import hashlib, json, sys
import numpy as np
from cold.config import make_config
from cold.trainer import Trainer
result = Trainer(make_config(json.loads(sys.argv[1]))).run()
digest = hashlib.sha256()
for name in ("accuracy", "start"):
    digest.update(np.ascontiguousarray(result.arrays[name]).tobytes())
print(json.dumps([result.metrics["acc"], digest.hexdigest()]))
"""


def again(config: dict[str, object], setting: str, tree: Path) -> tuple[float, str]:
    """ACC of the run under this setting, and a digest of its accuracies."""
    name, _, value = setting.partition("=")
    environment = {**os.environ, "PYTHONPATH": str(tree.resolve()), **({name: value} if name else {})}
    words = [sys.executable, "-c", _AGAIN, json.dumps(config)]
    done = subprocess.run(words, env=environment, cwd=tree, capture_output=True, text=True, check=True)
    acc, digest = json.loads(done.stdout.splitlines()[-1])
    return acc, digest


def main() -> None:
    """Print one line per run and setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="+", metavar="RUN_ID")
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--tree", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--settings", nargs="*", default=SETTINGS, metavar="NAME=VALUE")
    chosen = parser.parse_args()
    stored = find_runs(chosen.runs)
    print("| run | kernels | ACC % | minus stored | same bits as with its own kernels |")
    print("| --- | --- | ---: | ---: | --- |")
    for run_id in chosen.ids:
        if run_id not in stored:
            raise ColdError(f"there is no run {run_id} in {chosen.runs}; give the id of a stored run")
        run, own = stored[run_id], ""
        config = {name: value for name, value in run.config.items() if value is not None}
        for setting in ("", *(one for one in chosen.settings if one)):
            acc, digest = again(config, setting, chosen.tree)
            own = own or digest
            words = f"{acc:.3f} | {acc - float(run.metrics['acc'] or 0):+.3f} | {'yes' if digest == own else 'no'}"
            print(f"| {run_id} | {setting or 'of this processor'} | {words} |", flush=True)


if __name__ == "__main__":
    try:
        main()
    except ColdError as error:
        sys.exit(f"error: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: a run failed: {(error.stderr.splitlines() or ['?'])[-1]}")
