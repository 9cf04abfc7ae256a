"""`--compile`: a backbone is one graph, not a graph a block or none at all."""

from __future__ import annotations

import pytest
import torch
from torch._dynamo.testing import CompileCounter

from cold.models.networks import mlp, resnet18, small_conv

BACKBONES = {
    "mlp": (lambda: mlp((6,), [5, 5]), (4, 6)),
    "conv": (lambda: small_conv((1, 8, 8), 4), (4, 1, 8, 8)),
    "resnet": (lambda: resnet18((3, 8, 8), 2), (4, 3, 8, 8)),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch's compiler, about itself
@pytest.mark.parametrize("kind", BACKBONES)
def test_backbone_compiles_as_one_graph(kind):
    torch._dynamo.reset()
    make, shape = BACKBONES[kind]
    backbone, _ = make()
    x, graphs = torch.randn(shape, generator=torch.Generator().manual_seed(0)), CompileCounter()
    backbone.eval()
    expected = backbone(x)
    backbone.compile(backend=graphs)
    torch.testing.assert_close(backbone(x), expected)
    assert graphs.frame_count == 1
