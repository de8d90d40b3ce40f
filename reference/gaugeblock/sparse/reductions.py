"""Sums over all dims of a sparse tensor, or over some of them, and `any`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.dtype import DType
from ..core.errors import wrap_dim
from ..operators.invoke import apply
from ..tensor.tensor import Tensor
from .coalescing import coalesced
from .coo_tensor import columns, coo, index_tensor, parts_of


def total(self: Tensor, *, dtype: DType | None = None) -> Tensor:
    """Return the sum of all values, a strided tensor without dims."""
    return apply("sum", parts_of(self).values, dtype=dtype)


def sum_dims(
    self: Tensor, dim: Sequence[int] | int | None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """Return the sums over some dims: strided if no sparse dim is left, else sparse and coalesced. Raises IndexError
    for a dim out of range, RuntimeError for one that is named twice."""
    ndim = self.meta.ndim
    given = [dim] if isinstance(dim, int) else [*range(ndim)] if dim is None or not len(dim) else dim
    dims = [wrap_dim("sum", one, ndim) for one in given]
    for one in dims:
        if dims.count(one) > 1:
            raise RuntimeError(f"sum(): dim {one} appears multiple times in the list of dims")
    parts = parts_of(self)
    split = parts.sparse_dim
    dense = [one - split + 1 for one in dims if one >= split]
    values = apply("sum.dim_IntList", parts.values, dense, keepdim, dtype=dtype) if dense else _as(parts.values, dtype)
    sparse = [one for one in range(split) if one not in dims]
    sizes = [1 if one in dims else size for one, size in enumerate(self.meta.sizes) if keepdim or one not in dims]
    if not sparse and not keepdim:
        return apply("sum.dim_IntList", values, (0,), dtype=dtype)
    indices = columns(self)
    if keepdim:
        kept = indices.copy()
        kept[[one for one in dims if one < split]] = 0
    else:
        kept = indices[sparse]
    return coalesced(coo(index_tensor(kept), values, sizes))


def _as(values: Tensor, dtype: DType | None) -> Tensor:
    """Return values in the dtype that they are summed in: that given, int64 for integers."""
    wanted = dtype or apply("sum", apply("new_empty", values, (0,))).meta.dtype
    return apply("to.dtype", values, wanted)


def any_of(self: Tensor) -> Tensor:
    """Return whether an element is not zero."""
    return apply("any", parts_of(coalesced(self)).values)


def vector_norm(
    self: Tensor, ord: Any = 2, dim: Sequence[int] | None = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """Return the norm of all elements. Raises RuntimeError for norms over some dims alone, and for those to which zeros
    add something."""
    if ord <= 0 or keepdim or (dim is not None and len(dim) not in (0, self.meta.ndim)):
        raise RuntimeError(
            f"norm(): a sparse tensor has norms of positive order over all dims alone, got p={ord}, dim={dim}"
        )
    return apply("linalg_vector_norm", parts_of(coalesced(self)).values, ord, dtype=dtype)


def item(self: Tensor) -> Any:
    """Return the only element as a Python number."""
    return apply("sum", parts_of(self).values).item()  # type: ignore[attr-defined]
