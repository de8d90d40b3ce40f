"""Upstream's operators in terms of NumPy, as far as NumPy's documented semantics are the same.

Where they differ for some inputs (promotion, integer division by zero, …) the function raises
:class:`~gaugeblock_conformance.backend.Unsupported` for those inputs: that part is skipped and said so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided as numpy_as_strided

from ..backend import Array, Unsupported

Function = Callable[..., Any]


def storage_of(x: Array) -> Array:
    """The array that owns the memory under ``x``."""
    owner: Any = x
    while getattr(owner, "base", None) is not None:
        owner = owner.base
    return np.asarray(owner)


def _dim(x: Array, dim: int) -> int:
    """A dim argument, wrapped; IndexError outside [-ndim, ndim)."""
    rank = max(x.ndim, 1)
    if not -rank <= dim < rank:
        raise IndexError(f"dim {dim} is out of range for {x.ndim} dims")
    return dim % rank


def as_strided(x: Array, sizes: Sequence[int], strides: Sequence[int], offset: int | None = None) -> Array:
    flat = storage_of(x).reshape(-1).view(x.dtype)
    if offset is None:
        offset = (x.ctypes.data - flat.ctypes.data) // x.itemsize
    reach = 0 if 0 in sizes else 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    if len(sizes) != len(strides) or offset < 0 or min(strides, default=0) < 0 or offset + reach > flat.size:
        raise RuntimeError(f"as_strided: sizes {sizes}, strides {strides}, offset {offset} leave the storage")
    return numpy_as_strided(flat[offset:], tuple(sizes), tuple(s * x.itemsize for s in strides))


def transpose(x: Array, dim0: int, dim1: int) -> Array:
    return np.swapaxes(x, _dim(x, dim0), _dim(x, dim1)) if x.ndim else x[...]


def permute(x: Array, *dims: Any) -> Array:
    order = dims[0] if len(dims) == 1 and isinstance(dims[0], tuple | list) else dims
    if len(order) != x.ndim:
        raise RuntimeError(f"permute: {len(order)} dims given for a tensor of {x.ndim}")
    return np.transpose(x, [_dim(x, d) for d in order])


def movedim(x: Array, source: Any, destination: Any) -> Array:
    return np.moveaxis(x, source, destination)


def t(x: Array) -> Array:
    if x.ndim > 2:
        raise RuntimeError(f"t: at most 2 dims, not {x.ndim}")
    return x.T


def expand(x: Array, *sizes: Any) -> Array:
    wanted = tuple(sizes[0] if len(sizes) == 1 and isinstance(sizes[0], tuple | list) else sizes)
    lead = len(wanted) - x.ndim
    if lead < 0:
        raise RuntimeError(f"expand: {len(wanted)} sizes for a tensor of {x.ndim} dims")
    full = []
    for k, size in enumerate(wanted):
        own = x.shape[k - lead] if k >= lead else 1
        if (size == -1 and k < lead) or (size not in (-1, own) and own != 1):
            raise RuntimeError(f"expand: size {size} in dim {k} of a tensor of sizes {x.shape}")
        full.append(own if size == -1 else size)
    strides = [0] * lead + [
        0 if own == 1 and size != 1 else stride
        for own, size, stride in zip(x.shape, full[lead:], x.strides, strict=True)
    ]
    return numpy_as_strided(x, tuple(full), tuple(strides))


def select(x: Array, dim: int, index: int) -> Array:
    if x.ndim == 0:
        raise IndexError("select: a tensor without dims cannot be indexed")
    dim = _dim(x, dim)
    size = x.shape[dim]
    if not -size <= index < size:
        raise IndexError(f"select: index {index} is out of range for dim {dim} of size {size}")
    return x[(slice(None),) * dim + (index, ...)]


def slice_tensor(x: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Array:
    if step <= 0:
        raise ValueError(f"slice: step must be positive, not {step}")
    return x[(slice(None),) * _dim(x, dim) + (slice(start, end, step),)]


def narrow(x: Array, dim: int, start: int, length: int) -> Array:
    dim = _dim(x, dim)
    size = x.shape[dim]
    if not -size <= start <= size:
        raise IndexError(f"narrow: start {start} is out of range for size {size}")
    start = start + size if start < 0 else start
    if length < 0 or start + length > size:
        raise RuntimeError(f"narrow: start {start} and length {length} exceed size {size}")
    return x[(slice(None),) * dim + (slice(start, start + length),)]


def unsqueeze(x: Array, dim: int) -> Array:
    if not -x.ndim - 1 <= dim <= x.ndim:
        raise IndexError(f"unsqueeze: dim {dim} is out of range")
    return _own_unit_stride(np.expand_dims(x, dim), x, dim % (x.ndim + 1))


def _own_unit_stride(y: Array, x: Array, dim: int) -> Array:
    """NumPy gives an inserted dim stride 0; upstream continues the strides."""
    stride = x.shape[dim] * x.strides[dim] if dim < x.ndim else x.itemsize
    return numpy_as_strided(y, y.shape, (*y.strides[:dim], stride, *y.strides[dim + 1 :]))


def squeeze(x: Array, dim: Any = None) -> Array:
    if dim is None:
        return np.squeeze(x)
    dims = dim if isinstance(dim, tuple | list) else (dim,)
    return np.squeeze(x, tuple(d for d in (_dim(x, k) for k in dims) if x.ndim and x.shape[d] == 1))


def diagonal(x: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    raise Unsupported("diagonal", "NumPy's view of a diagonal is read-only")


def reshape(x: Array, *shape: Any) -> Array:
    wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    try:
        return x.reshape(tuple(wanted))
    except ValueError as error:
        raise RuntimeError(f"reshape: {error}") from None


def contiguous(x: Array) -> Array:
    return x if x.flags.c_contiguous else np.array(x, order="C")


def clone(x: Array) -> Array:
    return np.array(x, order="K")


def unbind(x: Array, dim: int = 0) -> list[Array]:
    return [select(x, dim, k) for k in range(x.shape[_dim(x, dim)])]


def unfold(x: Array, dim: int, size: int, step: int) -> Array:
    dim = _dim(x, dim)
    if size < 0 or step <= 0 or size > x.shape[dim]:
        raise RuntimeError(f"unfold: size {size} and step {step} do not fit dim {dim} of size {x.shape[dim]}")
    shape, strides = list(x.shape), list(x.strides)
    shape[dim], strides[dim] = (x.shape[dim] - size) // step + 1, x.strides[dim] * step
    return numpy_as_strided(x, (*shape, size), (*strides, x.strides[dim]))


def getitem(x: Array, index: Any) -> Array:
    parts = index if isinstance(index, tuple) else (index,)
    for part in parts:
        if isinstance(part, slice) and part.step is not None and part.step <= 0:
            raise ValueError(f"slice: step must be positive, not {part.step}")
        if isinstance(part, np.ndarray) and part.ndim == 0 and part.dtype != bool:
            raise Unsupported("__getitem__", "a 0-dim index array copies in NumPy")
        if isinstance(part, np.ndarray) and part.dtype.kind not in "biu":
            raise IndexError(f"index arrays must be integer or bool, not {part.dtype}")
    advanced = [p for p in parts if isinstance(p, np.ndarray | list | bool)]
    if advanced and any(isinstance(p, int) and not isinstance(p, bool) for p in parts):
        raise Unsupported("__getitem__", "NumPy counts an int beside index arrays as an index array")
    basic = not advanced and Ellipsis not in [p for p in parts if not isinstance(p, np.ndarray)]
    result = x[(*parts, ...)] if basic else x[index]
    if not advanced and any(p is None for p in parts):
        raise Unsupported("__getitem__", "NumPy gives a new dim stride 0")
    return np.asarray(result)


def setitem(x: Array, index: Any, value: Any) -> None:
    if isinstance(value, np.ndarray) and value.dtype != x.dtype:
        raise Unsupported("__setitem__", "NumPy casts by its own rules")
    if isinstance(value, np.ndarray) and np.shares_memory(x, value):
        raise Unsupported("__setitem__", "NumPy buffers overlapping assignments")
    x[index] = value


def copy_(x: Array, source: Array) -> Array:
    if source.dtype != x.dtype or np.shares_memory(x, source) or 0 in x.strides:
        raise Unsupported("copy_", "other dtypes and overlap follow NumPy's rules")
    try:
        np.copyto(x, source)
    except ValueError as error:
        raise RuntimeError(f"copy_: {error}") from None
    return x


def fill_(x: Array, value: Any) -> Array:
    if x.dtype.kind in "iub" and not isinstance(value, int):
        raise Unsupported("fill_", "a fractional value for an integer array")
    try:
        x.fill(value)
    except OverflowError as error:
        raise RuntimeError(f"fill_: {error}") from None
    return x


def zero_(x: Array) -> Array:
    x.fill(0)
    return x


VIEWS: dict[str, Function] = {
    "as_strided": as_strided,
    "transpose.int": transpose,
    "swapaxes": transpose,
    "permute": permute,
    "movedim.int": movedim,
    "movedim.intlist": movedim,
    "t": t,
    "expand": expand,
    "select.int": select,
    "slice.Tensor": slice_tensor,
    "narrow": narrow,
    "unsqueeze": unsqueeze,
    "squeeze": squeeze,
    "squeeze.dim": squeeze,
    "squeeze.dims": squeeze,
    "diagonal": diagonal,
    "reshape": reshape,
    "contiguous": contiguous,
    "clone": clone,
    "unbind.int": unbind,
    "unfold": unfold,
    "__getitem__": getitem,
    "__setitem__": setitem,
    "index.Tensor": lambda x, indices: getitem(x, tuple(slice(None) if i is None else i for i in indices)),
    "copy_": copy_,
    "fill_.Scalar": fill_,
    "zero_": zero_,
}
