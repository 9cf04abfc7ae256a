"""Training rows for tests: the schema of a stored run with numbers from a formula. No training takes place."""

from __future__ import annotations

import json

import numpy as np

from cold.plots.paper_figures import SEEDS
from cold.runs import ARRAYS, FORMAT, RESULT

TASKS = 6
DEFAULTS = {
    "tasks": TASKS, "epochs": 5, "memory": 5000, "memory_batch": 7, "V": 100, "delta": 0.5, "lr": 1e-4,
    "optimizer": "adam", "batch_size": 64, "queue_update": "step", "weights": "sum", "oracle": "exact",
    "replay": "per-task", "width": 8, "limit_train": 100, "iid": False, "profile": None,
}  # fmt: skip


def write_run(folder, *, dataset, method="cold", seed=0, made_up=True, run_id=None, **config):
    """One run folder; its numbers depend smoothly on the settings."""
    full = {**DEFAULTS, "dataset": dataset, "method": method, "seed": seed, **config}
    T = int(full["tasks"])
    rng = np.random.default_rng(seed)
    logs = {name: np.log10(1.0 + float(full[name])) for name in ("V", "memory", "delta", "epochs", "batch_size")}
    skill = 0.3 + 0.04 * logs["V"] + 0.03 * logs["memory"] - 0.1 * logs["delta"] + 0.1 * logs["epochs"]
    skill += -0.03 * logs["batch_size"] + 0.03 * (sum(map(ord, method)) % 7) + 0.03 * rng.random()
    age = np.arange(T)[:, None] - np.arange(T)[None, :]
    accuracy = np.where(age >= 0, skill * np.exp(-0.03 * logs["V"] * age), 0.1)
    queues = np.zeros((T + 1, T))
    queues[1:] = np.maximum(age, 0) * np.sqrt(float(full["V"])) / (1.0 + float(full["delta"]))
    name = run_id or "-".join(str(v) for v in (dataset, method, seed, *config.values())).replace("/", "_")
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    np.savez(place / ARRAYS, accuracy=accuracy, queues=queues)
    content = {
        "format": FORMAT, "run_id": name, "config": full,
        "metrics": {"acc": 100 * float(accuracy[-1].mean()), "forgetting": 0.1 * float(skill)},
        "per_task": {"acc": [], "forgetting": []},
        "diagnostics": {
            "avg_grad_sq_before": (1 + 9 * (not full["iid"])) / float(full["V"]),
            "avg_grad_sq_after": (1 + 4 * (not full["iid"])) / float(full["V"]),
            "Delta_bar": 1e-3 * full["V"],
        },
        "timing": {}, "provenance": {"commit": "0" * 40, "time": f"2026-01-0{1 + seed}T00:00:00+00:00"},
        **({"made_up": True} if made_up else {}),
    }  # fmt: skip
    (place / RESULT).write_text(json.dumps(content))
    return place


def write_study(folder, study, seeds=SEEDS, **more):
    """Every run that the paper's figure wants, small."""
    for number, panel in enumerate(study.panels):
        for method, value in panel.cells():
            for seed in seeds:
                varied = {} if panel.field == "method" else {panel.field: value}
                dataset = panel.dataset.removesuffix("-iid")
                iid = panel.dataset.endswith("-iid")
                name = f"{number}-{panel.kind}-{dataset}-{iid}-{method}-{value}-{seed}"
                write_run(
                    folder, dataset=dataset, method=method, seed=seed, run_id=name, **{"iid": iid, **varied, **more}
                )
