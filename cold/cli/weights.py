"""`cold eval` and `cold export`: what to do with the weights of a finished run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from safetensors import SafetensorError, safe_open
from safetensors.torch import load as load_safetensors
from safetensors.torch import save as save_safetensors
from torch import Tensor

from coldtheory.ground.errors import ColdError
from coldtheory.ground.files import write_atomically

from ..config import make_config
from ..results import MODEL, Result, read_result
from ..trainer import Trainer
from .show import JsonOption, RunArgument


def add_to(app: typer.Typer) -> None:
    app.command("eval")(evaluate)
    app.command("export")(export)


def evaluate(
    run: RunArgument,
    data_root: Annotated[Path | None, typer.Option(help="Folder of the data; default: COLD_DATA.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, ...")] = "auto",
    as_json: JsonOption = False,
) -> None:
    """Test the stored weights of a finished run again, and compare with what the run wrote.

    Example: [bold]cold eval results/runs/pmnist-cold-s0-1a2b3c4d[/]
    """
    result = read_result(run)
    trainer = Trainer(make_config(result.config, {"device": device}), data_root=data_root)
    trainer.model.load_state_dict(stored_weights(run))
    now, then = np.array(trainer.evaluate(trainer.model)), result.arrays["accuracy"][-1]
    largest = float(np.abs(now - then).max())
    if as_json:
        content = {"run_id": result.run_id, "acc": float(now.mean() * 100), "per_task": now.tolist()}
        typer.echo(json.dumps({**content, "largest_difference": largest}))
    else:
        Console(highlight=False).print(
            f"{result.run_id}: ACC {now.mean() * 100:.2f} %, as stored {then.mean() * 100:.2f} %; "
            f"largest difference on a task {largest:.2g}"
        )


def export(
    run: RunArgument,
    file: Annotated[Path, typer.Argument(help="Where to write the weights.", metavar="FILE.safetensors")],
    as_json: JsonOption = False,
) -> None:
    """Write the trained weights of a finished run, with settings and measures in the file's header.

    Example: [bold]cold export results/runs/pmnist-cold-s0-1a2b3c4d model.safetensors[/]
    """
    if file.suffix != ".safetensors":
        raise ColdError(f"{file} must end in .safetensors")
    result = read_result(run)
    weights = stored_weights(run)
    write_atomically(file, save_safetensors(weights, metadata=_header(result)))
    numbers = sum(value.numel() for value in weights.values())
    if as_json:
        typer.echo(json.dumps({"file": str(file), "tensors": len(weights), "numbers": numbers}))
    else:
        typer.echo(f"{file}: {len(weights)} tensors, {numbers} numbers")


def stored_weights(run: Path) -> dict[str, Tensor]:
    path = run / MODEL
    try:
        with safe_open(str(path), framework="pt"):  # checks the header before anything is read
            pass
        weights: dict[str, Tensor] = load_safetensors(path.read_bytes())
    except (OSError, SafetensorError) as error:
        raise ColdError(f"cannot read the weights {path}: {error}") from None
    return weights


def _header(result: Result) -> dict[str, str]:
    content = result.as_json()
    return {name: json.dumps(content[name]) for name in ("format", "run_id", "config", "metrics", "provenance")}
