"""beta * self + alpha * (matrix product): addmm, addmv and baddbmm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.away import away
from ..core.device import cpu
from ..core.dtype import DType
from ..core.promotion import UPSTREAM_NAMES
from ..iteration.tensor_iterator import Number
from ..tensor.array_view import FEW, array_of, kept_array
from ..tensor.tensor import Tensor, empty_tensor, new_like
from ..tensor.tensor_meta import TensorMeta
from ..tensor.views import expand
from .arrays import Array, values, widened
from .launch import element_launch
from .plan import Planned, plannable
from .products import HALF, check_batches, check_dtypes, check_matrices, check_matrix_vector
from .registration import kernel


@plannable
def scaled(
    operator: str, self: Tensor, left: Tensor, right: Tensor, sizes: tuple[int, ...], beta: Number, alpha: Number
) -> Tensor | Planned[Tensor]:
    dtype = check_dtypes(operator, left, right)
    if self.meta.dtype is not dtype:
        raise RuntimeError(
            f"{operator}(): self and mat2 must have the same dtype, but got {UPSTREAM_NAMES[self.meta.dtype.name]} "
            f"and {UPSTREAM_NAMES[dtype.name]}"
        )
    addend = expand(self, sizes)
    result = empty_tensor(sizes, dtype, left.meta.device)
    if left.meta.device is not cpu:
        return result
    with np.errstate(all="ignore"):
        work = result.meta.numel * left.meta.sizes[-1]
        # As _call does it: dot and matmul round differently for operands of strides that BLAS does not take.
        product = np.dot if left.meta.ndim == 2 and not dtype.is_complex else np.matmul
        total: Array = away(work, product, widened(values(left), dtype), widened(values(right), dtype))
        if alpha != 1:
            total = total * _factor(alpha, dtype, total)
        if beta != 0:
            term = widened(values(addend), dtype)
            total = total + (term if beta == 1 else term * _factor(beta, dtype, total))
        array_of(result)[...] = total
    if beta != 1 or alpha != 1:
        return result
    return Planned(result, _call(addend.meta, left.meta, right.meta, result.meta), (self, left, right))


def _call(
    addend: TensorMeta, left: TensorMeta, right: TensorMeta, out: TensorMeta
) -> Callable[[Tensor, Tensor, Tensor], Tensor] | None:
    """Return a function that adds a tensor to the product of two small matrices, or of a matrix and a vector.

    Return None for anything else, and for complex numbers, because NumPy's dot skips products of zero and NaN.
    """
    sizes = (left.numel, right.numel, out.numel)
    if left.dtype in HALF or left.dtype.is_complex or left.ndim != 2 or addend.lazy:
        return None
    if not 0 < min(sizes) <= max(sizes) <= FEW:
        return None
    launch = element_launch("add", out, [addend, out], out.dtype)
    if launch is None:
        return None
    builtin, tail = launch.call()

    def run(self: Tensor, first: Tensor, second: Tensor) -> Tensor:
        result = new_like(out)
        target = kept_array(out, result.pointer)
        kept_array(left, first.pointer).dot(kept_array(right, second.pointer), target)
        builtin(result.pointer, self.pointer, result.pointer, *tail)
        return result

    return run


def _factor(number: Number, dtype: DType, like: Array) -> Any:
    """`number` in the dtype that the product is computed in; integers wrap, fractions are dropped."""
    return np.asarray(number if dtype in HALF or dtype.kind > 1 else int(number.real)).astype(like.dtype)


@kernel("addmm")
@plannable
def addmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor | Planned[Tensor]:
    """``beta * self + alpha * mat1 @ mat2``; `self` broadcasts, and is ignored, NaN included, when beta is 0.

    Raises RuntimeError unless sizes and dtypes fit.
    """
    sizes = check_matrices(mat1, mat2, ("mat1", "mat2"))
    return scaled.planned("addmm", self, mat1, mat2, sizes, beta, alpha)


@kernel("addmv")
@plannable
def addmv(self: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor | Planned[Tensor]:
    """``beta * self + alpha * mat @ vec``, as addmm."""
    return scaled.planned("addmv", self, mat, vec, (check_matrix_vector(mat, vec),), beta, alpha)


@kernel("baddbmm")
@plannable
def baddbmm(
    self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor | Planned[Tensor]:
    """``beta * self + alpha * batch1 @ batch2`` per batch, as addmm."""
    return scaled.planned("baddbmm", self, batch1, batch2, check_batches(batch1, batch2), beta, alpha)
