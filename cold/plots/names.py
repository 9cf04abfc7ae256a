"""How fields and metrics are spelt in pictures; datasets and methods are spelt as in `cold.catalogue`."""

from __future__ import annotations

from ..catalogue import IID, same
from ..catalogue import benchmark_title as dataset_name
from ..catalogue import method_title as method_name

__all__ = ["FIELDS", "GAPS", "IID", "METRICS", "dataset_name", "method_name", "same"]

FIELDS = {
    "V": "V",
    "memory": "memory M (samples in all)",
    "delta": r"tolerance $\delta$",
    "tasks": "number of tasks T",
    "epochs": "epochs per task",
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
