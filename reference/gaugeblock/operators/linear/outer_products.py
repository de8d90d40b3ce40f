"""Products of vectors and of blocks (kron, addr, addbmm, cross, vander, trace), and tensors laid out in blocks."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import chain
from math import comb, prod

from ...core import lazy_numpy as np
from ...core.away import away, long_call
from ...core.device import cpu, meta_device
from ...core.dtype import bool_, float32, int64
from ...core.errors import wrap_dim
from ...core.memory_format import contiguous_format
from ...core.promotion import UPSTREAM_NAMES, common_dtype, promote_types
from ...core.warn import warn_once
from ...iteration.dimensions import broadcast_shapes
from ...iteration.tensor_iterator import Number, TensorIterator
from ...kernels.bound_call import Fresh
from ...kernels.scan import running_product, scan_kernel
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import contiguous_meta
from ..arguments import tensors_argument
from ..arrays import STEPS, Array, check_same_device, from_array, outline
from ..complex_half import refuse_held_only
from ..composition import Part, composite
from ..invoke import apply, invoke, reshape
from ..loop_plan import ROW_STEPS, LoopPlan
from ..matrix_multiplication import HALF
from ..operand_checks import check_fits, check_implemented, check_scalar_type
from ..plan import Planned, plannable, planned_fresh
from ..pointwise import formula_kernel
from ..products import check_batches, scaled

LONG, FEW = 256, 8
"""Elements of a row from which it is worth a loop of its own, and rows from which it pays to make longer ones."""
MOST_KEPT = 4096
"""Elements of a constant that lives as long as the call that is kept."""


@composite
def kron(part: Part, self: Tensor, other: Tensor) -> Tensor:
    """Every element of `self` times all of `other`, in blocks, in the promoted dtype; missing leading dims are 1."""
    ndim = max(self.meta.ndim, other.meta.ndim)
    left, right = ((1,) * (ndim - one.meta.ndim) + one.meta.sizes for one in (self, other))
    sizes = tuple([a * b for a, b in zip(left, right, strict=True)])
    ends: tuple[Sequence[int], Sequence[int]] = ((left[-1], 1), (1, right[-1])) if ndim else ((), ())
    if ndim and 1 < right[-1] < LONG and left[-1] > 1 and min(prod(left[:-1]), prod(right[:-1])) >= FEW:
        # Rows of the result are products of longer ones: of each element of the left repeated, of the right as a whole.
        spread = part("expand", part("unsqueeze", self, -1), (*self.meta.sizes, right[-1]))
        again = part("expand", part("unsqueeze", other, -2), (*other.meta.sizes[:-1], left[-1], right[-1]))
        self, other = (part("clone", one, memory_format=contiguous_format) for one in (spread, again))
        ends = sizes[-1:], sizes[-1:]
    outer = part("reshape", self, (*[size for n in left[:-1] for size in (n, 1)], *ends[0]))
    inner = part("reshape", other, (*[size for n in right[:-1] for size in (1, n)], *ends[1]))
    return part("reshape", part("mul.Tensor", outer, inner), sizes)


@composite
def addbmm(part: Part, self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """``beta * self`` plus alpha times the sum of the matrix products of all batches. Raises as baddbmm."""
    batch, rows, columns = check_batches(batch1, batch2)
    inner = batch1.meta.sizes[2]
    left = part("reshape", part("permute", batch1, (1, 0, 2)), (rows, batch * inner))
    right = part("reshape", batch2, (batch * inner, columns))
    return part.plan(scaled, "addbmm", self, left, right, (rows, columns), beta, alpha)


@composite
def addr(part: Part, self: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """``beta * self + alpha * outer(vec1, vec2)`` in the promoted dtype; `self` is ignored when beta is 0. Raises
    RuntimeError for other than vectors and for numbers of a higher kind than the result."""
    for tensor, name in ((vec1, "vec1"), (vec2, "vec2")):
        if tensor.meta.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {tensor.meta.ndim}-D")
    check_same_device("addr", self, vec1, vec2)
    dtype = promote_types(promote_types(self.meta.dtype, vec1.meta.dtype), vec2.meta.dtype)
    for name, number in (("beta", beta), ("alpha", alpha)):
        kind = 1 if isinstance(number, int) else 2 if isinstance(number, float) else 3
        if (dtype.kind < 2 <= kind) or (dtype.kind < 3 <= kind):
            raise RuntimeError(
                f"addr(): For {UPSTREAM_NAMES[dtype.name]} input tensors, argument {name} must not be a "
                f"{type(number).__name__}, got {number!r}"
            )
        check_fits("addr", number, dtype)
    refuse_held_only("addr", dtype)
    wide = float32 if dtype in HALF else dtype
    addend, column, row = (part("to.dtype", one, wide) for one in (self, vec1, vec2))
    addend = part("expand", addend, (*vec1.meta.sizes, *vec2.meta.sizes))
    column = part("unsqueeze", column, 1)
    if beta != 0 and dtype is not bool_:
        addend = addend if beta == 1 else part("mul.Scalar", addend, beta)
        return part("to.dtype", part("addcmul", addend, column, row, value=alpha), dtype)
    total = part("mul.Tensor", column, row)
    if dtype is bool_:
        alpha, beta = bool(alpha), bool(beta)
    if alpha != 1:
        total = part("mul.Scalar", total, alpha)
    if beta != 0:
        total = part("add.Tensor", addend if beta == 1 else part("mul.Scalar", addend, beta), total)
    return part("to.dtype", total, dtype)


@composite
def trace(part: Part, self: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix, int64 for ints. Raises RuntimeError below or above two dims."""
    meta = self.meta
    if meta.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {meta.ndim}")
    check_implemented("trace", meta.dtype, meta.dtype is not bool_)
    return part("sum", part("diagonal", self, 0, 0, 1))


@plannable
def linalg_cross(self: Tensor, other: Tensor, *, dim: int = -1) -> Tensor | Planned[Tensor]:
    """The product of the vectors along `dim`; the other dims broadcast. Raises RuntimeError for different dtypes or
    numbers of dims and for vectors of another length."""
    left, right = self.meta, other.meta
    device = check_same_device("linalg.cross", self, other)
    if left.ndim != right.ndim:
        raise RuntimeError(
            f"linalg.cross: inputs must have the same number of dimensions, got {left.ndim} and {right.ndim}."
        )
    place = wrap_dim("linalg.cross", dim, left.ndim)
    if not left.ndim or left.sizes[place] != 3 or right.sizes[place] != 3:
        given = f"{left.sizes[place]} and {right.sizes[place]}" if left.ndim else "0-dim tensors"
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {given}")
    dtype = left.dtype
    check_scalar_type("linalg.cross", dtype, right.dtype)
    check_implemented("cross", dtype, dtype is not bool_ and dtype.computes)
    sizes = broadcast_shapes((left.sizes, right.sizes))
    made = contiguous_meta(sizes, dtype, device)
    if device is not cpu or not made.numel:
        return planned_fresh(Fresh(None, (made,), ()), self, other)
    plan = LoopPlan([left, right], [made])
    views = [*plan.results, *[one.expanded(sizes) for one in plan.inputs]]
    components = [view.select(place, k) for view in views for k in range(3)]
    kernel = formula_kernel("cross", [dtype] * 6, float32 if dtype in HALF else dtype, *[dtype] * 3)
    plan.loop(kernel, components[:3], components[3:])
    return plan.planned(self, other)


@composite
def cross(part: Part, self: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """linalg.cross along `dim`, or the first dim of size 3. Raises RuntimeError when there is none."""
    if dim is None:
        part.run(warn_once, "cross() without the argument 'dim' is deprecated; pass it, or call linalg.cross()")
        found = [k for k, size in enumerate(self.meta.sizes) if size == 3]
        if not found:
            raise RuntimeError("no dimension of size 3 in input")
        dim = found[0]
    return part("linalg_cross", self, other, dim=dim)


@plannable
def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor | Planned[Tensor]:
    """Powers 0 to N - 1 of each element in a new last dim, int64 for ints; N defaults to the size of the last dim.
    Raises RuntimeError for bool, half precision and N below 2."""
    meta = x.meta
    dtype, sizes = meta.dtype, meta.sizes or (1,)
    if dtype is bool_ or dtype.name in ("float16", "bfloat16"):
        raise RuntimeError(f"linalg.vander supports floating point, complex, and integer tensors, but got {dtype.name}")
    count = sizes[-1] if N is None else N
    if count <= 1:
        raise RuntimeError(f"linalg.vander: N must be greater than 1, got {count}.")
    made = contiguous_meta((*sizes, count), int64 if dtype.kind < 2 else dtype, meta.device)
    if meta.device is not cpu or not made.numel:
        return planned_fresh(Fresh(None, (made,), ()), x)
    plan = LoopPlan([meta], [made])
    (result,), (base,) = plan.results, plan.inputs
    plan.fill(result.narrow(-1, 0, 1), 1)
    rest, itemsize = result.narrow(-1, 1, count - 1), made.dtype.itemsize
    rows = TensorIterator.restrided(sizes, [rest.strides[:-1], base.strides or (0,)], [made.dtype, dtype])
    scan = scan_kernel("cumprod", running_product(made.dtype), dtype, made.dtype, (made.dtype,))
    laid = chain.from_iterable(zip((count - 1, itemsize, 0), *rows.dims, strict=True))
    plan.kernel(long_call(ROW_STEPS * made.numel, scan), [rest, base], (1 + len(rows.dims), *laid))
    return plan.planned(x)


def _powers(part: Part, x: Tensor, count: int) -> Tensor:
    """Powers 0 to `count` - 1, of which there is at least one, of each element in a new last dim."""
    sizes, dtype = x.meta.sizes, int64 if x.meta.dtype.kind < 2 else x.meta.dtype
    repeated = part("expand", part("unsqueeze", part("to.dtype", x, dtype), -1), (*sizes, count - 1))
    few, column = x.meta.numel <= MOST_KEPT, (*sizes, 1)
    ones = part.constant(apply("new_ones", x, column, dtype=dtype)) if few else part("new_ones", x, column, dtype=dtype)
    return part("cat", (ones, part("cumprod", repeated, -1)), -1)


@composite
def vander(part: Part, x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Powers of the elements of a vector in N columns (as many as elements by default), falling unless `increasing`.
    Raises RuntimeError for other than a vector and a negative N."""
    if x.meta.ndim != 1:
        raise RuntimeError(f"vander(): x must be a one-dimensional tensor, got {x.meta.ndim} dims.")
    count = x.meta.numel if N is None else N
    if count < 0:
        raise RuntimeError(f"vander(): N must be non-negative, got {count}.")
    found = part("narrow", _powers(part, x, max(count, 1)), 1, 0, count)
    return found if increasing else part("flip", found, (1,))


@composite
def block_diag(part: Part, tensors: Sequence[Tensor]) -> Tensor:
    """A matrix with the tensors on its diagonal, zeros elsewhere, in their promoted dtype; vectors are rows. Without
    tensors it is one row without columns. Raises RuntimeError for more than two dims."""
    if not tensors:
        return part.run(outline, (1, 0), float32)[0]
    dtype = common_dtype((t.meta.dtype, 2 if t.meta.ndim else 1) for t in tensors)
    blocks = []
    for k, tensor in enumerate(tensors):
        sizes = tensor.meta.sizes
        if len(sizes) > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {k} has {len(sizes)} "
                f"dimensions"
            )
        wide = tensor if tensor.meta.dtype is dtype else part("to.dtype", tensor, dtype)
        blocks.append(wide if len(sizes) == 2 else part("reshape", wide, (1,) * (2 - len(sizes)) + sizes))
    if len(blocks) == 1:
        return part("clone", blocks[0], memory_format=contiguous_format)
    widths = [block.meta.sizes[1] for block in blocks]
    pads = [(sum(widths[:k]), sum(widths[k + 1 :])) for k in range(len(widths))]
    return part("cat", [part("constant_pad_nd", *both) for both in zip(blocks, pads, strict=True)])


def public_block_diag(*tensors: Tensor) -> Tensor:
    """block_diag of the arguments."""
    return apply("block_diag", tensors_argument("block_diag", tensors))


def cartesian_prod(tensors: Sequence[Tensor]) -> Tensor:
    """All ways to take one element of each vector, a row for each; of one vector that itself. Raises RuntimeError for
    other than vectors and for different dtypes."""
    for tensor in tensors:
        if tensor.meta.ndim != 1:
            raise RuntimeError(f"cartesian_prod(): Expect a 1D vector, but got shape {list(tensor.meta.sizes)}")
    if len(tensors) == 1:
        return tensors[0]
    grids = invoke("meshgrid.indexing", tuple(tensors), indexing="ij")
    return apply("stack", [apply("flatten.using_ints", grid) for grid in grids], 1)


def public_cartesian_prod(*tensors: Tensor) -> Tensor:
    """cartesian_prod of the arguments."""
    return apply("cartesian_prod", tensors_argument("cartesian_prod", tensors))


def combinations(self: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All ways to choose `r` elements of a vector in order of their places, a row for each. Raises RuntimeError for
    other than a vector and a negative `r`."""
    meta = self.meta
    if meta.ndim != 1:
        raise RuntimeError(f"combinations(): Expect a 1D vector, but got shape {list(meta.sizes)}")
    if r < 0:
        raise RuntimeError(f"combinations(): Expect a non-negative number, but got {r}")
    if r == 0:
        return apply("new_empty", self, (0,))
    n = meta.numel
    count = comb(n + r - 1, r) if with_replacement and n else comb(n, r)
    if meta.device is meta_device:
        return apply("new_empty", self, (count, r))
    index = (_few_places if count * r <= MOST_KEPT else _places)(n, r, bool(with_replacement))
    return reshape(apply("index_select", self, 0, apply("to.device", index, meta.device)), (count, r))


def _places(n: int, r: int, again: bool) -> Tensor:
    """The places of all combinations, one behind the other."""
    return from_array(away(STEPS * n, _ways, n, r, again).reshape(-1), int64)


@functools.lru_cache(maxsize=16)
def _few_places(n: int, r: int, again: bool) -> Tensor:
    return _places(n, r, again)


def _ways(n: int, r: int, again: bool) -> Array:
    """Rows of `r` ascending places below `n`, equal ones too if wanted, in order."""
    found = np.arange(n).reshape(n, 1)
    for _ in range(r - 1):
        first = found[:, -1] + (not again)
        many = n - first
        before = np.cumsum(many) - many
        following = np.arange(many.sum()) - np.repeat(before - first, many)
        found = np.stack([*(np.repeat(column, many) for column in found.T), following], -1)
    return found
