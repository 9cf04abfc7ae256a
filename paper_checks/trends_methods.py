"""Methods over tasks, and gradients of a real network over V, compared with stored runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from cold.catalogue import method_title
from cold.runs import Result
from paper_checks._contrasts import BOTH, NAMES, Contrast, Shown, trend
from paper_checks._runs import StoredRuns, acc, acc_on_the_way, diagnostic, per_doubling

_PICTURE, _GRADIENT = ("pmnist_acc_forg-cpu",), ("Average_gradient_vs_V-cpu",)
# The paper's own datasets; open until all their runs are stored.
_OWN = {
    "split-cifar100": Shown("not settled", ("baselines-cpu",)),
    "split-cifar10": Shown("not settled", ("baselines_supple-cpu",)),
    "split-tinyimagenet": Shown("not settled", ("baselines_supple-cpu",)),
}


@trend(
    id="trend-baselines-lead",
    label="fig:pmnist_acc_forg",
    statement="COLD and COLD-ORACLE are more accurate than every other method as learning goes on.",
    on={"pmnist": Shown("false", _PICTURE), **_OWN},
    explain="""The average over t of the accuracy after task t, ours minus that of every other method. All methods share
        COLD's learning rate, batches and memory, and have their own options at default: nothing is tuned here.
        `cold table pmnist-10k` compares them with tuned settings.""",
)
def baselines_lead(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield the lead of each of our methods over every other one in accuracy averaged over the tasks."""
    runs = stored.study("baselines", dataset)
    others = [method for method in dict.fromkeys(method for method, _, _ in runs.runs) if method not in BOTH]
    for ours, other in product(BOTH, others):
        lead = runs.each(ours, ours, acc_on_the_way) - runs.each(other, other, acc_on_the_way)
        yield Contrast(f"{NAMES[ours]} minus {method_title(other)}", lead)


@trend(
    id="trend-nccl-degrades",
    label="fig:baselines",
    statement="NCCL degrades rapidly as the number of tasks grows: it loses more accuracy over the tasks than ours do.",
    on={"pmnist": Shown("holds", _PICTURE), **_OWN},
    explain="The accuracy after the first task minus that after the last, NCCL's minus ours.",
)
def nccl_degrades(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield how much more accuracy NCCL loses over the tasks than each of our methods."""
    runs = stored.study("baselines", dataset)

    def loss(run: Result) -> float:
        return run.over_tasks("acc")[0] - acc(run)

    nccl = runs.each("nccl", "nccl", loss)
    for method in BOTH:
        yield Contrast(f"NCCL's loss minus {NAMES[method]}'s", nccl - runs.each(method, method, loss))


@trend(
    id="trend-gradient-rate",
    label="fig:Average_gradient_vs_V",
    statement="High variation of the tasks slows the fall of the average squared gradient with V.",
    on={"split-mnist": Shown("false", _GRADIENT)},
    explain="""The slope of log2 of the gradient after each task against log2 V, HIGH (by class) minus LOW (near-IID):
        positive if HIGH falls more slowly. Before a task the gradient cannot fall with V here, as every task has a head
        of its own that has not been trained.""",
)
def gradient_rate(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield the slope of the gradient over V, HIGH minus LOW."""
    high, low = (_log_gradients(stored, dataset, iid=iid, name="avg_grad_sq_after") for iid in (False, True))
    yield Contrast("slope after a task, HIGH minus LOW", high - low)


@trend(
    id="trend-gradient-elevated",
    label="fig:Average_gradient_vs_V",
    statement="Under high variation the average squared gradient and the residual stay above those of near-IID tasks.",
    on={"split-mnist": Shown("not settled", _GRADIENT)},
    explain="log2 of HIGH over LOW, averaged over V: gradient before and after a task, and the residual Δ̄.",
)
def gradient_elevated(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield log2 of HIGH over LOW for gradients and residual."""
    words = {"avg_grad_sq_before": "gradient before", "avg_grad_sq_after": "gradient after", "Delta_bar": "residual"}
    for name, what in words.items():
        high, low = (stored.study("gradient", dataset, iid=iid).over("cold", _log2(name)) for iid in (False, True))
        yield Contrast(f"{what}, log2 of HIGH over LOW", (high - low).mean(axis=0))


def _log_gradients(stored: StoredRuns, dataset: str, *, iid: bool, name: str) -> np.ndarray:
    """(seeds,): the slope of log2 of a diagnostic against log2 V."""
    runs = stored.study("gradient", dataset, iid=iid)
    return per_doubling(runs.values, runs.over("cold", _log2(name)))


def _log2(name: str) -> Callable[[Result], float]:
    measure = diagnostic(name)
    return lambda run: math.log2(measure(run))
