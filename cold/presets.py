"""Settings from the paper's two hyper-parameter tables; imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coldtheory.ground.checks import choice, shown
from coldtheory.ground.errors import ColdError
from coldtheory.paper import paper

from .catalogue import LOSS, METHODS, method_title, named_by_constraint, named_by_reference
from .config import RunConfig, make_config, read_config

PRESETS = ("paper",)
PROVENANCE = "provenance"  #: a table in a file of settings that says where they come from, and is not a setting
_OPTIMIZERS = {"ADAM": "adam", "SGD-M": "sgdm"}


def preset_settings(preset: str, dataset: str, method: str, memory: int | None) -> dict[str, Any]:
    """The paper's settings for (dataset, method, memory); without a memory size, the largest that is printed.

    A method for which the paper prints no column takes COLD's: optimiser, epochs and batches are then those of the
    comparison.

    >>> preset_settings("paper", "pmnist", "cold", None)["delta"]
    2.0
    """
    choice("preset", preset, PRESETS)
    for name, text in (("dataset", dataset), ("method", method)):
        if not isinstance(text, str):
            raise ColdError(f"{name} must be str, got {shown(text)}")
    columns = paper().runs(dataset, method_title(method)) or paper().runs(dataset, METHODS["cold"].title)
    if not columns:
        known = sorted({run.dataset for run in paper().runs()})
        raise ColdError(f"the paper prints no settings for {dataset}; it does for {', '.join(known)}")
    chosen = {run.memory: run for run in columns}
    size = max(chosen) if memory is None else memory
    if size not in chosen:
        printed = " and ".join(str(m) for m in sorted(chosen))
        raise ColdError(f"the paper prints settings for {dataset} with M = {printed}, not {size}; leave out --preset")
    run = chosen[size]
    own = {"V": run.V, "delta": run.delta} if METHODS.get(method, METHODS["cold"]).constraint == LOSS else {}
    return {
        "preset": preset,
        "tasks": run.tasks,
        "epochs": run.epochs,
        "init": "torch",  # the paper says nothing of first weights
        "lr": run.learning_rate,
        "optimizer": _OPTIMIZERS[run.optimizer],
        "batch_size": run.task_batch_size,
        "memory": run.memory,
        "memory_batch": run.memory_batch_size,
        **own,  # of the paper's methods; COLD-distill has its own
    }


def settings_in(path: Path) -> dict[str, Any]:
    """The settings of a TOML file, without what it says of where they come from."""
    return {name: value for name, value in read_config(path).items() if name != PROVENANCE}


def build_config(path: Path | None, flags: Mapping[str, Any], chosen: Mapping[str, Any] | None = None) -> RunConfig:
    """Defaults, preset, chosen settings (`cold run --settings`), file, flags: a later one wins."""
    stored, beneath = {} if path is None else settings_in(path), chosen or {}
    named = {**beneath, **stored, **flags}
    layers: list[Mapping[str, Any]] = [beneath, stored, flags]
    if named.get("preset") is not None:
        plain = RunConfig()
        layers.insert(
            0,
            preset_settings(
                named["preset"],
                named.get("dataset", plain.dataset),
                _named(named.get("method", plain.method), named.get("constraint"), named.get("reference")),
                named.get("memory"),
            ),
        )
    return make_config(*layers)


def _named(method: str, constraint: str | None, reference: str | None) -> str:
    """The one name of a method, whichever way it was typed."""
    return named_by_reference(named_by_constraint(method, constraint)[0], reference)[0]
