"""Indexing, copies, fills and factories in terms of NumPy, as far as NumPy's documented semantics are the same.

Where they differ for some inputs (promotion, an int beside index arrays, …) the function raises
:class:`~gaugeblock_conformance.backend.Unsupported` for those inputs: that part is skipped and said so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend import Array, Unsupported
from ..case import default_strides, is_contiguous
from .numpy_views import MOST_DIMS, basic_index, empty_strided, packed_strides, sequence, strides_of

Function = Callable[..., Any]

_FLOAT32 = np.dtype(np.float32)


def fresh(array: Array) -> Array:
    """The array, its record that of a fresh contiguous tensor (NumPy gives empty ones stride 0)."""
    return array if array.size else empty_strided(array.shape, default_strides(array.shape), array.dtype)


def reshape(x: Array, *shape: Any) -> Array:
    try:
        result = x.reshape(sequence(shape))
    except ValueError as error:
        raise RuntimeError(f"reshape: {error}") from None
    if 0 in x.shape or 1 in result.shape or not x.ndim:
        raise Unsupported("reshape", "NumPy chooses strides of empty tensors and dims of size 1 by its own rules")
    return result


def contiguous(x: Array) -> Array:
    return x if is_contiguous(x.shape, strides_of(x)) else np.array(x, order="C")


def clone(x: Array) -> Array:
    result = empty_strided(x.shape, packed_strides(x), x.dtype)
    result[...] = x
    return result


def _advanced(part: Any) -> bool:
    return isinstance(part, np.ndarray | list | bool)


def getitem(x: Array, index: Any) -> Array:
    parts = index if isinstance(index, tuple) else (index,)
    if not any(map(_advanced, parts)):
        return basic_index(x, [int(p) if isinstance(p, np.integer) else p for p in parts])
    for part in parts:
        if isinstance(part, slice) and part.step is not None and part.step <= 0:
            raise ValueError(f"slice: step must be positive, not {part.step}")
        if isinstance(part, np.ndarray):
            _check_index(part)
    if any(isinstance(p, int) and not isinstance(p, bool) for p in parts):
        raise Unsupported("__getitem__", "NumPy counts an int beside index arrays as an index array")
    _check_masks(x, parts)
    return np.array(x[index], order="C", copy=True)


def _check_index(part: Array) -> None:
    if part.ndim == 0 and part.dtype != bool:
        raise Unsupported("__getitem__", "a 0-dim index array copies in NumPy")
    if part.dtype.kind not in "biu":
        raise IndexError(f"index arrays must be integer or bool, not {part.dtype}")
    if part.dtype == np.uint8:
        raise Unsupported("__getitem__", "uint8 index arrays are numbers in NumPy")


def _check_masks(x: Array, parts: Sequence[Any]) -> None:
    """A mask must have the sizes of the dims it stands for; NumPy lets an empty one pass."""
    dim = 0
    for part in parts:
        if part is Ellipsis or isinstance(part, list | bool):
            return
        mask = isinstance(part, np.ndarray) and part.dtype == bool
        if mask and part.shape != x.shape[dim : dim + part.ndim]:
            raise IndexError(f"a mask of sizes {part.shape} for dims of sizes {x.shape[dim : dim + part.ndim]}")
        dim += part.ndim if mask else part is not None


def index_tensor(x: Array, indices: Sequence[Array | None]) -> Array:
    return getitem(x, tuple(slice(None) if i is None else i for i in indices))


def setitem(x: Array, index: Any, value: Any) -> None:
    if isinstance(value, np.ndarray) and value.dtype != x.dtype:
        raise Unsupported("__setitem__", "NumPy casts by its own rules")
    if isinstance(value, np.ndarray) and np.may_share_memory(x, value):
        raise Unsupported("__setitem__", "NumPy buffers overlapping assignments")
    parts = index if isinstance(index, tuple) else (index,)
    if not any(map(_advanced, parts)):
        _assign(getitem(x, index), value)
        return
    getitem(x, index)
    try:
        x[index] = value
    except ValueError as error:
        raise RuntimeError(f"__setitem__: {error}") from None


def _assign(target: Array, value: Any) -> None:
    try:
        target[...] = value
    except (ValueError, OverflowError) as error:
        raise RuntimeError(f"__setitem__: {error}") from None


def copy_(x: Array, source: Array) -> Array:
    if source.dtype != x.dtype or np.may_share_memory(x, source):
        raise Unsupported("copy_", "other dtypes and overlap follow NumPy's rules")
    _refuse_overlap("copy_", x)
    if source.ndim > x.ndim:
        raise RuntimeError(f"copy_: {source.ndim} dims into a tensor of {x.ndim}")
    try:
        np.copyto(x, source)
    except ValueError as error:
        raise RuntimeError(f"copy_: {error}") from None
    return x


def fill_(x: Array, value: Any) -> Array:
    if x.dtype.kind in "iub" and not isinstance(value, int):
        raise Unsupported("fill_", "a fractional value for an integer array")
    if x.dtype.kind == "u" and value < 0:
        raise Unsupported("fill_", "NumPy refuses negative numbers for unsigned arrays")
    try:
        with np.errstate(over="ignore"):
            x.fill(value)
    except OverflowError as error:
        raise RuntimeError(f"fill_: {error}") from None
    return x


def zero_(x: Array) -> Array:
    x.fill(0)
    return x


def _refuse_overlap(operator: str, x: Array) -> None:
    if x.size and any(s == 0 and n > 1 for s, n in zip(x.strides, x.shape, strict=True)):
        raise RuntimeError(f"{operator}: more than one element of the written-to tensor refers to one location")


def _factory(operator: str, make: Callable[[tuple[int, ...], Any], Array]) -> Function:
    def call(*size: Any, dtype: Any = _FLOAT32) -> Array:
        sizes = sequence(size)
        if any(n < 0 for n in sizes):
            raise RuntimeError(f"{operator}: negative size in {sizes}")
        if len(sizes) > MOST_DIMS:
            raise Unsupported(operator, f"NumPy arrays have at most {MOST_DIMS} dims")
        try:
            return fresh(make(sizes, dtype))
        except (ValueError, OverflowError) as error:
            raise RuntimeError(f"{operator}: {error}") from None

    return call


def full(size: Sequence[int], value: Any, dtype: Any = None) -> Array:
    if dtype is None:
        raise Unsupported("full", "NumPy infers other dtypes")
    x = _factory("full", np.empty)(size, dtype=dtype)
    return fill_(x, value)


OPERATORS: dict[str, Function] = {
    "reshape": reshape,
    "contiguous": contiguous,
    "clone": clone,
    "__getitem__": getitem,
    "__setitem__": setitem,
    "index.Tensor": index_tensor,
    "copy_": copy_,
    "fill_.Scalar": fill_,
    "zero_": zero_,
    "zeros": _factory("zeros", np.zeros),
    "ones": _factory("ones", np.ones),
    "empty.memory_format": _factory("empty", np.empty),
    "full": full,
    "is_contiguous": lambda x: is_contiguous(x.shape, strides_of(x)),
}
