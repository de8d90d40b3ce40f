"""The product of two tensors: by BLAS as they lie or as copies, in other dtypes, by loops, by NumPy."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from itertools import pairwise
from math import prod

from ..core import lazy_numpy as np
from ..core.away import long_call
from ..core.device import cpu
from ..core.dtype import bfloat16, float16, float32, float64, int8, int16, int32, int64, uint8
from ..iteration.dimensions import INT32_MAX
from ..kernels.bound_call import Fresh, Kernels
from ..kernels.matrix_product import ONE_PRODUCT, PLAIN_ORDER, dot_product, gemm, gemv, lay
from ..kernels.reduction_ops import sum_reduction
from ..tensor.array_view import FEW, array_at
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta, contiguous_meta, meta_of
from .arrays import Array, widened
from .loop_plan import LoopPlan
from .plan import Planned, plannable
from .pointwise import formula_kernel
from .reductions import plan_reduction

HALF = (float16, bfloat16)
GEMM = (float32, float64)


EXACT = (int8, uint8, int16, int32)
"""Dtypes whose products are added up in float64 without rounding, by BLAS."""
MOST_EXACT = 1 << 21
"""Number of products of 32 bits from which on float64 cannot hold every sum."""


@plannable
def product(self: Tensor, other: Tensor, sizes: tuple[int, ...]) -> Tensor | Planned[Tensor]:
    """The matrix product of two tensors of one dtype, whose result has `sizes`."""
    fresh = product_call(self.meta, other.meta, sizes)
    return Planned.unrun(fresh, (self, other), fresh.native(), None)


MOST_PACKED = 1 << 20
"""Elements of the larger operand up to which operands that BLAS cannot take as they lie are copied."""


def product_call(
    left: TensorMeta, right: TensorMeta, sizes: tuple[int, ...], addend: TensorMeta | None = None
) -> Fresh:
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
