"""A list of runs, each once, on any engine.

    from cold.grid import Engine, fill
    report = fill(configs, Path("results/runs"), engine=Engine("loky", jobs=2))

A cell is a `RunConfig`, its name the run id, its result the folder <out>/<run id> that `cold run` would write. Cells
that are finished are not run again, cells that were stopped go on from their checkpoint, and a cell that fails leaves
error.json while all others go on. Nothing here imports torch before a cell runs.

cell     what a worker gets and what it gives back
index    what is finished, what has failed
worker   one cell, in whichever process
engines  serial, loky, dask, slurm: from cells to outcomes
gpus     which GPU a worker process takes
fill     all of it together
merge    results of several machines in one folder
"""

from .cell import Outcome
from .engines import ENGINES, Engine
from .fill import Event, Report, fill
from .index import failures, index
from .merge import Merged, merge

__all__ = ["ENGINES", "Engine", "Event", "Merged", "Outcome", "Report", "failures", "fill", "index", "merge"]
