"""The paper's ablations as specs, one TOML file each; imports no torch.

spec        what a study is, reading one from its file, and the runs it needs
passes      how much work a run is, in passes of one sample through the network
plan        what of a study is on disk, and the time and memory of the rest (imports torch when it measures)
price       what runs of a study cost, from what finished ones took
sequential  when a claim may be looked at again after more seeds, and how sure it then has to be (sequential.toml)

A study has one or more grids per profile: `paper` is the printed settings, `cpu` a reduced size for a laptop, `smoke`
some seconds for tests. `profiles.toml` has the reduced settings of each dataset, so studies share their runs.
"""

from .sequential import Look, sequential_rule
from .spec import PROFILES, Grid, Picture, Planned, Study, all_studies, find_study, planned, read_study, studies

__all__ = [
    "PROFILES",
    "Grid",
    "Look",
    "Picture",
    "Planned",
    "Study",
    "all_studies",
    "find_study",
    "planned",
    "read_study",
    "sequential_rule",
    "studies",
]
