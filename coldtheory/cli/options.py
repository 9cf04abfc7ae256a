"""Options that several commands share, and how their texts become values.

An option has one meaning in all commands of both programs: the first sentence of its help. See docs/commands.md.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer

from ..ground import command_line
from ..ground.errors import ColdError
from ..ground.limits import demand_memory
from ..ground.reading import read_bytes
from ..paper import TOY
from ..sources import Source, load_source
from ..tasks import REGIMES

_TASKS = "Tasks: low, high, conflict, all, or a file (.toml, .npz with optima, or .csv)."
_REFERENCE = (
    "Model that past tasks are compared with: previous (Case 1, COLD), best (Case 2, COLD-ORACLE) or stored (Case 3, "
    "the model at the end of each past task)."
)
_CONTROLLER = "Rule for the weights of past tasks: queue, leaky, nupi, yu-neely or augmented, as in leaky:a=0.1."
_WEIGHTS = "Weights of the queues: mean (appendix) or sum (main text)."
_SOLVER = "How each task is solved: gd (gradient steps) or exact (the minimiser)."
_WINDOW = "With the reference best: choose among this many latest models."
_NOISE = "Standard deviation of the gradient noise per coordinate."
_RUNS = "Folder of finished training runs."
_PROFILE = "Profile of the runs, which names their size: paper, cpu or smoke."

RegimeOption = Annotated[str, typer.Option("--regime", "-r", help=_TASKS)]
DrawnRegimeOption = Annotated[
    str | None, typer.Option("--regime", "-r", help=f"{_TASKS} The newest sweep of these tasks is drawn.")
]
StatementArgument = Annotated[
    str,
    typer.Argument(
        metavar="STATEMENT|FILE.py",
        help="lemma1, thm1, thm2, lemma2, thm3, thm3_sharp, thm4, cor1, cor2_gradient, cor2_queue, lemma_gap, ..., "
        "or a Python file with a statement of your own, which is run.",
    ),
]
FormOption = Annotated[
    str | None,
    typer.Option("--form", help="Form of the statement: printed, corrected, sharp, ... The default is the first one."),
]
PlotOption = Annotated[Path | None, typer.Option("--plot", help="Draw a picture into this file.")]
InstanceOption = Annotated[Path | None, typer.Option("--out", help="Where to write. The instance, in a .toml file.")]
SeedsOption = Annotated[
    str | None,
    typer.Option(
        "--seeds",
        help="Seeds, separated by commas or as a range: 6,7,8 or 0-19. The default is 0-19, or your file's streams.",
    ),
]
TOption = Annotated[str | None, typer.Option("--tasks", "--T", help="Number of tasks.")]
DimensionOption = Annotated[int | None, typer.Option("--d", help="Dimension of the model.")]
VOption = Annotated[str, typer.Option("--V", help="Weight of the present task. A sweep of V takes a grid.")]
EtaOption = Annotated[
    str, typer.Option("--eta", help="Step size, 'auto' for 1/(2 alpha_t), or 'auto:C' for C/alpha_t.")
]
DeltaOption = Annotated[str, typer.Option("--delta", help="Tolerance of the queues.")]
StepsOption = Annotated[str, typer.Option("--steps", help="Gradient steps per task.")]
MemoryOption = Annotated[
    str | None,
    typer.Option("--memory-per-task", help="Samples per task in the memory. This needs sampled tasks, see --points."),
]
PointsOption = Annotated[
    int | None, typer.Option("--points", help="Samples per task. By default a task is its exact loss.")
]
SpreadOption = Annotated[
    float | None, typer.Option("--spread", help="Standard deviation of the samples, for sampled tasks.")
]
ReferenceOption = Annotated[Literal["previous", "best", "stored"], typer.Option("--reference", help=_REFERENCE)]
AnyReference = Annotated[Literal["previous", "best", "stored"] | None, typer.Option("--reference", help=_REFERENCE)]
References = Annotated[str, typer.Option("--reference", help=_REFERENCE)]
ControllerOption = Annotated[str, typer.Option("--controller", help=_CONTROLLER)]
AnyController = Annotated[str | None, typer.Option("--controller", help=_CONTROLLER)]
WeightsOption = Annotated[
    Literal["mean", "sum", "none"], typer.Option("--weights", help=f"{_WEIGHTS} none turns the queues off.")
]
WeightsList = Annotated[str, typer.Option("--weights", help=f"{_WEIGHTS} none turns the queues off.")]
AnyWeights = Annotated[Literal["mean", "sum"] | None, typer.Option("--weights", help=_WEIGHTS)]
SolverOption = Annotated[Literal["gd", "exact"], typer.Option("--solver", help=_SOLVER)]
Solvers = Annotated[str, typer.Option("--solver", help=_SOLVER)]
AnySolver = Annotated[Literal["gd", "exact"] | None, typer.Option("--solver", help=_SOLVER)]
WindowOption = Annotated[int | None, typer.Option("--window", help=_WINDOW)]
Windows = Annotated[str | None, typer.Option("--window", help=_WINDOW)]
NoiseOption = Annotated[float, typer.Option("--noise", help=_NOISE)]
Noises = Annotated[str, typer.Option("--noise", help=_NOISE)]
ScheduleOption = Annotated[
    str | None,
    typer.Option(
        "--V-schedule",
        help="How V changes: V t^P (power:P), from V to R V (geometric:R), or a file with one factor per task.",
    ),
]
JsonOption = command_line.JsonOption
RunsOption = Annotated[
    Path | None,
    typer.Option("--runs", help=f"{_RUNS} The default is runs, if it holds some, or those of the package."),
]
OutOption = Annotated[
    Path,
    typer.Option("--out", help="Where to write. Runs are stored in this folder; what it holds is not computed again."),
]
ResultsOption = Annotated[Path, typer.Option("--results", help="Folder of stored sweeps.")]
FiguresOption = Annotated[Path, typer.Option("--figures", help="Folder of pictures.")]
PictureFormats = Annotated[
    str, typer.Option("--format", help="Format of the output. It is png, pdf, or both separated by a comma.")
]
PictureDataset = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        help="Name of the benchmark. A training figure shows it instead of the paper's; OLD=NEW replaces one.",
    ),
]
PictureProfile = Annotated[
    str | None, typer.Option("--profile", help=f"{_PROFILE} A training figure shows only these runs.")
]
PaperOption = Annotated[
    bool, typer.Option("--paper", help="Also draw the numbers that the paper prints, in training figures.")
]
EngineOption = Annotated[
    Literal["loky", "dask", "serial"],
    typer.Option("--engine", help="How jobs are computed. loky uses processes of this machine, serial none."),
]
JobsOption = Annotated[int, typer.Option("--jobs", help="Number of jobs at a time; -1 takes all cores.")]
SchedulerOption = Annotated[str | None, typer.Option("--scheduler", help="Address of a running dask scheduler.")]


RESULTS = Path("results")  #: the default folder of stored sweeps
PICTURES = Path("figures")  #: the default folder of pictures
SEEDS = 20  #: the default number of task streams in a sweep
_DIGITS = 18  # of the largest number of seeds
_POINT_BYTES = 100  # that a number in a list takes, with everything that is kept for it


def typed(value: float) -> str:
    """Return a number as one types it.

    >>> typed(200.0), typed(0.0004)
    ('200', '4e-4')
    """
    mantissa, exponent = f"{value:e}".split("e")
    return f"{value:g}" if abs(value) >= 1e-3 else f"{float(mantissa):g}e{int(exponent)}"


#: the paper's setting, as one would type it
PAPER = {name: typed(value) for name, value in vars(TOY).items()}


def parse_grid(text: str, name: str) -> list[float]:
    """Read a grid `10:1000:20log` (or `:20lin`, or `:20` for the same), a list with commas, or one number.

    >>> parse_grid("1:100:3log", "V")
    [1.0, 10.0, 100.0]
    >>> parse_grid("50,200", "V")
    [50.0, 200.0]
    """
    wrong = ColdError(f"cannot read --{name} {text!r}: give a number, a list 1,2,5 or a grid 10:1000:20log")
    try:
        if ":" not in text:
            return [float(part) for part in text.split(",")]
        low, high, count = text.split(":")
        spaced = np.geomspace if count.endswith("log") else np.linspace
        ends, points = (float(low), float(high)), int(count.removesuffix("log").removesuffix("lin"))
        demand_memory(_POINT_BYTES * points, f"a grid of {points} values of --{name}")
        if not all(map(math.isfinite, ends)):
            raise wrong
        values = spaced(*ends, points)
    except (ValueError, OverflowError) as error:
        raise (error if isinstance(error, ColdError) else wrong) from None
    if len(values) == 0 or not np.isfinite(values).all():
        raise wrong
    return [float(f"{value:.12g}") for value in values]  # so that the ends are the numbers that were typed


def parse_one(text: str, name: str, axis: str = "") -> float:
    """Read a single number, for an option that this command does not vary; a sweep along the axis does."""
    values = parse_grid(text, name)
    if len(values) != 1:
        raise ColdError(f"--{name} takes one number here; to vary it use: coldtheory sweep {axis or name}")
    return values[0]


def parse_whole(text: str, name: str, axis: str = "") -> int:
    """Read a single whole number in the same way."""
    value = parse_one(text, name, axis)
    if not math.isfinite(value) or value != int(value):
        raise ColdError(f"--{name} must be a whole number, got {text}")
    return int(value)


def parse_eta(text: str) -> tuple[float | Literal["auto"], float | None]:
    """Read the step size, and the factor of `auto:C`.

    >>> parse_eta("auto"), parse_eta("auto:0.9"), parse_eta("1e-3")
    (('auto', None), ('auto', 0.9), (0.001, None))
    """
    kind, colon, factor = text.partition(":")
    if kind != "auto":
        return parse_one(text, "eta", "eta"), None
    return "auto", parse_one(factor, "eta auto", "eta-factor") if colon else None


def parse_schedule(text: str | None) -> str | None:
    """Return the text of --V-schedule; a file is replaced by its factors, so that its name does not matter."""
    if text is None or ":" in text:
        return text
    factors = read_bytes(Path(text)).decode("utf-8", errors="replace").replace(",", " ").split()
    return f"list:{','.join(factors)}"


def parse_names(text: str) -> list[str]:
    """Read a list of names, some of which have numbers of their own.

    >>> parse_names("queue,nupi:kappa_i=1,kappa_p=2,leaky"), parse_names("list:1,2,4,power:0.5")
    (['queue', 'nupi:kappa_i=1,kappa_p=2', 'leaky'], ['list:1,2,4', 'power:0.5'])
    """
    return [part.strip() for part in re.split(r",(?!\s*[-+.\d]|\s*[A-Za-z_]+=)", text)]


def parse_range(text: str | None) -> tuple[float, float] | None:
    """`50:200` of --fit."""
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(":"))
    except ValueError:
        low = high = math.nan
    if not low < high:  # NaN is no end
        raise ColdError(f"cannot read --fit {text!r}: give LOW:HIGH, such as 50:200")
    return low, high


def parse_seeds(text: str | None) -> list[int] | int:
    """Read --seeds. Without it, return the default number of seeds, which a file with streams of its own replaces.

    >>> parse_seeds("0-2,7"), parse_seeds(None)
    ([0, 1, 2, 7], 20)
    """
    if text is None:
        return SEEDS
    if text.isdecimal() and len(text) <= _DIGITS and int(text) > 0:  # the old spelling gave the number of seeds
        command_line.tell_old_name(f"--seeds {text}", f"--seeds 0-{int(text) - 1}")
        return int(text)
    return command_line.seeds_of(text)


def parse_sources(regime: str) -> list[Source]:
    """The sources of tasks that --regime names; "all" is every regime of this package."""
    return [load_source(name) for name in (REGIMES if regime == "all" else (regime,))]


def check_runs(folder: Path | None) -> Path | None:
    """Return the folder of --runs, and raise if it does not exist."""
    if folder is not None and not folder.is_dir():
        raise ColdError(f"there is no folder {folder}; give --runs a folder that 'cold run' or 'cold study run' wrote")
    return folder
