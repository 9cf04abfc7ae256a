"""Methods and benchmarks as data; loads without torch.

methods     what each training method declares about itself
constraints what past tasks may be held to
benchmarks  what each named benchmark is made of
lookup      entries by any of their spellings
"""

from .benchmarks import (
    BENCHMARK_NAMES,
    BENCHMARKS,
    BenchmarkEntry,
    Pixels,
    Scenario,
    default_tasks,
    even_split,
    named_by_scenario,
    usual_scenario,
)
from .constraints import LOGITS, LOSS, Constraint, constraint_of
from .lookup import (
    IID,
    benchmark,
    benchmark_title,
    canonical,
    method,
    method_title,
    named_by_constraint,
    named_by_reference,
    printed_costs,
    same,
    unused_settings,
)
from .methods import COST_LETTERS, METHODS, ONLINE, QUEUE_SETTINGS, REPLAY, MethodEntry

__all__ = [
    "BENCHMARKS", "BENCHMARK_NAMES", "COST_LETTERS", "IID", "LOGITS", "LOSS", "METHODS", "ONLINE", "QUEUE_SETTINGS",
    "REPLAY", "BenchmarkEntry", "Constraint", "MethodEntry", "Pixels", "Scenario", "benchmark", "benchmark_title",
    "canonical", "constraint_of", "default_tasks", "even_split", "method", "method_title", "named_by_constraint",
    "named_by_reference", "named_by_scenario", "printed_costs", "same", "unused_settings", "usual_scenario",
]  # fmt: skip
