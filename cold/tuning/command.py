"""The `cold tune` that a user types for some settings."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from ..config import PLACE, RunConfig
from ..runs import identified

#: Settings with an option of their own; others are given by --set NAME=VALUE.
FLAGS = (
    "dataset", "preset", "scenario", "tasks", "epochs", "batch_size", "memory", "memory_batch", "limit_train",
    "validation", "seed",
)  # fmt: skip


def tune_command(flags: Mapping[str, Any]) -> str:
    """
    >>> tune_command({"dataset": "pmnist", "method": "der", "limit_train": 1000, "options": {"alpha": 0.5}, "lr": 0.01})
    'cold tune der --dataset pmnist --limit-train 1000 --option alpha=0.5 --set lr=0.01'
    """
    plain = RunConfig()
    by_name = identified(RunConfig(dataset=flags.get("dataset", plain.dataset)), 1).dataset  # without the path to it
    told = {**flags, "dataset": by_name}
    words = ["cold", "tune", str(told.get("method", plain.method))]
    for name in sorted(told, key=lambda name: FLAGS.index(name) if name in FLAGS else len(FLAGS)):
        value = told[name]
        if name in FLAGS:
            words += [f"--{name.replace('_', '-')}", _text(value)]
        elif name in ("options", "data_options"):
            flag = f"--{name[:-1].replace('_', '-')}"
            words += [word for key, one in value.items() for word in (flag, f"{key}={_text(one)}")]
        elif name not in ("method", "evaluate_on", *PLACE):
            words += ["--set", f"{name}={_text(value)}"]
    return shlex.join(words)


def _text(value: Any) -> str:
    """As the command line reads it: JSON, or a bare word."""
    return value if isinstance(value, str) else json.dumps(value)
