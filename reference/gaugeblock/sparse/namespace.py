"""Functions of the public module ``gaugeblock.sparse``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.dtype import DType
from ..core.errors import check_int, check_ints, type_error
from ..core.layout import Layout, sparse_coo
from ..dispatch.dispatcher import REGISTRY, call
from ..dispatch.overrides import overridable
from ..operators.invoke import apply
from ..tensor.sparse_tensor import SparseTensor
from ..tensor.tensor import Tensor
from . import functions
from .members import unexpected


def _checked(name: str, **given: Any) -> None:
    for argument, value in given.items():
        if not isinstance(value, Tensor):
            type_error(f"sparse.{name}", argument, value, "Tensor")


def _dtype(name: str, dtype: Any) -> DType | None:
    if dtype is not None and not isinstance(dtype, DType):
        type_error(f"sparse.{name}", "dtype", dtype, "DType")
    return dtype


@overridable
def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """Return the product of two matrices, of which one is sparse. The gradient by a sparse matrix has its indices.

    With `reduce` ("sum", "mean", "amax" or "amin") the products of a row's specified elements with those of a column
    are reduced so, 0 where there are none; `mat1` is in CSR form then. Raises RuntimeError for sizes and dtypes that
    do not fit, TypeError for what is no tensor.
    """
    _checked("mm", mat1=mat1, mat2=mat2)
    if reduce is not None:
        return functions.reduced_product(mat1, mat2, reduce)
    if not isinstance(mat1, SparseTensor) and not isinstance(mat2, SparseTensor):
        return apply("mm", mat1, mat2)
    return call(REGISTRY.find("_sparse_mm"), mat1, mat2)  # type: ignore[no-any-return]


@overridable
def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return ``beta * mat + alpha * mat1 @ mat2``, as `mm`."""
    _checked("addmm", mat=mat, mat1=mat1, mat2=mat2)
    made: Any = mm(mat1, mat2)
    scaled = made if alpha == 1 else made * alpha
    return scaled if beta == 0 else apply("add.Tensor", mat if beta == 1 else apply("mul.Scalar", mat, beta), scaled)


@overridable
def sum(input: Tensor, dim: int | Sequence[int] | None = None, dtype: DType | None = None) -> Tensor:
    """Return the sum over all dims of a tensor in coordinate form, strided, or over some of them, strided if no sparse
    dim is left. Raises RuntimeError for other layouts, IndexError for a dim out of range."""
    _checked("sum", input=input)
    if input.layout is not sparse_coo:
        unexpected("coalesce", input.layout)
    if dim is None:
        whole: Any = input
        return apply("sum", whole.coalesce().values(), dtype=dtype)
    return apply("sum.dim_IntList", input, (dim,) if isinstance(dim, int) else tuple(dim), False, dtype=dtype)


@overridable
def softmax(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """Return the softmax along a dim of a tensor in coordinate form, coalesced: elements that are not specified count
    as minus infinity. The input is converted to `dtype` first. Raises NotImplementedError for another layout and for
    dtypes other than float32 and float64, IndexError for a dim out of range."""
    _checked("softmax", input=input)
    return functions.softmax(input, check_int("sparse.softmax", "dim", dim), _dtype("softmax", dtype), log=False)


@overridable
def log_softmax(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """Return the logarithm of `softmax`. Raises as that."""
    _checked("log_softmax", input=input)
    dim = check_int("sparse.log_softmax", "dim", dim)
    return functions.softmax(input, dim, _dtype("log_softmax", dtype), log=True)


@overridable
def sampled_addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0) -> Tensor:
    """Return ``beta * input + alpha * (mat1 @ mat2)`` where `input`, in CSR form, specifies elements; no other is
    computed. Raises NotImplementedError for another layout, RuntimeError for sizes and dtypes that do not fit."""
    _checked("sampled_addmm", input=input, mat1=mat1, mat2=mat2)
    return functions.sampled_addmm(input, mat1, mat2, beta, alpha)


@overridable
def spdiags(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], layout: Layout | None = None) -> Tensor:
    """Return the sparse matrix with rows of `diagonals` as diagonals: element j of a row lies in column j, above the
    main diagonal for a positive offset. Raises RuntimeError for what does not fit, offsets that repeat, and another
    layout than COO, CSR and CSC."""
    _checked("spdiags", diagonals=diagonals, offsets=offsets)
    return functions.spdiags(diagonals, offsets, check_ints("sparse.spdiags", "shape", shape), layout)
