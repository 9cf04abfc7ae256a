"""Whole runs of two tasks against rules written a second time, by hand, from the papers.

The references share with the package the data, the first weights and the random numbers that say which samples come
next, which are stored and which are drawn. Everything else is their own: forward passes, losses, gradients, steps,
what is stored with a sample and when. All is in double precision; the weights at the end agree to 1e-6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from cold.config import make_config
from cold.data import from_tensors
from cold.streams import Streams
from cold.trainer import Trainer

pytestmark = pytest.mark.torch_kernels

LR, BATCH, DRAWN, ROOM = 0.1, 8, 5, 20
ENDS = {"memory_policy": "uniform", "replay": "mixed"}
STREAM = {"memory_policy": "reservoir", "replay": "mixed"}


@pytest.fixture(autouse=True)
def double_precision():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def two_tasks():
    """Four classes, one head, two new classes in each of two tasks."""
    generator = torch.Generator().manual_seed(3)
    x, y = torch.randn(44, 5, generator=generator), torch.arange(44) % 2
    return from_tensors([(x, y, x, y), (x.flip(1), y + 2, x, y + 2)], scenario="class", name="parity")


@dataclass
class World:
    """What a reference is given: a network, the stream, and a memory that it fills itself."""

    net: list[Tensor]  #: W1, b1, W2, b2
    streams: Streams
    epochs: int
    tasks: list[tuple[Tensor, Tensor]]
    x: list[Tensor | None] = field(default_factory=lambda: [None] * ROOM)
    y: list[int] = field(default_factory=lambda: [0] * ROOM)
    task: list[int] = field(default_factory=lambda: [-1] * ROOM)
    z: list[Tensor | None] = field(default_factory=lambda: [None] * ROOM)  # stored logits
    seen: int = 0

    def logits(self, x: Tensor) -> Tensor:
        W1, b1, W2, b2 = self.net
        return torch.relu(x @ W1.T + b1) @ W2.T + b2

    def ce(self, x: Tensor, y: Tensor) -> Tensor:
        return functional.cross_entropy(self.logits(x), y)

    def slopes(self, loss: Tensor) -> list[Tensor]:
        return list(torch.autograd.grad(loss, self.net))

    def descend(self, slopes: list[Tensor]) -> None:
        self.net = [(w - LR * g).detach().requires_grad_() for w, g in zip(self.net, slopes, strict=True)]

    # ------------------------------------------------------------------------------------------ the memory

    def reservoir(self, x: Tensor, y: Tensor, task: int, z: Tensor | None = None) -> None:
        """Sample by sample: slot n while there is room, then slot r uniform in 0..n if r < M."""
        uniform = torch.rand(len(x), generator=self.streams.cpu("memory"), dtype=torch.float64).tolist()
        for i, u in enumerate(uniform):
            slot = self.seen if self.seen < ROOM else int(u * (self.seen + 1))
            if slot < ROOM:
                self.x[slot], self.y[slot], self.task[slot] = x[i], int(y[i]), task
                self.z[slot] = None if z is None else z[i].detach()
            self.seen += 1

    def share(self, x: Tensor, y: Tensor, task: int) -> list[int]:
        """As many samples of each task, when it has ended; the slots."""
        rows = torch.randperm(len(x), generator=self.streams.cpu("memory"))[: ROOM // 2].tolist()
        slots = list(range(task * (ROOM // 2), (task + 1) * (ROOM // 2)))
        for slot, row in zip(slots, rows, strict=True):
            self.x[slot], self.y[slot], self.task[slot] = x[row], int(y[row]), task
        self.seen += len(x)
        return slots

    def draw(self, past: int) -> list[int]:
        """Slots of different samples of the first `past` tasks, at most as many as there are."""
        held = sorted((s for s in range(ROOM) if 0 <= self.task[s] < past), key=lambda s: (self.task[s], s))
        count, generator = min(DRAWN, len(held)), self.streams.cpu("replay")
        if 4 * count > len(held):
            places = torch.randperm(len(held), generator=generator)[:count].tolist()
        else:
            drawn: list[int] = []
            sizes = [count + 8]
            while len(set(drawn)) < count:
                drawn += torch.randint(len(held), (sizes[-1],), generator=generator).tolist()
                sizes.append(count)
            places = list(dict.fromkeys(drawn))[:count]
        return [held[place] for place in sorted(places)]

    def samples(self, slots: list[int]) -> tuple[Tensor, Tensor]:
        return torch.stack([self.x[s] for s in slots]), torch.tensor([self.y[s] for s in slots])

    def run(self, step: Callable[[Tensor, Tensor, int], None], end: Callable[[Tensor, Tensor, int], None]) -> None:
        for task, (x, y) in enumerate(self.tasks):
            for _ in range(self.epochs):
                for rows in torch.split(torch.randperm(len(x), generator=self.streams.cpu("order")), BATCH):
                    step(x[rows], y[rows], task)
            end(x, y, task)


def nothing(x: Tensor, y: Tensor, task: int) -> None: ...


# ---------------------------------------------------------------------------------------------- the rules


def er(world: World, **_: float) -> None:
    """CE over B and M together, then the reservoir."""

    def step(x, y, task):
        if world.seen:
            mx, my = world.samples(world.draw(task + 1))
            loss = world.ce(torch.cat([x, mx]), torch.cat([y, my]))
        else:
            loss = world.ce(x, y)
        world.descend(world.slopes(loss))
        world.reservoir(x, y, task)

    world.run(step, nothing)


def er_at_task_ends(world: World, **_: float) -> None:
    def step(x, y, task):
        if task:
            mx, my = world.samples(world.draw(task))
            x, y = torch.cat([x, mx]), torch.cat([y, my])
        world.descend(world.slopes(world.ce(x, y)))

    world.run(step, lambda x, y, task: world.share(x, y, task) and None)


def der(world: World, alpha: float, beta: float | None = None) -> None:
    """CE(B) + alpha MSE(h(x'), z') [+ beta CE(h(x''), y'')]; two draws; z are the logits of the step that stored x."""

    def step(x, y, task):
        logits = world.logits(x)
        loss = functional.cross_entropy(logits, y)
        if world.seen:
            first = world.draw(task + 1)
            second = world.draw(task + 1) if beta is not None else []
            kept = torch.stack([world.z[s] for s in first])
            loss = loss + alpha * functional.mse_loss(world.logits(world.samples(first)[0]), kept)
            if beta is not None:
                loss = loss + beta * world.ce(*world.samples(second))
        world.descend(world.slopes(loss))
        world.reservoir(x, y, task, logits)

    world.run(step, nothing)


def er_ace(world: World, always: bool = False) -> None:
    """Classes that were seen and are not in B leave CE(B); CE(M) in full; from the second task on, or always."""
    seen: set[int] = set()

    def step(x, y, task):
        present = set(y.tolist())
        masked = sorted(seen - present)
        seen.update(present)
        logits = world.logits(x)
        if (task or always) and masked:
            logits = torch.stack(
                [logits[:, k] if k not in masked else torch.full_like(logits[:, k], -1e9) for k in range(4)], dim=1
            )
        loss = functional.cross_entropy(logits, y)
        if world.seen and (task or always):
            loss = loss + world.ce(*world.samples(world.draw(task + 1)))
        world.descend(world.slopes(loss))
        world.reservoir(x, y, task)

    world.run(step, nothing)


def agem(world: World, **_: float) -> None:
    """g - (g.r / r.r) r where g.r < 0; r on samples of past tasks only, though the present task's are stored too."""

    def step(x, y, task):
        g = world.slopes(world.ce(x, y))
        if task and any(0 <= t < task for t in world.task):
            r = world.slopes(world.ce(*world.samples(world.draw(task))))
            product = sum(float((a * b).sum()) for a, b in zip(g, r, strict=True))
            if product < 0:
                length = sum(float(b.square().sum()) for b in r)
                g = [a - product / length * b for a, b in zip(g, r, strict=True)]
        world.descend(g)
        world.reservoir(x, y, task)

    world.run(step, nothing)


def ewc_online(world: World, strength: float, decay: float) -> None:
    """Penalty strength * sum F (theta - theta*)^2; F <- decay F + mean_n p_n (grad log p_n)^2, sample by sample."""
    kept: list[tuple[list[Tensor], list[Tensor]]] = []

    def step(x, y, task):
        loss = world.ce(x, y)
        if kept:
            importance, centre = kept[-1]
            away = zip(importance, world.net, centre, strict=True)
            loss = loss + strength * sum((f * (w - c).square()).sum() for f, w, c in away)
        world.descend(world.slopes(loss))

    def end(x, y, task):
        total = [torch.zeros_like(w) for w in world.net]
        for one, label in zip(x, y, strict=True):
            likelihood = -world.ce(one[None], label[None])
            weight = likelihood.detach().exp() / len(x)
            total = [f + weight * s.square() for f, s in zip(total, world.slopes(likelihood), strict=True)]
        if kept:
            total = [decay * old + new for old, new in zip(kept[-1][0], total, strict=True)]
        kept.append((total, [w.detach().clone() for w in world.net]))

    world.run(step, end)


def mer(world: World, batches: int, beta: float, gamma: float) -> None:
    """Algorithm 1: per example, `batches` times the example and then each drawn sample, one SGD step each; Reptile
    across a batch (beta) and across batches (gamma); then the reservoir."""

    def towards(before, rate):
        world.net = [(b + rate * (w - b)).detach().requires_grad_() for b, w in zip(before, world.net, strict=True)]

    def step(x, y, task):
        for i in range(len(x)):
            start = list(world.net)
            for _ in range(batches):
                inner = list(world.net)
                order = []
                if world.seen:
                    slots = world.draw(task + 1)
                    shuffled = torch.randperm(len(slots), generator=world.streams.cpu("replay")).tolist()
                    order = [slots[k] for k in shuffled]
                world.descend(world.slopes(world.ce(x[i : i + 1], y[i : i + 1])))
                for slot in order:
                    world.descend(world.slopes(world.ce(*world.samples([slot]))))
                towards(inner, beta)
            towards(start, gamma)
            world.reservoir(x[i : i + 1], y[i : i + 1], task)

    world.run(step, nothing)


CASES = {
    "ER": ("er", er, STREAM, {}),
    "ER, filled at task ends": ("er", er_at_task_ends, ENDS, {}),
    "DER": ("der", der, STREAM, {"alpha": 0.4}),
    "DER++": ("derpp", der, STREAM, {"alpha": 0.4, "beta": 0.7}),
    "ER-ACE": ("er-ace", er_ace, STREAM, {}),
    "ER-ACE, task-free": ("er-ace", er_ace, STREAM, {"always": True}),
    "A-GEM": ("agem", agem, STREAM, {}),
    "online EWC": ("ewc-online", ewc_online, {}, {"strength": 30.0, "decay": 0.8}),
    "MER": ("mer", mer, STREAM, {"batches": 2, "beta": 0.4, "gamma": 0.6}),
}


def apart(case: str, **changes: object) -> float:
    """The largest difference of a weight between the package and the reference after two tasks."""
    method, rule, filling, options = CASES[case]
    fill = {"fill": "stream"} if filling is STREAM else {}
    epochs = 1 if method == "mer" else 2
    config = make_config(
        {"method": method, "lr": LR, "optimizer": "sgdm", "momentum": 0.0, "batch_size": BATCH, "memory": ROOM,
         "memory_batch": DRAWN, "epochs": epochs, "model": "mlp-7", "threads": 1, "seed": 4},
        filling, {"options": {**fill, **options}}, changes,
    )  # fmt: skip
    made = Trainer(config, benchmark=two_tasks())
    made.context.inputs = lambda raw, generator=None: raw.double()
    layer, head = made.model.backbone[1], made.model.heads[0]
    ours = (layer.weight, layer.bias, head.weight, head.bias)
    start = [p.detach().clone().requires_grad_() for p in ours]
    stream = [(task.train.raw().double(), task.train.y) for task in made.benchmark.tasks]
    world = World(list(start), Streams(4, torch.device("cpu")), epochs, stream)
    made.run()
    rule(world, **options)
    with torch.no_grad():
        assert all(float((p - before).abs().max()) > 1e-2 for p, before in zip(ours, start, strict=True))
        return max(float((p - theirs).abs().max()) for p, theirs in zip(ours, world.net, strict=True))


@pytest.mark.parametrize("case", CASES)
def test_weights_after_two_tasks(case):
    assert apart(case) < 1e-6


@pytest.mark.parametrize(("case", "mistake"), [
    ("ER", {"memory_batch": DRAWN - 1}), ("DER", {"options": {"alpha": 0.41}}), ("A-GEM", {"memory_batch": DRAWN + 1}),
    ("DER++", {"options": {"same_draw": True}}), ("ER-ACE", {"options": {"always": True}}),
    ("online EWC", {"options": {"strength": 31.0}}), ("MER", {"options": {"beta": 0.41}}),
])  # fmt: skip
def test_a_mistake_would_be_seen(case, mistake):
    assert apart(case, **mistake) > 1e-4
