"""The network for a benchmark, and its trained weights as a file that can run no code."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import get_args

import torch
from safetensors.torch import save
from torch import nn

from coldtheory.ground import checks
from coldtheory.ground.errors import ColdError, unknown_name
from coldtheory.ground.limits import demand_memory

from ..catalogue import BENCHMARKS
from ..config import Init
from ..data.benchmark import Benchmark
from ..streams import derived_seed
from .named import is_named, named_module
from .networks import HeadedModel, mlp, resnet18, small_conv

_DIGITS = 15  # of the size of a layer; no more could be built
_PARAMETER_BYTES = 16
MODELS = ("mlp-256", "mlp-256-256", "resnet18", "conv")


def build_model(
    benchmark: Benchmark,
    *,
    width: int = 64,
    seed: int,
    name: str | None = None,
    module: nn.Module | None = None,
    has_head: bool | None = None,
    init: Init = "torch",
) -> HeadedModel:
    """A network with all heads of the benchmark, its weights drawn from the seed; global random state stays as it is.

    `name`: mlp-256, mlp-256-256 (or other sizes), resnet18, conv; by default the paper's for its benchmarks,
    resnet18 for folders of colour images, conv for other colour images, and mlp-256 for the rest. `width` is the
    number of channels of the first stage of resnet18 (conv: of its second layer, times two). Or what
    `cold.models.named` describes: package.module:factory, timm:NAME.

    `init`: the first weights. "torch": as torch draws them (of resnet18's convolutions: He et al., by fan-out).
    "xavier": every Linear layer, heads included, uniform within sqrt(6 / (inputs + outputs)) and with zero bias, as
    Mammoth has it; convolutions as before. Of a module that the user brings or names, only new heads are meant.

    `module`: a user's own network instead. It gives features (n, f), on which heads are put; or, where one head serves
    all tasks, it may be a whole network that gives logits. `has_head` says which; by default a module whose
    outputs are as many as the head's is taken to be whole. A module is used as it is, with its own weights.

    >>> from cold.data import load_benchmark
    >>> [tuple(head.weight.shape) for head in build_model(load_benchmark("synthetic", tasks=2), seed=0).heads]
    [(5, 256), (5, 256)]
    """
    if name is not None and not isinstance(name, str):
        raise unknown_name("model", checks.shown(name), MODELS)
    if module is not None and name is not None:
        raise ColdError("give a model's name or a module of your own, not both")
    checks.choice("init", init, get_args(Init))
    checks.kind_of("benchmark", benchmark, Benchmark, "make one with load_benchmark or from_tensors")
    if module is not None:
        checks.kind_of("module", module, nn.Module, "give a network of torch")
    width = checks.whole("the width of a network", width, least=1)
    with _seeded(derived_seed(seed, "model")):
        if module is None and name is not None and is_named(name):
            module = named_module(name, benchmark.input_shape)
        own = module is not None
        if module is None:
            backbone, features = _named(name or default_model(benchmark), benchmark, width)
            whole = False
        else:
            backbone, features = module, _features(module, benchmark)
            whole = len(benchmark.head_widths) == 1 and features == benchmark.head_widths[0]
            if has_head is not None:
                if has_head and not whole:
                    raise ColdError(
                        "a module with a head of its own needs scenario 'domain' or 'class' and "
                        f"{benchmark.head_widths[0]} outputs; this one has {features}, the scenario is "
                        f"{benchmark.scenario!r}"
                    )
                whole = has_head
        heads: list[nn.Module] = (
            [nn.Identity()] if whole else [nn.Linear(features, outputs) for outputs in benchmark.head_widths]
        )
        model = HeadedModel(backbone, heads)
        if init == "xavier":
            _xavier(model.heads if own else model)
        return model


def _xavier(part: nn.Module) -> None:
    for layer in part.modules():
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def default_model(benchmark: Benchmark) -> str:
    """The paper's network for the paper's benchmarks; for others one that fits the shape."""
    entry = BENCHMARKS.get(benchmark.name)
    if entry is not None and entry.model is not None:
        return entry.model
    if len(benchmark.input_shape) != 3 or benchmark.input_shape[0] == 1:
        return "mlp-256"
    return "resnet18" if benchmark.name.startswith("folder:") else "conv"


def model_bytes(model: nn.Module) -> bytes:
    """The weights as safetensors."""
    data: bytes = save({name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()})
    return data


def _named(name: str, benchmark: Benchmark, width: int) -> tuple[nn.Module, int]:
    shape = benchmark.input_shape
    kind, *sizes = name.split("-")
    if kind == "mlp" and sizes and all(size.isdecimal() and len(size) <= _DIGITS and int(size) > 0 for size in sizes):
        hidden = [int(size) for size in sizes]
        _demand(name, sum(before * after for before, after in pairwise([math.prod(shape), *hidden])))
        return mlp(shape, hidden)
    if name not in ("resnet18", "conv"):
        raise unknown_name("model", name, MODELS)
    if len(shape) != 3:
        raise ColdError(f"{name} takes images (channels, height, width), this benchmark has shape {shape}; use mlp-256")
    _demand(f"{name} of width {width}", 9 * shape[0] * width + (2700 if name == "resnet18" else 2) * width**2)
    return resnet18(shape, width) if name == "resnet18" else small_conv(shape, width)


def _demand(what: str, parameters: int) -> None:
    """Whether weights, gradients and the two moments of Adam fit in memory."""
    demand_memory(_PARAMETER_BYTES * parameters, f"the network {what}", "take a smaller one")


def _features(module: nn.Module, benchmark: Benchmark) -> int:
    """How many outputs a module has, found by a try on two blank samples that leaves its state alone."""
    was_training = {part: part.training for part in module.modules()}
    device = next((p.device for p in module.parameters() if not isinstance(p, nn.UninitializedParameter)), None)
    module.eval()
    try:
        with torch.no_grad():
            outputs = module(torch.zeros(2, *benchmark.input_shape, device=device))
    except Exception as error:  # a user's own module may fail in any way
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ColdError(f"the module does not take samples of shape {benchmark.input_shape}: {reason}") from None
    finally:
        for part, training in was_training.items():
            part.training = training
    if not isinstance(outputs, torch.Tensor) or outputs.dim() != 2 or len(outputs) != 2:
        raise ColdError("the module must give one row of features per sample: a tensor (n, f)")
    return int(outputs.shape[1])


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """The CPU generator that layers draw from, set for a while and put back; other devices are not touched."""
    before = torch.random.get_rng_state()
    torch.default_generator.manual_seed(seed)
    try:
        yield
    finally:
        torch.random.set_rng_state(before)
