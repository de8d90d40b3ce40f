"""Sums of products: mm, bmm, matmul, dot and their kin, addmm, addmv, baddbmm, through BLAS on the operands' strides.

Half precision is multiplied in float32 and rounded once; integers wrap in their own dtype.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

from ..core import lazy_numpy as np
from ..core.away import long_call
from ..core.device import cpu
from ..core.dtype import DType, bool_
from ..core.promotion import UPSTREAM_NAMES
from ..iteration.dimensions import broadcast_shapes
from ..iteration.tensor_iterator import Number
from ..kernels.bound_call import Fresh
from ..tensor.array_view import array_at
from ..tensor.reshaping import reshape
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta, contiguous_meta, recalled
from ..tensor.views import expand
from .arrays import MOST_DIMS, Array, check_same_device, widened
from .composition import Part, composite
from .matrix_multiplication import HALF, product, product_call
from .operand_checks import check_implemented
from .plan import Planned, plannable
from .registration import kernel


def check_dtypes(operator: str, *tensors: Tensor) -> DType:
    """The one dtype of `tensors`. Raises RuntimeError when two differ, NotImplementedError for bool."""
    check_same_device(operator, *tensors)
    dtype = tensors[0].meta.dtype
    for tensor in tensors[1:]:
        if tensor.meta.dtype is not dtype:
            raise RuntimeError(
                f"{operator}(): expected m1 and m2 to have the same dtype, but got: {dtype.name} != "
                f"{tensor.meta.dtype.name}"
            )
    check_implemented(operator, dtype, dtype is not bool_)
    return dtype


def check_matrices(mat1: Tensor, mat2: Tensor, names: tuple[str, str]) -> tuple[int, int]:
    """Rows and columns of the product of two matrices. Raises RuntimeError unless they are 2-D and fit."""
    for tensor, name in ((mat1, names[0]), (mat2, names[1])):
        if tensor.meta.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {tensor.meta.ndim} dims")
    (rows, inner), (other, columns) = mat1.meta.sizes, mat2.meta.sizes
    if inner != other:
        raise _cannot_multiply(mat1, mat2)
    return rows, columns


def _cannot_multiply(mat1: Tensor, mat2: Tensor) -> RuntimeError:
    both = [(1, *mat.meta.sizes)[-max(mat.meta.ndim, 2) :] for mat in (mat1, mat2)]
    shapes = " and ".join("x".join(map(str, sizes)) for sizes in both)
    return RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({shapes})")


@kernel("mm")
@plannable
def mm(self: Tensor, mat2: Tensor) -> Tensor | Planned[Tensor]:
    """[n, k] times [k, m]. Raises RuntimeError unless both are matrices of one dtype that fit."""
    sizes = check_matrices(self, mat2, ("self", "mat2"))
    check_dtypes("mm", self, mat2)
    return product.planned(self, mat2, sizes)


def check_batches(batch1: Tensor, batch2: Tensor) -> tuple[int, int, int]:
    """Sizes of the product of two batches of matrices. Raises RuntimeError unless they are 3-D and fit."""
    for tensor, name in ((batch1, "batch1"), (batch2, "batch2")):
        if tensor.meta.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor, got {tensor.meta.ndim} dims")
    (batch, rows, inner), other = batch1.meta.sizes, batch2.meta.sizes
    if other[:2] != (batch, inner):
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{batch}, {inner}] but got: "
            f"{list(other[:2])}."
        )
    return batch, rows, other[2]


@kernel("bmm")
@plannable
def bmm(self: Tensor, mat2: Tensor) -> Tensor | Planned[Tensor]:
    """[b, n, k] times [b, k, m]. Raises RuntimeError unless both are 3-D of one dtype that fit."""
    sizes = check_batches(self, mat2)
    check_dtypes("bmm", self, mat2)
    return product.planned(self, mat2, sizes)


def _check_vectors(operator: str, self: Tensor, other: Tensor) -> None:
    if self.meta.ndim != 1 or other.meta.ndim != 1:
        raise RuntimeError(f"{operator}: 1D tensors expected, but got {self.meta.ndim}D and {other.meta.ndim}D tensors")
    mine, theirs = self.meta.numel, other.meta.numel
    if self.meta.dtype is not other.meta.dtype:
        raise RuntimeError(
            f"{operator} : expected both vectors to have same dtype, but found "
            f"{UPSTREAM_NAMES[self.meta.dtype.name]} and {UPSTREAM_NAMES[other.meta.dtype.name]}"
        )
    if mine != theirs:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{mine}] and src [{theirs}] to have the same number of "
            f"elements, but got {mine} and {theirs} elements respectively"
        )


@kernel("dot")
@plannable
def dot(self: Tensor, tensor: Tensor) -> Tensor | Planned[Tensor]:
    """The sum of products of two vectors, nothing conjugated. Raises RuntimeError unless sizes and dtypes agree."""
    _check_vectors("dot", self, tensor)
    check_dtypes("dot", self, tensor)
    return product.planned(self, tensor, ())


@kernel("vdot")
@composite
def vdot(part: Part, self: Tensor, other: Tensor) -> Tensor:
    """dot with the first vector conjugated. Raises RuntimeError as dot."""
    _check_vectors("vdot", self, other)
    check_dtypes("vdot", self, other)
    return part.plan(product, part("conj_physical", self), other, ())


@kernel("mv")
@plannable
def mv(self: Tensor, vec: Tensor) -> Tensor | Planned[Tensor]:
    """[n, k] times [k]. Raises RuntimeError unless sizes and dtypes fit."""
    rows = check_matrix_vector(self, vec)
    check_dtypes("mv", self, vec)
    return product.planned(self, vec, (rows,))


def check_matrix_vector(matrix: Tensor, vector: Tensor) -> int:
    """The number of rows of a matrix that fits a vector. Raises RuntimeError."""
    if matrix.meta.ndim != 2 or vector.meta.ndim != 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got matrix with {matrix.meta.ndim} dims and vector with "
            f"{vector.meta.ndim} dims"
        )
    rows, columns = matrix.meta.sizes
    if columns != vector.meta.numel:
        raise RuntimeError(f"size mismatch, got input ({rows}), mat ({rows}x{columns}), vec ({vector.meta.numel})")
    return rows


@kernel("matmul")
@plannable
def matmul(self: Tensor, other: Tensor) -> Tensor | Planned[Tensor]:
    """dot, mv, mm or bmm by the numbers of dims; leading dims broadcast, vectors get a dim that is dropped again.
    Raises RuntimeError for 0-dim operands, dtypes that differ and sizes that do not fit."""
    left, right = self.meta.sizes, other.meta.sizes
    if not left or not right:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {len(left)}D and {len(right)}D"
        )
    if len(left) == 1 and len(right) == 1:
        return dot.planned(self, other)
    if len(left) == 2 and len(right) == 1:
        return mv.planned(self, other)
    check_dtypes("matmul", self, other)
    if left[-1] != (right[-2] if len(right) > 1 else right[0]):
        raise _cannot_multiply(self, other)
    batch = broadcast_shapes((left[:-2], right[:-2]))
    if len(batch) > MOST_DIMS:
        return _batched(self, other, batch)
    return product.planned(self, other, batch + left[-2:-1] + (right[-1:] if len(right) > 1 else ()))


def _batched(self: Tensor, other: Tensor, batch: tuple[int, ...]) -> Tensor:
    """The product with the dims of `batch` as one."""
    matrices = []
    for tensor, is_vector in ((self, self.meta.ndim == 1), (other, other.meta.ndim == 1)):
        own = tensor.meta.sizes[-2:]
        own = ((1, *own) if tensor is self else (*own, 1)) if is_vector else own
        sizes = tensor.meta.sizes[:-2] + own
        matrices.append(reshape(expand(reshape(tensor, sizes), batch + own), (prod(batch), *own)))
    left, right = matrices
    sizes = (prod(batch), left.meta.sizes[1], right.meta.sizes[2])
    rows = sizes[1:2] if self.meta.ndim > 1 else ()
    columns = sizes[2:] if other.meta.ndim > 1 else ()
    return reshape(product(left, right, sizes), batch + rows + columns)


@kernel("outer", "CompositeImplicitAutograd")
@composite
def outer(part: Part, self: Tensor, vec2: Tensor) -> Tensor:
    """All products of two vectors, in their promoted dtype. Raises RuntimeError unless both are 1-D."""
    for tensor, name in ((self, "self"), (vec2, "vec2")):
        if tensor.meta.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {tensor.meta.ndim}-D")
    return part("mul.Tensor", part("unsqueeze", self, 1), vec2)


@kernel("inner", "CompositeImplicitAutograd")
@composite
def inner(part: Part, self: Tensor, other: Tensor) -> Tensor:
    """Sums of products over the last dims of both; a 0-dim operand scales. Raises RuntimeError unless they fit."""
    left, right = self.meta, other.meta
    check_dtypes("inner", self, other)
    if not left.ndim or not right.ndim:
        return part("mul.Tensor", self, other)
    if left.sizes[-1] != right.sizes[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(left.sizes)} and "
            f"{list(right.sizes)}"
        )
    return part("dot", self, other) if left.ndim == right.ndim == 1 else part("tensordot", self, other, (-1,), (-1,))


def scaled_call(
    operator: str, self: Tensor, left: Tensor, right: Tensor, sizes: tuple[int, ...], beta: Number, alpha: Number
) -> Fresh:
    """Return the call of ``beta * self + alpha * (left @ right)``, of these sizes. RuntimeError for other dtypes."""
    dtype = check_dtypes(operator, left, right)
    if self.meta.dtype is not dtype:
        raise RuntimeError(
            f"{operator}(): self and mat2 must have the same dtype, but got {UPSTREAM_NAMES[self.meta.dtype.name]} "
            f"and {UPSTREAM_NAMES[dtype.name]}"
        )
    addend = expand(self, sizes).meta
    plain = left.meta.device is not cpu or (beta == alpha == 1 and dtype not in HALF)
    key = ("scaled", plain, beta, alpha, left.meta, right.meta, sizes)
    make = partial(product_call, addend=addend) if plain else partial(_combined, addend, beta, alpha)
    return recalled(self.meta.plans, key, make, left.meta, right.meta, sizes)


@composite
def scaled(
    part: Part, operator: str, self: Tensor, left: Tensor, right: Tensor, sizes: tuple[int, ...], beta: Number,
    alpha: Number,
) -> Tensor:  # fmt: skip
    result: Tensor = part.fresh(scaled_call(operator, self, left, right, sizes, beta, alpha), self, left, right)
    return result


def _combined(
    addend: TensorMeta, beta: Number, alpha: Number, left: TensorMeta, right: TensorMeta, sizes: tuple[int, ...]
) -> Fresh:
    """Return the call of the addend times `beta` plus the product times `alpha`, computed by NumPy and rounded once."""
    made, dtype = contiguous_meta(sizes, left.dtype), left.dtype

    def run(result: int, *operands: int) -> None:
        term, one, other = map(array_at, (addend, left, right), operands)
        with np.errstate(all="ignore"):
            total: Array = np.matmul(widened(one, dtype), widened(other, dtype))
            if alpha != 1:
                total = total * _factor(alpha, dtype, total)
            if beta != 0:
                wide = widened(term, dtype)
                total = total + (wide if beta == 1 else wide * _factor(beta, dtype, total))
            array_at(made, result)[...] = total

    return Fresh(long_call(made.numel * left.sizes[-1], run) if made.numel else None, (made,), ())


def _factor(number: Number, dtype: DType, like: Array) -> Any:
    """`number` in the dtype that the product is computed in; integers wrap, fractions are dropped."""
    return np.asarray(number if dtype in HALF or dtype.kind > 1 else int(number.real)).astype(like.dtype)


@kernel("addmm")
@plannable
def addmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor | Planned[Tensor]:
    """``beta * self + alpha * mat1 @ mat2``; `self` broadcasts, and is ignored, NaN included, when beta is 0. Raises
    RuntimeError unless sizes and dtypes fit."""
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
