"""A second device that needs no GPU, and that counts what a GPU would have to wait for.

Its tensors report the device "second", live in the main memory and are computed by the CPU's kernels. Unlike the CPU
it keeps a GPU's rules: what it holds must be copied to it, its numbers are not known to the program before they are
copied back, and one operation cannot take tensors of two devices. Each of these events is noted with the operation
and the line of the program that caused it:

    copy   from the CPU to the device: `.to`, `copy_`, `torch.tensor(..., device=)`, an index that is still on the CPU
    wait   the program needs a number of the device: `.item()`, `.tolist()`, `.cpu()`, `if tensor`, a mask as an index,
           `nonzero`, `unique` and all whose result's size depends on the content
    mix    tensors of both devices in one operation, which is also an error, as on a GPU
    order  several numbers are added to one place (`index_add_`, `scatter_add_`): a GPU does so in an order of its own,
           and rounds otherwise each time

A single number on the CPU beside tensors of the device is none of these: a GPU takes it as an argument of the kernel.

The device is one for the whole process and stays there, and torch's engine for gradients must see it before its first
backward pass. Programs that use it therefore run in a process of their own (see `test_device_traffic.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils import backend_registration
from torch.utils._mode_utils import no_dispatch
from torch.utils._pytree import tree_leaves, tree_map

NAME = "second"
_aten = torch.ops.aten
_CPU = torch.device("cpu")

#: What torch must find under the device's name; it makes the rest of its tensors from these. The last ones are here
#: because torch would make an empty tensor and then let it grow, which one that only holds another cannot do.
_KERNELS = (
    "empty_strided", "empty.memory_format", "copy_", "_copy_from", "_to_copy", "arange", "arange.start",
    "arange.start_step", "linspace", "eye", "eye.m", "randperm", "randperm.generator",
)  # fmt: skip
#: The size of their result, or what they return to Python, depends on numbers of the device.
_WAITING = {
    "_local_scalar_dense", "nonzero", "masked_select", "bincount", "_unique2", "unique_consecutive", "unique_dim",
    "equal", "repeat_interleave", "histc",
}  # fmt: skip
_INDEXING = {"index", "index_put_", "index_put", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put"}
_MASKS = (torch.bool, torch.uint8)
_ADDING = {"index_add", "index_add_", "scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_"}


@dataclass(frozen=True)
class Event:
    """kind: copy, wait, mix or order; the operation; the line of the package `cold` that caused it ("module:line")."""

    kind: str
    operation: str
    where: str


class OnDevice(Tensor):
    """A tensor of the second device, with the CPU's tensor that holds its numbers."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> OnDevice:
        made: OnDevice = torch.Tensor._make_wrapper_subclass(
            cls, held.shape, strides=held.stride(), storage_offset=held.storage_offset(), dtype=held.dtype,
            device=torch.device(NAME, 0),
        )  # fmt: skip
        made.held = held
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})

    def tolist(self) -> Any:  # torch refuses this for subclasses before it copies
        return self.cpu().tolist()

    def numpy(self, *, force: bool = False) -> Any:
        if not force:
            raise TypeError("can't convert a tensor of the second device to numpy; use Tensor.cpu() first")
        return self.detach().cpu().numpy()

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"OnDevice({self.held!r})"


_events: list[Event] = []
_library: list[Any] = []  # torch forgets what was registered when the library object is gone


def device() -> torch.device:
    """The second device; the first call makes it, and must come before the first backward pass of the process."""
    if not _library:
        backend_registration._setup_privateuseone_for_python_backend(NAME)
        kernels, rest = torch.library.Library("aten", "IMPL"), torch.library.Library("_", "IMPL")
        for name in _KERNELS:
            base, _, overload = name.partition(".")
            kernels.impl(name, _kernel(getattr(getattr(_aten, base), overload or "default")), "PrivateUse1")
        rest.fallback(lambda func, *args, **kwargs: _run(func, args, kwargs), "PrivateUse1")
        _library.extend([kernels, rest])
    return torch.device(NAME, 0)


@contextmanager
def watched() -> Iterator[list[Event]]:
    """The events from here on, in order."""
    start, seen = len(_events), list[Event]()
    try:
        yield seen
    finally:
        seen.extend(_events[start:])


def events() -> list[Event]:
    """All events of this process so far; the list grows."""
    return _events


def _kernel(func: Any) -> Any:
    return lambda *args, **kwargs: _run(func, args, kwargs)


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The operation on the held tensors, with its events."""
    name = func._schema.name.removeprefix("aten::")
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    here = any(isinstance(tensor, OnDevice) for tensor in tensors)
    named = kwargs.get("device")
    goes_to_device = here if named is None else torch.device(named).type == NAME
    _note_events(name, args, tensors, here, goes_to_device)
    inner_args, inner_kwargs = tree_map(lambda x: x.held if isinstance(x, OnDevice) else x, (args, kwargs))
    if named is not None:
        inner_kwargs["device"] = _CPU
    result = func(*inner_args, **inner_kwargs)
    if name == "_to_copy" and any(result is given for given in inner_args):
        result = result.clone()  # to the CPU's kernel it is a copy to where it is already
    if torch.Tag.inplace_view in func.tags:  # such as `squeeze_`: the shape that is reported has to follow
        with no_dispatch():
            func(*args, **kwargs)
    returns = func._schema.returns
    if not returns:
        return None
    values = result if len(returns) > 1 else [result]
    made = [
        _returned(func._schema, returned, args, kwargs, _wrapped(value, goes_to_device))
        for returned, value in zip(returns, values, strict=True)
    ]
    return tuple(made) if len(returns) > 1 else made[0]


def _returned(schema: Any, returned: Any, args: Any, kwargs: dict[str, Any], value: Any) -> Any:
    """The value, or the argument that an in-place operation returns."""
    if returned.alias_info is None or not returned.alias_info.is_write:
        return value
    for place, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.before_set == returned.alias_info.before_set:
            written = args[place] if place < len(args) else kwargs[argument.name]
            assert written.shape == value.shape, f"{schema.name} lets a tensor grow, which is not possible here"
            return written
    raise AssertionError(f"{schema} returns what it does not take")


def _wrapped(value: Any, on_device: bool) -> Any:
    return tree_map(lambda x: OnDevice(x) if isinstance(x, Tensor) and on_device else x, value)


def _note_events(name: str, args: Any, tensors: list[Tensor], here: bool, goes_to_device: bool) -> None:
    if name == "_to_copy":
        _note_copy(name, here, goes_to_device)
    elif name in ("copy_", "_copy_from"):
        first, second = (isinstance(tensor, OnDevice) for tensor in tensors)
        _note_copy(name, *((second, first) if name == "copy_" else (first, second)))
    elif name in _INDEXING and isinstance(args[0], OnDevice):
        _note_indexing(name, args)
    elif here:
        if name in _WAITING:
            _note("wait", name)
        if name in _ADDING and args[0].is_floating_point() and _has_repeats(args[2]):
            _note("order", name)
        if any(tensor.dim() and not isinstance(tensor, OnDevice) for tensor in tensors):
            _mixed(name)


def _has_repeats(index: Tensor) -> bool:
    held = index.held.flatten() if isinstance(index, OnDevice) else index.flatten()
    return len(set(held.tolist())) < len(held)


def _note_copy(name: str, from_device: bool, to_device: bool) -> None:
    if from_device != to_device:
        _note("copy" if to_device else "wait", name)


def _note_indexing(name: str, args: Any) -> None:
    """What is indexed is on the device; torch moves indices and a single value there by itself."""
    indices, values = [index for index in args[1] if index is not None], args[2:3] if "put" in name else ()
    for given in (*indices, *values):
        if not isinstance(given, OnDevice):
            if given.dim() and all(given is not index for index in indices):
                _mixed(name)
            _note("copy", name)
    fills = any(value.numel() == 1 for value in values)  # a mask and one value: no positions are needed
    if not fills and any(index.dtype in _MASKS for index in indices):
        _note("wait", name)


def _mixed(name: str) -> None:
    _note("mix", name)
    raise RuntimeError(f"expected all tensors on one device, but {name} got some of the CPU and some of the device")


def _note(kind: str, operation: str) -> None:
    frame: Any = sys._getframe(1)
    while frame is not None and not frame.f_globals["__name__"].startswith("cold."):
        frame = frame.f_back
    where = "elsewhere" if frame is None else f"{frame.f_globals['__name__']}:{frame.f_lineno}"
    _events.append(Event(kind, operation, where))
