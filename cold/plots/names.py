"""How datasets, methods and fields are spelt: in files, in pictures, in the paper."""

from __future__ import annotations

DATASETS = {
    "pmnist": "Permuted-MNIST",
    "split-mnist": "Split-MNIST",
    "split-cifar10": "Split-CIFAR10",
    "split-cifar100": "Split-CIFAR100",
    "split-tinyimagenet": "Split-TinyImageNet",
    "synthetic": "synthetic",
}
METHODS = {
    "finetune": "Fine-tune", "ewc": "EWC", "a-gem": "A-GEM", "gem": "GEM", "mer": "MER", "gdumb": "GDumb", "er": "ER",
    "der": "DER", "der++": "DER++", "er-ace": "ER-ACE", "cba": "CBA", "nccl": "NCCL", "refresh": "REFRESH",
    "cold": "COLD", "cold-oracle": "COLD-ORACLE", "joint": "joint",
}  # fmt: skip
FIELDS = {
    "V": "V",
    "memory": "memory M (samples in all)",
    "delta": r"tolerance $\delta$",
    "tasks": "number of tasks T",
    "epochs": "epochs a task",
    "batch_size": "batch size",
    "method": "method",
}
METRICS = {
    "acc": "accuracy ACC (%)",
    "forgetting": "forgetting F",
    "avg_grad_sq_before": r"before a task: average $\|\nabla\Phi_t\|^2$",
    "avg_grad_sq_after": r"after it: average $\|\nabla\Phi_t\|^2$",
    "Delta_bar": r"residual $\bar\Delta$",
}
GAPS = {"acc": "ACC gap (points)", "forgetting": "F gap"}
IID = "-iid"


def same(left: str, right: str) -> bool:
    """Whether two spellings mean the same method or dataset: der++ and derpp, a-gem and AGEM.

    >>> same("DER++", "derpp"), same("A-GEM", "agem"), same("ER", "DER")
    (True, True, False)
    """
    return _bare(left) == _bare(right)


def dataset_name(key: str) -> str:
    """
    >>> dataset_name("split-mnist-iid")
    'Split-MNIST, near-IID'
    """
    base = key.removesuffix(IID)
    shown = next((name for known, name in DATASETS.items() if same(known, base)), base)
    return f"{shown}, near-IID" if key.endswith(IID) else shown


def method_name(key: str) -> str:
    return next((name for known, name in METHODS.items() if same(known, key)), key)


def _bare(name: str) -> str:
    bare = "".join(c for c in name.lower().replace("+", "p") if c.isalnum())
    return bare.replace("permutedmnist", "pmnist")
