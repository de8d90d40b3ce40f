"""Tensors as Python numbers and lists."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from ..core import lazy_numpy as np
from ..core.device import cpu
from ..core.rounding import ROUNDED_HERE
from ..memory.elements import read_element
from .array_view import array_of_lazy
from .hooks import SPECIAL, hooks, taken
from .reshaping import reshape
from .splitting import unbind
from .tensor import Tensor
from .tensor_meta import CONJUGATE

PIECE = 1 << 20
NUMPY_DIMS = 64
"""Elements that become Python numbers between two looks for signals."""


def item(self: Tensor) -> Any:
    """The only element as a bool, int, float or complex. Raises RuntimeError unless there is exactly one."""
    meta = self.meta
    if SPECIAL or self.__class__ is not Tensor or meta.device is not cpu:
        return hooks.dispatched["item"](self)
    try:
        return element_of(self) if meta.lazy or meta.numel != 1 else read_element(self.pointer, meta.dtype)
    except IndexError:  # nothing reads an element of a quantized dtype without its quantizer
        return hooks.dispatched["item"](self)


def element_of(self: Tensor) -> Any:
    """item of a tensor in host memory. Raises NotImplementedError for one elsewhere."""
    meta = self.meta
    if meta.numel != 1:
        raise RuntimeError(f"a Tensor with {meta.numel} elements cannot be converted to Scalar")
    if meta.device is not cpu:
        raise NotImplementedError(f"Tensor.item() cannot be called on {meta.device} tensors, they have no data")
    value = read_element(self.pointer, meta.dtype)
    if meta.lazy:
        if meta.lazy & CONJUGATE:
            value = value.conjugate()
        return value if meta.lazy <= CONJUGATE else -value
    return value


def tolist(self: Tensor) -> Any:
    """Nested lists of Python numbers, or one number for a 0-dim tensor. Raises NotImplementedError without data."""
    meta = self.meta
    if not meta.ndim:
        return item(self)
    if meta.ndim > NUMPY_DIMS:
        flat = tolist(reshape(self, (-1,)))
        for place in range(meta.ndim - 1, 0, -1):
            size = meta.sizes[place]
            flat = [flat[row * size : (row + 1) * size] for row in range(prod(meta.sizes[:place]))]
        return flat
    array = array_of_lazy(_here(self))
    return _listed(array.astype(np.float32) if meta.dtype in ROUNDED_HERE and meta.dtype.kind == 2 else array)


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
    if self.meta.numel != 1:
        raise ValueError(f"only one element tensors can be converted to Python scalars, got {self.meta.numel} elements")
    return item(self)


def to_bool(self: Tensor) -> bool:
    """The truth of the only element; NaN is true. Raises RuntimeError unless there is exactly one."""
    meta = self.meta
    if meta.numel != 1:
        count = "no values" if not meta.numel else "more than one value"
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
    meta = self.meta
    if meta.numel != 1 or meta.dtype.kind > 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(item(self))


def length(self: Tensor) -> int:
    """The size of dim 0. Raises TypeError for a 0-dim tensor."""
    if not self.meta.ndim:
        raise TypeError("len() of a 0-d tensor")
    return self.meta.sizes[0]


def iterate(self: Tensor) -> Iterator[Tensor]:
    """Views of dim 0, in order. Raises TypeError for a 0-dim tensor."""
    if not self.meta.ndim:
        raise TypeError("iteration over a 0-d tensor")
    if SPECIAL or self.meta.has_autograd:
        return hooks.dispatched["__iter__"](self)  # type: ignore[no-any-return]
    return iter(taken(self, unbind(self)))


def _here(self: Tensor) -> Tensor:
    return self if self.meta.device is cpu else hooks.dispatched["host"](self)


def contains(self: Tensor, element: Any) -> bool:
    """Return whether any element equals `element`, a number or a tensor. Raises RuntimeError for anything else."""
    self = _here(self)
    if isinstance(element, Tensor):
        try:
            return bool((array_of_lazy(self) == array_of_lazy(_here(element))).any())
        except ValueError:
            sizes, others = list(self.meta.sizes), list(element.meta.sizes)
            raise RuntimeError(f"__contains__(): element of sizes {others} does not broadcast with {sizes}") from None
    if isinstance(element, bool | int | float | complex):
        if element.__class__ is int and not -(1 << 63) <= element < 1 << 63:
            if self.meta.dtype.kind == 0:
                return False
            element = float(element) if self.meta.dtype.kind > 1 else element
        return bool((array_of_lazy(self) == element).any())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")


METHODS = {
    "item": item, "tolist": tolist, "__bool__": to_bool, "__int__": to_int, "__float__": to_float,
    "__complex__": to_complex, "__index__": to_index, "__len__": length, "__iter__": iterate,
    "__contains__": contains, "__hash__": object.__hash__,
}  # fmt: skip
