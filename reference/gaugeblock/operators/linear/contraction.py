"""Sums of products over chosen dims of two tensors: tensordot and linalg.vecdot."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...core.errors import check_ints, type_error, wrap_dims
from ...tensor.tensor import Tensor
from ..arguments import tensor_argument
from ..invoke import apply
from ..view_calls import permute, reshape


def tensordot(self: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]) -> Tensor:
    """The sum over pairs of dims; the remaining dims of `self`, then those of `other`. A size 1 broadcasts.

    Raises RuntimeError for lists of different lengths, sizes that do not fit and different dtypes.
    """
    if len(dims_self) != len(dims_other):
        raise RuntimeError(
            f"both dimension lists should have same length, got {list(dims_self)} and {list(dims_other)}"
        )
    if self.meta.dtype is not other.meta.dtype:
        raise RuntimeError(
            f"tensordot(): both inputs should have same dtype, got {self.meta.dtype.name} and "
            f"{other.meta.dtype.name}"
        )
    mine = wrap_dims("tensordot", dims_self, self.meta.ndim)
    theirs = wrap_dims("tensordot", dims_other, other.meta.ndim)
    left, right = self, other
    for a, b in zip(mine, theirs, strict=True):
        sizes = left.meta.sizes[a], right.meta.sizes[b]
        if sizes[0] == sizes[1]:
            continue
        if sizes[1] == 1:
            left = apply("sum.dim_IntList", left, (a,), True, dtype=left.meta.dtype)
        elif sizes[0] == 1:
            right = apply("sum.dim_IntList", right, (b,), True, dtype=right.meta.dtype)
        else:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {sizes[0]} in dim {a} and second has size "
                f"{sizes[1]} in dim {b}"
            )
    rows = [d for d in range(left.meta.ndim) if d not in mine]
    columns = [d for d in range(right.meta.ndim) if d not in theirs]
    kept = tuple(left.meta.sizes[d] for d in rows), tuple(right.meta.sizes[d] for d in columns)
    inner = prod(left.meta.sizes[d] for d in mine)
    matrix1 = reshape(permute(left, (*rows, *mine)), (prod(kept[0]), inner))
    matrix2 = reshape(permute(right, (*theirs, *columns)), (inner, prod(kept[1])))
    return reshape(apply("mm", matrix1, matrix2), kept[0] + kept[1])


def public_tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """tensordot over the last dims of `a` and the first of `b` for an int `dims`, else over the two lists in it.

    Raises RuntimeError as the operator and for a number of dims out of range.
    """
    tensor_argument("tensordot", "a", 1, a), tensor_argument("tensordot", "b", 2, b)
    if isinstance(dims, Tensor):
        dims = dims.tolist()  # type: ignore[attr-defined]
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.meta.ndim, b.meta.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims = list(range(-dims, 0)), list(range(dims))
    if not isinstance(dims, (tuple, list)) or len(dims) != 2:
        type_error("tensordot", "dims", dims, "int or a pair of lists of ints")
    for given in dims:
        if not isinstance(given, list | tuple):
            type_error("tensordot", "dims", given, "int or a pair of lists of ints")
    mine, theirs = (check_ints("tensordot", "dims", d) for d in dims)
    if out is not None:
        if not isinstance(out, Tensor):
            type_error("tensordot", "out", out, "Tensor")
        return apply("tensordot.out", a, b, mine, theirs, out=out)
    return apply("tensordot", a, b, mine, theirs)


def linalg_vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The sum of ``x.conj() * y`` along `dim`, in their common dtype; other dims broadcast. Raises RuntimeError."""
    for tensor in (x, y):
        if tensor.meta.dtype.kind < 2:
            raise RuntimeError(
                f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {tensor.meta.dtype.name}"
            )
    return apply("sum.dim_IntList", apply("mul.Tensor", apply("conj", x), y), (dim,))


def linalg_matmul(self: Tensor, other: Tensor) -> Tensor:
    """matmul."""
    return apply("matmul", self, other)


def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """diagonal of the matrices in the last two dims."""
    return apply("diagonal", A, offset, dim1, dim2)
