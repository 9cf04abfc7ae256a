"""Every stored table that a theory figure needs, at the size that the gallery uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..ground.engines import Engine
from ..paper import TOY
from ..sources import Source, load_source
from ..sweep import Numbers, Scheme, SweepCell, grid
from . import compute
from .datasets import Dataset, SweepData, TableData

ALL = ("low", "high", "conflict")
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
    """The same numbers as `--V low:high:countlog`, so that figures and sweeps share their rows."""
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
    few_seeds: int = 5  # for streams of 1500 tasks
    noise: tuple[float, ...] = log_grid(1e-4, 1e-1, 10)
    drift: tuple[float, ...] = (0.0, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)
    stride: int = 3
    rounds: int = 40
    engine: Engine = "loky"


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
        _table("trajectory", compute.trajectory, regimes=list(ALL), V=list(s.V_shown), **span),
        _table(
            "queue_maps", compute.queue_maps, V=list(s.V_shown), delta=[TOY.delta] * len(s.V_shown),
            stride=s.stride, **maps,
        ),
        _table(
            "queue_maps_delta", compute.queue_maps, V=[TOY.V] * len(s.delta_shown), delta=list(s.delta_shown),
            stride=s.stride, **maps,
        ),
        _table(
            "queue_caps", compute.queue_caps, eta={"low": TOY.eta, "high": TOY.eta, "conflict": _GENTLE},
            V=list(s.V), **span,
        ),
        _table("prediction", compute.prediction, regimes=list(DRIFTING), V=list(_fine(s.V)), seeds=s.seeds, T=[s.T]),
        _table(
            "turning_points", compute.prediction, regimes=list(DRIFTING), V=list(_fine(s.V_wide)), seeds=s.few_seeds,
            T=list(s.lengths),
        ),
        _table("bound_terms", compute.bound_terms, regimes=list(ALL), V=list(s.V), **span),
        _table("variation", compute.variation, noise=list(s.noise), drift=list(s.drift), V=TOY.V, **span),
        _table("picture", compute.picture, rounds=s.rounds, V=[1.0, 10.0], slack=1.5),
    ]  # fmt: skip
    return {table.name: table for table in tables}


def _fine(V: Sequence[float]) -> tuple[float, ...]:
    return log_grid(V[0], V[-1], 4 * len(V) - 3)


def _table(name: str, compute_: Any, **config: Any) -> TableData:
    return TableData(name, "coldtheory plot all --run", compute_, config)


def _sweep(name: str, s: Scale, regimes: Sequence[str], scheme: Scheme | None = None) -> SweepData:
    cells = [cell for regime in regimes for cell in _cells(s, regime, s.V, scheme=scheme)]
    extra = "" if scheme is None else f" --weights {scheme.weights}"
    return SweepData(name, f"coldtheory sweep-V --regime all{extra}", cells, _COLUMNS, engine=s.engine)


def _queue_sweep(s: Scale) -> SweepData:
    """COLD-ORACLE beside COLD, and both on CONFLICT with a step small enough for the former."""
    oracle, gentle = Scheme(reference="best"), Numbers(eta=_GENTLE)
    cells = [cell for regime in DRIFTING for cell in _cells(s, regime, s.V, scheme=oracle)]
    for scheme in (Scheme(), oracle):
        cells += _cells(s, "conflict", s.V, numbers=gentle, scheme=scheme)
    return SweepData("sweep_queues", "coldtheory plot queues --run", cells, _COLUMNS, engine=s.engine)


def _eta_sweep(s: Scale) -> SweepData:
    cells = [
        cell for regime in DRIFTING for eta in s.eta for cell in _cells(s, regime, s.V_wide, numbers=Numbers(eta=eta))
    ]
    return SweepData("sweep_eta", "coldtheory plot eta --run", cells, _COLUMNS, engine=s.engine)


def _length_sweep(s: Scale) -> SweepData:
    """V-sweeps at several T: where the gradient turns depends on how long the stream is."""
    few = replace(s, seeds=s.few_seeds)
    cells = [
        cell for regime in DRIFTING for T in s.lengths for cell in _cells(replace(few, T=T), regime, s.V_wide[:-2:2])
    ]
    return SweepData("sweep_T", "coldtheory plot turning --run", cells, _COLUMNS, engine=s.engine)


def _delta_sweep(s: Scale) -> SweepData:
    conflict, gentle = _source("conflict", s.T), Numbers(eta=_GENTLE)
    cells = [
        cell
        for scheme in (Scheme(), Scheme(reference="best"))
        for cell in grid(conflict, "delta", s.delta, s.seeds, numbers=gentle, scheme=scheme)
    ]
    return SweepData("sweep_delta", "coldtheory plot queues_delta --run", cells, _COLUMNS, engine=s.engine)


def _cells(
    s: Scale, regime: str, V: Sequence[float], *, numbers: Numbers | None = None, scheme: Scheme | None = None
) -> list[SweepCell]:
    return grid(_source(regime, s.T), "V", V, s.seeds, numbers=numbers, scheme=scheme)


def _source(regime: str, T: int) -> Source:
    return load_source(regime).with_constants(T=T)
