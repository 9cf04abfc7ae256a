"""The Python examples of the README run as they are printed."""

from __future__ import annotations

import numpy as np
import torch

from tests.docs.pages import ROOT, blocks


def readme_block(beginning: str) -> str:
    (block,) = [one for one in blocks(ROOT / "README.md") if one.language == "python" and beginning in one.text]
    return block.text


def test_the_theory_example():
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((4, 3, 3))
    given = {"my_optima": rng.standard_normal((4, 3)), "my_psd_matrices": factors @ factors.swapaxes(1, 2)}
    exec(compile(readme_block("coldtheory as ct"), "README.md", "exec"), given)
    assert given["run"].avg_grad_sq_before.shape == (10, 20)
    assert given["run"].Q.shape == (10, 20, 151, 150)
    assert given["result"].w.shape == (5, 3)


def test_the_training_loop():
    generator = torch.Generator().manual_seed(0)
    xs = torch.randn(3, 96, 20, generator=generator)
    given = {"xs": xs, "ys": torch.randint(2, (3, 96), generator=generator)}
    with torch.random.fork_rng():
        exec(compile(readme_block("cold.COLD("), "README.md", "exec"), given)
    assert given["model"](xs[0]).shape == (96, 2)
