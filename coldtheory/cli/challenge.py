"""`coldtheory challenge` does its best to break one form; `coldtheory check STATEMENT` tries all of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from ..bounds import named_statement
from ..ground.terminal import Bar, plain_table
from ..search import Challenge, Plan, challenge, save_instance
from ..search.challenge import CANDIDATES as MANY
from ..search.plans import check_form, first_form
from . import replay
from .options import FormOption, InstanceOption, JsonOption, PlotOption, StatementArgument
from .search import as_rerun, check_endings, record, show

CANDIDATES = 20_000  #: runs per form that `check` tries
_COLOURS = {"holds on all tried": "green", "violated": "red", "not applicable": "blue"}


def add_to(app: typer.Typer) -> None:
    """Register the command `challenge` with the program."""
    app.command("challenge")(challenge_one)


def challenge_one(
    statement: StatementArgument,
    form: FormOption = None,
    candidates: Annotated[int, typer.Option("--candidates", help="Number of runs to try.")] = MANY,
    seed: Annotated[
        int, typer.Option("--seed", help="Seed of the random numbers. On one machine, equal seeds try the same runs.")
    ] = 0,
    out: InstanceOption = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Try to prove a statement wrong with random runs, extreme runs, and runs that climb towards a violation.

    A run that breaks it is made as small as possible. The exit code is 1 if the statement is broken and does not say
    itself that it is false.

    Example: [bold]coldtheory challenge mine.py --out broken.toml[/], then
    [bold]coldtheory replay broken.toml --statement mine.py[/]
    """
    check_endings(out, plot)
    told = named_statement(statement)
    form = first_form(told) if form is None else form
    check_form(told, form)
    with Bar(f"{told.id}, {form}") as tell:
        done = challenge(told, form, candidates=candidates, seed=seed, tell=tell)
    if done.found is not None:
        if out is not None:
            save_instance(done.found, out)
        if plot is not None:
            replay.draw_instance(as_rerun(done.found), plot)
    if as_json:
        typer.echo(json.dumps({**_record(done), "found": None if done.found is None else record(done.found)}))
    else:
        console = Console(highlight=False)
        for tally in done.tallies:
            met = f", {tally.applicable} of them applicable" if tally.applicable < tally.tried else ""
            console.print(f"{tally.attempt}: {tally.tried} runs{met}, tightest {_number(tally.tightest)}")
        console.print(f"tried: {_places(done.plans)}")
        if done.found is not None:
            show(done.found)
        _say(console, [done])
        for path, what in ((out, "saved"), (plot, "drawn")):
            if path is not None and done.found is not None:
                console.print(f"{what}: {escape(str(path))}", soft_wrap=True)
    if _refuted(done):
        raise typer.Exit(1)


def check_statement(word: str, candidates: int, seed: int, as_json: bool) -> None:
    """Give a verdict for each form of one statement, as `coldtheory check` does."""
    told = named_statement(word)
    done = []
    for form in told.forms:
        with Bar(f"{told.id}, {form}") as tell:
            done.append(challenge(told, form, candidates=candidates, seed=seed, tell=tell))
    if as_json:
        typer.echo(json.dumps([_record(one) for one in done]))
    else:
        console = Console(highlight=False)
        console.print(f"[bold]{escape(told.title)}[/]")
        table = plain_table("form", "verdict")
        for title in ("runs", "applicable", "tightest"):
            table.add_column(title, justify="right", no_wrap=True)
        table.add_column("broken by", no_wrap=True)
        for one in done:
            verdict = f"[{_COLOURS[one.verdict]}]{one.verdict}[/]"
            top = _number(None if one.found is None else one.found.best.tightness)
            table.add_row(one.form, verdict, str(one.tried), str(one.applicable), top, _broken_by(one))
        console.print(table)
        for places in dict.fromkeys(_places(one.plans) for one in done):
            forms = ", ".join(one.form for one in done if _places(one.plans) == places)
            console.print(f"[dim]{forms}: {places}; a budget of {candidates} runs per form, seed {seed}[/]")
        _say(console, done)
        broken = [one.form for one in done if _refuted(one)]
        if broken:
            file = f"coldtheory challenge {word} --form {broken[0]} --out broken.toml"
            console.print(f"The run that breaks it: [bold]{escape(file)}[/]", soft_wrap=True)
    if any(_refuted(one) for one in done):
        raise typer.Exit(1)


def _say(console: Console, done: Sequence[Challenge]) -> None:
    """Print what the verdicts do not mean."""
    if any(one.verdict == "violated" and not one.clear for one in done):
        console.print(
            "[yellow]broken by less than 0.1 % of the larger side, which may be rounding; see magnitude of bound()[/]"
        )
    for one in done:
        if one.verdict == "not applicable":
            console.print(
                f"{one.form}: no run met all premises; say where to search, as in @form(T=(2, 8), solver='exact')"
            )


def _refuted(done: Challenge) -> bool:
    return done.verdict == "violated" and done.kind != "false as printed"


def _broken_by(done: Challenge) -> str:
    return "" if done.broken_by is None else f"{done.broken_by} runs"


def _number(tightest: float | None) -> str:
    return "none" if tightest is None else f"{tightest:.4f}"


def _places(plans: Sequence[Plan]) -> str:
    """Say in a few words where the search looked."""
    low, high = plans[0].T
    words = [f"T = {low}" if low == high else f"T = {low} to {high}"]
    words += [f"d = {' or '.join(dict.fromkeys(str(plan.d) for plan in plans))}"]
    words += [f"{' or '.join(dict.fromkeys(plan.hessians for plan in plans))} Hessians"]
    named = {"previous": "Case 1", "best": "Case 2", "stored": "Case 3"}
    words += [" or ".join(dict.fromkeys(named[plan.reference] for plan in plans))]
    words += [f"{' or '.join(dict.fromkeys(plan.weights for plan in plans))} weights"]
    solvers = {"gd": "gradient steps", "exact": "the minimiser"}
    words += [" or ".join(dict.fromkeys(solvers[plan.solver] for plan in plans))]
    words += ["own memory losses"] * any(plan.memory for plan in plans)
    words += ["V that moves"] * any(plan.V_moves != "no" for plan in plans)
    rules = [name for name in dict.fromkeys(plan.controller for plan in plans) if name != "queue"]
    return ", ".join(words + [f"controllers {', '.join(rules)}"] * bool(rules))


def _record(done: Challenge) -> dict[str, Any]:
    return {
        "statement": done.statement,
        "form": done.form,
        "kind": done.kind,
        "verdict": done.verdict,
        "broken_by": done.broken_by,
        "clear": done.clear if done.verdict == "violated" else None,
        "tried": done.tried,
        "applicable": done.applicable,
        "tightness": None if done.found is None else done.found.best.tightness,
        "attempts": [
            {"attempt": one.attempt, "tried": one.tried, "applicable": one.applicable, "tightest": one.tightest}
            for one in done.tallies
        ],
        "instance": None if done.found is None else done.found.best.plain,
    }
