"""Functions of the public module ``gaugeblock.sparse``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.dtype import DType
from ..core.errors import type_error
from ..core.layout import sparse_coo
from ..dispatch.dispatcher import REGISTRY, call
from ..dispatch.overrides import overridable
from ..operators.invoke import apply
from ..tensor.sparse_tensor import SparseTensor
from ..tensor.tensor import Tensor
from .members import unexpected


def _checked(name: str, **given: Any) -> None:
    for argument, value in given.items():
        if not isinstance(value, Tensor):
            type_error(f"sparse.{name}", argument, value, "Tensor")


@overridable
def mm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of two matrices, of which one is sparse. The gradient by a sparse matrix has its indices.
    Raises RuntimeError for sizes and dtypes that do not fit, TypeError for what is no tensor."""
    _checked("mm", mat1=mat1, mat2=mat2)
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
        return apply("sum", input, dtype=dtype)
    return apply("sum.dim_IntList", input, (dim,) if isinstance(dim, int) else tuple(dim), False, dtype=dtype)
