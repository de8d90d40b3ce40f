"""Views: the elements that a view shows, whatever storage it shows them from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backend import Array, numpy_dtype
from .moves import Oracle
from .near import Undefined


def expanded(x: Array, size: Sequence[int]) -> Array:
    lead = len(size) - x.ndim
    return np.broadcast_to(x, [x.shape[k - lead] if n == -1 else n for k, n in enumerate(size)])


def squeezed(x: Array, dims: Sequence[int]) -> Array:
    """Without those of ``dims`` that have size 1."""
    chosen = {d % max(x.ndim, 1) for d in dims}
    return x.reshape([n for k, n in enumerate(x.shape) if n != 1 or k not in chosen])


def narrowed(x: Array, dim: int, start: Any, length: int) -> Array:
    begin = int(start) + (x.shape[dim] if int(start) < 0 else 0)
    return x.take(range(begin, begin + length), dim)


def sliced(x: Array, dim: int, start: int | None, end: int | None, step: int) -> Array:
    return np.moveaxis(np.moveaxis(x, dim, 0)[start:end:step], 0, dim)


def split(x: Array, size: int, dim: int) -> list[Array]:
    return np.split(x, range(size, max(x.shape[dim], 1), size), dim) if x.shape[dim] else [x]


def chunk(x: Array, chunks: int, dim: int) -> list[Array]:
    size = -(-x.shape[dim] // chunks)
    return split(x, size, dim) if size else [x] * chunks


def split_sizes(x: Array, sizes: Sequence[int], dim: int) -> list[Array]:
    return np.split(x, np.cumsum(sizes)[:-1], dim)


def tensor_split(x: Array, places: Any, dim: int) -> list[Array]:
    if np.ndim(places):
        cuts = [slice(a, b) for a, b in zip([None, *places], [*places, None], strict=True)]
        return [np.moveaxis(np.moveaxis(x, dim, 0)[cut], 0, dim) for cut in cuts]
    return np.array_split(x, int(places), dim)


def unfold(x: Array, dim: int, size: int, step: int) -> Array:
    """Windows along ``dim``, their elements along a last dim; the one window of a tensor without dims stands alone."""
    if not x.ndim:
        return x.reshape(1)[:size]
    starts = range(0, x.shape[dim] - size + 1, step)
    return np.stack([np.moveaxis(narrowed(x, dim, k, size), dim, -1) for k in starts], dim % x.ndim)


def moved(x: Array, source: Any, destination: Any) -> Array:
    return np.moveaxis(x, source, destination) if x.ndim else x


def exchanged(x: Array, dim0: int, dim1: int) -> Array:
    return np.swapaxes(x, dim0, dim1) if x.ndim else x


def broadcast(tensors: Sequence[Array]) -> list[Array]:
    sizes = np.broadcast_shapes(*[t.shape for t in tensors])
    return [np.broadcast_to(t, sizes) for t in tensors]


def flattened(x: Array, start: int, end: int) -> Array:
    if not x.ndim:
        return x.reshape(1)
    first, last = start % x.ndim, end % x.ndim
    return x.reshape(*x.shape[:first], math.prod(x.shape[first : last + 1]), *x.shape[last + 1 :])


def unflattened(x: Array, dim: int, sizes: Sequence[int]) -> Array:
    given, axis = -math.prod(sizes), dim % x.ndim
    parts = [x.shape[axis] // given if n == -1 else n for n in sizes]
    return x.reshape(*x.shape[:axis], *parts, *x.shape[axis + 1 :])


def paired(x: Array) -> Array:
    """Pairs along the last dim as complex numbers."""
    assert x.itemsize >= 4, x.dtype
    return np.ascontiguousarray(x).view(f"c{2 * x.itemsize}")[..., 0]


def reinterpreted(x: Array, dtype: Any) -> Array:
    """The bytes of each element as another dtype of the same size."""
    kind = numpy_dtype(str(dtype))
    if kind.itemsize != x.itemsize or kind == np.bool_:
        raise Undefined("another_element_size")
    return np.ascontiguousarray(x).reshape(x.shape).view(kind)


def every(function: Oracle) -> Oracle:
    return lambda tensors: [function(t) for t in tensors]


def parted(x: Array, places: Any, dim: int) -> list[Array]:
    assert np.ndim(places) or not x.shape[dim] % places, (x.shape, places)
    return tensor_split(x, places, dim)


_SHOWN: dict[str, Oracle] = {
    "expand": lambda x, size, implicit: expanded(x, size),
    "expand_as": lambda x, other: np.broadcast_to(x, other.shape),
    "broadcast_to": expanded,
    "broadcast_tensors": broadcast,
    "permute": lambda x, dims: np.transpose(x, dims),
    "transpose": exchanged,
    "swapaxes": exchanged,
    "t": lambda x: x.T,
    "adjoint": lambda x: np.swapaxes(x, -1, -2).conj(),
    "squeeze": lambda x: np.squeeze(x),
    "squeeze.dim": lambda x, dim: squeezed(x, (dim,)),
    "squeeze.dims": squeezed,
    "unsqueeze": lambda x, dim: np.expand_dims(x, dim),
    "movedim": moved,
    "select": lambda x, dim, index: np.take(x, index, dim),
    "slice": sliced,
    "narrow": narrowed,
    "split.Tensor": split,
    "split.sizes": split_sizes,
    "split_with_sizes": split_sizes,
    "chunk": chunk,
    "tensor_split": tensor_split,
    "unbind": lambda x, dim: list(np.moveaxis(x, dim, 0)),
    "diagonal": lambda x, offset, dim1, dim2: np.diagonal(x, offset, dim1, dim2),
    "unfold": unfold,
    "real": lambda x: np.asarray(x.real) if x.dtype.kind == "c" else x,
    "imag": lambda x: np.asarray(x.imag),
    "view": lambda x, size: x.reshape(size),
    "reshape": lambda x, shape: x.reshape(shape),
    "flatten": flattened,
    "unflatten": unflattened,
    "ravel": lambda x: x.reshape(-1),
    "view_as": lambda x, other: x.reshape(other.shape),
    "reshape_as": lambda x, other: x.reshape(other.shape),
    "detach": lambda x: x,
    "positive": lambda x: x,
    "conj": lambda x: x.conj() if x.dtype.kind == "c" else x,
    "resolve_conj": lambda x: x,
    "resolve_neg": lambda x: x,
    "view_as_real": lambda x: np.stack([x.real, x.imag], -1),
    "view_as_complex": paired,
}
# Copies of what views show.
_COPIED = frozenset(
    """detach diagonal expand narrow permute select slice split split_with_sizes squeeze t transpose unbind unfold
    unsqueeze view view_as_real view_as_complex""".split()
)

PIECES: dict[str, Oracle] = {
    **_SHOWN,
    **{name.replace(base, f"{base}_copy", 1): oracle for name, oracle in _SHOWN.items()
       for base in [name.partition(".")[0]] if base in _COPIED},
    "alias_copy": lambda x: x,
    "view_copy.dtype": reinterpreted,
    "linalg_diagonal": lambda x, offset, dim1, dim2: np.diagonal(x, offset, dim1, dim2),
    "atleast_1d": lambda x: np.atleast_1d(x),
    "atleast_2d": lambda x: np.atleast_2d(x),
    "atleast_3d": lambda x: np.atleast_3d(x),
    "atleast_1d.Sequence": every(np.atleast_1d),
    "atleast_2d.Sequence": every(np.atleast_2d),
    "atleast_3d.Sequence": every(np.atleast_3d),
    "hsplit": lambda x, places: parted(x, places, 0 if x.ndim == 1 else 1),
    "vsplit": lambda x, places: parted(x, places, 0),
    "dsplit": lambda x, places: parted(x, places, 2),
    "unsafe_chunk": chunk,
    "unsafe_split.Tensor": split,
    "unsafe_split_with_sizes": split_sizes,
}  # fmt: skip
