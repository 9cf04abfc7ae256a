"""`cold eval` and `cold export` use the weights of a finished run. Their help needs no torch."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from coldtheory.ground.command_line import JsonOption
from coldtheory.ground.errors import ColdError
from coldtheory.ground.files import write_atomically
from coldtheory.ground.reading import read_bytes

from ..catalogue import METHODS
from ..config import make_config
from ..runs import MODEL, OtherData, Result, find_run, same_data
from .options import DataRootOption
from .show import RunArgument

if TYPE_CHECKING:
    from torch import Tensor


def add_to(app: typer.Typer) -> None:
    """Register the commands `eval` and `export` with the program."""
    app.command("eval")(evaluate)
    app.command("export")(export)


def evaluate(
    run: RunArgument,
    method: Annotated[
        str | None,
        typer.Option(
            help="Method: a name, or FILE.py of your own. A run with your own method needs it.", metavar="FILE.py"
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Network: a name, or package.module:factory of your own. A run with your own network needs it.",
            metavar="package.module:factory",
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(help="Name of the benchmark. A run on a folder of images needs it.", metavar="folder:PATH"),
    ] = None,
    data_root: DataRootOption = None,
    device: Annotated[str, typer.Option(help="Device: auto, cpu, cuda, cuda:1, ...")] = "auto",
    as_json: JsonOption = False,
) -> None:
    """Test the stored weights of a finished run again, and compare with what the run wrote.

    Example: [bold]cold eval results/runs/pmnist-cold-s0-1a2b3c4d[/]

    Data whose fingerprint differs from that of the run are refused.

    A run names its method and network, but nothing that a result names is ever imported or executed: a method of your
    own is loaded only from the file that --method gives, a network only from what --model names.
    """
    import numpy as np  # noqa: PLC0415

    from ..trainer import Trainer  # noqa: PLC0415  (loads torch)

    result = find_run(run)
    weights = stored_weights(result)
    then = result.array("accuracy")
    if then is None:
        raise ColdError(f"{result.run_id} has no accuracies to compare with; run it again")
    given = {
        "device": device, "method": _method(result, method), "dataset": _dataset(result, dataset),
        "model": _model(result, model),
    }  # fmt: skip
    trainer = Trainer(make_config(result.config, given), data_root=data_root)
    if not same_data(result.data, trainer.data):
        raise OtherData(result.run_id, result.data, trainer.data, "")
    try:
        trainer.model.load_state_dict(weights)
    except (RuntimeError, TypeError, ValueError):
        raise ColdError(f"the weights of {result.run_id} are not of the network that its settings name") from None
    now = np.array(trainer.evaluate(trainer.model))
    if now.shape != then[-1].shape:
        raise ColdError(f"{result.run_id} has {len(then)} tasks, its settings name {len(now)}; run it again")
    largest = float(np.abs(now - then[-1]).max())
    if as_json:
        content = {"run_id": result.run_id, "acc": float(now.mean() * 100), "per_task": now.tolist()}
        data = {"stored": result.data, "here": trainer.data}
        typer.echo(json.dumps({**content, "largest_difference": largest, "data": data}))
        return
    console = Console(highlight=False)
    console.print(
        f"{result.run_id}: ACC {now.mean() * 100:.2f} %, as stored {then[-1].mean() * 100:.2f} %; "
        f"largest difference on a task {largest:.2g}"
    )
    if result.data is None:
        console.print("the run does not record its data; they are taken to be these", soft_wrap=True)


def _method(result: Result, given: str | None) -> str:
    """Return the method to load: a built-in one, or a file that the user names. A result cannot name a file to open."""
    named = str(result.config.get("method", ""))
    if given is not None:
        return given
    if named not in METHODS:
        words = f"{result.run_id} was made by the method {named!r}, which is not built in"
        raise ColdError(f"{words}; give its file with --method FILE.py if you trust it")
    return named


def _model(result: Result, given: str | None) -> str | None:
    """Return the network to build: a built-in one, or what the user names. A result cannot name code to import."""
    named: str | None = result.config.get("model")
    if given is None and named is not None and not re.fullmatch(r"[a-z0-9-]+", named):
        words = f"{result.run_id} names the network {named[:80]!r}, which is not built in; nothing is imported"
        raise ColdError(f"{words} unless you give it with --model")
    return given or named


def _dataset(result: Result, given: str | None) -> str:
    """Return the benchmark to load; the user must say where a folder of images is."""
    named = str(result.config.get("dataset", ""))
    if given is None and named.startswith("folder:"):
        raise ColdError(f"{result.run_id} was made on a folder of images; say where it is with --dataset folder:PATH")
    return given or named


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
    from safetensors.torch import save  # noqa: PLC0415  (loads torch)

    result = find_run(run)
    weights = stored_weights(result)
    write_atomically(file, save(weights, metadata=_header(result)))
    numbers = sum(value.numel() for value in weights.values())
    if as_json:
        typer.echo(json.dumps({"file": str(file), "tensors": len(weights), "numbers": numbers}))
    else:
        typer.echo(f"{file}: {len(weights)} tensors, {numbers} numbers")


def stored_weights(result: Result) -> dict[str, Tensor]:
    """Return the trained weights beside a result; most committed runs have none, to stay small."""
    from safetensors.torch import load  # noqa: PLC0415  (loads torch)

    path = (result.folder or Path(result.run_id)) / MODEL
    if not path.is_file():
        raise ColdError(
            f"{result.run_id} was kept without its weights ({path} does not exist); make the run again with "
            "'cold run', or with 'cold study run --keep-networks'"
        )
    content = read_bytes(path)
    try:
        weights: dict[str, Tensor] = load(content)
    except Exception as error:  # of safetensors or torch, for a damaged file
        raise ColdError(f"cannot read the weights {path}: {' '.join(str(error).split())[:200]}") from None
    return weights


def _header(result: Result) -> dict[str, str]:
    content = result.as_json()
    return {name: json.dumps(content[name]) for name in ("format", "run_id", "config", "data", "metrics", "provenance")}
