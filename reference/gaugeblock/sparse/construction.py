"""Tensors in coordinate form from indices, values and sizes."""

from __future__ import annotations

from typing import Any

from ..core.device import Device, as_device, meta_device
from ..core.dtype import DEFAULTS, DType, int64
from ..core.errors import check_ints, check_sizes, type_error
from ..dispatch.dispatcher import REGISTRY, call
from ..operators.invoke import apply
from ..operators.tensor_data import tensor
from ..tensor.getters import set_requires_grad
from ..tensor.tensor import Tensor
from . import declarations as declarations
from .coo_tensor import alias, coo, empty_coo, host_array
from .invariants import (
    check_coalesced,
    check_coo_indices,
    check_coo_shapes,
    check_counts,
    check_not_negative,
    is_checked,
    refuse,
)

NAME = "sparse_coo_tensor"


def sparse_coo_tensor(
    indices: Any = None, values: Any = None, size: Any = None, *, dtype: DType | None = None,
    device: Device | str | None = None, pin_memory: bool = False, requires_grad: bool = False,
    check_invariants: bool | None = None, is_coalesced: bool | None = None,
) -> Tensor:  # fmt: skip
    """Return a tensor in coordinate form over `values`, which it shares, or without specified elements of a `size`.

    `indices` has a column for each value, or for each dense block of values. Without `size` every sparse dim ends with
    its largest index. Raises TypeError for arguments of other types, RuntimeError for sizes that do not go together,
    for a negative index where the size is not given, and for indices out of range where invariants are checked.
    """
    if values is None:
        given = indices if size is None else size
        if indices is not None and size is not None:
            type_error(NAME, "values", values, "a tensor or nested lists")
        sizes = check_ints(NAME, "size", given)
        check_sizes(NAME, sizes)
        made: Tensor = empty_coo(sizes, len(sizes), dtype or DEFAULTS.dtype, as_device(device))
        return set_requires_grad(made, True) if requires_grad else made
    if size is not None and not isinstance(size, (tuple, list)):
        type_error(NAME, "size", size, "a tuple of ints")
    parts = as_strided_tensor("values", values, dtype, device)
    columns = as_strided_tensor("indices", indices, int64, parts.meta.device)
    if not parts.meta.ndim:
        parts = apply("expand", parts, (1,))
    sizes = inferred(columns, parts) if size is None else check_ints(NAME, "size", size)
    checked = is_checked(check_invariants) and columns.meta.device is not meta_device
    result: Tensor = call(
        OPERATOR, columns.meta.sizes[0] if columns.meta.ndim else 0, parts.meta.ndim - 1, sizes, columns, parts,
        is_coalesced=is_coalesced,
    )  # fmt: skip
    if checked:
        indices_array = host_array(columns)
        check_coo_indices(indices_array, sizes)
        if is_coalesced:
            check_coalesced(indices_array, sizes[: indices_array.shape[0]])
    return set_requires_grad(result, True) if requires_grad else result


def as_strided_tensor(
    name: str, data: Any, dtype: DType | None = None, device: Device | str | None = None
) -> Tensor:
    """Return data as a strided tensor, in another dtype and on another device if they are given. Raises TypeError for a
    sparse one."""
    if not isinstance(data, Tensor):
        return tensor(data, dtype=dtype, device=device)
    if data.layout.name != "strided":
        raise TypeError(f"{NAME}(): argument '{name}' must be strided, got a tensor of layout {data.layout.name}")
    return apply("to.device", data, data.meta.device if device is None else as_device(device), dtype)


def inferred(indices: Tensor, values: Tensor) -> tuple[int, ...]:
    """Return the sizes that end with the largest indices. Raises RuntimeError for a negative index, and unless indices
    and values go together."""
    if indices.meta.ndim != 2:
        refuse(f"indices must be sparse_dim x nnz, but got: {list(indices.meta.sizes)}")
    check_counts(indices.meta.sizes, values.meta.sizes)
    array = host_array(indices)
    check_not_negative(array)
    return (*[int(row.max()) + 1 if row.size else 0 for row in array], *values.meta.sizes[1:])


def from_parts(
    sparse_dim: int, dense_dim: int, size: tuple[int, ...], indices: Tensor, values: Tensor, *,
    is_coalesced: bool | None = None,
) -> Tensor:  # fmt: skip
    """Return the tensor with these indices and values, which it shares. Raises RuntimeError for sizes that do not go
    together."""
    check_coo_shapes(indices.meta.sizes, values.meta.sizes, size)
    check_sizes(NAME, size)
    return coo(alias(indices), alias(values), size, coalesced=bool(is_coalesced))


def rows_of_matrix(places: Tensor, rows: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Return the tensor whose row at each of `places` is the sum of those that are given for it. It is recorded."""
    indices = apply("unsqueeze", places, 0)
    return call(OPERATOR, 1, len(sizes) - 1, tuple(sizes), indices, rows)  # type: ignore[no-any-return]


OPERATOR = REGISTRY.find("_sparse_coo_tensor_with_dims_and_tensors")
