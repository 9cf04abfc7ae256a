"""The example that puts COLD into an ordinary PyTorch loop: it runs as printed, and the queues earn their place."""

from __future__ import annotations

import doctest
import re

import torch

import cold


def test_example_runs_as_printed():
    with torch.random.fork_rng():
        results = doctest.testmod(cold)
    assert results.attempted > 8
    assert results.failed == 0


def test_it_is_about_ten_lines():
    block = re.search(r">>> dpp = .*?end_task[^\n]*", cold.__doc__, re.DOTALL).group(0)
    assert len(block.splitlines()) <= 10


def test_without_cold_the_same_loop_forgets():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        xs, ys = torch.randn(3, 600, 20), torch.randint(2, (3, 600))
        xs = xs + 2 * (2 * ys[..., None] - 1) * torch.randn(3, 1, 20).sign() / 3
        model = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for x, y in zip(xs, ys, strict=True):
            for rows in torch.randperm(600).repeat(5).split(32):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
                optimizer.step()
        accuracy = [(model(x).argmax(1) == y).float().mean().item() for x, y in zip(xs, ys, strict=True)]
    assert min(accuracy) < 0.8
