"""Settings that work: chosen by stored tuning runs, or searched anew on validation data.

space          what is searched of a method, and between which ends
plan           how a budget is spent: rounds, and successive halving in each
journal        the trials, by Optuna (an extra; nothing else here needs it)
search         the search itself: resumable, on any engine of `cold.grid`
settings_file  chosen settings as a TOML file that says where they come from
stored         what stored tuning runs chose, for `cold run --settings best`
"""

from .search import Search, Step, Tuned, prepare, tune
from .settings_file import Chosen, Origin, read_settings, write_settings
from .stored import best_settings, stored_settings

__all__ = [
    "Chosen",
    "Origin",
    "Search",
    "Step",
    "Tuned",
    "best_settings",
    "prepare",
    "read_settings",
    "stored_settings",
    "tune",
    "write_settings",
]
