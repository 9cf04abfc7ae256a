"""Every training method of this package as data: what it is called, where it comes from, what it takes and costs.

An entry is the declaration. The class in `cold/methods` that trains by the method's rule takes its name, options and
costs from here; tables, studies, presets and figures read the same entry. Nothing here needs torch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from coldtheory.ground.errors import ColdError, unknown_name

from .benchmarks import Scenario

#: A kind of stream beside the scenarios: it is not said where one task ends and the next begins (`--windows`).
TASK_FREE = "task-free"
#: For methods whose rule does not need to know that. Replay then fills its memory along the stream (fill=stream);
#: COLD keeps one queue per window of the stream.
EVERYWHERE = (*get_args(Scenario), TASK_FREE)
Published = Mapping[str, Mapping[str, Any]]
#: The letters of `MethodEntry.cost` and `storage`, which are those of the paper's complexity table.
COST_LETTERS = (
    "b batch, m replayed samples per step, t past tasks, d weights, C a sample's gradient, M memory, "
    "p a sample's size, n_c classes, N all samples; k, k', E as the methods' papers name their inner steps"
)
#: Settings of a run that only methods with virtual queues use; the others carry them along.
QUEUE_SETTINGS = (
    "V", "delta", "weights", "queue_update", "reference", "oracle", "controller", "idle", "reference_passes",
    "constraint", "queue_start", "gauge", "forget", "forget_acc",
)  # fmt: skip


def check_options(options: Any, *, positive: tuple[str, ...] = (), nonnegative: tuple[str, ...] = ()) -> None:
    """Raises if one of the `positive` options is not > 0, or one of the `nonnegative` ones is < 0."""
    for name in (*positive, *nonnegative):
        value = getattr(options, name)
        if value < 0 or (name in positive and value == 0):
            raise ColdError(f"option {name} must be {'>' if name in positive else '>='} 0, got {value}")


def check_choice(options: Any, name: str, known: tuple[str, ...]) -> None:
    """Raises if the option is not one of the `known` words."""
    if getattr(options, name) not in known:
        raise unknown_name(f"value of option {name}", getattr(options, name), known)


@dataclass(frozen=True)
class NoOptions:
    """A method without hyper-parameters of its own."""


@dataclass(frozen=True)
class MethodEntry:
    """What one method declares about itself.

    `cost` and `storage` count operations per step and numbers stored beside the model, in the letters of
    `COST_LETTERS`.
    """

    name: str = ""
    title: str = ""  #: as tables and figures print it
    paper: str = ""  #: authors, year, title
    settings: tuple[str, ...] = get_args(Scenario)  #: kinds of streams that it can learn here; others are refused
    cost: str = "b*C"
    storage: str = "0"
    options: type[Any] = NoOptions  #: its own hyper-parameters: a frozen dataclass with defaults and checks
    published: Published = field(default_factory=dict)  #: benchmark -> settings of the method's own paper
    published_by: str = ""  #: whose settings these are, where not its own paper's
    uses_memory: bool = False
    #: passes of each sample of the batch and of each replayed sample in one step, by the paper's complexity table
    passes_per_step: tuple[int, int] = (1, 0)
    has_queues: bool = False
    reference: str | None = None  #: of a method with queues: what `--reference` is unless given
    constraint: str = "loss"  #: of a method with queues: what `--constraint` is unless given
    forgets: bool = True  #: False: forgetting means nothing for it
    bound: bool = False  #: True: no continual learner but an upper bound, shown and not ranked

    def defaults(self) -> dict[str, Any]:
        """The default of each option."""
        return {option.name: option.default for option in dataclasses.fields(self.options)}


@dataclass(frozen=True)
class ReplayOptions:
    """fill: "task-end" stores samples when a task is done, as `--memory-policy` says; "stream" passes every batch
    through a reservoir after its step, so the present task is replayed too (as in most papers)."""

    fill: str = "task-end"

    def __post_init__(self) -> None:
        check_choice(self, "fill", ("task-end", "stream"))


#: What replay methods share; not a method by itself.
REPLAY = MethodEntry(
    cost="(b + m)*C", storage="M*p", options=ReplayOptions, uses_memory=True, passes_per_step=(1, 1)
)  # fmt: skip

#: What most papers do: SGD without momentum; a reservoir that is filled along the stream, draws from all of it.
PLAIN_SGD: dict[str, Any] = {"optimizer": "sgdm", "momentum": 0.0}
ONLINE: dict[str, Any] = {
    **PLAIN_SGD, "memory_policy": "reservoir", "replay": "mixed", "options": {"fill": "stream"},
}  # fmt: skip


#: Their paper lists what they tuned for other methods, too; `MethodEntry.published_by` says where that is taken over.
_DER_AUTHORS = "those that Buzzega et al. 2020 (DER's paper)"


def _online(settings: Mapping[str, Any], **options: Any) -> dict[str, Any]:
    return {**ONLINE, **settings, "options": {**ONLINE["options"], **options}}


# -------------------------------------------------------------------------------------------------- without replay

FINETUNE = MethodEntry("finetune", "Fine-tune", settings=EVERYWHERE)

JOINT = MethodEntry(
    "joint", "Joint", "the upper bound: all data at once",
    settings=EVERYWHERE, storage="N*p", forgets=False, bound=True,
)  # fmt: skip


@dataclass(frozen=True)
class EWCOptions:
    """The strength of the quadratic penalty, and which Fisher information weighs it: "weighted" or "empirical"."""

    strength: float = 0.7
    fisher: str = "weighted"

    def __post_init__(self) -> None:
        check_options(self, nonnegative=("strength",))
        check_choice(self, "fisher", ("weighted", "empirical"))


EWC = MethodEntry(
    "ewc", "EWC", "Kirkpatrick et al. 2017, Overcoming catastrophic forgetting in neural networks",
    cost="b*C + d", storage="2*d", options=EWCOptions, published_by=f"{_DER_AUTHORS} tuned for online EWC",
    published={
        name: {**PLAIN_SGD, "lr": lr, "batch_size": batch, "epochs": epochs, "options": {"strength": strength}}
        for name, lr, batch, epochs, strength in (
            ("pmnist", 0.1, 128, 1, 0.7), ("split-mnist", 0.03, 10, 1, 90.0),
            ("split-cifar10", 0.03, 32, 50, 10.0), ("split-tinyimagenet", 0.03, 32, 100, 25.0),
        )
    },
)  # fmt: skip


@dataclass(frozen=True)
class OnlineEWCOptions(EWCOptions):
    """The options of EWC, and `decay`: the share of the old importances that is kept at the end of a task."""

    decay: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_options(self, nonnegative=("decay",))


ONLINE_EWC = dataclasses.replace(
    EWC, name="ewc-online", title="online EWC", paper="Schwarz et al. 2018, Progress & Compress",
    options=OnlineEWCOptions, published_by=f"{_DER_AUTHORS} tuned for it",
)  # fmt: skip

# ----------------------------------------------------------------------------------- gradients held against the past


@dataclass(frozen=True)
class GEMOptions(ReplayOptions):
    """`margin` is the lower bound of the dual variables, `samples` the memory samples per step (0: all of them)."""

    margin: float = 0.5
    samples: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_options(self, nonnegative=("margin", "samples"))


GEM = dataclasses.replace(
    REPLAY, name="gem", title="GEM",
    paper="Lopez-Paz and Ranzato 2017, Gradient Episodic Memory for Continual Learning",
    cost="b*C + M*C + t**2*d", options=GEMOptions,
    published={
        name: {**PLAIN_SGD, "lr": 0.1, "batch_size": 10, "epochs": 1} for name in ("pmnist", "split-cifar100")
    },
)  # fmt: skip

AGEM = dataclasses.replace(
    REPLAY, name="agem", title="A-GEM", paper="Chaudhry et al. 2019, Efficient Lifelong Learning with A-GEM",
    cost="(b + m)*C + d",
    published={
        name: _online({"lr": lr, "batch_size": 10, "epochs": 1, "memory_batch": 256})
        for name, lr in (("pmnist", 0.1), ("split-cifar100", 0.03))
    },
)  # fmt: skip


@dataclass(frozen=True)
class NCCLOptions(ReplayOptions):
    """The constants of the step-size rule; L = 0 stands for 1/(2 lr), beta_max = 0 for lr (1 - delta)."""

    L: float = 0.0
    delta: float = 0.01
    beta_max: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_options(self, nonnegative=("L", "delta", "beta_max"))


NCCL = dataclasses.replace(
    REPLAY, name="nccl", title="NCCL",
    paper="Han et al. 2023, On the Convergence of Continual Learning with Adaptive Methods",
    cost="(b + m)*C + d", options=NCCLOptions,
    published={
        "pmnist": _online({"batch_size": 10, "epochs": 1, "memory_batch": 10}, beta_max=0.2),
        "split-cifar100": _online({"lr": 1e-3, "batch_size": 10, "epochs": 1, "memory_batch": 10}, beta_max=0.5),
    },
)  # fmt: skip

# ------------------------------------------------------------------------------------------- losses on stored samples


@dataclass(frozen=True)
class EROptions(ReplayOptions):
    """`replay_weight` is the weight of a memory sample relative to a sample of the batch."""

    replay_weight: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_options(self, nonnegative=("replay_weight",))


ER = dataclasses.replace(
    REPLAY, name="er", title="ER",
    paper="Chaudhry et al. 2019, On Tiny Episodic Memories in Continual Learning", options=EROptions,
    settings=EVERYWHERE, published_by=f"{_DER_AUTHORS} tuned for it",
    published={
        "pmnist": _online({"lr": 0.2, "batch_size": 128, "memory_batch": 128, "epochs": 1}),
        "split-cifar10": _online({"lr": 0.1, "batch_size": 32, "memory_batch": 32, "epochs": 50}),
        "split-cifar100": _online({"lr": 0.1, "batch_size": 32, "memory_batch": 32}),
    },
)  # fmt: skip


@dataclass(frozen=True)
class MEROptions(ReplayOptions):
    """Inner batches, the rates `beta` (within a batch) and `gamma` (across batches), and the form of the inner loop."""

    batches: int = 10
    beta: float = 0.03
    gamma: float = 1.0
    form: str = "sequential"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_options(self, positive=("batches", "beta", "gamma"))
        check_choice(self, "form", ("sequential", "mini-batch"))


MER = dataclasses.replace(
    REPLAY, name="mer", title="MER",
    paper="Riemer et al. 2019, Learning to Learn without Forgetting by Maximizing Transfer and Minimizing Interference",
    settings=EVERYWHERE, cost="k*(b + b*m)*C", options=MEROptions, passes_per_step=(10, 10),
    published={
        "pmnist": _online({"lr": 0.03, "batch_size": 1, "epochs": 1, "memory": 5120, "memory_batch": 100})
    },
)  # fmt: skip


@dataclass(frozen=True)
class GDumbOptions:
    """How the network is trained on the memory (passes, learning rates, cutmix), how classes are balanced, and when."""

    passes: int = 256
    max_lr: float = 0.05
    min_lr: float = 5e-4
    cutmix: float = 0.5
    balance: str = "task-class"
    final_only: bool = False
    fill = "task-end"  # no choice: the sampler sees each task once

    def __post_init__(self) -> None:
        check_options(self, positive=("passes", "max_lr"), nonnegative=("min_lr", "cutmix"))
        check_choice(self, "balance", ("task-class", "class"))


GDUMB = dataclasses.replace(
    REPLAY, name="gdumb", title="GDumb",
    paper="Prabhu et al. 2020, GDumb: A Simple Approach that Questions Our Progress in Continual Learning",
    settings=EVERYWHERE, cost="0; M*C*passes at an evaluation", options=GDumbOptions,
    passes_per_step=(0, 0), forgets=False,
    published={name: {"options": {"passes": 128}} for name in ("pmnist", "split-mnist")},
)  # fmt: skip


@dataclass(frozen=True)
class DEROptions(ReplayOptions):
    """`alpha` is the weight of the distance from the stored logits."""

    alpha: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_options(self, nonnegative=("alpha",))


DER = dataclasses.replace(
    REPLAY, name="der", title="DER", paper="Buzzega et al. 2020, Dark Experience for General Continual Learning",
    settings=EVERYWHERE, cost="(b + m)*C + m*n_c", storage="M*(p + n_c)", options=DEROptions,
    published={
        "pmnist": _online({"lr": 0.2, "batch_size": 128, "memory_batch": 128, "epochs": 1}, alpha=0.5),
        "split-cifar10": _online({"lr": 0.03, "batch_size": 32, "memory_batch": 32, "epochs": 50}, alpha=0.3),
    },
)  # fmt: skip


@dataclass(frozen=True)
class DERppOptions(DEROptions):
    """The options of DER, the weight `beta` of the label loss, and whether both losses use the same draw."""

    beta: float = 1.0
    same_draw: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_options(self, nonnegative=("beta",))


DERPP = dataclasses.replace(
    DER, name="derpp", title="DER++", cost="(b + 2*m)*C + m*n_c", options=DERppOptions,
    published={
        "pmnist": _online({"lr": 0.2, "batch_size": 128, "memory_batch": 128, "epochs": 1}, alpha=0.5, beta=1.0),
        "split-cifar10": _online(
            {"lr": 0.03, "batch_size": 32, "memory_batch": 32, "epochs": 50}, alpha=0.1, beta=1.0
        ),
    },
)  # fmt: skip


@dataclass(frozen=True)
class ERACEOptions(ReplayOptions):
    """`always`: mask and replay from the first task on, not only from the second."""

    always: bool = False


ER_ACE = dataclasses.replace(
    REPLAY, name="er-ace", title="ER-ACE",
    paper="Caccia et al. 2022, New Insights on Reducing Abrupt Representation Change in Online Continual Learning",
    settings=EVERYWHERE, cost="(b + m)*C + b*n_c", options=ERACEOptions, passes_per_step=(1, 2),
    published={"split-cifar10": _online({"lr": 0.1, "batch_size": 10, "epochs": 1, "memory_batch": 10})},
)  # fmt: skip


@dataclass(frozen=True)
class CBAOptions(DERppOptions):
    """The replay rule below the adaptor, the adaptor's learning rate, and after how many steps the adaptor moves."""

    base: str = "er"
    adaptor_lr: float = 1e-3
    every: int = 5
    alpha: float = 0.2
    beta: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self, "base", ("er", "der++"))
        check_options(self, positive=("adaptor_lr", "every"))


CBA = dataclasses.replace(
    REPLAY, name="cba", title="CBA",
    paper="Wang et al. 2023, CBA: Improving Online Continual Learning via Continual Bias Adaptor",
    cost="(b + m)*C + (b + 2*m)*C/15", storage="M*p + n_c*512", options=CBAOptions, passes_per_step=(1, 2),
    published={
        name: _online({"lr": 0.03, "batch_size": 32, "epochs": 1, "memory_batch": 32}, adaptor_lr=rate)
        for name, rate in (("split-cifar10", 1e-3), ("split-cifar100", 1e-2), ("split-tinyimagenet", 1e-2))
    },
)  # fmt: skip


@dataclass(frozen=True)
class RefreshOptions(DERppOptions):
    """The options of DER++, and those of the unlearning step: learning rate, size, noise and Fisher weights."""

    alpha: float = 0.1
    beta: float = 0.5
    unlearn_lr: float = 0.01
    rate: float = 1e-5
    noise: float = 1e-3
    fisher_weight: float = 1e-3
    fisher_decay: float = 1e-5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_options(self, nonnegative=("unlearn_lr", "rate", "noise", "fisher_weight", "fisher_decay"))


REFRESH = dataclasses.replace(
    REPLAY, name="refresh", title="REFRESH",
    paper="Wang et al. 2024, A Unified and General Framework for Continual Learning",
    cost="(2*b + 2*m)*C + m*n_c + d", storage="M*(p + n_c) + d", options=RefreshOptions, passes_per_step=(2, 2),
    published={
        "split-cifar100": _online(
            {"lr": 0.03, "batch_size": 32, "memory_batch": 32, "weight_decay": 1e-4}, alpha=0.1, beta=0.5
        ),
    },
)  # fmt: skip


@dataclass(frozen=True)
class StarOptions(DERppOptions):
    """The options of DER++, and the strength of the divergence, the radius of the perturbation and its noise."""

    alpha: float = 0.15
    beta: float = 0.15
    strength: float = 0.05
    radius: float = 0.05
    noise: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_options(self, nonnegative=("strength", "radius"), positive=("noise",))


STAR = dataclasses.replace(
    DERPP, name="star", title="STAR",
    paper="Eskandar et al. 2025, STAR: Stability-Inducing Weight Perturbation for Continual Learning",
    cost="(b + 5*m)*C + m*n_c + d", options=StarOptions, passes_per_step=(1, 5),
    published={"split-cifar10": _online({"lr": 0.1, "batch_size": 32, "memory_batch": 32, "epochs": 50}, noise=1e-20)},
)  # fmt: skip


@dataclass(frozen=True)
class CLSEROptions(ReplayOptions):
    """The strength of the consistency loss, and how often and how slowly the stable and the plastic average move."""

    strength: float = 0.15
    stable_rate: float = 0.1
    stable_decay: float = 0.999
    plastic_rate: float = 0.9
    plastic_decay: float = 0.999

    def __post_init__(self) -> None:
        super().__post_init__()
        names = ("strength", "stable_rate", "stable_decay", "plastic_rate", "plastic_decay")
        check_options(self, nonnegative=names)
        for name in names[1:]:
            if getattr(self, name) > 1:
                raise ColdError(f"option {name} must be at most 1, got {getattr(self, name)}")


def _cls_er(settings: Mapping[str, Any], *numbers: float) -> dict[str, Any]:
    names = ("strength", "stable_rate", "stable_decay", "plastic_rate", "plastic_decay")
    return _online(settings, **dict(zip(names, numbers, strict=True)))


CLS_ER = dataclasses.replace(
    REPLAY, name="cls-er", title="CLS-ER", settings=EVERYWHERE,
    paper="Arani et al. 2022, Learning Fast, Learning Slow: A General Continual Learning Method based on "
    "Complementary Learning System",
    cost="(b + m)*C + 2*m*C/3 + 2*d", storage="M*p + 2*d", options=CLSEROptions, passes_per_step=(1, 2),
    published={
        "pmnist": _cls_er(
            {"lr": 0.2, "batch_size": 128, "memory_batch": 128, "epochs": 1}, 1.0, 0.8, 0.99, 1.0, 0.99
        ),
        "split-mnist": _cls_er(
            {"lr": 0.1, "batch_size": 10, "memory_batch": 32, "epochs": 1}, 2.0, 0.9, 0.99, 1.0, 0.99
        ),
        "split-cifar10": _cls_er(
            {"lr": 0.1, "batch_size": 32, "memory_batch": 32, "epochs": 50}, 0.15, 0.1, 0.999, 0.9, 0.999
        ),
        "split-tinyimagenet": _cls_er(
            {"lr": 0.05, "batch_size": 32, "memory_batch": 32, "epochs": 50}, 0.1, 0.05, 0.999, 0.08, 0.999
        ),
    },
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------------- COLD

COLD = MethodEntry(
    "cold", "COLD", "Theoretical Foundations of Continual Learning via Drift-Plus-Penalty, Case 1",
    settings=EVERYWHERE, cost="(b + m)*C", storage="M*p + t", uses_memory=True, passes_per_step=(1, 1), has_queues=True,
    reference="previous",
)  # fmt: skip

COLD_ORACLE = dataclasses.replace(
    COLD, name="cold-oracle", title="COLD-ORACLE",
    paper="Theoretical Foundations of Continual Learning via Drift-Plus-Penalty, Case 2", storage="M*p + t*d + t",
    reference="best",
)  # fmt: skip

COLD_DISTILL = dataclasses.replace(
    COLD, name="cold-distill", title="COLD-distill",
    paper="beyond the paper: Case 3, a constraint on the network's answers, V from the number of steps",
    cost="(b + m)*C + m*n_c", storage="M*(p + n_c) + t", reference="stored", constraint="logits",
)  # fmt: skip

#: By name, in the order in which the paper's tables print them.
METHODS: Mapping[str, MethodEntry] = {
    entry.name: entry
    for entry in (
        FINETUNE, EWC, ONLINE_EWC, GEM, AGEM, MER, GDUMB, ER, DER, DERPP, ER_ACE, CBA, NCCL, REFRESH, STAR,
        CLS_ER, COLD, COLD_ORACLE, COLD_DISTILL, JOINT,
    )
}  # fmt: skip
