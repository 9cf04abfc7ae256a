"""The notes below a table: terms, reductions, differences, what is missing and where the numbers come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coldtheory.ground.provenance import provenance
from coldtheory.ground.statistics import LEVEL, Difference

from ..runs import Result, data_notes, earlier_rule
from .comparison import ComparedRow, Comparison
from .sheet import Column, Entry, text
from .stored import RunsOnHand
from .terms import Settings

_STREAM = {"optimizer", "momentum", "memory_policy", "replay"}
_LONG = Column("", "difference")


def seeds(row: ComparedRow) -> str:
    """How many of a row's seeds are stored."""
    found, wanted = len(row.runs), len(row.row.seeds)
    return str(found) if found == wanted else f"{found} of {wanted}"


def settings(row: ComparedRow) -> str:
    """What a row has beyond the base, or how far its tuning is."""
    if row.row.absent:
        return "not applicable"
    if row.settings is None:
        to_try = len(row.choice.missing) + row.choice.to_come
        return f"tuning: {len(row.choice.tried)} of {len(row.choice.tried) + to_try} runs"
    return _told(row.settings) or "preset"


def notes(comparisons: Sequence[Comparison], stored: RunsOnHand) -> Iterator[str]:
    """One line each; several comparisons of one sheet share what is common."""
    for comparison in comparisons:
        where = f"{comparison.terms.title}: " if len(comparisons) > 1 else ""
        if comparison.terms.short:
            yield f"{where}reduced for all rows: {comparison.terms.short}"
        if len(comparison.ranking) > 1:
            first, second = comparison.ranking[:2]
            gap = comparison.gap(first)
            assert gap is not None
            which = "best" if comparison.complete else "best of the rows that are complete"
            yield f"{where}{which}: {first.row.label}; to the runner-up, {second.row.label}: {difference(gap)}"
        adjusted = comparison.adjusted if comparison.terms.holm else None
        for i, (left, right, found) in enumerate(comparison.contrasts):
            corrected = "" if adjusted is None else f", p = {adjusted[i]:.2g} by Holm's correction"
            yield f"{where}{left.row.label} − {right.row.label}: {difference(found)}{corrected}"
    yield from _about_rows(comparisons)
    if any(one.row.tuning for comparison in comparisons for one in comparison.rows):
        yield (
            "settings were chosen on validation data: the learning rate with the method's parameter at its start, "
            "then one of its other values at the best rate; one seed that no row uses"
        )
    yield "± is the standard deviation over seeds; F as printed (maximum over all earlier l); bold: best of its column"
    yield from of_runs(stored)


def of_runs(stored: RunsOnHand) -> Iterator[str]:
    """What is to be known of the runs behind a table: first weights, cost, data, earlier rules, what was not used."""
    inits = sorted({str(run.config.get("init", "torch")) for run in stored.used})
    if inits:
        yield f"first weights of the networks: --init {' and '.join(inits)}"
    seconds = [run.seconds for run in stored.used if run.seconds is not None]
    if seconds and len(seconds) == len(stored.used):
        yield f"the {len(seconds)} runs took {sum(seconds) / 3600:.1f} core-hours"
    yield from data_notes(stored.used)
    yield from _of_earlier_rules(stored)
    yield from (f"not used: {problem}" for problem in stored.problems.values())
    if any(run.made_up for run in stored.used):
        yield "MADE UP: some of these runs were written for a test, no training took place"


def _of_earlier_rules(stored: RunsOnHand) -> Iterator[str]:
    """Which runs the present code would not make, and which commit does."""
    alike: dict[str, list[Result]] = {}
    for run in stored.used:
        if (change := earlier_rule(run)) is not None:
            alike.setdefault(f"{change.method}|{change.what}", []).append(run)
    for name, runs in alike.items():
        method, _, what = name.partition("|")
        commits = ", ".join(sorted({str(run.provenance.get("commit"))[:12] for run in runs}))
        yield (
            f"{method}: {len(runs)} runs (commit {commits}) were made by an earlier rule: {what}; "
            "--run --again makes them anew"
        )


def difference(found: Difference) -> str:
    """
    >>> difference(Difference(1.07, 0.44, 1.70, (1.2, 0.8, 1.2)))
    '+1.07 [+0.44, +1.70] points (95 % interval, paired over 3 seeds: +1.20, +0.80, +1.20)'
    """
    each = ", ".join(f"{value:+.2f}" for value in found.each)
    if found.low is None:
        return f"{found.mean:+.2f} points (one seed)"
    shown = text(Entry(found), _LONG)
    return f"{shown} points ({100 * LEVEL:.0f} % interval, paired over {len(found.each)} seeds: {each})"


def commands(comparisons: Sequence[Comparison], stored: RunsOnHand) -> tuple[str, ...]:
    """Lines for the shell, tuning first, each run once."""
    missing = {wanted.run_id: wanted for comparison in comparisons for wanted in comparison.missing}
    return tuple(stored.command(wanted) for wanted in missing.values())


def to_come(comparisons: Sequence[Comparison]) -> int:
    """Tuning runs that can be named only after those that are missing now, and the final runs after them."""
    waiting = [row for one in comparisons for row in one.rows if row.choice.settings is None]
    return sum(row.choice.to_come + len(row.row.seeds) for row in waiting)


def origin(call: str, stored: RunsOnHand) -> tuple[str, ...]:
    """The command, this version and the versions that made the runs."""
    here = provenance()
    commits = sorted({str(run.provenance.get("commit"))[:12] for run in stored.used})
    made = f"{len(stored.used)} runs of commits {', '.join(commits)}" if commits else "no runs"
    own = (here["commit"] or "no checkout")[:12] + (" with changes" if here["changed"] else "")
    return (f"{call}; {made}", f"made with cold {here['packages']['cold-continual']}, commit {own}, {here['time']}")


def _about_rows(comparisons: Sequence[Comparison]) -> Iterator[str]:
    told: dict[str, None] = {}
    for comparison in comparisons:
        for row in (one.row for one in comparison.rows):
            for what in ("reduced", "absent", "borrowed", "note"):
                if word := getattr(row, what):
                    named = {"reduced": "reduced, not ranked: ", "absent": "not applicable: "}.get(what, "")
                    told[f"{row.label}: {named}{word}"] = None
            if row.bound:
                told[f"{row.label}: an upper bound, not ranked"] = None
    yield from told


def _told(given: Settings) -> str:
    """
    >>> _told({"lr": 0.2, "batch_size": 128, "replay": "mixed", "options": {"fill": "stream", "alpha": 0.5}})
    'online SGD, lr 0.2, batch_size 128, alpha 0.5'
    """
    options = {name: value for name, value in given.get("options", {}).items() if name != "fill"}
    plain = {name: value for name, value in given.items() if name not in _STREAM | {"options"}}
    words = ["online SGD"] if "replay" in given else ["SGD"] if given.get("optimizer") == "sgdm" else []
    words += [f"{name} {value}" for name, value in plain.items()]
    words += [name if value is True else f"{name} {value}" for name, value in options.items()]
    return ", ".join(words)
