"""COLD in anyone's own loop: what may be handed in, what is kept, and that a loop goes on bit for bit."""

from __future__ import annotations

import copy
import io

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, SubsetRandomSampler, TensorDataset

from cold import COLD, Callback
from coldtheory.controllers import CONTROLLERS
from coldtheory.ground.errors import ColdError

PIXELS, CLASSES, N = 6, 3, 40


def task(t: int) -> tuple[torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(t)
    y = torch.randint(CLASSES, (N,), generator=g)
    return torch.randn(CLASSES, PIXELS, generator=g)[y] * 2 + torch.randn(N, PIXELS, generator=g), y


def network(*, batch_norm: bool = False) -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        norm = [nn.BatchNorm1d(8)] if batch_norm else []
        return nn.Sequential(nn.Linear(PIXELS, 8), *norm, nn.ReLU(), nn.Linear(8, CLASSES))


def make(**settings) -> COLD:
    return COLD(**({"V": 2.0, "delta": 0.0, "memory": 24, "memory_batch": 2} | settings))


class Loop:
    """A loop of one's own that can be stopped after any number of steps: three tasks of two epochs of two steps."""

    TASKS, EPOCHS, STEPS = 3, 2, 2

    def __init__(self, dpp: COLD, *, data=lambda t: task(t)[:1], batch_norm: bool = False) -> None:
        self.dpp, self.data, self.model = dpp, data, network(batch_norm=batch_norm)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.02, momentum=0.9)
        self.done = 0

    def run(self, until: int = 10**9) -> Loop:
        per_task = self.EPOCHS * self.STEPS
        while self.done < min(until, self.TASKS * per_task):
            t, step = divmod(self.done, per_task)
            x, y = task(t)
            if step == 0 or not self.dpp.busy:
                self.dpp.begin_task(self.model, *self.data(t))
            rows = torch.arange(20) + 20 * (step % self.STEPS)
            self.optimizer.zero_grad()
            self.dpp.loss(self.model, x[rows], y[rows]).backward()
            self.optimizer.step()
            self.done += 1
            if (step + 1) % self.STEPS == 0:
                self.dpp.end_epoch(self.model)
            if step + 1 == per_task:
                self.dpp.end_task(self.model, *(() if self.dpp.labelled else task(t)))
        return self

    def saved(self) -> io.BytesIO:
        file = io.BytesIO()
        kept = {"model": self.model, "optimizer": self.optimizer, "dpp": self.dpp}
        torch.save({name: part.state_dict() for name, part in kept.items()} | {"done": self.done}, file)
        file.seek(0)
        return file

    def load(self, file: io.BytesIO) -> Loop:
        state = torch.load(file, weights_only=True)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.dpp.load_state_dict(state["dpp"])
        self.done = state["done"]
        return self


def same(left: Loop, right: Loop) -> None:
    for a, b in zip(left.model.state_dict().values(), right.model.state_dict().values(), strict=True):
        assert torch.isfinite(a).all()
        assert torch.equal(a, b)
    for name, column in left.dpp.history.columns().items():
        np.testing.assert_array_equal(column, right.dpp.history.columns()[name])


# ---------------------------------------------------------------------------------------------- what may be handed in


class Images(Dataset):
    """Triples, as Avalanche's data sets give them; counts what is read."""

    def __init__(self, t: int) -> None:
        self.x, self.y = task(t)
        self.reads: list[int] = []

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, i: int):
        self.reads.append(i)
        return self.x[i], int(self.y[i]), 0


@pytest.mark.parametrize("kind", [
    task,
    lambda t: (TensorDataset(*task(t)),),
    lambda t: (Images(t),),
    lambda t: (DataLoader(TensorDataset(*task(t)), batch_size=7, shuffle=True),),
], ids=["tensors and labels", "Dataset", "triples", "DataLoader"])  # fmt: skip
@pytest.mark.parametrize("batch_norm", [False, True])
def test_every_kind_of_data_gives_the_same_weights(kind, batch_norm):
    with torch.random.fork_rng():
        torch.manual_seed(1)
        found = Loop(make(tasks=3), data=kind, batch_norm=batch_norm).run()
        assert torch.initial_seed() == 1
    same(Loop(make(tasks=3), batch_norm=batch_norm).run(), found)


def test_a_loader_is_read_without_its_order_and_only_where_needed():
    """No number is drawn from torch's global stream, and only the samples that are stored are read."""
    images, before = Images(0), torch.get_rng_state()
    dpp, model = make(tasks=4), network()
    dpp.begin_task(model, DataLoader(images, shuffle=True))
    dpp.end_task(model)
    assert torch.equal(torch.get_rng_state(), before)
    assert len(images.reads) == 6


def test_a_loader_over_a_subset_stores_samples_of_the_subset():
    dpp, model = make(tasks=1, memory=5, memory_batch=1), network()
    chosen = [3, 5, 8, 13, 21, 34]
    dpp.begin_task(model, DataLoader(TensorDataset(*task(0)), sampler=SubsetRandomSampler(chosen)))
    dpp.end_task(model)
    x = task(0)[0]
    assert all(any(torch.equal(raw, x[i]) for i in chosen) for raw in dpp.memory.raw)


def test_join_and_objective_are_the_two_halves_of_loss():
    """For a program that makes the forward itself."""
    noise = {"prepare": lambda raw, g: raw + 0.1 * torch.randn(raw.shape, generator=g), "augments": True}
    whole, halves, model = make(idle="joint", **noise), make(**noise), network()
    for dpp in (whole, halves):
        for t in range(2):
            dpp.begin_task(model, *task(t))
            dpp.end_task(model)
        dpp.begin_task(model, *task(2))
    x, y = task(2)
    for _ in range(3):
        joined = halves.join(x[:9], y[:9])
        assert len(joined.x) == 9 + 2 * 2
        assert joined.present == 9
        assert torch.equal(halves.objective(joined, model(joined.x)), whole.loss(model, x[:9], y[:9]))
    assert torch.equal(halves.queues.Q, whole.queues.Q)


# ---------------------------------------------------------------------------------------------- tasks as they come


@pytest.mark.parametrize("policy", ["uniform", "reservoir"])
def test_the_number_of_tasks_need_not_be_known(policy):
    dpp, model = make(memory=12, memory_batch=1, policy=policy), network()
    for t in range(4):
        dpp.begin_task(model, *task(t))
        loss = dpp.loss(model, *task(t))
        assert torch.isfinite(loss)
        before = {tuple(x.tolist()) for x in dpp.memory.raw} if t else set()
        dpp.end_task(model)
        if policy == "uniform":  # an equal share of each task, the old ones' out of what they had
            assert dpp.memory.counts == [12 // (t + 1)] * (t + 1)
            old = dpp.memory.raw[dpp.memory.everything(t)]
            assert all(tuple(x.tolist()) in before for x in old)
        assert sum(dpp.memory.counts) == 12
    assert len(dpp.queues.Q) == 4
    assert dpp.compared_with.tolist() == [[-1] * 4, [0, -1, -1, -1], [1, 1, -1, -1], [2, 2, 2, -1]]


def test_which_samples_of_an_old_task_stay_is_uniform():
    """Of 6 samples of the first task 3 stay when the second comes: each with probability 1/2."""
    stays = torch.zeros(6)
    x, y = torch.arange(6.0)[:, None].expand(6, PIXELS), torch.zeros(6, dtype=torch.int64)
    for seed in range(400):
        dpp, model = make(memory=6, memory_batch=1, seed=seed), network()
        for _ in range(2):
            dpp.begin_task(model, x + 10 * dpp.task, y)
            dpp.end_task(model)
        left = dpp.memory.raw[dpp.memory.everything(1), 0].long()
        assert len(left) == 3
        stays[left] += 1
    assert (stays - 200).abs().max() < 4 * (400 * 0.25) ** 0.5


@pytest.mark.parametrize(("settings", "words"), [
    ({"memory": 4, "memory_batch": 3}, "3 is larger than the 2 samples that a memory of 4 keeps of each of 2 tasks"),
    ({"memory": 2, "memory_batch": 1}, "less than one sample of each of 3 tasks"),
])  # fmt: skip
def test_a_memory_that_becomes_too_small_is_told_when_a_task_begins(settings, words):
    dpp, model = make(**settings), network()
    for t in range(2):
        dpp.begin_task(model, *task(t))
        dpp.end_task(model)
    with pytest.raises(ColdError, match=words):
        dpp.begin_task(model, *task(2))


def test_the_head_of_a_task_may_be_said_when_it_begins():
    asked = []

    def forward(model, x, runs):
        asked.append(list(runs))
        return list(torch.split(model(x), [count for _, count in runs]))

    dpp, model = make(forward=forward, idle="joint"), network()
    for t, head in enumerate((4, 7, 2)):
        dpp.begin_task(model, *task(t), head=head)
        dpp.loss(model, *task(t))
        dpp.end_task(model)
    assert asked[-1] == [(2, N), (4, 2), (7, 2)]


# ---------------------------------------------------------------------------------------------- history and callbacks


def test_history_is_what_happened():
    dpp, x, y = make(V=3.0), *task(2)
    model = Loop(dpp).run(8).model
    dpp.begin_task(model, x, y)
    weight, losses = dpp.queues.beta(2).clone(), nn.functional.cross_entropy(model(x[:10]), y[:10])
    objective = dpp.loss(model, x[:10], y[:10])
    columns, frame = dpp.history.columns(), dpp.history.frame()
    assert columns["step"].tolist() == list(range(1, 10))
    assert columns["task"].tolist() == [1] * 4 + [2] * 4 + [3]
    assert columns["loss"][-1] == pytest.approx(objective.item())
    assert columns["present"][-1] == pytest.approx(losses.item(), rel=1e-5)
    np.testing.assert_allclose(columns["Q"][-1], dpp.queues.Q[:2])
    np.testing.assert_allclose(columns["weight"][-1], weight)
    Q = np.maximum(columns["weight"][-1] + columns["excess"][-1], 0)  # delta = 0
    np.testing.assert_allclose(columns["Q"][-1], Q, rtol=1e-5, atol=1e-6)
    assert np.isnan(columns["Q"][:4]).all()
    assert list(frame) == [
        "step", "task", "loss", "present", "Q_1", "Q_2", "weight_1", "weight_2", "excess_1", "excess_2",
    ]  # fmt: skip
    assert len(frame) == len(dpp.history) == 9
    assert "Q_1" in dpp.history._repr_html_()


@pytest.mark.parametrize(("every", "kept"), [(0, []), (5, [5, 10])])
def test_a_long_loop_may_keep_fewer_steps_or_none(every, kept):
    dpp = Loop(make(history=every)).run().dpp
    assert dpp.history.columns()["step"].tolist() == kept


def test_the_picture_of_the_queues(tmp_path):
    dpp = Loop(make()).run().dpp
    figure = dpp.plot(tmp_path / "queues.png")
    upper, lower = figure.axes
    drawn = {line.get_label(): line for line in upper.lines}
    np.testing.assert_array_equal(drawn["task 2"].get_ydata(), dpp.history.columns()["Q"][:, 1])
    assert {line.get_xdata()[0] for line in lower.lines[1:]} == {5, 9}  # where tasks begin
    assert (tmp_path / "queues.png").stat().st_size > 1000
    with pytest.raises(ColdError, match="no step to draw"):
        make().plot()


def test_callbacks_are_told_of_every_step_and_task():
    class Notes(Callback):
        def __init__(self) -> None:
            self.told: list[tuple] = []

        def begin_task(self, dpp, model):
            self.told.append(("begin", dpp.task, dpp.memory.past))

        def step(self, dpp, step):
            self.told.append(("step", step.task, step.number, len(step.Q)))
            assert not step.loss.requires_grad

        def end_task(self, dpp, model):
            self.told.append(("end", dpp.task, dpp.memory.past))

    notes = Notes()
    Loop(make(callbacks=[notes])).run()
    steps = [("step", n // 4, n + 1, n // 4) for n in range(12)]
    wanted = [told for t in range(3) for told in [("begin", t, t), *steps[4 * t : 4 * t + 4], ("end", t, t + 1)]]
    assert notes.told == wanted


# ---------------------------------------------------------------------------------------------- going on


@pytest.mark.torch_kernels
@pytest.mark.parametrize("settings", [
    {}, {"tasks": 3}, {"oracle": "exact"}, {"tasks": 3, "oracle": "streaming", "replay": "mixed"},
    {"reference": "stored", "policy": "reservoir", "replay": "mixed"}, {"queue_update": "epoch"},
    {"queue_update": "task", "weights": "mean"}, *({"controller": name} for name in CONTROLLERS),
    {"prepare": lambda raw, g: raw + 0.1 * torch.randn(raw.shape, generator=g), "augments": True},
    {"batch_norm": True}, {"batch_norm": True, "oracle": "exact", "controller": "augmented"},
], ids=lambda settings: " ".join(f"{name}={one}" for name, one in settings.items() if not callable(one)))  # fmt: skip
def test_a_loop_that_was_killed_goes_on_bit_for_bit(settings):
    """Killed before the first step, in the middle of the first task, at its end, and in the middle of the third."""
    settings = dict(settings)
    batch_norm = settings.pop("batch_norm", False)
    whole = Loop(make(**settings), batch_norm=batch_norm).run()
    for step in (0, 2, 4, 9):
        file = Loop(make(**settings), batch_norm=batch_norm).run(step).saved()
        other = make(**settings | {"seed": 99})  # the streams are those of the state
        same(whole, Loop(other, batch_norm=batch_norm).load(file).run())


def test_a_state_does_not_change_when_the_loop_goes_on():
    loop = Loop(make()).run(6)
    state, then = loop.dpp.state(), copy.deepcopy(loop.dpp.state())
    loop.run()
    assert torch.equal(state["memory"]["reference"], then["memory"]["reference"])
    assert torch.equal(state["memory"]["raw"], then["memory"]["raw"])
    assert torch.equal(state["queues"]["Q"], then["queues"]["Q"])
    again = make()
    again.load(state)
    again.begin_task(loop.model, *task(1))
    again.end_task(loop.model)
    assert torch.equal(state["memory"]["raw"], then["memory"]["raw"])


# ---------------------------------------------------------------------------------------------- mistakes


class Endless(IterableDataset):
    def __iter__(self):
        yield from ()


@pytest.mark.parametrize(("wrong", "words"), [
    ("mnist", "x must be a tensor .* a Dataset, a DataLoader .*got 'mnist'; call begin_task"),
    (None, "x must be a tensor"),
    (task(0), "x must be a tensor"),
    (np.zeros((3, 2)), "x must be a tensor"),
    (Endless(), "IterableDataset has no rows .*map-style"),
    (TensorDataset(torch.zeros(0, 2), torch.zeros(0)), "empty"),
    (torch.zeros(0, 3), "one sample or more"),
    (torch.tensor(1.0), "one sample or more"),
    (TensorDataset(torch.zeros(30, PIXELS)), r"must give \(x, y\)"),
    (TensorDataset(torch.zeros(30, PIXELS), torch.zeros(30)), "whole numbers"),
    (TensorDataset(torch.zeros(30, PIXELS), torch.full((30,), -1)), "count from 0"),
], ids=[f"case {n}" for n in range(11)])  # fmt: skip
def test_wrong_data_are_told_in_one_line(wrong, words):
    dpp, model = make(), network()

    def one_task():
        dpp.begin_task(model, wrong)
        dpp.end_task(model)

    with pytest.raises(ColdError, match=words) as told:
        one_task()
    assert "\n" not in str(told.value)


def test_calls_out_of_order_are_told_in_one_line():
    dpp, model = make(), network()
    for call, words in (
        (lambda: dpp.loss(model, *task(0)), r"loss\(\) was called before begin_task\(model, x\)$"),
        (lambda: dpp.join(*task(0)), "before begin_task"),
        (lambda: dpp.end_task(model, *task(0)), r"end_task\(\) was called before begin_task\(model, x\)$"),
        (lambda: dpp.begin_task(task(0)[0], model), "model must be a Module.*call begin_task"),
        (lambda: dpp.begin_task(model, TensorDataset(*task(0)), task(0)[1]), "leave y out"),
    ):
        with pytest.raises(ColdError, match=words):
            call()
    dpp.begin_task(model, task(0)[0])
    with pytest.raises(ColdError, match="called twice for task 1"):
        dpp.begin_task(model, task(0)[0])
    with pytest.raises(ColdError, match="needs the labels y"):
        dpp.end_task(model)
    dpp.end_task(model, *task(0))
    with pytest.raises(ColdError, match=r"before begin_task.* of task 2"):
        dpp.end_task(model, *task(0))
    with pytest.raises(ColdError, match=r"callbacks must be a list of cold\.Callback objects, got 5"):
        make(callbacks=5)
    few = make(tasks=1)
    few.begin_task(model, *task(0))
    few.end_task(model)
    with pytest.raises(ColdError, match="for task 2, tasks is 1; give tasks=2"):
        few.begin_task(model, *task(1))


def test_streaming_needs_the_number_of_tasks():
    with pytest.raises(ColdError, match="say how many tasks="):
        make(oracle="streaming")
