"""Tensors as Python numbers and lists."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from ..core.device import cpu
from ..core.dtype import bfloat16
from ..memory.elements import read_element
from .array_view import array_of_lazy
from .geometry import CONJUGATE
from .hooks import SPECIAL, hooks, taken
from .reshaping import reshape
from .splitting import unbind
from .tensor import Tensor

PIECE = 1 << 20
NUMPY_DIMS = 64
"""Elements that become Python numbers between two looks for signals."""


def item(self: Tensor) -> Any:
    """The only element as a bool, int, float or complex. Raises RuntimeError unless there is exactly one."""
    geometry = self.geometry
    if SPECIAL or self.__class__ is not Tensor or geometry.device is not cpu:
        return hooks.dispatched["item"](self)
    if geometry.lazy or geometry.numel != 1:
        return element_of(self)
    return read_element(self.pointer, geometry.dtype)


def element_of(self: Tensor) -> Any:
    """item of a tensor in host memory. Raises NotImplementedError for one elsewhere."""
    geometry = self.geometry
    if geometry.numel != 1:
        raise RuntimeError(f"a Tensor with {geometry.numel} elements cannot be converted to Scalar")
    if geometry.device is not cpu:
        raise NotImplementedError(f"Tensor.item() cannot be called on {geometry.device} tensors, they have no data")
    value = read_element(self.pointer, geometry.dtype)
    if geometry.lazy:
        if geometry.lazy & CONJUGATE:
            value = value.conjugate()
        return value if geometry.lazy <= CONJUGATE else -value
    return value


def tolist(self: Tensor) -> Any:
    """Nested lists of Python numbers, or one number for a 0-dim tensor. Raises NotImplementedError without data."""
    geometry = self.geometry
    if not geometry.ndim:
        return item(self)
    if geometry.ndim > NUMPY_DIMS:
        flat = tolist(reshape(self, (-1,)))
        for place in range(geometry.ndim - 1, 0, -1):
            size = geometry.sizes[place]
            flat = [flat[row * size : (row + 1) * size] for row in range(prod(geometry.sizes[:place]))]
        return flat
    array = array_of_lazy(_here(self))
    return _listed(array.astype(np.float32) if geometry.dtype is bfloat16 else array)


def _listed(array: np.ndarray[Any, Any]) -> list[Any]:
    """Nested lists of the elements, made piece by piece: Python looks for signals between two pieces."""
    if array.size <= PIECE:
        whole: list[Any] = array.tolist()
        return whole
    rows = len(array) * PIECE // array.size
    if not rows:
        return [_listed(part) for part in array]
    found: list[Any] = []
    for begin in range(0, len(array), rows):
        found += array[begin : begin + rows].tolist()
    return found


def _one_element(self: Tensor) -> Any:
    if self.geometry.numel != 1:
        raise ValueError(
            f"only one element tensors can be converted to Python scalars, got {self.geometry.numel} elements"
        )
    return item(self)


def to_bool(self: Tensor) -> bool:
    """The truth of the only element; NaN is true. Raises RuntimeError unless there is exactly one."""
    geometry = self.geometry
    if geometry.numel != 1:
        count = "no values" if not geometry.numel else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {count} is ambiguous")
    return bool(item(self))


def _real_value(self: Tensor, target: str) -> Any:
    value = _one_element(self)
    if isinstance(value, complex):
        if value.imag:
            raise RuntimeError(f"value cannot be converted to type {target} without overflow: {value}")
        return value.real
    return value


def to_int(self: Tensor) -> int:
    """The only element truncated. Raises ValueError for NaN and other counts, OverflowError for infinities."""
    return int(_real_value(self, "int64"))


def to_float(self: Tensor) -> float:
    """The only element as float. Raises ValueError unless there is exactly one, RuntimeError when not real."""
    return float(_real_value(self, "double"))


def to_complex(self: Tensor) -> complex:
    """The only element as complex. Raises ValueError unless there is exactly one."""
    return complex(_one_element(self))


def to_index(self: Tensor) -> int:
    """The only element of an integer or bool tensor. Raises TypeError for other tensors."""
    geometry = self.geometry
    if geometry.numel != 1 or geometry.dtype.kind > 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(item(self))


def length(self: Tensor) -> int:
    """The size of dim 0. Raises TypeError for a 0-dim tensor."""
    if not self.geometry.ndim:
        raise TypeError("len() of a 0-d tensor")
    return self.geometry.sizes[0]


def iterate(self: Tensor) -> Iterator[Tensor]:
    """Views of dim 0, in order. Raises TypeError for a 0-dim tensor."""
    if not self.geometry.ndim:
        raise TypeError("iteration over a 0-d tensor")
    if SPECIAL or self.geometry.watched:
        return hooks.dispatched["__iter__"](self)  # type: ignore[no-any-return]
    return iter(taken(self, unbind(self)))


def _here(self: Tensor) -> Tensor:
    return self if self.geometry.device is cpu else hooks.dispatched["host"](self)


def contains(self: Tensor, element: Any) -> bool:
    """Whether any element equals `element`, a number or a tensor. Raises RuntimeError for anything else."""
    self = _here(self)
    if isinstance(element, Tensor):
        try:
            return bool((array_of_lazy(self) == array_of_lazy(_here(element))).any())
        except ValueError:
            sizes, others = list(self.geometry.sizes), list(element.geometry.sizes)
            raise RuntimeError(f"__contains__(): element of sizes {others} does not broadcast with {sizes}") from None
    if isinstance(element, bool | int | float | complex):
        if element.__class__ is int and not -(1 << 63) <= element < 1 << 63:
            if self.geometry.dtype.kind == 0:
                return False
            element = float(element) if self.geometry.dtype.kind > 1 else element
        return bool((array_of_lazy(self) == element).any())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")


METHODS = {
    "item": item,
    "tolist": tolist,
    "__bool__": to_bool,
    "__int__": to_int,
    "__float__": to_float,
    "__complex__": to_complex,
    "__index__": to_index,
    "__len__": length,
    "__iter__": iterate,
    "__contains__": contains,
    "__hash__": object.__hash__,
}
