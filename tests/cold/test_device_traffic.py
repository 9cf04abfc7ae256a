"""No method copies to the device, or waits for it, more often than is promised here; and the counting counts.

Everything runs in one further process, because the device stays in a process for good (see `second_device.py`).
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor

import pytest
import torch

from cold.catalogue import METHODS
from tests.cold import second_device
from tests.cold.traffic import Traffic, fills, traffic, weights

#: (copies, waits) of one step at most, beside the blocks that serve many steps.
PROMISED = {
    **dict.fromkeys(METHODS, (0, 0)),
    "agem": (0, 1),  # whether the gradients point against each other decides which weights move at all
    "nccl": (0, 1),  # the step sizes depend on the case
    "gem": (1, 2),  # the same question, then a quadratic program on the CPU and its solution back
}
#: GEM replays the whole memory: its slots are moved when they change, with a stream thus at every step.
SLOTS_OF_GEM = 3
#: Blocks per task at most: they grow from 1 to 64 steps, and start anew where a step differs from the guess.
BLOCKS = 6
#: MER asks for two draws per sample here, and thus for eight per step.
BLOCKS_OF_MER = 8


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


def check(found: Traffic, method: str, fill: str) -> None:
    copies, waits = PROMISED[method]
    if method == "gem":
        copies += SLOTS_OF_GEM
    assert found.most("mix") == 0, found.places
    assert not found.orders  # so results do not vary from run to run by the order of a sum
    assert found.most("copy") <= copies, found.places
    assert found.most("wait") <= waits, found.places
    if method == "gem" and fill == "task-end":  # the slots do not change during a task
        assert found.per_step("copy") <= 1 + SLOTS_OF_GEM * found.tasks / found.steps
    assert found.blocks <= (BLOCKS_OF_MER if method == "mer" else BLOCKS) * found.tasks
    assert found.between == 0  # tasks of less than fifty steps: nothing is read back before their end


@pytest.mark.parametrize("method", METHODS)
def test_steps_of_an_mlp(elsewhere, method):
    for fill in fills(method):
        check(elsewhere.submit(traffic, method, "mlp", fill).result(), method, fill)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_steps_of_an_augmented_resnet(elsewhere, method):
    for fill in fills(method):
        check(elsewhere.submit(traffic, method, "resnet", fill).result(), method, fill)


@pytest.mark.parametrize("changes", [
    {"replay": "mixed"}, {"memory_batch": 12}, {"queue_update": "epoch"}, {"queue_update": "task"}, {"weights": "mean"},
    {"idle": "joint"}, {"memory_policy": "reservoir", "replay": "mixed"},
], ids=str)  # fmt: skip
def test_cold_never_waits(elsewhere, changes):
    check(elsewhere.submit(traffic, "cold", "mlp", **changes).result(), "cold", "task-end")


def test_who_asks_for_the_split_waits_once_per_step(elsewhere):
    found = elsewhere.submit(traffic, "cold", "mlp", idle="skip").result()
    assert found.most("copy") == 0
    assert found.most("wait") == 1
    assert found.per_step("wait") == 1


@pytest.mark.parametrize(("method", "options"), [
    ("cba", {"base": "der++"}), ("derpp", {"same_draw": True}), ("er", {"replay_weight": 3.0}), ("gem", {"samples": 2}),
    ("mer", {"form": "mini-batch", "batches": 2}),
], ids=str)  # fmt: skip
def test_options(elsewhere, method, options):
    found = elsewhere.submit(traffic, method, "mlp", options=options).result()
    copies, waits = PROMISED[method]
    assert found.most("copy") <= copies, found.places
    assert found.most("wait") <= waits, found.places
    assert found.blocks <= BLOCKS * found.tasks


# ---------------------------------------------------------------------------------------------- the counting counts


def events_of(program: Callable[[torch.device, torch.Tensor], object]) -> list[str]:
    """Kinds of events of a small program with the numbers 0, 1, 2, 3 on the device."""
    device = second_device.device()
    there = torch.arange(4.0).to(device)
    with second_device.watched() as seen:
        try:
            program(device, there)
        except RuntimeError as error:
            if "one device" not in str(error):
                raise
    return [event.kind for event in seen]


def copies_a_tensor(device, there):
    return torch.ones(4).to(device)


def copies_a_list(device, there):
    return torch.tensor([1.0, 2.0], device=device)


def copies_into(device, there):
    there.copy_(torch.ones(4))


def copies_into_a_part(device, there):
    there[1:3] = torch.ones(2)


def copies_an_index(device, there):
    return there[torch.tensor([0, 2])]


def copies_an_index_to_write(device, there):
    there[torch.tensor([0, 2])] = 1.0


def waits_for_item(device, there):
    return there.sum().item()


def waits_for_float(device, there):
    return float(there[1])


def waits_for_a_decision(device, there):
    return 1 if there.sum() > 2 else 0


def waits_for_a_list(device, there):
    return there.tolist()


def waits_for_cpu(device, there):
    return there.cpu().numpy()


def waits_for_positions(device, there):
    return there.nonzero()


def waits_for_a_mask(device, there):
    return there[there > 1]


def waits_to_write_with_a_mask(device, there):
    there[there > 1] = there[2:4].clone()


def waits_for_values(device, there):
    return torch.masked_select(there, there > 1)


def waits_for_unique(device, there):
    return torch.unique(there)


def waits_for_counts(device, there):
    return torch.bincount(there.long())


def waits_into_the_cpu(device, there):
    torch.zeros(4).copy_(there)


def mixes(device, there):
    return there + torch.ones(4)


def mixes_indices_of_the_device(device, there):
    return torch.ones(4).index_select(0, there.long())


def orders_a_sum(device, there):
    return torch.zeros(3, device=device).index_add_(0, torch.zeros(4, dtype=torch.int64).to(device), there)


def does_neither(device, there):
    """A step's usual operations: none of them needs the CPU."""
    there.mul_(2.0).add_(1.0)
    there[1] = 3.0
    there[there > 1] = 0.0  # a fill: no positions are needed
    weight = torch.ones(4, 2, device=device, requires_grad=True)
    loss = (there @ weight).square().sum() * torch.tensor(2.0)  # a single number is an argument of the kernel
    loss.backward()
    chosen = torch.arange(2, device=device)
    torch.zeros(3, device=device).index_add_(0, chosen, there[:2])  # one number per place
    return weight.grad[chosen], torch.zeros(3, device=device), torch.where(there > 0, there, 0.0), there[1:3].tolist


@pytest.mark.parametrize("program", [
    copies_a_tensor, copies_a_list, copies_into, copies_into_a_part, copies_an_index, copies_an_index_to_write,
    waits_for_item, waits_for_float, waits_for_a_decision, waits_for_a_list, waits_for_cpu, waits_for_positions,
    waits_for_a_mask, waits_to_write_with_a_mask, waits_for_values, waits_for_unique, waits_for_counts,
    waits_into_the_cpu, mixes, mixes_indices_of_the_device, orders_a_sum, does_neither,
])  # fmt: skip
def test_what_is_counted(elsewhere, program):
    kinds = {"copies": ["copy"], "waits": ["wait"], "mixes": ["mix"], "orders": ["copy", "order"], "does": []}
    kind = kinds[program.__name__.split("_")[0]]
    assert elsewhere.submit(events_of, program).result() == kind


def same_numbers() -> bool:
    """One step of a small network on both devices."""
    found = []
    for device in (second_device.device(), torch.device("cpu")):
        generator = torch.Generator().manual_seed(0)
        x, w = (torch.randn(5, 5, generator=generator).to(device) for _ in range(2))
        w.requires_grad_(True)
        norm = torch.nn.BatchNorm1d(5).to(device)
        loss = torch.nn.functional.cross_entropy(norm(x @ w), torch.arange(5, device=device))
        loss.backward()
        found.append([loss.detach(), w.grad, norm.running_mean])
    return all(torch.equal(left.cpu(), right) for left, right in zip(*found, strict=True))


def test_the_device_computes_what_the_cpu_does(elsewhere):
    assert elsewhere.submit(same_numbers).result()


@pytest.mark.parametrize(("method", "network", "fill", "changes"), [
    ("er", "mlp", "task-end", {}), ("er", "mlp", "task-end", {"replay": "mixed"}), ("er", "resnet", "stream", {}),
    ("derpp", "mlp", "stream", {}), ("cba", "mlp", "stream", {}), ("mer", "mlp", "stream", {}),
    ("gem", "mlp", "task-end", {}), ("joint", "mlp", "task-end", {}), ("gdumb", "mlp", "task-end", {}),
    ("cold", "mlp", "task-end", {"memory_batch": 1, "idle": "joint"}),
    ("cold", "mlp", "task-end", {"memory_batch": 1, "idle": "skip"}),
], ids=str)  # fmt: skip
def test_a_run_on_the_device_ends_with_the_cpus_weights(elsewhere, method, network, fill, changes):
    """Bit by bit, as the kernels are the CPU's: what is moved to the device is what the CPU draws.

    COLD with one sample per task, because the device adds up a task's samples in another order.
    """
    changes = {"optimizer": "sgdm", "limit_train": 40, **changes}
    ours, cpus = (
        elsewhere.submit(weights, method, network, fill, on_device, **changes).result() for on_device in (True, False)
    )
    assert ours == cpus


def planted() -> tuple[int, int]:
    """A step of ER with a planted copy and a planted wait."""
    from cold.methods.er import ER  # noqa: PLC0415  (in the other process)

    plain = ER.loss

    def loss(self, batch):
        extra = torch.zeros(1).to(batch.y.device)
        return plain(self, batch) + (extra[0] if float(extra[0]) == 0 else 0)

    ER.loss = loss
    try:
        found = traffic("er", "mlp", limit_train=20)
    finally:
        ER.loss = plain
    return found.most("copy"), found.most("wait")


def test_a_planted_copy_in_a_method_is_found(elsewhere):
    assert elsewhere.submit(planted).result() == (1, 1)
