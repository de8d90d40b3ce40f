"""View operators on NumPy arrays.

NumPy moves the start of an empty slice and the stride of a dim of size 0 or 1 about, where upstream's record is fixed;
so every view is made from its sizes, strides and offset over the array that owns the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib import stride_tricks

from ..backend import Array, Unsupported

Function = Callable[..., Any]
Ints = tuple[int, ...]

MOST_DIMS = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32


def storage_of(x: Array) -> Array:
    """The array that owns the memory under ``x``, or the first array over the memory of another library."""
    owner: Any = x
    while hasattr(owner.base, "base"):
        owner = owner.base
    return np.asarray(owner)


def address(x: Array) -> int:
    """Where the first element of ``x`` lies."""
    where: int = x.__array_interface__["data"][0]
    return where


def offset_of(x: Array) -> int:
    """Distance of the first element from the start of the memory, in elements."""
    return 0 if x.base is None else (address(x) - address(storage_of(x))) // x.itemsize


def strides_of(x: Array) -> Ints:
    """Strides in elements."""
    size = x.itemsize
    return tuple(s // size for s in x.strides)


def over(x: Array, sizes: Sequence[int], strides: Sequence[int], offset: int) -> Array:
    """The view of the memory under ``x`` with these sizes, strides and offset (in elements)."""
    owner, size = storage_of(x), x.itemsize
    if len(sizes) > MOST_DIMS:
        raise Unsupported("as_strided", f"NumPy arrays have at most {MOST_DIMS} dims")
    if offset * size > owner.nbytes:
        raise Unsupported("as_strided", "NumPy has no empty array that starts behind its memory")
    flat = _bytes_of(owner)
    try:
        return np.ndarray(tuple(sizes), x.dtype, flat, offset * size, tuple(s * size for s in strides))
    except (ValueError, OverflowError) as error:
        raise Unsupported("as_strided", f"NumPy refuses sizes {tuple(sizes)}: {error}") from None


def _bytes_of(owner: Array) -> Array:
    """The memory of an array, with the gaps that the tensor of another library may have."""
    if owner.flags.forc:
        return owner.reshape(-1, order="A").view(np.uint8)
    first = stride_tricks.as_strided(owner, (1,), (owner.itemsize,)).view(np.uint8)
    reach = sum((size - 1) * step for size, step in zip(owner.shape, owner.strides, strict=True))
    return stride_tricks.as_strided(first, (reach + owner.itemsize,), (1,))


def wrap(x: Array, dim: int, extra: int = 0) -> int:
    """A dim argument, wrapped; IndexError outside [-rank, rank)."""
    rank = max(x.ndim + extra, 1)
    if not -rank <= dim < rank:
        raise IndexError(f"dim {dim} is out of range for {x.ndim} dims")
    return dim % rank


def sequence(values: Sequence[Any]) -> tuple[Any, ...]:
    """Sizes or dims given one by one or as one list."""
    return tuple(values[0]) if len(values) == 1 and isinstance(values[0], tuple | list) else tuple(values)


def as_strided(x: Array, sizes: Sequence[int], strides: Sequence[int], offset: int | None = None) -> Array:
    start = offset_of(x) if offset is None else offset
    room = storage_of(x).nbytes // x.itemsize
    if len(sizes) != len(strides) or start < 0 or min((*strides, *sizes), default=0) < 0:
        raise RuntimeError(f"as_strided: sizes {sizes}, strides {strides}, offset {offset}")
    reach = 0 if 0 in sizes else 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    if reach and start + reach > room:
        raise RuntimeError(f"as_strided: sizes {sizes}, strides {strides}, offset {offset} leave the storage")
    return over(x, sizes, strides, start)


def _arranged(x: Array, order: Sequence[int]) -> Array:
    strides = strides_of(x)
    return over(x, [x.shape[k] for k in order], [strides[k] for k in order], offset_of(x))


def transpose(x: Array, dim0: int, dim1: int) -> Array:
    first, second = wrap(x, dim0), wrap(x, dim1)
    order = list(range(x.ndim))
    if order:
        order[first], order[second] = order[second], order[first]
    return _arranged(x, order)


def permute(x: Array, *dims: Any) -> Array:
    order = sequence(dims)
    if len(order) != x.ndim:
        raise RuntimeError(f"permute: {len(order)} dims given for a tensor of {x.ndim}")
    wrapped = [wrap(x, d) for d in order]
    if len(set(wrapped)) < len(wrapped):
        raise RuntimeError(f"permute: a dim stands twice in {order}")
    return _arranged(x, wrapped)


def movedim(x: Array, source: Any, destination: Any) -> Array:
    froms, tos = (sequence((d,)) for d in (source, destination))
    if len(froms) != len(tos):
        raise RuntimeError(f"movedim: {len(froms)} dims to {len(tos)} places")
    wrapped, places = [wrap(x, d) for d in froms], [wrap(x, d) for d in tos]
    if len(set(wrapped)) < len(wrapped) or len(set(places)) < len(places):
        raise RuntimeError(f"movedim: a dim stands twice in {source} or {destination}")
    order = [k for k in range(x.ndim) if k not in wrapped]
    for place, dim in sorted(zip(places, wrapped, strict=True)):
        order.insert(place, dim)
    return _arranged(x, order[: x.ndim])


def t(x: Array) -> Array:
    if x.ndim > 2:
        raise RuntimeError(f"t: at most 2 dims, not {x.ndim}")
    return _arranged(x, range(x.ndim - 1, -1, -1))


def expand(x: Array, *sizes: Any) -> Array:
    wanted = sequence(sizes)
    lead = len(wanted) - x.ndim
    if lead < 0:
        raise RuntimeError(f"expand: {len(wanted)} sizes for a tensor of {x.ndim} dims")
    own, steps = x.shape, strides_of(x)
    full, strides = list(wanted), [0] * len(wanted)
    for k in range(len(wanted) - 1, -1, -1):
        size = wanted[k]
        if k < lead:
            if size < 0:
                raise RuntimeError(f"expand: size {size} in the new dim {k}")
            strides[k] = full[k + 1] * strides[k + 1] if size == 1 and own else 0
        elif size in (-1, own[k - lead]):
            full[k], strides[k] = own[k - lead], steps[k - lead]
        elif own[k - lead] != 1 or size < 0:
            raise RuntimeError(f"expand: size {size} in dim {k} of a tensor of sizes {own}")
    return over(x, full, strides, offset_of(x))


def select(x: Array, dim: int, index: int) -> Array:
    if x.ndim == 0:
        raise IndexError("select: a tensor without dims cannot be indexed")
    dim = wrap(x, dim)
    size, strides = x.shape[dim], strides_of(x)
    if not -size <= index < size:
        raise IndexError(f"select: index {index} is out of range for dim {dim} of size {size}")
    start = offset_of(x) + index % size * strides[dim]
    return over(x, x.shape[:dim] + x.shape[dim + 1 :], strides[:dim] + strides[dim + 1 :], start)


def cut(x: Array, dim: int, start: int, length: int, step: int = 1) -> Array:
    """``length`` elements of a dim from ``start`` on, every ``step``-th."""
    strides = list(strides_of(x))
    shape = (*x.shape[:dim], length, *x.shape[dim + 1 :])
    offset = offset_of(x) + start * strides[dim]
    strides[dim] *= step
    return over(x, shape, strides, offset)


def slice_tensor(x: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Array:
    if step <= 0:
        raise ValueError(f"slice: step must be positive, not {step}")
    if x.ndim == 0:
        raise IndexError("slice: a tensor without dims cannot be sliced")
    dim = wrap(x, dim)
    first, last, step = slice(start, end, step).indices(x.shape[dim])
    return cut(x, dim, first, len(range(first, last, step)), step)


def narrow(x: Array, dim: int, start: int, length: int) -> Array:
    if x.ndim == 0:
        raise RuntimeError("narrow: a tensor without dims cannot be narrowed")
    dim = wrap(x, dim)
    size = x.shape[dim]
    if not -size <= start <= size:
        raise IndexError(f"narrow: start {start} is out of range for size {size}")
    start = start + size if start < 0 else start
    if length < 0 or start + length > size:
        raise RuntimeError(f"narrow: start {start} and length {length} exceed size {size}")
    return cut(x, dim, start, length)


def unsqueeze(x: Array, dim: int) -> Array:
    dim = wrap(x, dim, 1)
    strides = strides_of(x)
    step = x.shape[dim] * strides[dim] if dim < x.ndim else 1
    return over(x, (*x.shape[:dim], 1, *x.shape[dim:]), (*strides[:dim], step, *strides[dim:]), offset_of(x))


def squeeze(x: Array, dim: Any = None) -> Array:
    dims = range(x.ndim) if dim is None else [wrap(x, d) for d in sequence((dim,))]
    if len(set(dims)) < len(dims):
        raise RuntimeError(f"squeeze: a dim stands twice in {dim}")
    kept = [k for k in range(x.ndim) if k not in dims or x.shape[k] != 1]
    return _arranged(x, kept)


def diagonal(x: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    first, second = wrap(x, dim1), wrap(x, dim2)
    if first == second:
        raise RuntimeError(f"diagonal: dim {dim1} stands twice")
    strides = strides_of(x)
    rows, columns = x.shape[first], x.shape[second]
    length = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    shift = (offset * strides[second] if offset >= 0 else -offset * strides[first]) if length else 0
    kept = [k for k in range(x.ndim) if k not in (first, second)]
    sizes, steps = [x.shape[k] for k in kept], [strides[k] for k in kept]
    return over(x, [*sizes, length], [*steps, strides[first] + strides[second]], offset_of(x) + shift)


def unbind(x: Array, dim: int = 0) -> list[Array]:
    return [select(x, dim, k) for k in range(x.shape[wrap(x, dim)])]


def unfold(x: Array, dim: int, size: int, step: int) -> Array:
    dim = wrap(x, dim)
    shape, strides = list(x.shape) or [1], list(strides_of(x)) or [1]
    if size < 0 or step <= 0 or size > shape[dim]:
        raise RuntimeError(f"unfold: size {size} and step {step} do not fit dim {dim} of size {shape[dim]}")
    window = strides[dim]
    shape[dim], strides[dim] = (shape[dim] - size) // step + 1, window * step
    kept = len(shape) if x.ndim else 0
    return over(x, (*shape[:kept], size), (*strides[:kept], window), offset_of(x))


def basic_index(x: Array, parts: Sequence[Any]) -> Array:
    """An index of integers, slices, None and at most one Ellipsis."""
    taken = sum(p is not None and p is not Ellipsis for p in parts)
    if taken > x.ndim or sum(p is Ellipsis for p in parts) > 1:
        raise IndexError(f"too many indices for a tensor of {x.ndim} dims: {parts}")
    result, dim = x if parts else over(x, x.shape, strides_of(x), offset_of(x)), 0
    for part in parts:
        if part is Ellipsis:
            dim += x.ndim - taken
        elif part is None:
            result, dim = unsqueeze(result, dim), dim + 1
        elif isinstance(part, slice):
            step = 1 if part.step is None else part.step
            result, dim = slice_tensor(result, dim, part.start, part.stop, step), dim + 1
        else:
            result = select(result, dim, part)
    return over(x, x.shape, strides_of(x), offset_of(x)) if result is x else result


def packed_strides(x: Array) -> Ints:
    """The strides of a clone: the input's own if it is dense, else packed in the order of the input's."""
    strides = strides_of(x)
    if x.size == 0:
        return strides
    dims = sorted((k for k in range(x.ndim) if x.shape[k] != 1), key=lambda k: strides[k])
    step = 1
    for k in dims:
        if strides[k] != step:
            return _reordered(x.shape, strides)
        step *= x.shape[k]
    return strides


def _reordered(sizes: Ints, strides: Ints) -> Ints:
    """Packed strides for dims in the order of ``strides``; equal ones by size, dims of stride 0 keep their place."""
    order = list(range(len(sizes) - 1, -1, -1))
    for start in range(1, len(order)):
        place = start
        for before in range(start - 1, -1, -1):
            inner, outer = order[before], order[place]
            if not strides[inner] or not strides[outer]:
                continue
            if (strides[inner], sizes[inner]) > (strides[outer], sizes[outer]):
                order[before], order[place] = outer, inner
                place = before
            elif strides[inner] != strides[outer] or sizes[inner] != sizes[outer]:
                break
    found, step = [0] * len(sizes), 1
    for k in order:
        found[k] = step
        step *= max(sizes[k], 1)
    return tuple(found)


def empty_strided(sizes: Sequence[int], strides: Sequence[int], dtype: Any) -> Array:
    """Fresh memory that holds exactly the view of these sizes and strides."""
    if 0 in sizes:
        return over(np.empty(0, dtype), sizes, strides, 0)
    reach = 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    return over(np.empty(reach, dtype), sizes, strides, 0)


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
    "unbind.int": unbind,
    "unfold": unfold,
    "detach": lambda x: x[...],
}
