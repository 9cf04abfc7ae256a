"""What V and the tolerance do to accuracy, forgetting and the queues, compared with stored runs."""

from __future__ import annotations

from collections.abc import Iterator

from paper_checks._contrasts import BOTH, NAMES, Contrast, Shown, both, trend
from paper_checks._runs import StoredRuns, acc, forgetting, learning_acc, newest_share, queue, share

_V_PMNIST, _V_C10 = ("varying_V-pmnist-cpu",), ("varying_V_c10-cpu",)
_Q_PMNIST, _Q_C10 = ("queue_V_C100-pmnist-cpu",), ("queue_V_C100-split-cifar10-cpu",)
_DELTA, _HEAT = ("memory_delta-pmnist-cpu",), ("delta_cold-pmnist-cpu", "delta_coldeff-pmnist-cpu")
# The paper's own datasets; open until all their runs are stored.
_V_OWN = {
    "split-cifar100": Shown("not settled", ("varying_V-cpu",)),
    "split-tinyimagenet": Shown("not settled", ("varying_V_tiny-cpu",)),
}
_Q_OWN = {
    "split-cifar100": Shown("not settled", ("queue_V_C100-cpu",)),
    "split-tinyimagenet": Shown("not settled", ("queue_V_tiny-cpu",)),
}
_DELTA_OWN = {"split-tinyimagenet": Shown("not settled", ("memory_delta-cpu",))}
_HEAT_OWN = {"split-tinyimagenet": Shown("not settled", ("delta_cold-cpu", "delta_coldeff-cpu"))}


@trend(
    id="trend-v-least-forgetting",
    label="fig:varying_V",
    statement="V = 1 leads to the least forgetting.",
    on={"pmnist": Shown("holds", _V_PMNIST), "split-cifar10": Shown("holds", _V_C10), **_V_OWN},
    explain="The contrast is the mean forgetting at all larger V minus that at V = 1.",
)
def least_forgetting(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield the mean forgetting at larger V minus that at V = 1."""
    runs = stored.study("V", dataset)
    assert runs.values[0] == 1
    for method in BOTH:
        at = runs.over(method, forgetting)
        yield Contrast(f"{NAMES[method]} F at V > 1 minus V = 1", at[1:].mean(axis=0) - at[0])


@trend(
    id="trend-v-accuracy",
    label="fig:varying_V",
    statement="V = 1 is poor in accuracy; V = 100 is more accurate.",
    on={"pmnist": Shown("holds", _V_PMNIST), "split-cifar10": Shown("not settled", _V_C10), **_V_OWN},
)
def more_accurate(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield the accuracy at V = 100 minus that at V = 1."""
    runs = stored.study("V", dataset)
    yield from both(lambda m: runs.each(m, 100, acc) - runs.each(m, 1, acc), "ACC at V = 100 minus V = 1")


@trend(
    id="trend-v-large-forgets",
    label="fig:varying_V",
    statement="V = 10,000 places so much weight on the present task that it forgets more than V = 100.",
    on={"pmnist": Shown("holds", _V_PMNIST), "split-cifar10": Shown("not settled", _V_C10), **_V_OWN},
)
def large_forgets(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield the forgetting at V = 10,000 minus that at V = 100."""
    runs = stored.study("V", dataset)
    yield from both(
        lambda m: runs.each(m, 10_000, forgetting) - runs.each(m, 100, forgetting), "F at V = 1e4 minus V = 100"
    )


@trend(
    id="trend-v-oracle-stable",
    label="fig:varying_V",
    statement="COLD-ORACLE stays stable even when V is large: from V = 100 to 10,000 it loses less accuracy than COLD.",
    on={"pmnist": Shown("holds", _V_PMNIST), "split-cifar10": Shown("not settled", _V_C10), **_V_OWN},
    explain="The text says stable, without a measure; here it is compared with COLD, the other panel of the figure.",
)
def oracle_stable(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield COLD's loss of accuracy from V = 100 to 10,000 minus COLD-ORACLE's."""
    runs = stored.study("V", dataset)
    oracle, cold = (runs.each(m, 100, acc) - runs.each(m, 10_000, acc) for m in BOTH)
    yield Contrast("loss of ACC from V = 100 to 1e4, COLD minus ORACLE", cold - oracle)


@trend(
    id="trend-queues-grow",
    label="fig:queue_V_C100",
    statement="A larger V has larger queues: V = 1 the smallest, then V = 100, then V = 10,000.",
    on={"pmnist": Shown("not settled", _Q_PMNIST), "split-cifar10": Shown("holds", _Q_C10), **_Q_OWN},
    explain="""A queue is the mean of Q_k[t] over all past tasks of all t; queues are compared by their difference over
        their sum, as they span decades.""",
)
def queues_grow(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield the relative differences of the queues at V = 1, 100 and 10,000."""
    runs = stored.study("queues", dataset)
    for method in BOTH:
        small, middle, large = (runs.each(method, V, queue) for V in (1, 100, 10_000))
        yield Contrast(f"{NAMES[method]} queue at V = 100 against 1", share(middle, small))
        yield Contrast(f"{NAMES[method]} at V = 1e4 against 100", share(large, middle))


@trend(
    id="trend-queues-cold-lower",
    label="fig:queue_V_C100",
    statement="COLD's queues are lower than COLD-ORACLE's at every V.",
    on={"pmnist": Shown("not settled", _Q_PMNIST), "split-cifar10": Shown("not settled", _Q_C10), **_Q_OWN},
    explain="Queues are compared by their difference over their sum.",
)
def cold_lower(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield the relative difference between COLD-ORACLE's queues and COLD's at each V."""
    runs = stored.study("queues", dataset)
    for V in runs.values:
        oracle, cold = (runs.each(method, V, queue) for method in BOTH)
        yield Contrast(f"ORACLE against COLD at V = {V:g}", share(oracle, cold))


@trend(
    id="trend-delta-ten",
    label="fig:memory_delta",
    statement="A large tolerance (10) is worse than a small one in accuracy and in forgetting, with both methods.",
    on={"pmnist": Shown("holds", _DELTA), **_DELTA_OWN},
)
def delta_ten(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield what accuracy and forgetting lose from delta = 0 to delta = 10."""
    runs = stored.study("delta", dataset)
    yield from both(lambda m: runs.each(m, 0, acc) - runs.each(m, 10, acc), "ACC at δ = 0 minus δ = 10")
    yield from both(lambda m: runs.each(m, 10, forgetting) - runs.each(m, 0, forgetting), "F at δ = 10 minus δ = 0")


@trend(
    id="trend-delta-queues",
    label="fig:delta_cold",
    statement="Queues shrink as the tolerance grows, from 0 to 0.5 to 10.",
    on={"pmnist": Shown("holds", _HEAT), **_HEAT_OWN},
    explain="Queues are compared by their difference over their sum.",
)
def delta_queues(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield the relative differences of the queues at delta = 0, 0.5 and 10."""
    runs = stored.study("delta", dataset)
    for method in BOTH:
        none, some, much = (runs.each(method, delta, queue) for delta in (0, 0.5, 10))
        yield Contrast(f"{NAMES[method]} queue at δ = 0 against 0.5", share(none, some))
        yield Contrast(f"{NAMES[method]} at δ = 0.5 against 10", share(some, much))


@trend(
    id="trend-delta-plasticity",
    label="fig:delta_cold",
    statement="A larger tolerance improves the present task at the expense of past ones.",
    on={"pmnist": Shown("not settled", _HEAT), **_HEAT_OWN},
    explain="The present task's accuracy is the mean over tasks of the accuracy just after each was learnt.",
)
def delta_plasticity(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield the gain on the present task and the growth of forgetting from delta = 0 to 10."""
    runs = stored.study("delta", dataset)
    yield from both(
        lambda m: runs.each(m, 10, learning_acc) - runs.each(m, 0, learning_acc), "present ACC at δ = 10 minus δ = 0"
    )
    yield from both(lambda m: runs.each(m, 10, forgetting) - runs.each(m, 0, forgetting), "F at δ = 10 minus δ = 0")


@trend(
    id="trend-delta-diagonal",
    label="fig:delta_coldeff",
    statement="COLD's queues stand at the newest past task, COLD-ORACLE's are spread over all of them.",
    on={"pmnist": Shown("not settled", _HEAT), **_HEAT_OWN},
    explain="""The share of the newest past task in the sum of all queues, COLD's minus COLD-ORACLE's, at
        delta = 0.5, the middle one of the three that are drawn.""",
)
def delta_diagonal(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield COLD's share of the newest past task in the queues minus COLD-ORACLE's."""
    runs = stored.study("delta", dataset)
    oracle, cold = (runs.each(method, 0.5, newest_share) for method in BOTH)
    yield Contrast("share of the newest past task, COLD minus ORACLE", cold - oracle)
