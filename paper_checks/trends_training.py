"""What memory, tasks, epochs and batches do to accuracy and forgetting, compared with stored runs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from paper_checks._contrasts import BOTH, NAMES, Contrast, Shown, both, trend
from paper_checks._runs import StoredRuns, acc, forgetting

_M_PMNIST = ("memory_delta-pmnist-cpu",)
_M_C10 = ("varying_memory_supple-cpu",)
_TASKS = ("varying_tasks-pmnist-cpu",)
_THREE = "varying_epochs_batchsize_online-cpu"
_EPOCHS, _BATCH = ("varying_epochs_supple-cpu",), ("batchsize_supple-cpu",)
_STABLE = 5.0  # points
_ONLINE = ("online_batch_c10-cpu",)
# The paper's own datasets; open until all their runs are stored.
_M_OWN = {
    "split-cifar100": Shown("not settled", ("memory_delta-cpu",)),
    "split-tinyimagenet": Shown("not settled", _M_C10),
}
_M_OWN_HOLDS = _M_OWN | {"split-cifar100": Shown("holds", ("memory_delta-cpu",))}  # with its 24 runs, three seeds each
_TASKS_OWN = {
    "split-cifar100": Shown("not settled", ("varying_tasks-cpu",)),
    "split-tinyimagenet": Shown("not settled", ("varying_t_supple-cpu",)),
}
_BATCH_OWN = {
    "split-cifar100": Shown("not settled", (_THREE,)),
    "split-tinyimagenet": Shown("not settled", _BATCH),
}
_ONLINE_OWN = {
    "split-cifar100": Shown("not settled", (_THREE,)),
    "split-tinyimagenet": Shown("not settled", ("online_batch_tiny-cpu",)),
}


@trend(
    id="trend-memory-accuracy",
    label="fig:memory_delta",
    statement="Accuracy grows with the number of stored samples.",
    on={"pmnist": Shown("holds", _M_PMNIST), "split-cifar10": Shown("not settled", _M_C10), **_M_OWN_HOLDS},
    explain="The contrast is the least-squares slope over all sizes, in points for twice the memory.",
)
def memory_accuracy(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield the slope of accuracy per doubling of the memory."""
    runs = stored.study("memory", dataset)
    yield from both(lambda m: runs.slope(m, acc), "ACC per doubling of M")


@trend(
    id="trend-memory-forgetting",
    label="fig:memory_delta",
    statement="Forgetting falls with the number of stored samples.",
    on={"pmnist": Shown("holds", _M_PMNIST), "split-cifar10": Shown("not settled", _M_C10), **_M_OWN_HOLDS},
    explain="The contrast is the least-squares fall over all sizes, in points for twice the memory.",
)
def memory_forgetting(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield the fall of forgetting per doubling of the memory."""
    runs = stored.study("memory", dataset)
    yield from both(lambda m: -runs.slope(m, forgetting), "fall of F per doubling of M")


@trend(
    id="trend-memory-gap",
    label="fig:memory_delta",
    statement="The lead of COLD-ORACLE over COLD shrinks as the memory grows.",
    on={"pmnist": Shown("holds", _M_PMNIST), "split-cifar10": Shown("not settled", _M_C10), **_M_OWN},
    explain="The lead with the smallest memory minus that with the largest.",
)
def memory_gap(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield COLD-ORACLE's lead with the smallest memory minus that with the largest."""
    runs = stored.study("memory", dataset)
    oracle, cold = (runs.over(method, acc) for method in BOTH)
    lead = oracle - cold
    yield Contrast("lead in ACC with least minus with most memory", lead[0] - lead[-1])


@trend(
    id="trend-tasks-stable",
    label="fig:varying_tasks",
    statement="Accuracy and forgetting stay stable as the number of tasks grows, from 5 to 20.",
    on={"pmnist": Shown("holds", _TASKS), **_TASKS_OWN},
    explain="""The text says stable, without a measure. Here it means that accuracy falls, and forgetting grows, by
        less than 5 points: the contrasts are those 5 points minus the fall, or the growth.""",
)
def tasks_stable(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield 5 points minus the fall of accuracy, and minus the growth of forgetting."""
    runs = stored.study("tasks", dataset)
    yield from both(lambda m: _STABLE + runs.each(m, 20, acc) - runs.each(m, 5, acc), "5 minus the fall of ACC")
    yield from both(
        lambda m: _STABLE + runs.each(m, 5, forgetting) - runs.each(m, 20, forgetting), "5 minus the growth of F"
    )


@trend(
    id="trend-tasks-cold-less-stable",
    label="fig:varying_tasks",
    statement="COLD is less stable than COLD-ORACLE as the number of tasks grows.",
    on={"pmnist": Shown("not settled", _TASKS), **_TASKS_OWN},
    explain="The loss of accuracy from 5 to 20 tasks, COLD's minus COLD-ORACLE's.",
)
def cold_less_stable(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield COLD's loss of accuracy from 5 to 20 tasks minus COLD-ORACLE's."""
    runs = stored.study("tasks", dataset)
    oracle, cold = (runs.each(method, 5, acc) - runs.each(method, 20, acc) for method in BOTH)
    yield Contrast("loss of ACC from T = 5 to 20, COLD minus ORACLE", cold - oracle)


@trend(
    id="trend-epochs-five",
    label="fig:varying_epochs_batchsize_online",
    statement="Five epochs give the best accuracy.",
    on={"split-cifar10": Shown("not settled", _EPOCHS)},
    explain="The accuracy with five epochs minus that with every other number of them.",
)
def epochs_five(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield the accuracy with five epochs minus that with each other number."""
    runs = stored.study("epochs", dataset)
    for method, other in product(BOTH, (value for value in runs.values if value != 5)):
        lead = runs.each(method, 5, acc) - runs.each(method, other, acc)
        yield Contrast(f"{NAMES[method]} ACC with 5 minus {other} epochs", lead)


@trend(
    id="trend-epochs-forgetting",
    label="fig:varying_epochs_batchsize_online",
    statement="With more than five epochs per task, forgetting grows.",
    on={"split-cifar10": Shown("not settled", _EPOCHS)},
)
def epochs_forgetting(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield the forgetting with 10 epochs minus that with 5."""
    runs = stored.study("epochs", dataset)
    yield from both(lambda m: runs.each(m, 10, forgetting) - runs.each(m, 5, forgetting), "F with 10 minus 5 epochs")


@trend(
    id="trend-batch-accuracy",
    label="fig:batchsize_supple",
    statement="Accuracy falls as the batch size grows.",
    on={"split-cifar10": Shown("holds", _BATCH), **_BATCH_OWN},
    explain="""The contrast is the least-squares fall over all sizes, in points for twice the batch. The number of
        epochs is the same for all sizes, as in the paper, so a larger batch also means fewer steps.""",
)
def batch_accuracy(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield the fall of accuracy per doubling of the batch."""
    runs = stored.study("batch-size", dataset)
    yield from both(lambda m: -runs.slope(m, acc), "fall of ACC per doubling of the batch")


@trend(
    id="trend-batch-forgetting",
    label="fig:varying_epochs_batchsize_online",
    statement="Small batches forget little, larger ones more.",
    on={"split-cifar10": Shown("not settled", _BATCH), **_BATCH_OWN},
    explain="The contrast is the least-squares slope over all sizes, in points for twice the batch.",
)
def batch_forgetting(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield the growth of forgetting per doubling of the batch."""
    runs = stored.study("batch-size", dataset)
    yield from both(lambda m: runs.slope(m, forgetting), "F per doubling of the batch")


@trend(
    id="trend-online-accuracy",
    label="fig:online_batch_c10",
    statement="Several epochs (batch) are more accurate than one (online).",
    on={
        "split-cifar10": Shown("holds", _ONLINE),
        **_ONLINE_OWN,
        "split-tinyimagenet": Shown("holds", ("online_batch_tiny-cpu",)),
    },
)
def online_accuracy(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield the accuracy with 5 epochs minus that with 1."""
    runs = stored.study("online", dataset)
    yield from both(lambda m: runs.each(m, 5, acc) - runs.each(m, 1, acc), "ACC with 5 minus 1 epochs")


@trend(
    id="trend-online-forgetting",
    label="fig:online_batch_c10",
    statement="One epoch (online) forgets less than several (batch).",
    on={"split-cifar10": Shown("not settled", _ONLINE), **_ONLINE_OWN},
)
def online_forgetting(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield the forgetting with 5 epochs minus that with 1."""
    runs = stored.study("online", dataset)
    yield from both(lambda m: runs.each(m, 5, forgetting) - runs.each(m, 1, forgetting), "F with 5 minus 1 epochs")


@trend(
    id="trend-online-gap",
    label="fig:varying_epochs_batchsize_online",
    statement="COLD gains less accuracy from more epochs than COLD-ORACLE does.",
    on={"split-cifar10": Shown("not settled", _ONLINE), **_ONLINE_OWN},
)
def online_gap(stored: StoredRuns, dataset: str) -> Iterator[Contrast]:
    """Yield COLD-ORACLE's gain from 5 epochs over 1 minus COLD's."""
    runs = stored.study("online", dataset)
    oracle, cold = (runs.each(m, 5, acc) - runs.each(m, 1, acc) for m in BOTH)
    yield Contrast("gain of 5 over 1 epochs, ORACLE minus COLD", oracle - cold)
