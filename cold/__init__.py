"""COLD and its baselines on real data (needs torch): `cold run` trains, and `cold.COLD` is for your own training loop.

Ten lines put queues, memory and the drift-plus-penalty loss into an ordinary PyTorch loop:

>>> import torch, cold
>>> _ = torch.manual_seed(0)
>>> xs, ys = torch.randn(3, 600, 20), torch.randint(2, (3, 600))                # three tasks, two classes
>>> xs = xs + 2 * (2 * ys[..., None] - 1) * torch.randn(3, 1, 20).sign() / 3     # each with its own direction

>>> model = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
>>> optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
>>> dpp = cold.COLD(V=20.0, delta=0.0, tasks=3, memory=60, memory_batch=5)
>>> for x, y in zip(xs, ys):
...     dpp.begin_task(model, x)                                                 # measures the reference losses
...     for rows in torch.randperm(600).repeat(5).split(32):
...         optimizer.zero_grad()
...         dpp.loss(model, x[rows], y[rows]).backward()                         # moves the queues, too
...         optimizer.step()
...     dpp.end_task(model, x, y)                                                # stores samples of the task

>>> accuracy = [(model(x).argmax(1) == y).float().mean().item() for x, y in zip(xs, ys)]
>>> min(accuracy) > 0.8
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldtheory.ground.lazy import load_when_asked

if TYPE_CHECKING:
    from .config import RunConfig, make_config
    from .diagnostics import Diagnostics
    from .dpp import COLD, Callback
    from .memory import Memory
    from .queues import VirtualQueues
    from .runs import Result, read_result
    from .trainer import Trainer
    from .tuning import best_settings
else:
    __getattr__ = load_when_asked(
        __name__,
        {
            "config": ("RunConfig", "make_config"),
            "diagnostics": ("Diagnostics",),
            "dpp": ("COLD", "Callback"),
            "memory": ("Memory",),
            "queues": ("VirtualQueues",),
            "runs": ("Result", "read_result"),
            "trainer": ("Trainer",),
            "tuning": ("best_settings",),
        },
    )

__all__ = [
    "COLD",
    "Callback",
    "Diagnostics",
    "Memory",
    "Result",
    "RunConfig",
    "Trainer",
    "VirtualQueues",
    "best_settings",
    "make_config",
    "read_result",
]
