"""Make a list of runs, each of them once, on any engine.

    from cold.grid import Engine, fill
    report = fill(configs, Path("results/runs"), engine=Engine("loky", jobs=2))

A cell is a `RunConfig`, its name the run id, its result the folder <out>/<run id> that `cold run` would write. Cells
that are finished are not run again, cells that were stopped go on from their checkpoint, and a cell that fails leaves
error.json while all others go on. Nothing here imports torch before a cell runs.

cells    what a worker gets and returns, and what a failed cell leaves
worker   runs one cell in its process, and chooses a GPU
engines  serial, loky, dask, slurm: from cells to outcomes
fill     puts these together

What is finished is a matter of `cold.runs`.
"""

from .cells import CellOutcome, GridCell, failures
from .engines import ENGINES, Engine
from .fill import Event, Report, fill

__all__ = ["ENGINES", "CellOutcome", "Engine", "Event", "GridCell", "Report", "failures", "fill"]
