"""Every checkable claim of the paper, and every theorem beyond it, as a program that gives a verdict.

A module holds the claims of one part of the paper: functions under `@claim(...)`, which take nothing, or the folder of
runs, and return a `coldtheory.claims.Finding`. `coldtheory check` finds them through the entry point `claims`. Modules
whose names begin with an underscore hold what several parts need.
"""

from __future__ import annotations

from importlib import import_module

from coldtheory.claims import Claim, Registry

_REGISTRY = Registry()
claim = _REGISTRY.claim

#: The modules in the order of the paper's parts; what the paper lacks comes last.
PARTS = (
    "drift", "exact", "descent", "corollaries", "appendix", "open_questions", "readings", "looseness",
    "toy_gradient", "toy_queue",
    "text_complexity", "text_contradictions", "text_theory", "tables_arithmetic", "tables_ranking", "tables_memory",
    "training", "trends_methods", "trends_queues", "trends_training",
    "beyond", "beyond_steps", "beyond_memory",
)  # fmt: skip


def claims() -> tuple[Claim, ...]:
    """All of them, in the order of the parts, whatever was imported first."""
    modules = [f"{__name__}.{part}" for part in PARTS]
    for module in modules:
        import_module(module)
    return tuple(sorted(_REGISTRY.claims, key=lambda one: modules.index(one.module)))


__all__ = ["claim", "claims"]
