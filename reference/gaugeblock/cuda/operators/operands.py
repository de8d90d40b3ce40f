"""The tensors of a call on a CUDA device: which one it is, which are written, and that they may meet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...core.device import Device, as_device, cpu
from ...dispatch.dispatcher import Operator
from ...tensor.tensor import Tensor

INDEXED = frozenset({"index", "index_put", "index_put_", "_index_put_impl_"})
"""Operators whose index tensors may lie on the CPU."""


WRITTEN_BESIDE: Mapping[str, tuple[str, ...]] = {"native_batch_norm": ("running_mean", "running_var")}
"""Arguments that an operator writes although its schema does not say so, and without a new version."""


INDICES = frozenset({"index", "indices", "target", "targets"})
"""Arguments with numbers that have to lie in a range."""


class Operands:
    """The tensors of a call; `device` is the CUDA device that they are on, or that ``device=`` names; `indexed` says
    that one of them holds indices.

    0-dim tensors on the CPU go with any device, unless they are written. RuntimeError names the operator, the two
    arguments and their devices otherwise.
    """

    __slots__ = ("device", "indexed", "tensors", "written")

    def __init__(self, operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self.tensors: list[Tensor] = []
        self.written: list[Tensor] = []
        self.indexed = False
        first: tuple[str, Device] | None = None
        apart: list[tuple[str, Device]] = []
        indexed = operator.name.partition(".")[0] in INDEXED
        for name, tensor, written in _named_tensors(operator, args, kwargs):
            device = tensor.meta.device
            self.indexed = self.indexed or name in INDICES
            if device.type == "cuda":
                if first is None:
                    first = name, device
                elif device is not first[1]:
                    apart.append((name, device))
                self.tensors.append(tensor)
            elif device is not cpu or written or (tensor.meta.ndim and not (indexed and name == "indices")):
                apart.append((name, device))
            if written:
                self.written.append(tensor)
        if first is None:
            self.device = as_device(kwargs.get("device", "cuda"))
        else:
            self.device = first[1]
            if apart:
                raise _several_devices(operator, first, apart[0])

    @property
    def index(self) -> int:
        """The index of the device."""
        return self.device.index or 0


def _named_tensors(
    operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Iterator[tuple[str, Tensor, bool]]:
    """Name, tensor and whether it is written; out= may be one tuple of several arguments of the schema."""
    beside = WRITTEN_BESIDE.get(operator.name, ())
    for place, argument in enumerate(operator.schema.arguments):
        value = args[place] if place < len(args) else kwargs.get(argument.name)
        for part in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(part, Tensor):
                yield argument.name, part, argument.written or argument.name in beside
    several = kwargs.get("out")
    for part in several if isinstance(several, (tuple, list)) else ():
        yield "out", part, True


def _several_devices(operator: Operator, first: tuple[str, Device], other: tuple[str, Device]) -> RuntimeError:
    name = operator.name.partition(".")[0]
    return RuntimeError(
        f"{name}(): Expected all tensors to be on the same device, but found at least two devices, {first[1]} and "
        f"{other[1]}! (argument '{first[0]}' is on {first[1]}, argument '{other[0]}' on {other[1]})"
    )
