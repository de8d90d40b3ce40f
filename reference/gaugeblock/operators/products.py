"""Sums of products: mm, bmm, matmul, dot and their kin, addmm, addmv, baddbmm, through BLAS on the operands' strides.

Half precision is multiplied in float32 and rounded once; integers wrap in their own dtype.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from math import prod
from typing import Any

from ..core import lazy_numpy as np
from ..core.away import long_call
from ..core.device import cpu
from ..core.dtype import DType, bfloat16, bool_, float16, float32, float64, int8, int16, int32, int64, uint8
from ..core.promotion import UPSTREAM_NAMES
from ..iteration.dimensions import INT32_MAX, broadcast_shapes
from ..iteration.tensor_iterator import Number
from ..kernels.bound_call import Fresh, Kernels
from ..kernels.matrix_product import ONE_PRODUCT, PLAIN_ORDER, dot_product, gemm, gemv, lay
from ..kernels.reduction_ops import sum_reduction
from ..tensor.array_view import FEW, array_at
from ..tensor.reshaping import reshape
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta, contiguous_meta, meta_of, recalled
from ..tensor.views import expand
from .arrays import MOST_DIMS, Array, check_same_device, widened
from .composition import Part, composite
from .loop_plan import LoopPlan
from .operand_checks import check_implemented
from .plan import Planned, plannable
from .pointwise import formula_kernel
from .reductions import plan_reduction
from .registration import kernel

HALF = (float16, bfloat16)
GEMM = (float32, float64)


EXACT = (int8, uint8, int16, int32)
"""Dtypes whose products are added up in float64 without rounding, by BLAS."""
MOST_EXACT = 1 << 21
"""Number of products of 32 bits from which on float64 cannot hold every sum."""


@plannable
def product(self: Tensor, other: Tensor, sizes: tuple[int, ...]) -> Tensor | Planned[Tensor]:
    """The matrix product of two tensors of one dtype, whose result has `sizes`."""
    fresh = _product(self.meta, other.meta, sizes)
    return Planned.unrun(fresh, (self, other), fresh.native(), None)


MOST_PACKED = 1 << 20
"""Elements of the larger operand up to which operands that BLAS cannot take as they lie are copied."""


def _product(left: TensorMeta, right: TensorMeta, sizes: tuple[int, ...], addend: TensorMeta | None = None) -> Fresh:
    """Return the call that multiplies two operands and adds the addend, which comes first, if there is one."""
    dtype, metas = left.dtype, [left, right]
    made = contiguous_meta(sizes, dtype, left.device)
    if left.device is not cpu or not made.numel:
        return Fresh(None, (made,), ())
    few, found = _is_small(left, right, made), _by_blas(left, right, made)
    if found is None and dtype in GEMM and not few and max(left.numel, right.numel) <= MOST_PACKED:
        metas = [contiguous_meta(one.sizes, dtype) for one in metas]
        found = _by_blas(metas[0], metas[1], made)
    if found is None and addend is None and not few:
        wider = _of_halves(left, right, made) if dtype in HALF else _of_integers(left, right, made)
        if wider is not None:
            return wider
    kernel = found or Fresh(_by_numpy(metas[0], metas[1], made, few), (made,), ())
    if addend is None and metas == [left, right]:
        return kernel
    assert kernel.kernel is not None
    plan = LoopPlan([left, right] if addend is None else [addend, left, right], [made])
    given = zip(plan.inputs[-2:], (left, right), metas, strict=True)
    operands = [view if own is packed else plan.row_major(view) for view, own, packed in given]
    plan.kernel(kernel.kernel, [*plan.results, *operands], kernel.tail)
    if addend is not None:
        plan.loop(formula_kernel("add", [dtype, dtype], dtype, dtype), plan.results, [*plan.results, plan.inputs[0]])
    return plan.fresh


def _by_blas(left: TensorMeta, right: TensorMeta, out: TensorMeta) -> Fresh | None:
    """Return the call that multiplies matrices, or batches of them, by BLAS; None if it cannot take them so. All rows
    of a left operand of more dims are one matrix if they are evenly apart."""
    rows, table, count = _rows_of(left), ONE_PRODUCT, 1
    if min(left.ndim, right.ndim) < 2:
        return _of_vectors(left, right, out)
    if rows is None or right.ndim != 2:
        count = prod(out.sizes[:-2])
        if count > MOST_MATRICES:
            return None
        rows, table = _last_dims(left), _begins(left, right, out) if count > 1 else ONE_PRODUCT
    multiply = gemm(left.dtype) if left.dtype in GEMM else None
    tail = _gemm_tail(rows, _last_dims(right))
    if multiply is None or tail is None:
        return None
    tail = (*tail, table.buffer_info()[0], count)
    kernel: Callable[..., None] = multiply
    if count > 1:
        kernel, tail = Kernels(((multiply, (0, 1, 2), (0, 0, 0), tail),), (table,)).native(), ()
    return Fresh(long_call(2.0 * out.numel * left.sizes[-1], kernel), (out,), tail)


def _of_vectors(left: TensorMeta, right: TensorMeta, out: TensorMeta) -> Fresh | None:
    """Return the call that multiplies two vectors, or a matrix and a vector, by BLAS; None if it cannot take them."""
    if left.dtype not in GEMM or not left.numel or not right.numel:
        return None
    kernel: Callable[..., None] | None
    tail: tuple[int, ...]
    if left.ndim == right.ndim == 1:
        kernel, tail = dot_product(left.dtype), (left.numel, _step(left), _step(right))
    else:
        matrix, vector = (_rows_of(left), right) if right.ndim == 1 else (_transpose(right), left)
        laid = None if matrix is None or vector.ndim != 1 else _laid(matrix)
        if laid is None:
            return None
        kernel, tail = gemv(left.dtype), (*laid, _step(vector))
    if kernel is None or not 0 < min(tail) <= max(tail) <= INT32_MAX:
        return None
    if right.ndim > 1:
        kernel, tail = Kernels(((kernel, (0, 2, 1), (0, 0, 0), tail),), ()).native(), ()
    return Fresh(long_call(2.0 * max(left.numel, right.numel), kernel), (out,), tail)


def _of_halves(left: TensorMeta, right: TensorMeta, out: TensorMeta) -> Fresh | None:
    """Return the call that multiplies operands of half precision in float32; None if BLAS cannot take copies."""
    wide = [contiguous_meta(one.sizes, float32) for one in (left, right, out)]
    found = _by_blas(*wide)
    if found is None:
        return None
    assert found.kernel is not None
    plan = LoopPlan([left, right], [out])
    operands = [plan.copy(plan.temporary(meta), view) for meta, view in zip(wide, plan.inputs, strict=False)]
    result = plan.temporary(wide[2])
    plan.kernel(found.kernel, [result, *operands], found.tail)
    plan.copy(plan.results[0], result)
    return plan.fresh


def _of_integers(left: TensorMeta, right: TensorMeta, out: TensorMeta) -> Fresh | None:
    """Return the call that adds up the products of a matrix and a vector, which wrap; None for other operands."""
    dtype, dims = left.dtype, (left.ndim, right.ndim)
    if dtype.kind != 1 or not left.numel or dims not in ((2, 1), (1, 2)):
        return None
    plan = LoopPlan([left, right], [out])
    matrix, vector = plan.inputs if left.ndim == 2 else plan.inputs[::-1]
    spread = vector.expanded(matrix.sizes) if left.ndim == 2 else vector.repeated(0, matrix.sizes[1])
    products = contiguous_meta(matrix.sizes, dtype)
    several = plan.temporary(products)
    plan.loop(formula_kernel("mul", [dtype, dtype], dtype, dtype), [several], [matrix, spread])
    total = plan_reduction("sum", sum_reduction(int64), products, (left.ndim - 1,), False, int64, (dtype,))
    assert total.kernel is not None
    plan.kernel(total.kernel, [plan.results[0], several], total.tail)
    return plan.fresh


def _step(vector: TensorMeta) -> int:
    return vector.strides[0] if vector.numel > 1 else 1


def _transpose(meta: TensorMeta) -> TensorMeta | None:
    return meta_of(meta.sizes[::-1], meta.strides[::-1], meta.dtype) if meta.ndim == 2 else None


def _laid(matrix: TensorMeta) -> tuple[int, ...] | None:
    """Return what gemv is told of a matrix; None where it cannot take it as it lies."""
    found, (rows, columns) = lay(matrix.sizes, matrix.strides), matrix.sizes
    if found is None:
        return None
    order, step = found
    return (order, rows, columns, step) if order == PLAIN_ORDER else (order, columns, rows, step)


MOST_MATRICES = 1 << 16


def _last_dims(meta: TensorMeta) -> TensorMeta:
    return meta_of(meta.sizes[-2:], meta.strides[-2:], meta.dtype)


def _begins(left: TensorMeta, right: TensorMeta, out: TensorMeta) -> array[int]:
    """Return where the matrices of a batch begin: in the result, the left and the right operand, in bytes."""
    batch = out.sizes[:-2]
    found = []
    for meta in (out, left, right):
        sizes = (1,) * (len(batch) + 2 - meta.ndim) + meta.sizes[:-2]
        strides = (0,) * (len(batch) + 2 - meta.ndim) + meta.strides[:-2]
        steps = [stride * (size != 1) for size, stride in zip(sizes, strides, strict=True)]
        offsets = np.zeros(batch, np.int64)
        for dim, step in enumerate(steps):
            offsets += (np.arange(batch[dim]) * step).reshape(-1, *(1,) * (len(batch) - dim - 1))
        found.append(offsets.reshape(-1) * meta.dtype.itemsize)
    return array("q", np.stack(found, 1).tobytes())


def _rows_of(meta: TensorMeta) -> TensorMeta | None:
    """Return the matrix of all rows; None unless they are evenly apart."""
    if meta.ndim <= 2:
        return meta if meta.ndim == 2 else None
    dims = [(size, stride) for size, stride in zip(meta.sizes[:-1], meta.strides[:-1], strict=True) if size != 1]
    if any(far != near * count for (_, far), (count, near) in pairwise(dims)):
        return None
    step = dims[-1][1] if dims else meta.sizes[-1]
    return meta_of((prod(meta.sizes[:-1]), meta.sizes[-1]), (step, meta.strides[-1]), meta.dtype)


def _gemm_tail(left: TensorMeta, right: TensorMeta) -> tuple[int, ...] | None:
    """Return what BLAS is told of two matrices behind their addresses; None where it cannot take them as they lie."""
    if left.dtype not in GEMM:
        return None
    (rows, inner), columns = left.sizes, right.sizes[1]
    first, second = lay(left.sizes, left.strides), lay(right.sizes, right.strides)
    if first is None or second is None or not rows * inner * columns:
        return None
    tail = (rows, columns, inner, *first, *second)
    return tail if max(tail) <= INT32_MAX else None


def _is_small(left: TensorMeta, right: TensorMeta, out: TensorMeta) -> bool:
    """Return whether NumPy's dot multiplies the operands: few elements, not complex, whose zeros times NaN it skips."""
    sizes = (left.numel, right.numel, out.numel)
    plain = left.dtype not in HALF and not left.dtype.is_complex
    return plain and left.ndim >= right.ndim and left.ndim <= 2 and 0 < min(sizes) <= max(sizes) <= FEW


def _product_of_integers(left: Array, right: Array) -> Array:
    """Return the product as int64; its low bits are right. The halves of int32 are multiplied by themselves, but for
    the upper ones, whose product has no bit that stays."""
    if left.dtype.itemsize < 4:
        exact: Array = np.matmul(left.astype(np.float64), right.astype(np.float64)).astype(np.int64)
        return exact
    (low, high), (other_low, other_high) = (
        [half.astype(np.float64) for half in (one & 0xFFFF, one >> 16)] for one in (left, right)
    )
    across = np.matmul(low, other_high) + np.matmul(high, other_low)
    found: Array = np.matmul(low, other_low).astype(np.int64) + (across.astype(np.int64) << 16)
    return found


def _by_numpy(left: TensorMeta, right: TensorMeta, out: TensorMeta, few: bool) -> Callable[..., None]:
    """Return the kernel that multiplies by NumPy: it takes the addresses of the result and the operands."""
    dtype = left.dtype

    def run(result: int, first: int, second: int) -> None:
        target, one, other = array_at(out, result), array_at(left, first), array_at(right, second)
        with np.errstate(all="ignore"):
            if few:
                one.dot(other, target)
            elif dtype in HALF:
                target[...] = np.matmul(widened(one, dtype), widened(other, dtype))
            elif dtype in EXACT and one.shape[-1] < MOST_EXACT:
                target[...] = _product_of_integers(one, other)
            elif target.ndim:
                np.matmul(one, other, out=target)
            else:
                target[...] = np.matmul(one, other)

    return long_call(2.0 * out.numel * left.sizes[-1], run)


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
    make = partial(_product, addend=addend) if plain else partial(_combined, addend, beta, alpha)
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
