"""The callback in the real Lightning: the same weights as a plain loop, and a resume in the middle of a task."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

lightning = pytest.importorskip("lightning.pytorch", reason="needs Lightning: pip install 'cold-continual[lightning]'")

from cold import COLD  # noqa: E402
from cold.adapters.lightning import ColdCallback  # noqa: E402


def loaders() -> list[DataLoader]:
    g = torch.Generator().manual_seed(0)
    made = []
    for _ in range(3):
        x = torch.randn(40, 5, generator=g)
        y = (x @ torch.randn(5, generator=g) > 0).long()
        made.append(DataLoader(TensorDataset(x, y), batch_size=10))
    return made


def make() -> COLD:
    return COLD(V=2.0, delta=0.0, memory=18, memory_batch=2, oracle="exact")


class Classifier(lightning.LightningModule):
    def __init__(self, dpp: COLD) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.network = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
        self.cold = [dpp]  # not a submodule

    def forward(self, x):
        return self.network(x)

    def training_step(self, batch, i):
        return self.cold[0].loss(self, *batch)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)


def fit(module, callback, loader, folder, *, epochs=2, **more) -> lightning.Trainer:
    trainer = lightning.Trainer(
        max_epochs=epochs, callbacks=[callback], accelerator="cpu", logger=False, enable_progress_bar=False,
        enable_model_summary=False, default_root_dir=folder, enable_checkpointing=False,
    )  # fmt: skip
    trainer.fit(module, loader, **more)
    return trainer


def weights(module: nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in module.parameters()])


def test_the_weights_of_a_plain_loop(tmp_path):
    dpp = make()
    module = Classifier(dpp)
    for loader in loaders():
        fit(module, ColdCallback(dpp), loader, tmp_path)
    plain = make()
    model = Classifier(plain)
    for loader in loaders():
        optimizer = model.configure_optimizers()
        plain.begin_task(model, loader)
        for _ in range(2):
            for x, y in loader:
                optimizer.zero_grad()
                plain.loss(model, x, y).backward()
                optimizer.step()
        plain.end_task(model)
    assert torch.equal(weights(module), weights(model))
    assert dpp.task == 3
    assert torch.equal(dpp.queues.Q, plain.queues.Q)


def test_a_checkpoint_of_lightning_goes_on_in_the_middle_of_a_task(tmp_path):
    """Stopped after one of two epochs of the second task, and continued by another process's objects."""
    tasks = loaders()[:2]

    def begun() -> tuple[Classifier, ColdCallback]:
        callback = ColdCallback(make())
        module = Classifier(callback.dpp)
        fit(module, callback, tasks[0], tmp_path)
        return module, callback

    whole, callback = begun()
    fit(whole, callback, tasks[1], tmp_path)

    class Saving(lightning.Callback):
        def on_train_epoch_end(self, trainer, module):
            if trainer.current_epoch == 0:
                trainer.save_checkpoint(tmp_path / "middle.ckpt")

    stopped, callback = begun()
    trainer = lightning.Trainer(
        max_epochs=2, callbacks=[callback, Saving()], accelerator="cpu", logger=False, enable_progress_bar=False,
        enable_model_summary=False, default_root_dir=tmp_path, enable_checkpointing=False,
    )  # fmt: skip
    trainer.fit(stopped, tasks[1])
    later = ColdCallback(COLD(V=2.0, delta=0.0, memory=18, memory_batch=2, oracle="exact", seed=5))
    resumed = Classifier(later.dpp)
    fit(resumed, later, tasks[1], tmp_path, ckpt_path=tmp_path / "middle.ckpt")
    assert torch.equal(weights(whole), weights(resumed))
    assert later.dpp.task == 2


def test_the_callback_is_ten_lines():
    import ast  # noqa: PLC0415
    import inspect  # noqa: PLC0415

    (tree,) = ast.parse(inspect.getsource(ColdCallback)).body
    statements = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node is not tree
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))  # a docstring
    ]  # fmt: skip
    assert len(statements) <= 12  # six methods of one statement each
