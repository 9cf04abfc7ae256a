"""`cold run`: one run, with live progress, checkpoints and resume. Its help needs no torch."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from coldtheory.ground.checks import number
from coldtheory.ground.command_line import named_value
from coldtheory.ground.errors import ColdError

from ..catalogue import BENCHMARK_NAMES
from ..config import AUTO, RunConfig
from ..presets import build_config, settings_in
from ..runs import RESULT, Result, check_same_run, find_runs, only_writer
from .options import OUT, DataRootOption
from .show import print_result

if TYPE_CHECKING:
    from ..loggers import Logger
    from ..record import Progress as Place
    from ..trainer import Trainer

Text = str | None
Whole = int | None
Number = float | None
Switch = bool | None


def add_to(app: typer.Typer) -> None:
    """Register the command `run` with the program."""
    app.command("run")(run)


def run(
    dataset: Annotated[
        Text, typer.Option(help=f"Name of the benchmark. It is one of {', '.join(BENCHMARK_NAMES)}.")
    ] = None,
    method: Annotated[
        Text, typer.Option(help="Method: a name, or FILE.py of your own. 'cold methods' lists the names.")
    ] = None,
    preset: Annotated[
        Text,
        typer.Option(
            help="Named settings; paper takes those of the paper's tables for this dataset, method and memory."
        ),
    ] = None,
    settings: Annotated[
        Text,
        typer.Option(
            help="best: what stored tuning runs chose for dataset, method and size (cold settings lists them); or a "
            "file that cold tune wrote."
        ),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Settings from a TOML file; flags override it.")] = None,
    scenario: Annotated[
        Text,
        typer.Option(
            help="Scenario of a split: task, class or domain. A head per task; one head for all classes (Class-IL and "
            "Task-IL accuracy); one head, the same labels in every task."
        ),
    ] = None,
    tasks: Annotated[Whole, typer.Option("--tasks", "--T", help="Number of tasks.")] = None,
    epochs: Annotated[Whole, typer.Option(help="Epochs per task.")] = None,
    online: Annotated[bool, typer.Option("--online", help="One epoch per task.")] = False,
    memory: Annotated[Whole, typer.Option(help="M: samples in the memory, of all tasks together.")] = None,
    memory_batch: Annotated[
        Whole, typer.Option(help="Memory samples per step: of each past task, or (mixed) in all.")
    ] = None,
    memory_policy: Annotated[
        Text, typer.Option(help="How the memory is filled. uniform: floor(M/T) samples per task; or reservoir.")
    ] = None,
    replay: Annotated[
        Text,
        typer.Option(
            help="What a step draws from the memory: samples of each past task (per-task), or of all together (mixed)."
        ),
    ] = None,
    forward: Annotated[
        Text,
        typer.Option(
            help="Batch and memory batch in one pass (joint), with shared BatchNorm statistics, or each by itself "
            "(separate)."
        ),
    ] = None,
    V: Annotated[
        Text, typer.Option("--V", help="Weight of the present task. auto: it follows from the number of steps.")
    ] = None,
    delta: Annotated[Number, typer.Option(help="Tolerance of the queues.")] = None,
    constraint: Annotated[
        Text,
        typer.Option(
            help="What cold holds past tasks to: their label loss, or the logits that the network gave when they ended "
            "(that is cold-distill; logits:shift=0 does not move these towards the labels)."
        ),
    ] = None,
    gauge: Annotated[
        Number, typer.Option(help="Share of the memory that is never trained on and measures forgetting.")
    ] = None,
    forget: Annotated[
        Number,
        typer.Option(
            help="Forget so much and no more: nats of loss, mean over past tasks, on a gauge (by default a fifth of "
            "the memory). Below what can be reached the run says so."
        ),
    ] = None,
    forget_acc: Annotated[Text, typer.Option(help="The same in accuracy on the gauge, as in 2% or 0.02.")] = None,
    queue_start: Annotated[
        Text,
        typer.Option(
            help="Where the queue of a task that has just ended starts: zero, a number, or mean of the others."
        ),
    ] = None,
    queue_update: Annotated[Text, typer.Option(help="When queues move: step, epoch, task or never.")] = None,
    weights: Annotated[Text, typer.Option(help="Weights of the queues: mean (appendix) or sum (main text).")] = None,
    reference: Annotated[
        Text,
        typer.Option(
            help="Model that past tasks are compared with: previous (Case 1, COLD), best (Case 2, COLD-ORACLE) or "
            "stored (Case 3, the model at the end of each past task)."
        ),
    ] = None,
    oracle: Annotated[Text, typer.Option(help="How the best model is found: exact, window:N or streaming.")] = None,
    controller: Annotated[
        Text,
        typer.Option(
            help="Rule for the weights of past tasks: queue, leaky, nupi, yu-neely or augmented, as in leaky:a=0.1."
        ),
    ] = None,
    idle: Annotated[
        Text, typer.Option(help="Memory samples of tasks with an empty queue: auto, skip (no backward pass) or joint.")
    ] = None,
    reference_passes: Annotated[
        Whole, typer.Option(help="Passes over the memory for reference losses (BatchNorm).")
    ] = None,
    average: Annotated[
        Number,
        typer.Option(
            help="Evaluate a running average of the weights in place of the last ones; the number is its decay, as in "
            "0.99."
        ),
    ] = None,
    lr: Annotated[Number, typer.Option(help="Learning rate.")] = None,
    optimizer: Annotated[Text, typer.Option(help="Optimiser: adam or sgdm.")] = None,
    momentum: Annotated[Number, typer.Option(help="Momentum of sgdm.")] = None,
    weight_decay: Annotated[Number, typer.Option(help="Weight decay of the optimiser.")] = None,
    reset_optimizer: Annotated[Switch, typer.Option("--reset-optimizer", help="A new optimiser for each task.")] = None,
    batch_size: Annotated[Whole, typer.Option(help="Samples of the present task per step.")] = None,
    model: Annotated[
        Text,
        typer.Option(
            help="Network: a name, or package.module:factory of your own. mlp-256, mlp-256-256, resnet18, conv, "
            "timm:NAME or timm:NAME@FILE.safetensors; by default the paper's."
        ),
    ] = None,
    init: Annotated[
        Text, typer.Option(help="First weights of Linear layers: as torch draws them, or xavier (as Mammoth).")
    ] = None,
    width: Annotated[Whole, typer.Option(help="Channels of resnet18's first stage: 64, slim 20, reduced 8.")] = None,
    limit_train: Annotated[Whole, typer.Option(help="Training samples per task.")] = None,
    limit_test: Annotated[Whole, typer.Option(help="Test samples per task.")] = None,
    validation: Annotated[Number, typer.Option(help="Share of the training data held out.")] = None,
    evaluate_on: Annotated[Text, typer.Option(help="Part of the data for accuracies: test or validation.")] = None,
    iid: Annotated[Switch, typer.Option("--iid", help="The near-IID split.")] = None,
    blur: Annotated[
        Number, typer.Option(help="Blurred boundaries: share of each task's training samples dealt to the other tasks.")
    ] = None,
    windows: Annotated[
        Whole,
        typer.Option(
            help="No boundaries: the stream is cut into as many windows, and only these are known in training."
        ),
    ] = None,
    augment: Annotated[
        Switch,
        typer.Option("--augment/--no-augment", help="Whether training images are cropped and flipped at random."),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", help="NAME=VALUE, a hyper-parameter of the method.")
    ] = None,
    data_option: Annotated[
        list[str] | None, typer.Option("--data-option", help="NAME=VALUE, an option of the data set.")
    ] = None,
    diagnostics: Annotated[
        Switch,
        typer.Option(
            "--diagnostics", help="Also measure gradients, Delta, D_Phi, rho, alpha and bounds along the run."
        ),
    ] = None,
    profile: Annotated[
        Text,
        typer.Option(
            help="Profile of the runs, which names their size: paper, cpu or smoke. It is kept with the result."
        ),
    ] = None,
    seed: Annotated[
        Whole,
        typer.Option(help="Seed of the random numbers. It determines tasks, first weights, order, memory and draws."),
    ] = None,
    device: Annotated[Text, typer.Option(help="Device: auto, cpu, cuda, cuda:1, ...")] = None,
    threads: Annotated[Whole, typer.Option(help="CPU threads per run.")] = None,
    amp: Annotated[Text, typer.Option(help="Mixed precision: off, bf16 or fp16.")] = None,
    channels_last: Annotated[Switch, typer.Option("--channels-last", help="Memory format for convolutions.")] = None,
    compile: Annotated[Switch, typer.Option("--compile", help="torch.compile the backbone.")] = None,
    deterministic: Annotated[
        Switch,
        typer.Option("--deterministic", help="On a GPU: only kernels that repeat bit by bit, and no TF32."),
    ] = None,
    data_root: DataRootOption = None,
    out: Annotated[Path, typer.Option(help="Where to write. Each run gets a folder of its own in this one.")] = OUT,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the last checkpoint of the same settings and data.")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over, even if the run was begun or finished.")] = False,
    checkpoint_every: Annotated[float, typer.Option(help="Minutes between checkpoints inside a task.")] = 10.0,
    log: Annotated[
        list[str] | None,
        typer.Option(
            help="Also log to tensorboard, wandb (offline) or mlflow (a local file), or NAME:WHERE; see cold.loggers. "
            "May be repeated."
        ),
    ] = None,
    tensorboard: Annotated[Path | None, typer.Option(help="The same as --log tensorboard:FOLDER.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON for scripts, and nothing else on stdout.")
    ] = False,
) -> None:
    """Train one method on one benchmark.

    Examples: [bold]cold run --dataset pmnist --method cold --preset paper[/]
    [bold]cold run --dataset synthetic --method er --memory 100 --epochs 1[/]

    One run over several processes, each batch split among them (NCCL on GPUs, gloo on CPUs):
    [bold]torchrun --nproc-per-node 2 -m cold run --dataset pmnist --method cold[/]
    """
    given = locals()
    flags = {name: given[name] for name in RunConfig.__dataclass_fields__ if given.get(name) is not None}
    for name, words in (("options", option), ("data_options", data_option)):
        if words:
            flags[name] = dict(named_value(word) for word in words)
    if V is not None:
        flags["V"] = _V(V)
    if forget_acc is not None:
        flags["forget_acc"] = _share(forget_acc)
    if online:
        flags["epochs"] = 1
    chosen = build_config(config, flags, None if settings is None else _tuned(settings, config, flags))
    from ..distributed import joined  # noqa: PLC0415  (these load torch)
    from ..loggers import check_logger, open_logger  # noqa: PLC0415
    from ..trainer import Stopped, Trainer  # noqa: PLC0415

    checkpoint_every = number("--checkpoint-every", checkpoint_every, least=0)
    wanted = [*(log or []), *([f"tensorboard:{tensorboard}"] if tensorboard is not None else [])]
    for text in wanted:
        check_logger(text)  # before any work is done
    loggers: list[Logger] = []
    stop = _StopRequest()
    with (
        joined(chosen.device) as group,
        _progress(quiet=as_json or not group.leads) as show,
        stop.listening(),
        ExitStack() as opened,
    ):

        def report(place: Place) -> None:
            show(place)
            for logger in loggers:
                logger.progress(place)

        trainer = Trainer(
            chosen,
            data_root=data_root,
            out=out,
            checkpoint_every=checkpoint_every,
            on_progress=report,
            should_stop=lambda: stop.signal is not None,
            group=group,
        )
        assert trainer.folder is not None
        with only_writer(trainer.folder) if group.leads else nullcontext():
            if group.leads:
                place, told = trainer.folder, trainer.config.as_dict()
                loggers += [
                    opened.enter_context(open_logger(text, folder=place, name=place.name, settings=told))
                    for text in wanted
                ]
            try:
                result = _run(trainer, trainer.folder, resume=resume, fresh=fresh)
            except Stopped:
                print(f"stopped; the state is in {trainer.folder}, go on with --resume", file=sys.stderr)
                raise typer.Exit(128 + (stop.signal or 0)) from None
    if not group.leads:
        return
    if as_json:
        typer.echo(json.dumps(result.as_json()))
    else:
        print_result(result)


def _V(text: str) -> float | str:
    return AUTO if text == AUTO else _number("--V", text, "a number or auto")


def _share(text: str) -> float:
    """A share, or per cent.

    >>> _share("2%"), _share("0.02")
    (0.02, 0.02)
    """
    percent = text.endswith("%")
    found = _number("--forget-acc", text.removesuffix("%"), "a share as 0.02, or 2%")
    return found / 100 if percent else found


def _number(name: str, text: str, wanted: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ColdError(f"cannot read {name} {text!r}; give {wanted}") from None


def _tuned(name: str, config: Path | None, flags: dict[str, Any]) -> dict[str, Any]:
    """The settings that --settings names; says on stderr where they come from."""
    from ..tuning.stored import named_settings, origin_lines  # noqa: PLC0415  (tables and runs, where asked for)

    wanted = {**({} if config is None else settings_in(config)), **flags}
    found = named_settings(name, wanted)
    for line in origin_lines(found, wanted):
        print(line, file=sys.stderr)
    return found.settings


def _run(trainer: Trainer, folder: Path, *, resume: bool, fresh: bool) -> Result:
    from ..checkpoint import checkpoints, remove_checkpoints  # noqa: PLC0415  (loads torch)

    begun, found = bool(checkpoints(folder)), find_runs(folder)
    finished = found.get(folder.name)
    if fresh:
        remove_checkpoints(folder)
        (folder / RESULT).unlink(missing_ok=True)
    elif finished is not None and resume:
        trainer.check_data(f"the finished run in {folder}", finished.data)
        return check_same_run(finished, trainer.config)
    elif found.problems:
        raise ColdError(f"{found.problems[0]} with --fresh")
    elif finished or (begun and not resume):
        what = "is finished" if finished else "was begun"
        raise ColdError(f"this run {what} in {folder}; use --resume to {'see it' if finished else 'go on'}, or --fresh")
    return trainer.run(resume=resume)


class _StopRequest:
    """Remembers SIGINT, SIGTERM or SIGHUP; the run then saves its state. A second one ends at once.

    SIGHUP, when the terminal goes, is left alone where it is ignored: under nohup a run goes on.
    """

    def __init__(self) -> None:
        self.signal: int | None = None

    def _note(self, number: int, frame: object) -> None:
        if self.signal is not None:
            raise SystemExit(128 + number)
        self.signal = number

    @contextmanager
    def listening(self) -> Iterator[None]:
        numbers = [signal.SIGINT, signal.SIGTERM]
        hangup = getattr(signal, "SIGHUP", None)  # not on every system
        if hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN:
            numbers.append(hangup)
        before = {number: signal.signal(number, self._note) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[Place], None]]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        row = bar.add_task("loading", total=None)

        def show(place: Place) -> None:
            accuracy = "" if place.acc is None else f", accuracy so far {place.acc:.2f} %"
            text = f"task {min(place.task + 1, place.tasks)}/{place.tasks}, loss {place.loss:.3g}{accuracy}"
            bar.update(row, description=text, completed=place.done, total=place.steps)

        yield show
