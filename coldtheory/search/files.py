"""A found instance as a TOML file in the format of `coldtheory.counterexamples`, with where it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..ground.files import write_atomically
from ..ground.provenance import provenance
from ..ground.writing import to_toml
from .driver import Found
from .instance import form_that_holds


def save_instance(found: Found, path: Path) -> None:
    """Write the instance; `load_counterexample(path)` reads it, `coldtheory replay` reruns it."""
    write_atomically(path, to_toml(file_content(found)))


def file_content(found: Found) -> dict[str, Any]:
    """What a file of the found instance holds: statement, form, note, tasks, settings and both sides."""
    best = found.best
    holds = form_that_holds(best)
    content: dict[str, Any] = {"statement": found.statement, "form": found.form}
    if holds is not None:
        content["holds"] = holds
    content["note"] = _note(found)
    if best.waived:
        content["waives"] = list(best.waived)
    content["expected"] = {"lhs": float(best.bound.lhs), "rhs": float(best.bound.rhs)}
    if best.plain["options"]:
        content["options"] = best.plain["options"]
    return {
        **content,
        **({"seeds": best.instance.seeds} if best.instance.seeds else {}),
        "tasks": best.plain["tasks"],
        "settings": best.plain["settings"],
        "search": found.config,
        "provenance": provenance(),
    }


def _note(found: Found) -> str:
    what = "Breaks the statement" if found.best.broken else "The tightest instance found"
    beyond = f" The premises {', '.join(found.best.waived)} were not asked for." if found.best.waived else ""
    how = found.config.get("stage", "a search from a cold start")
    return f"{what}; found by {how}, seed {found.config['seed']}.{beyond}"
