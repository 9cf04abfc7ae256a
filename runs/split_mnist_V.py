"""The runs behind the figure Average_gradient_vs_V: COLD on Split-MNIST over V, LOW and HIGH, three seeds.

    COLD_DATA=<data root> PYTHONPATH=. python runs/split_mnist_V.py [--heads task|shared]

Finished runs are left alone, so that a stopped study goes on where it was. Weights are not kept. Each run is also
`cold run` with the settings below as flags, and has the same run id.

The method is the theory's: full-batch gradient descent with one step size for all V (no momentum), all memory samples
in every step, queues that move once a task, delta > 0, mean weights. So the bounds can be evaluated along with the
run, and V enters as in the theory: eta V is the step on the present loss. (Adam would divide by the size of the
gradient, and V would matter only against the queues.)
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import cold
from cold.config import make_config
from cold.data import load_benchmark
from cold.results import MODEL, RESULT
from cold.trainer import Trainer
from coldtheory.errors import ColdError

V = (1, 3, 10, 30, 100, 300, 1000)
SEEDS = (0, 1, 2)
SETTINGS = {
    "dataset": "split-mnist", "method": "cold", "profile": "cpu", "tasks": 5, "limit_train": 200, "limit_test": 200,
    "batch_size": 200, "epochs": 25, "optimizer": "sgdm", "momentum": 0.0, "lr": 2e-5, "memory": 100,
    "memory_batch": 20, "weights": "mean", "queue_update": "task", "delta": 1e-4, "diagnostics": True, "threads": 1,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heads", choices=("task", "shared"), default="task")
    heads = parser.parse_args().heads
    root, used = Path(__file__).resolve().parents[1], Path(cold.__file__).resolve().parents[1]
    if used != root:  # an installed copy from elsewhere would be recorded as this commit's work
        raise ColdError(f"cold is imported from {used}, this script belongs to {root}; set PYTHONPATH={root}")
    out = Path(__file__).parent / ("split-mnist-V" if heads == "task" else "split-mnist-V-shared-head")
    options = {} if heads == "task" else {"heads": "shared"}
    for seed in SEEDS:
        for iid in (True, False):
            benchmark = load_benchmark(
                "split-mnist", tasks=SETTINGS["tasks"], seed=seed, limit_train=SETTINGS["limit_train"],
                limit_test=SETTINGS["limit_test"], iid=iid, **options,
            )  # fmt: skip
            for v in V:
                config = make_config(SETTINGS, {"V": v, "iid": iid, "seed": seed, "data_options": options})
                folder = out / config.run_id
                if (folder / RESULT).exists():
                    continue
                start = time.process_time()
                numbers = Trainer(config, benchmark=benchmark, out=out).run(resume=True).diagnostics
                (folder / MODEL).unlink()
                outcomes = [bound["outcome"] for bound in numbers["bounds"]]
                print(
                    f"seed {seed} {'LOW ' if iid else 'HIGH'} V={v:<5}",
                    *(f"{name}={numbers[name]:.3g}" for name in _SHOWN),
                    f"bounds {outcomes} ({time.process_time() - start:.1f} s)",
                    flush=True,
                )


_SHOWN = ("avg_grad_sq", "avg_grad_sq_after", "avg_grad_sq_along", "Delta_bar", "D_phi", "rho_bar", "eta_alpha_max")

if __name__ == "__main__":
    main()
