"""Every theory figure: its caption, the tables that it needs, and how large they are in the gallery."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..ground.engines import Engine
from ..paper import TOY
from ..sources import Source, load_source
from ..sweep import Numbers, Scheme, SweepCell, grid
from .figure import Dataset, Figure, SweepData, TableData
from .swept import FIGURE_IDS

ALL = ("low", "high", "conflict")
PAPER = "paper"  #: the word for the gallery's figure where every stored sweep has one of the same name
DRIFTING = ("low", "high")  # the paper's own two, for which there is a closed form
_GENTLE = 1e-4  # with the paper's eta the queues of COLD-ORACLE drive CONFLICT out of every bounded set
_COLUMNS = (
    "regime",
    "T",
    "seed",
    "V",
    "eta",
    "delta",
    "reference",
    "avg_grad_sq_before",
    "avg_grad_sq_after",
    "avg_Qbar",
)


def log_grid(low: float, high: float, count: int) -> tuple[float, ...]:
    """The same numbers as `--V low:high:countlog`, so that figures and sweeps share their rows.

    Powers differ in their last bits from machine to machine; twelve digits do not.
    """
    return tuple(float(f"{value:.12g}") for value in np.geomspace(low, high, count))


@dataclass(frozen=True)
class Scale:
    """How much is computed. The defaults are the gallery's; tests take less."""

    seeds: int = 20
    T: int = TOY.T
    V: tuple[float, ...] = log_grid(10, 1000, 20)
    V_wide: tuple[float, ...] = log_grid(10, 4000, 24)
    eta: tuple[float, ...] = (1e-4, TOY.eta, 1.6e-3)
    V_shown: tuple[float, ...] = (50.0, 200.0, 1000.0)
    delta_shown: tuple[float, ...] = (TOY.delta, 10.0, 50.0)
    delta: tuple[float, ...] = log_grid(1e-1, 1e3, 25)
    lengths: tuple[int, ...] = (50, 150, 500, 1500)
    V_lengths: tuple[float, ...] = log_grid(10, 4000, 24)[:-2]  # for streams of other lengths
    doublings: tuple[int, ...] = (5, 10, 20, 40, 80, 160, 320)
    noise_seeds: int = 100
    noise: tuple[float, ...] = log_grid(1e-4, 1e-1, 10)
    drift: tuple[float, ...] = (0.0, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)
    stride: int = 3
    horizons: tuple[int, ...] = (20, 50, 100, 200, 400, 800, 1600, 3200)
    memory: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 96, 120, 128)  # samples per task, the last being all of them
    many_tasks: tuple[int, ...] = (3, 6, 12, 25, 50, 100, 200, 400)
    longest: int = 1500  # tasks in one stream of the controllers
    rounds: int = 40
    engine: Engine = "loky"


#: id, paper label, title, sentence, data, drawing function, other names; the order is that of the gallery
_FIGURES: tuple[tuple[str, str, str, str, tuple[str, ...], str, tuple[str, ...]], ...] = (
    (
        "picture", "", "The method in the plane",
        "Three kinds of task take turns. The ideal problem keeps every model in the overlap of the balls. Without "
        "queues the model runs from optimum to optimum; queues pull it inwards until the running mean of a past task's "
        "loss comes down to δ, which takes longer for larger V.",
        ("picture",), "picture:draw_picture", (),
    ),
    (
        "theory_plots", "fig:theory_plots", "The paper's three theory panels",
        "Gradient against V, queue against V and gradient against t on LOW and HIGH. After a task the gradient falls "
        "like 1/V on LOW and more slowly on HIGH; before a task it rises again for large V. The queue bends below a "
        "straight line; LOW and HIGH have axes of their own, since LOW's queues are far smaller.",
        ("sweep_V", "trajectory"), "trajectory:draw_theory_plots", (),
    ),
    (
        "plot4_theory", "fig:plot4_theory", "The effect of the step size",
        "Gradient against V for three step sizes. The gradient before a task is smallest well before the premise "
        "η ≤ 1/(2α) breaks at V ≈ 1/(2η), so tracking noise makes it rise, and not a broken premise. Lines end where "
        "runs diverge.",
        ("sweep_eta",), "gradient:draw_eta", ("eta",),
    ),
    (
        "gradient", "", "Gradient against V, with bound and prediction",
        "Top: the gradient before and after a task with fitted slopes, the turning point V* (the mean over seeds and "
        "its standard error) and the closed form. Bottom: the gradient before a task below Theorem 3 and the terms of "
        "its right side. On CONFLICT the queue changes the gradient itself.",
        ("sweep_V", "sweep_V_off", "prediction", "bound_terms"), "gradient:draw_gradient", (),
    ),
    (
        "turning", "", "Where the gradient turns",
        "The V with the smallest gradient before a task falls with the length of the stream, as the closed form "
        "without queues predicts: it balances the distance from the start against the noise that the model follows. "
        "Numbers are means over seeds with their standard errors.",
        ("turning_points", "sweep_T"), "gradient:draw_turning", ("turning-point",),
    ),
    (
        "queues", "", "Queues against V, and each of them",
        "The average queue grows with V and bends: no queue of COLD exceeds ℓr²/2. COLD-ORACLE's queues are far "
        "larger. The heatmaps show every queue on CONFLICT for both references.",
        ("sweep_V", "sweep_queues", "queue_caps", "queue_maps"), "queues:draw_queues", ("queue",),
    ),
    (
        "queues_delta", "", "Queues against the tolerance",
        "A larger tolerance δ empties the queues. COLD's vanish once δ exceeds what one task can undo; COLD-ORACLE's "
        "vanish later, since it adds up the loss against the best model.",
        ("sweep_delta", "queue_maps_delta"), "queues:draw_queues_delta", ("queue_delta",),
    ),
    (
        "trajectory", "", "Gradient against t",
        "A large V reaches its floor after few tasks, a small V after many. The floor before a task is higher for "
        "large V, and on CONFLICT every switch between the two kinds of task shows.",
        ("trajectory",), "trajectory:draw_trajectory", (),
    ),
    (
        "tradeoff", "", "Gradient against queue",
        "V moves along the curve from small queues and large gradients to large queues and small gradients. Beyond the "
        "turning point the gradient before a task and the queue grow together, and nothing is gained.",
        ("sweep_V",), "gradient:draw_tradeoff", ("trade-off",),
    ),
    (
        "bounds", "", "Tightness of the bounds",
        "Bound over measured value against V. The sharpened Theorem 3' is within a small factor where Theorem 3 is "
        "loose by one to three orders of magnitude; Corollary 1 and Theorem 4 divide by δ and are loose by many "
        "orders.",
        ("bound_terms",), "bounds:draw_bounds", ("tightness",),
    ),
    (
        "bound_terms", "", "What the bounds are made of",
        "Each term's share of the right side. The variation of the tasks dominates Theorem 3 on LOW and HIGH, the "
        "queues dominate it on CONFLICT; the sharpened form replaces the queues by the far smaller residual and "
        "conflict.",
        ("bound_terms",), "bounds:draw_bound_terms", ("terms",),
    ),
    (
        "variation", "", "Variation, conflict and residual of the tasks",
        "D_Φ, ρ̄ and Δ̄ grow with the noise and with the drift of HIGH. D_Φ over the ball is several times its value "
        "at the models.",
        ("variation",), "variation:draw_variation", (),
    ),
    (
        "forgetting", "", "Real forgetting, measured and proved",
        "The mean over all past tasks of the loss minus its value at the end of the task itself. With the previous "
        "model as reference it stays above δ, with empty queues where optima creep, and its bound grows with T. With "
        "the best model or a stored one it is proved to come down to δ: the excess of the bound falls as √(V/T).",
        ("forgetting",), "forgetting:draw_forgetting", (),
    ),
    (
        "memory_size", "", "How many samples the memory needs",
        "The error of a memory of M of 128 samples falls like 1/√M and vanishes with the last sample. The mean over "
        "many tasks is proved to be close to its expectation; the largest grows with the logarithm of T. The memory "
        "adds twice its error to the bound on real forgetting in Case 3; Case 1 forgets everything, however much it "
        "stores.",
        ("memory_sizes", "memory_lengths"), "memory:draw_memory_size", ("memory",),
    ),
    (
        "controllers", "", "Controllers other than the queue",
        "In Case 3 the queue and Yu and Neely's controller bring mean forgetting down to δ, and a leak leaves a bias; "
        "in Case 1 none of them reaches δ. Under mean weights all of them forget one task among many for ever; under "
        "sum weights its forgetting comes down to δ, except with the leak. The root mean square of the queues, which "
        "is what is bounded, grows like √T; their mean does not grow.",
        ("controllers",), "controllers:draw_controllers", ("controller",),
    ),
    (
        "moving", "", "Adaptive steps, moving V and noise",
        "Three theorems that the paper lacks, against the number of tasks. Steps η_t = c/α_t and V_t = V t^{1/3} keep "
        "the gradient, the gap and the queue below their bounds in Case 1 and in Case 3. With noisy gradients the "
        "bound needs its variance term: without it the measured gradient crosses the bound.",
        ("steps_over_T",), "steps:draw_moving", ("steps",),
    ),
)  # fmt: skip


def theory_figures(scale: Scale | None = None) -> tuple[Figure, ...]:
    """All theory figures, with data of the given size."""
    known = datasets(scale)
    return tuple(
        Figure(
            id_, label, title, sentence, "theory", tuple(known[name] for name in names), f"{__package__}.{draw}", other,
            words=_words(id_),
        )
        for id_, label, title, sentence, names, draw, other in _FIGURES
    )  # fmt: skip


def statement_figure(word: str, title: str, source: str, scale: Scale | None = None) -> Figure:
    """The tightness of one statement in all of its forms.

    word   : how the user named it, FILE.py or a name
    source : a digest of the file, or "" of a statement that has a name
    """
    s = scale or Scale()
    name = re.sub(r"[^\w-]+", "-", Path(word).stem).strip("-") or "statement"
    config = {
        "statement": word, "source": source, "regimes": list(ALL), "V": list(s.V), "seeds": s.seeds, "T": s.T,
    }  # fmt: skip
    words = f"bounds {shlex.quote(word)}"
    data = TableData(f"bounds-{name}", f"coldtheory plot {words}", f"{__package__}.bounds:statement_terms", config)
    sentence = (
        "Both sides against V, and bound over measured value, for each form at the task or pair of tasks where it is "
        "tightest. Below 1 the form is violated."
    )
    draw = f"{__package__}.bounds:draw_statement"
    return Figure(data.name, "", title, sentence, "theory", (data,), draw, words=words)


def datasets(scale: Scale | None = None) -> dict[str, Dataset]:
    """All stored tables of the theory figures, by name."""
    s = scale or Scale()
    span = {"seeds": s.seeds, "T": s.T}
    maps = {"regime": "conflict", "references": ["previous", "best"], "eta": _GENTLE, "seed": 0, "T": s.T}
    tables: list[Dataset] = [
        _sweep("sweep_V", s, ALL),
        _sweep("sweep_V_off", s, ALL, Scheme(weights="none")),
        _queue_sweep(s),
        _eta_sweep(s),
        _length_sweep(s),
        _delta_sweep(s),
        _table("trajectory", "trajectory:trajectory", regimes=list(ALL), V=list(s.V_shown), **span),
        _table(
            "queue_maps", "queues:queue_maps", V=list(s.V_shown), delta=[TOY.delta] * len(s.V_shown),
            stride=s.stride, **maps,
        ),
        _table(
            "queue_maps_delta", "queues:queue_maps", V=[TOY.V] * len(s.delta_shown), delta=list(s.delta_shown),
            stride=s.stride, **maps,
        ),
        _table(
            "queue_caps", "queues:queue_caps", eta={"low": TOY.eta, "high": TOY.eta, "conflict": _GENTLE},
            V=list(s.V), **span,
        ),
        _table("prediction", "gradient:prediction", regimes=list(DRIFTING), V=list(_fine(s.V)), seeds=s.seeds, T=[s.T]),
        _table(
            "turning_points", "gradient:prediction", regimes=list(DRIFTING), V=list(_fine(s.V_wide, 2)), seeds=s.seeds,
            T=list(s.lengths),
        ),
        _table("bound_terms", "bounds:bound_terms", regimes=list(ALL), V=list(s.V), **span),
        _table("variation", "variation:variation", noise=list(s.noise), drift=list(s.drift), V=TOY.V, **span),
        _table(
            "forgetting", "forgetting:forgetting", lengths=list(s.horizons), seed=0,
            V={"alternating": [1.0, 0.1, 10.0], "creeping": [1.0], "conflict": [400.0]},  # about twice delta
        ),
        _table(
            "memory_sizes", "memory:memory_sizes", sizes=list(s.memory), n=s.memory[-1], T=min(s.T, 100), V=1.0,
            delta=0.7, p=0.05, seeds=s.seeds,
        ),
        _table(
            "memory_lengths", "memory:memory_lengths", lengths=list(s.many_tasks), n=s.memory[-1], m=8, p=0.05,
            seeds=s.seeds,
        ),
        _table("controllers", "controllers:controllers", T=s.longest, V=1.0, delta=0.5, points=60),
        _table(
            "steps_over_T", "steps:steps_over_T", lengths=list(s.doublings), factor=0.5, delta=0.01, noise=0.5,
            eta=0.3, noise_seeds=s.noise_seeds,
        ),
        _table("picture", "picture:picture", rounds=s.rounds, V=[1.0, 10.0], slack=1.5),
    ]  # fmt: skip
    return {table.name: table for table in tables}


def _fine(V: Sequence[float], times: int = 4) -> tuple[float, ...]:
    return log_grid(V[0], V[-1], times * (len(V) - 1) + 1)


def _table(name: str, compute: str, **config: Any) -> TableData:
    return TableData(name, _plot(name), f"{__package__}.{compute}", config)


def _words(id_: str) -> str:
    """The words that draw the figure of the gallery; for figures that every sweep has, that of the paper's regimes."""
    return f"{id_} {PAPER}" if id_ in FIGURE_IDS else id_


def _plot(name: str) -> str:
    """The command of the first figure that needs the data: it makes them."""
    return next(f"coldtheory plot {_words(id_)}" for id_, *_, names, _, _ in _FIGURES if name in names)


def _sweep(name: str, s: Scale, regimes: Sequence[str], scheme: Scheme | None = None) -> SweepData:
    cells = [cell for regime in regimes for cell in _cells(s, regime, s.V, scheme=scheme)]
    extra = "" if scheme is None else f" --weights {scheme.weights}"
    return SweepData(name, f"coldtheory sweep V --regime all{extra}", cells, _COLUMNS, engine=s.engine)


def _queue_sweep(s: Scale) -> SweepData:
    """COLD-ORACLE beside COLD, and both on CONFLICT with a step small enough for the former."""
    oracle, gentle = Scheme(reference="best"), Numbers(eta=_GENTLE)
    cells = [cell for regime in DRIFTING for cell in _cells(s, regime, s.V, scheme=oracle)]
    for scheme in (Scheme(), oracle):
        cells += _cells(s, "conflict", s.V, numbers=gentle, scheme=scheme)
    return SweepData("sweep_queues", _plot("sweep_queues"), cells, _COLUMNS, engine=s.engine)


def _eta_sweep(s: Scale) -> SweepData:
    cells = [
        cell for regime in DRIFTING for eta in s.eta for cell in _cells(s, regime, s.V_wide, numbers=Numbers(eta=eta))
    ]
    return SweepData("sweep_eta", _plot("sweep_eta"), cells, _COLUMNS, engine=s.engine)


def _length_sweep(s: Scale) -> SweepData:
    """V-sweeps at several T: where the gradient turns depends on how long the stream is.

    At the paper's T the cells are those of `sweep_V`, so every figure has the same turning point.
    """
    cells = [
        cell
        for regime in DRIFTING
        for T in s.lengths
        for cell in _cells(replace(s, T=T), regime, s.V if s.T == T else s.V_lengths)
    ]
    return SweepData("sweep_T", _plot("sweep_T"), cells, _COLUMNS, engine=s.engine)


def _delta_sweep(s: Scale) -> SweepData:
    conflict, gentle = _source("conflict", s.T), Numbers(eta=_GENTLE)
    cells = [
        cell
        for scheme in (Scheme(), Scheme(reference="best"))
        for cell in grid(conflict, "delta", s.delta, s.seeds, numbers=gentle, scheme=scheme)
    ]
    return SweepData("sweep_delta", _plot("sweep_delta"), cells, _COLUMNS, engine=s.engine)


def _cells(
    s: Scale, regime: str, V: Sequence[float], *, numbers: Numbers | None = None, scheme: Scheme | None = None
) -> list[SweepCell]:
    return grid(_source(regime, s.T), "V", V, s.seeds, numbers=numbers, scheme=scheme)


def _source(regime: str, T: int) -> Source:
    return load_source(regime).with_constants(T=T)
