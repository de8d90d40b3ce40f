"""Operands of the namespace's functions: arrays of one dtype, axes, and unsigned integers computed as signed ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, NoReturn

from ..calls.functions import ops
from ..core import dtype as dtypes
from ..core.dtype import DType
from ..core.errors import type_error
from ..tensor.tensor import Tensor
from .data_types import common_dtype, dtype_of_scalar

Axis = int | Sequence[int] | None
WIDE = frozenset({dtypes.uint16, dtypes.uint32, dtypes.uint64})
"""Unsigned dtypes that most operators of the engine, as those of PyTorch, do not offer."""


def check_array(function: str, name: str, value: Any) -> Tensor:
    """Return `value`. Raises TypeError unless it is an array."""
    if not isinstance(value, Tensor):
        type_error(function, name, value, "an array")
    return value


def bad_value(function: str, name: str, given: object, allowed: str) -> NoReturn:
    """Raise the ValueError that says which argument was not what is allowed."""
    raise ValueError(f"{function}(): argument {name!r} must be {allowed}, got {given!r}")


def check_kind(function: str, dtype: DType, allowed: str) -> None:
    """Raise TypeError unless the category of `dtype` is one of the words in `allowed`."""
    if dtype.category not in allowed.split():
        raise TypeError(f"{function}(): dtype {dtype.name} is not allowed, allowed are dtypes of {allowed}")


def pair(function: str, x1: Any, x2: Any) -> tuple[Any, Any]:
    """Return two operands, one of which may be a Python number, as arrays of the dtype that they promote to."""
    if isinstance(x1, Tensor) and isinstance(x2, Tensor):
        first, second = x1.meta.dtype, x2.meta.dtype
        if first is second:
            return x1, x2
        dtype = common_dtype(first, second)
        return converted(x1, dtype), converted(x2, dtype)
    array, scalar = (x1, x2) if isinstance(x1, Tensor) else (x2, x1)
    if not isinstance(array, Tensor):
        raise TypeError(f"{function}(): one of arguments 'x1' and 'x2' must be an array, got {type(x1).__name__} and "
                        f"{type(x2).__name__}")  # fmt: skip
    if not isinstance(scalar, (bool, int, float, complex)):
        name = "x2" if array is x1 else "x1"
        type_error(function, name, scalar, "an array or a Python number")
    dtype = dtype_of_scalar(scalar, array.meta.dtype)
    other = ops.full((), scalar, dtype=dtype, device=array.meta.device)
    array = converted(array, dtype)
    return (array, other) if isinstance(x1, Tensor) else (other, array)


def converted(x: Tensor, dtype: DType) -> Any:
    """Return `x` in a dtype; `x` itself if it has it."""
    return x if x.meta.dtype is dtype else x.to(dtype)  # type: ignore[attr-defined]


def axes_of(function: str, axis: Axis, ndim: int) -> tuple[int, ...]:
    """Return an axis, several or all as non-negative ints. Raises IndexError outside, ValueError for one twice."""
    given = range(ndim) if axis is None else (axis,) if not isinstance(axis, (tuple, list)) else axis
    found = tuple([index(one) for one in given])
    for one in found:
        if not -ndim <= one < ndim:
            raise IndexError(f"{function}(): axis {one} is out of range for an array of {ndim} dims")
    found = tuple([one % ndim for one in found])
    if len(set(found)) != len(found):
        raise ValueError(f"{function}(): axis {axis} has an axis twice")
    return found


def computed(operator: Callable[..., Any], *arrays: Any) -> Any:
    """Call an operator whose result depends on the values modulo a power of two only; unsigned ones run as int64."""
    dtype = arrays[0].meta.dtype
    if dtype not in WIDE:
        return operator(*arrays)
    result = operator(*[bits(one) for one in arrays])
    return result if result.meta.dtype is dtypes.bool_ else unsigned(result, dtype)


def bits(x: Any) -> Any:
    """Return a wide unsigned array as int64 that is equal to it modulo a power of two."""
    return x.contiguous().view(dtypes.int64) if x.meta.dtype is dtypes.uint64 else x.to(dtypes.int64)


def unsigned(x: Any, dtype: DType) -> Any:
    """Return an int64 array as the unsigned integers that are equal to it modulo a power of two."""
    return x.contiguous().view(dtypes.uint64) if dtype is dtypes.uint64 else x.to(dtype)


def ordered(x: Any) -> Any:
    """Return an unsigned array as int64 values in the same order."""
    return bits(x) ^ -(1 << 63) if x.meta.dtype is dtypes.uint64 else x.to(dtypes.int64)


def from_ordered(x: Any, dtype: DType) -> Any:
    """Return what `ordered` made this of."""
    return unsigned(x ^ -(1 << 63), dtype) if dtype is dtypes.uint64 else x.to(dtype)


def by_order(operator: Callable[..., Any], *arrays: Any) -> Any:
    """Call an operator whose result is one of the operands' values, chosen by their order."""
    dtype = arrays[0].meta.dtype
    if dtype not in WIDE:
        return operator(*arrays)
    return from_ordered(operator(*[ordered(one) for one in arrays]), dtype)
