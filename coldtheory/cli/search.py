"""`coldtheory search`: the run on which a statement is tightest, or fails."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

from ..bounds import Statement, named_statement
from ..ground.command_line import tell_old_name, with_old_names
from ..ground.errors import ColdError
from ..search import Found, Plan, SearchProgress, plan_for, save_instance, search
from ..search.instance import form_that_holds, in_form
from ..search.plans import check_form, first_form
from ..search.rerun import Rerun
from . import options as o
from . import replay
from .options import FormOption, JsonOption, StatementArgument


def add_to(app: typer.Typer) -> None:
    """Register the command `search` with the program."""
    old = {"--memory": "--memory-losses", "--no-memory": "--no-memory-losses"}
    app.command("search", cls=with_old_names(old))(search_one)


def search_one(
    statement: StatementArgument,
    form: FormOption = None,
    T: Annotated[
        str | None,
        typer.Option("--tasks", "--T", help="Number of tasks. A range such as 3-8 is searched number by number."),
    ] = None,
    d: o.DimensionOption = None,
    blocks: Annotated[
        int | None, typer.Option("--blocks", help="Only streams that consist of this many blocks of equal tasks.")
    ] = None,
    weights: o.AnyWeights = None,
    reference: o.AnyReference = None,
    solver: o.AnySolver = None,
    hessians: Annotated[
        Literal["identity", "scalar", "psd"] | None,
        typer.Option("--hessians", help="Kind of Hessians that the tasks may have."),
    ] = None,
    memory: Annotated[
        bool | None,
        typer.Option(
            "--memory-losses/--no-memory-losses",
            help="Whether losses on the memory may differ from those of the tasks.",
        ),
    ] = None,
    steps: Annotated[int | None, typer.Option("--steps", help="Gradient steps per task.")] = None,
    step_limit: Annotated[float | None, typer.Option("--step-limit", help="Largest value of eta alpha_t.")] = None,
    V_moves: Annotated[
        Literal["no", "up", "down", "any"] | None,
        typer.Option(
            "--V-moves",
            help="How V_t may change from task to task: not at all (no), never down (up), never up (down), or any.",
        ),
    ] = None,
    eta_rule: Annotated[
        Literal["constant", "auto"] | None,
        typer.Option("--eta-rule", help="One eta for all tasks, or eta_t = c/alpha_t with c at most the step limit."),
    ] = None,
    controller: o.AnyController = None,
    noise_seeds: Annotated[
        int | None, typer.Option("--noise-seeds", help="Number of runs whose mean is judged, for noisy gradients.")
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", help="Name of a premise that need not hold; may be repeated.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="Time limit (default: 60, if there is no other limit).")
    ] = None,
    rounds: Annotated[int | None, typer.Option("--rounds", help="Stop after this many restarts.")] = None,
    candidates: Annotated[int | None, typer.Option("--candidates", help="Number of runs to try.")] = None,
    seed: Annotated[
        int, typer.Option("--seed", help="Seed of the random numbers. On one machine, equal seeds try the same runs.")
    ] = 0,
    until_broken: Annotated[
        bool | None,
        typer.Option(
            "--until-broken/--keep-going",
            help="Stop at the first clear violation (the default for forms that are not said to be true).",
        ),
    ] = None,
    out: o.InstanceOption = None,
    plot: o.PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search for the run on which the left side of a statement is largest compared with its right side.

    Optima, curvatures, the memory, V, delta and eta are varied.

    Examples: [bold]coldtheory search thm1 --seconds 60 --out found.toml --plot found.png[/], then
    [bold]coldtheory replay found.toml[/]; [bold]coldtheory search moving_gap --V-moves down --reference stored[/]
    """
    check_endings(out, plot)
    told = named_statement(statement)
    form = first_form(told) if form is None else form
    check_form(told, form)
    plan = plan_for(
        told, form, T=_parse_T(T), d=d, blocks=blocks, weights=weights, reference=reference, solver=solver,
        hessians=hessians, memory=memory, steps=steps, step_limit=step_limit, V_moves=V_moves, eta_rule=eta_rule,
        controller=controller, noise_seeds=noise_seeds,
    )  # fmt: skip
    limits = {"seconds": seconds, "rounds": rounds, "candidates": candidates}
    found = _watched(told, form, plan, waived=tuple(without or ()), seed=seed, until_broken=until_broken, **limits)
    if out is not None:
        save_instance(found, out)
    if plot is not None:
        replay.draw_instance(as_rerun(found), plot)
    if as_json:
        typer.echo(json.dumps(record(found)))
    else:
        show(found)
        for path, what in ((out, "saved"), (plot, "drawn")):
            if path is not None:
                Console().print(f"{what}: {escape(str(path))}", soft_wrap=True)


def check_endings(out: Path | None, plot: Path | None) -> None:
    """Raise, before anything is computed, if a file to write has the wrong ending."""
    for path, endings in ((out, (".toml",)), (plot, (".png", ".pdf"))):
        if path is not None and path.suffix not in endings:
            raise ColdError(f"{path} must end in {' or '.join(endings)}")


def _parse_T(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    match = re.fullmatch(r"(\d+)(?:([-:])(\d+))?", text)
    if match is None:
        raise ColdError(f"cannot read --tasks {text!r}: give a number, or a range such as 3-8")
    if match[2] == ":":
        tell_old_name(f"--tasks {text}", f"--tasks {text.replace(':', '-')}")
    return int(match[1]), int(match[3] or match[1])


def _watched(statement: Statement, form: str, plan: Plan, **how: Any) -> Found:
    """Search, and show the elapsed or remaining time on stderr."""
    shown = ("{task.description} {task.fields[time]}", "round {task.fields[round]}", "T = {task.fields[T]}",
             "tightest {task.fields[score]:.4f}")  # fmt: skip
    text = TextColumn(", ".join(shown))
    with Bar(text, BarColumn(), console=Console(stderr=True), transient=True) as bar:
        line = bar.add_task("searching", total=None, time="", round=1, T=plan.T[0], score=0.0)

        def watch(now: SearchProgress) -> None:
            limit = now.limits.seconds
            time = f"{now.elapsed:.0f} s" if limit is None else f"{max(limit - now.elapsed, 0.0):.0f} s left"
            told: dict[str, Any] = {"time": time, "round": now.rounds + 1, "T": now.T, "score": max(now.score, 0.0)}
            bar.update(line, total=limit, completed=now.elapsed, **told)

        return search(statement, form, plan, watch=watch, **how)


def as_rerun(found: Found) -> Rerun:
    """What a search found, in the form in which `replay` shows and draws an instance."""
    instance = found.best.instance
    holds = form_that_holds(found.best)
    other = None if holds is None else in_form(found.best, holds)
    return Rerun(instance, instance.first_run(), found.best.bound, other, {})


def record(found: Found) -> dict[str, Any]:
    """What a search found, as plain data for --json."""
    best = found.best
    return {
        "statement": found.statement,
        "constant": best.constant,
        "tightness": best.tightness,
        "broken": best.broken,
        "T": best.instance.T,
        **replay.side_record(best.bound),
        "instance": best.plain,
        "search": found.config,
        "seconds": found.seconds,
    }


def show(found: Found) -> None:
    """Print the tightest constant, both sides, and the instance."""
    console = Console(highlight=False)
    best = found.best
    if best.constant is None:
        console.print(
            f"tightest found: {best.tightness:.9g} (1 + (left - right)/the larger; the right side is not positive)"
        )
    else:
        console.print(f"tightest constant found: left/right = [bold]{best.constant:.9g}[/]")
    replay.show_bound(console, best.bound, best.waived)
    verdict = "[bold red]breaks the statement[/]" if best.broken else "[green]does not break the statement[/]"
    plan = found.config["plan"]
    kind = plan["hessians"] if "hessians" in best.plain["tasks"] else "identity"
    family = [f"T = {best.instance.T}", f"d = {plan['d']}", f"{kind} Hessians"]
    family += ["own memory losses"] if "memory_optima" in best.plain["tasks"] else []
    family += [] if best.instance.seeds is None else [f"mean over {best.instance.seeds} fresh noise seeds"]
    console.print(f"{verdict}: {', '.join(family)}")
    for name, values in best.plain["tasks"].items():
        console.print(f"  {name.replace('_', ' ')}: {escape(_short(values))}", soft_wrap=True)
    numbers = {**best.plain["settings"], **best.plain["options"]}
    console.print("  " + ", ".join(f"{name} = {escape(_short(numbers[name]))}" for name in numbers), soft_wrap=True)
    if found.rounds:
        told = f"{found.rounds} rounds, {found.evaluations} runs, {found.seconds:.1f} s, seed {found.config['seed']}"
        console.print(f"[dim]{told}[/]")


def _short(value: Any) -> str:
    if isinstance(value, list):
        inner = value[0] if len(value) == 1 else value
        return _short(inner) if len(value) == 1 else "[" + ", ".join(_short(part) for part in inner) + "]"
    return f"{value:.8g}" if isinstance(value, float) else str(value)
