"""Sparse tensors in files: their parts, checked when they are read."""

from __future__ import annotations

from math import prod
from typing import Any

from ..core.device import meta_device
from ..core.dtype import int64
from ..core.errors import INT64_MAX
from ..core.layout import sparse_coo, strided
from ..core.size import Size
from ..operators.invoke import apply
from ..sparse import compressed_tensor
from ..sparse.compressed_construction import sparse_compressed_tensor
from ..sparse.coo_tensor import coo, parts_of
from ..tensor.sparse_tensor import SparseTensor
from ..tensor.tensor import Tensor


def data_of(tensor: SparseTensor) -> tuple[Any, ...]:
    """Return what PyTorch's files hold of a sparse tensor."""
    sizes = Size(tensor.meta.sizes)
    if tensor.layout is sparse_coo:
        coordinates = parts_of(tensor)
        return coordinates.indices, coordinates.values, sizes, coordinates.coalesced
    parts = compressed_tensor.parts_of(tensor)
    return parts.compressed, parts.plain, parts.values, sizes


def rebuild_sparse(layout: Any, data: Any) -> Tensor:
    """Return the tensor with the parts in a file. Raises TypeError, ValueError or RuntimeError unless they make one."""
    compressed = layout in compressed_tensor.FORMS
    if layout is not sparse_coo and not compressed:
        raise ValueError(f"a tensor has the layout {layout!r}, which is not read")
    names = ("compressed indices", "plain indices", "values") if compressed else ("indices", "values")
    if type(data) is not tuple or len(data) not in ((4,) if compressed else (3, 4)):
        raise TypeError(f"a sparse tensor is not made of {', '.join(names)} and sizes")
    for name, part in zip(names, data, strict=False):
        if not isinstance(part, Tensor) or part.layout is not strided or part.meta.device is not data[0].meta.device:
            raise TypeError(f"the {name} of a sparse tensor are no strided tensor on one device with the other parts")
        if part.meta.device is meta_device:
            raise TypeError(f"the {name} of a sparse tensor have no elements: they are on the meta device")
    parts, sizes = [apply("detach", part) for part in data[: len(names)]], data[len(names)]
    if not isinstance(sizes, (tuple, list)) or not all(type(size) is int and 0 <= size <= INT64_MAX for size in sizes):
        raise TypeError(f"the sizes of a sparse tensor are {sizes!r}")
    if compressed:
        pointers, plain, values = parts
        return sparse_compressed_tensor(pointers, plain, values, tuple(sizes), layout=layout, check_invariants=True)
    indices, values = parts
    _check_shapes(indices, values, tuple(sizes))
    sorted_ = _is_sorted(indices, tuple(sizes)) if len(data) == 4 and data[3] else False
    return coo(indices, values, sizes, coalesced=sorted_)


def _check_shapes(indices: Tensor, values: Tensor, sizes: tuple[int, ...]) -> None:
    """Raise ValueError unless the parts fit each other and the sizes."""
    held, shape = indices.meta.sizes, values.meta.sizes
    if indices.meta.dtype is not int64 or len(held) != 2 or not shape or shape[0] != held[1]:
        raise ValueError(f"a sparse tensor has indices of shape {held} and values of shape {shape}")
    if len(sizes) != held[0] + len(shape) - 1 or sizes[held[0] :] != shape[1:]:
        raise ValueError(f"a sparse tensor of sizes {sizes} has indices of shape {held} and values of shape {shape}")
    if not indices.meta.numel:
        return
    lowest, highest = (apply(name, indices, (1,)).tolist() for name in ("amin", "amax"))  # type: ignore[attr-defined]
    if min(lowest) < 0 or any(one >= size for one, size in zip(highest, sizes, strict=False)):
        raise ValueError(f"a sparse tensor of sizes {sizes} has indices from {lowest} to {highest}")


def _is_sorted(indices: Tensor, sizes: tuple[int, ...]) -> bool:
    """Return whether the columns are distinct and in lexicographic order; False where 64 bits do not number them."""
    rows = sizes[: indices.meta.sizes[0]]
    if prod(rows) > INT64_MAX or not rows:
        return False
    place: Any = 0
    for dim, size in enumerate(rows):
        place = place * size + apply("select.int", indices, 0, dim)
    return bool((place[1:] > place[:-1]).all())
