"""The paper's ablations as specs, one TOML file each; imports no torch.

spec      what a study is, and reading one from its file
cells     from a study and a profile to the runs it needs
passes    how much work a run is, in passes of one sample through the network
measure   how long a pass takes here (this one imports torch, when asked)
plan      runs, time and memory of studies, before anything runs
standing  what of a study is on disk

A study has one or more grids a profile: `paper` is the printed settings, `cpu` a reduced size for a laptop, `smoke`
some seconds for tests. `profiles.toml` has the reduced settings of each dataset, so that studies share their runs.
"""

from .cells import Planned, planned
from .spec import PROFILES, Grid, Picture, Study, find_study, read_study, studies

__all__ = ["PROFILES", "Grid", "Picture", "Planned", "Study", "find_study", "planned", "read_study", "studies"]
