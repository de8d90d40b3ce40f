"""Compressed tensors from pointers, plain indices, values and sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ..core import lazy_numpy as np
from ..core.device import Device, cpu, meta_device
from ..core.dtype import DType, int32, int64
from ..core.errors import check_ints, check_sizes
from ..core.layout import UPSTREAM_NAMES, Layout, sparse_bsc, sparse_bsr, sparse_csc, sparse_csr
from ..core.promotion import UPSTREAM_NAMES as DTYPE_NAMES
from ..dispatch.dispatcher import REGISTRY, call
from ..operators.invoke import apply
from ..tensor.getters import set_requires_grad
from ..tensor.tensor import Tensor
from .compressed_tensor import FORMS, CompressedParts, Form
from .construction import as_strided_tensor
from .coo_tensor import alias, host_array
from .invariants import is_checked


def sparse_compressed_tensor(
    compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *, dtype: DType | None = None,
    layout: Layout | None = None, device: Device | str | None = None, pin_memory: bool = False,
    requires_grad: bool = False, check_invariants: bool | None = None,
) -> Tensor:  # fmt: skip
    """Return a tensor in a compressed layout over `values`, which it shares.

    Without `size` there are as many rows as the pointers have, and the columns end with the largest index, or the other
    way round. Raises RuntimeError for a layout that is not compressed, for parts whose sizes or dtypes do not go
    together, and for elements that break the invariants of the layout where these are checked.
    """
    name = "sparse_compressed_tensor"
    if layout not in FORMS:
        given = "none" if layout is None else UPSTREAM_NAMES[layout]
        raise RuntimeError(f"{name} expected sparse compressed tensor layout but got {given}")
    entries = as_strided_tensor("values", values, dtype, device)
    compressed = as_strided_tensor("compressed_indices", compressed_indices, None, entries.meta.device)
    plain = as_strided_tensor("plain_indices", plain_indices, None, entries.meta.device)
    parts = CompressedParts(layout, compressed, plain, entries)
    check_parts(parts)
    sizes = inferred(parts) if size is None else check_ints(name, "size", size)
    check_sizes(name, sizes)
    check_shape(parts, sizes)
    if is_checked(check_invariants) and entries.meta.device is not meta_device:
        check_elements(parts, sizes)
    result: Tensor = call(OPERATOR, compressed, plain, parts.values, sizes, layout=layout)
    return set_requires_grad(result, True) if requires_grad else result


def from_parts(
    compressed_indices: Tensor, plain_indices: Tensor, values: Tensor, size: Sequence[int], *, layout: Layout
) -> Tensor:
    """Return the tensor with these parts, which it shares."""
    return CompressedParts(layout, *map(alias, (compressed_indices, plain_indices, values))).tensor(size)


def of_layout(layout: Layout) -> Callable[..., Tensor]:
    """Return the function that makes tensors of one compressed layout."""

    def make(
        compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, **options: Any
    ) -> Tensor:
        return sparse_compressed_tensor(compressed_indices, plain_indices, values, size, layout=layout, **options)

    make.__name__ = make.__qualname__ = f"sparse_{FORMS[layout].name}_tensor"
    make.__doc__ = f"Return a tensor in layout {layout.name}: see sparse_compressed_tensor."
    return make


FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "sparse_compressed_tensor": sparse_compressed_tensor,
    **{f"sparse_{FORMS[one].name}_tensor": of_layout(one) for one in (sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)},
}
"""Public function -> itself."""


def unfit(message: str) -> NoReturn:
    """Raise RuntimeError."""
    raise RuntimeError(message)


def check_parts(parts: CompressedParts) -> None:
    """Raise RuntimeError unless dtypes and sizes of the parts go together."""
    (pointers, plain, _), form = parts.names, parts.form
    compressed, indices, values = (one.meta for one in parts.tensors)
    if compressed.dtype is not indices.dtype:
        unfit(
            f"{pointers} and {plain} must have the same dtype, but got {DTYPE_NAMES[compressed.dtype.name]} and "
            f"{DTYPE_NAMES[indices.dtype.name]}, respectively"
        )
    if compressed.dtype not in (int32, int64):
        unfit(f"{pointers} and {plain} must be int32 or int64, but got {compressed.dtype.name}")
    if not compressed.ndim or compressed.ndim != indices.ndim or compressed.sizes[:-1] != indices.sizes[:-1]:
        unfit(f"{pointers} and {plain} must have equal batch dims, but got {compressed.sizes} and {indices.sizes}")
    if not compressed.sizes[-1]:
        unfit(f"{pointers} must have at least one element, got sizes {list(compressed.sizes)}")
    if values.ndim < indices.ndim + 2 * form.blocks or values.sizes[: indices.ndim] != indices.sizes:
        block = " and the two dims of a block" if form.blocks else ""
        unfit(
            f"{plain}.shape[-1] must be equal to nnz as defined by values: values must begin with the sizes of "
            f"{plain}, {list(indices.sizes)}{block}, but got {list(values.sizes)}"
        )


def check_shape(parts: CompressedParts, sizes: Sequence[int]) -> None:
    """Raise RuntimeError unless the sizes of a tensor are those that its parts have."""
    lead, dense = len(parts.batch), parts.dense_dim
    if len(sizes) != lead + 2 + dense:
        unfit(
            f"tensor dimensionality must be sum of batch, base, and dense dimensionalities (={lead} + 2 + {dense}) "
            f"but got {len(sizes)}"
        )
    given = parts.values.meta.sizes
    if tuple(sizes[:lead]) != parts.batch or tuple(sizes[lead + 2 :]) != given[len(given) - dense :]:
        unfit(f"size {list(sizes)} must begin with the batch dims {list(parts.batch)} and end with the dense dims")
    for dim, (size, block) in enumerate(zip(sizes[lead : lead + 2], parts.block, strict=True)):
        if not block or size % block:
            unfit(
                f"tensor shape[{lead + dim}] (={size}) must be divisible with blocksize[{dim}] (={block}) as defined "
                f"by values shape"
            )
    length, _ = extents(parts, sizes)
    pointers = parts.compressed.meta.sizes[-1]
    if pointers != length + 1:
        what = "rows" if parts.form.rows else "columns"
        unfit(
            f"{parts.names[0]}.shape[-1] must be equal to the number of {what} + 1 (={length + 1}), but got {pointers}"
        )


def extents(parts: CompressedParts, sizes: Sequence[int]) -> tuple[int, int]:
    """Return how many entries fit along the compressed dim and along the other."""
    lead = len(parts.batch)
    grid = [size // block for size, block in zip(sizes[lead : lead + 2], parts.block, strict=True)]
    return (grid[0], grid[1]) if parts.form.rows else (grid[1], grid[0])


def inferred(parts: CompressedParts) -> tuple[int, ...]:
    """Return the sizes of the tensor that the parts alone tell."""
    plain = host_array(parts.plain)
    length, across = parts.compressed.meta.sizes[-1] - 1, int(plain.max()) + 1 if plain.size else 0
    grid = (length, across) if parts.form.rows else (across, length)
    given = parts.values.meta.sizes
    sizes = [entries * block for entries, block in zip(grid, parts.block, strict=True)]
    return (*parts.batch, *sizes, *given[len(given) - parts.dense_dim :])


def check_elements(parts: CompressedParts, sizes: Sequence[int]) -> None:
    """Raise RuntimeError unless the pointers begin with 0, end with the number of entries and grow by what fits, and
    the plain indices are in range, in order and distinct within each row or column."""
    (pointers, plain, _), form = parts.names, parts.form
    _, across = extents(parts, sizes)
    what, other = ("rows", "cols") if form.rows else ("cols", "rows")
    compressed = host_array(parts.compressed).reshape(-1, parts.compressed.meta.sizes[-1])
    indices = host_array(parts.plain).reshape(-1, parts.nnz) if parts.nnz else np.zeros((len(compressed), 0), np.int64)
    if (compressed[:, 0] != 0).any():
        unfit(f"`{pointers}[..., 0] == 0` is not satisfied.")
    if (compressed[:, -1] != parts.nnz).any():
        unfit(f"`{pointers}[..., -1] == nnz` is not satisfied.")
    steps = np.diff(compressed, axis=1)
    if ((steps < 0) | (steps > across)).any():
        unfit(f"`0 <= {pointers}[..., 1:] - {pointers}[..., :-1] <= n{other}` is not satisfied.")
    if indices.size and not (indices.min() >= 0 and indices.max() < across):
        unfit(f"`0 <= {plain} < n{other}` is not satisfied.")
    for row, step in zip(indices, steps, strict=True):
        owners = np.repeat(np.arange(step.size), step)
        if ((np.diff(row) <= 0) & (np.diff(owners) == 0)).any():
            unfit(
                f"`{plain}[..., {pointers}[..., i - 1]:{pointers}[..., i]] for all i = 1, ..., n{what} are sorted and "
                f"distinct along the last dimension values` is not satisfied."
            )


def empty_parts(
    layout: Layout, sizes: Sequence[int], dtype: DType, device: Device = cpu
) -> CompressedParts:
    """Return parts without entries; blocks are of one element."""
    form: Form = FORMS[layout]
    *batch, rows, cols = sizes
    pointers = (*batch, (rows if form.rows else cols) + 1)
    made = [
        apply("zeros", list(one), dtype=kind, device=device)
        for one, kind in ((pointers, int64), ((*batch, 0), int64), ((*batch, 0, *(form.blocks * (1, 1))), dtype))
    ]
    return CompressedParts(layout, *made)


OPERATOR = REGISTRY.find("_sparse_compressed_tensor_unsafe")
