"""Distances between vectors: along a dim, and between all pairs of rows."""

from __future__ import annotations

from itertools import chain
from math import inf, prod

from ...core import lazy_numpy as np
from ...core.away import long_call
from ...core.device import cpu
from ...core.dtype import DEFAULTS
from ...core.errors import type_error
from ...core.promotion import UPSTREAM_NAMES, promote_types
from ...iteration.dimensions import broadcast_shapes
from ...iteration.tensor_iterator import Number, TensorIterator
from ...kernels.bound_call import Fresh
from ...kernels.distances import distances_kernel, pair_distances_kernel, panel
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import contiguous_meta
from ..arrays import Array, check_same_device
from ..composition import Part, composite
from ..invoke import apply
from ..loop_plan import LoopPlan
from ..operand_checks import check_scalar_type
from ..plan import Planned, plannable, planned_fresh
from .calls import check_dtype

BLOCK = 1 << 20
"""Differences that are held at once."""


@composite
def cosine_similarity(part: Part, x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Inner product of the two along a dim, each divided by its norm, or by eps if that is larger. Raises RuntimeError
    unless the common dtype is a float."""
    common = promote_types(x1.meta.dtype, x2.meta.dtype)
    if common.kind != 2:
        raise RuntimeError(
            f"cosine_similarity(): expected common dtype to be floating point, yet common dtype is "
            f"{UPSTREAM_NAMES[common.name]}"
        )
    sizes = broadcast_shapes((x1.meta.sizes, x2.meta.sizes))
    unit: list[Tensor] = []
    for x in (x1, x2):
        wide = part("expand", x if x.meta.dtype is common else part("to.dtype", x, common), sizes)
        norm = part("linalg_vector_norm", wide, 2, (dim,), True)
        unit.append(part("div.Tensor", wide, part("clamp_min", norm, eps)))
    return part("sum.dim_IntList", part("mul.Tensor", *unit), (dim,))


@composite
def pairwise_distance(
    part: Part, x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The norm of x1 - x2 + eps along the last dim."""
    difference = part("add.Scalar", part("sub.Tensor", x1, x2), eps)
    if difference.meta.dtype.kind < 2:
        difference = part("to.dtype", difference, DEFAULTS.dtype)
    return part("norm.ScalarOpt_dim", difference, p, (-1,), keepdim)


def _check_order(operator: str, p: float) -> None:
    if p < 0:
        raise RuntimeError(f"{operator}(): {operator} only supports non-negative p values, got {p}")


@composite
def cdist(part: Part, x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: int | None = None) -> Tensor:
    """Distances of order p between all rows of x1 and of x2, batch by batch. Raises
    RuntimeError for sizes, orders and dtypes that do not fit, ValueError for another mode than 0, 1 and 2."""
    first, second = x1.meta, x2.meta
    check_same_device("cdist", x1, x2)
    for name, meta in (("X1", first), ("X2", second)):
        if meta.ndim < 2:
            raise RuntimeError(f"cdist(): cdist only supports at least 2D tensors, {name} got: {meta.ndim}D")
    if first.sizes[-1] != second.sizes[-1]:
        raise RuntimeError(
            f"cdist(): X1 and X2 must have the same number of columns. X1: {first.sizes[-1]} X2: {second.sizes[-1]}"
        )
    for name, meta in (("X1", first), ("X2", second)):
        if meta.dtype.kind != 2:
            raise RuntimeError(
                f"cdist(): cdist only supports floating-point dtypes, {name} got: {UPSTREAM_NAMES[meta.dtype.name]}"
            )
    if compute_mode not in (None, 0, 1, 2):
        raise ValueError(f"cdist(): {compute_mode} is not a valid value for compute_mode")
    _check_order("cdist", p)
    check_scalar_type("cdist()", first.dtype, second.dtype)
    check_dtype("cdist", x1)
    batch = broadcast_shapes((first.sizes[:-2], second.sizes[:-2]))
    sizes, columns = (*batch, first.sizes[-2], second.sizes[-2]), first.sizes[-1]
    if not columns or not prod(sizes):
        return part("new_zeros", x1, sizes)
    if p == 2.0:
        return part.plan(_euclidean, *[part("resolve_neg", x) if x.meta.lazy else x for x in (x1, x2)])
    rows = max(1, BLOCK * sizes[-2] // (prod(sizes) * columns))
    blocks = []
    for begin in range(0, sizes[-2], rows):
        some = part("narrow", x1, -2, begin, min(rows, sizes[-2] - begin)) if rows < sizes[-2] else x1
        difference = part("sub.Tensor", part("unsqueeze", some, -2), part("unsqueeze", x2, -3))
        blocks.append(part("linalg_vector_norm", difference, p, (-1,)))
    return blocks[0] if len(blocks) == 1 else part("cat", blocks, -2)


@plannable
def _euclidean(x1: Tensor, x2: Tensor) -> Tensor | Planned[Tensor]:
    """Return the Euclidean distances."""
    first, second, dtype = x1.meta, x2.meta, x1.meta.dtype
    batch = broadcast_shapes((first.sizes[:-2], second.sizes[:-2]))
    made = contiguous_meta((*batch, first.sizes[-2], second.sizes[-2]), dtype, first.device)
    if made.device is not cpu:
        return planned_fresh(Fresh(None, (made,), ()), x1, x2)
    plan, width = LoopPlan([first, second], [made]), panel(dtype)
    (result,), (left, right) = plan.results, plan.inputs
    left = left if left.strides[-1] == dtype.itemsize else plan.row_major(left)
    (*outer, count, columns), whole = right.sizes, right.sizes[-2] // width
    panels = plan.temporary(contiguous_meta((*outer, -(-count // width), columns, width), dtype))
    if whole:
        some = right.narrow(-2, 0, whole * width).split(-2, width)
        plan.copy(panels.narrow(-3, 0, whole), some.turned())
    if over := count % width:
        last = panels.select(-3, whole)
        plan.copy(last.narrow(-1, 0, over), right.narrow(-2, whole * width, over).turned())
        plan.fill(last.narrow(-1, over, width - over), 0)
    rows = first.sizes[-2]
    views = [result, left.expanded((*batch, rows, columns)), panels.expanded((*batch, *panels.sizes[-3:]))]
    steps = [views[0].strides[:-2], views[1].strides[:-2], views[2].strides[:-3]]
    batches = TensorIterator.restrided(batch, steps, [dtype] * 3)
    laid = chain.from_iterable(zip((rows, result.strides[-2], left.strides[-2], 0), *batches.dims, strict=True))
    work = count * columns
    tail = (columns, count, work, 1 + len(batches.dims), *laid)
    plan.kernel(long_call(work * rows * prod(batch), distances_kernel(dtype)), views, tail)
    return plan.planned(x1, x2)


def _norms(differences: Array, p: float) -> Array:
    """Norms of order p along the last dim, which may have no elements."""
    return np.asarray(np.linalg.norm(differences, p, -1) if differences.shape[-1] else 0)


@plannable
def pdist(self: Tensor, p: float = 2.0) -> Tensor | Planned[Tensor]:
    """Distances of order p between the rows, each pair once. Raises RuntimeError unless 2-D of floats and p >= 0."""
    meta = self.meta
    if meta.ndim != 2:
        raise RuntimeError(f"pdist(): pdist only supports 2D tensors, got: {meta.ndim}D")
    if meta.dtype.kind != 2:
        raise RuntimeError(f"pdist(): pdist only supports floating-point dtypes, got {UPSTREAM_NAMES[meta.dtype.name]}")
    _check_order("pdist", p)
    check_dtype("pdist", self)
    rows, columns = meta.sizes
    pairs = rows * (rows - 1) // 2
    plan = LoopPlan([meta], [contiguous_meta((pairs,), meta.dtype, meta.device)])
    if meta.device is cpu and pairs:
        order = {0.0: "0", 1.0: "1", 2.0: "2", inf: "inf"}.get(p, "p")
        loop = long_call(8 * pairs * columns, pair_distances_kernel(meta.dtype, order))
        source = plan.inputs[0] if meta.contiguous else plan.row_major(plan.inputs[0])
        steps = (rows + 1) // 2
        tail = (float(p), rows, columns, max(1, rows * columns), 1, steps, 0, 0, 1)
        plan.kernel(loop, [plan.results[0], source, source], tail)
    return plan.planned(self)


MODES = {
    "use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2,
}  # fmt: skip
"""How cdist may be asked to compute Euclidean distances."""


def public_cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Tensor:
    """Distances of order p between all rows. Raises TypeError unless given tensors, ValueError for no such mode."""
    for name, value in (("x1", x1), ("x2", x2)):
        if not isinstance(value, Tensor):
            type_error("cdist", name, value, "Tensor")
    if not isinstance(p, int | float):
        type_error("cdist", "p", p, "float")
    if not isinstance(compute_mode, str | None) or compute_mode not in MODES:
        raise ValueError(f"cdist(): {compute_mode} is not a valid value for compute_mode")
    return apply("cdist", x1, x2, float(p), MODES[compute_mode])


@composite
def dist(part: Part, self: Tensor, other: Tensor, p: Number = 2) -> Tensor:
    """The vector norm of order `p` of the difference; operands broadcast and promote. Raises RuntimeError for ints."""
    return part("norm.Scalar", part("sub.Tensor", self, other), p)
