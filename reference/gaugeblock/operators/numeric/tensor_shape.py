"""Common shapes and numbers of dims, grids, diagonals, index sets of triangles, copies with one part replaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...core import lazy_numpy as np
from ...core.device import cpu
from ...core.dtype import DType, int64
from ...core.errors import INT64_MAX, check_ints, type_error, wrap_dim
from ...core.warn import warn_once
from ...iteration.dimensions import broadcast_shapes
from ...iteration.overlap import Overlap, internal_overlap
from ...iteration.tensor_iterator import Number
from ...kernels.bound_call import Into, view_call
from ...kernels.conversion import Immediate
from ...tensor.array_view import array_of
from ...tensor.tensor import Tensor, new_like
from ...tensor.tensor_meta import TensorMeta, contiguous_meta, recalled
from ...tensor.versions import INFERENCE, VersionCounter
from ...tensor.views import as_strided, diagonal
from ..arguments import tensors_argument
from ..composition import Part, composite
from ..invoke import apply, invoke
from ..joining import widened
from ..launch import element_launch
from ..loop_plan import LoopPlan
from ..masks import nonzero_static as nonzero_static
from ..operand_checks import check_implemented, stored_number
from ..plan import Planned, plannable
from ..ranges import Plan


@composite
def broadcast_tensors(part: Part, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Each tensor expanded to the common sizes; one that has them is given back itself. Raises RuntimeError."""
    shapes = [tensor.meta.sizes for tensor in tensors]
    try:
        sizes = broadcast_shapes([(1,) * max(map(len, shapes), default=0), *shapes])
    except RuntimeError as error:
        raise RuntimeError(f"broadcast_tensors(): {str(error).partition(';')[0]}") from None
    return tuple([one if one.meta.sizes == sizes else part("expand", one, sizes) for one in tensors])


@composite
def meshgrid_indexing(part: Part, tensors: Sequence[Tensor], *, indexing: str) -> tuple[Tensor, ...]:
    """Coordinate grids of 0-dim and 1-dim tensors, as expanded views.

    With "xy" the first tensor runs along the second dim and the second along the first.
    Raises RuntimeError for no tensors, other ranks, mixed dtypes and another `indexing`.
    """
    lines = list(tensors)
    if not lines:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for tensor in lines:
        if tensor.meta.ndim > 1:
            raise RuntimeError(f"meshgrid: Expected 0D or 1D tensor in the tensor list but got {tensor.meta.ndim}D")
        if tensor.meta.dtype is not lines[0].meta.dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(lines) >= 2
    if swap:
        lines[0], lines[1] = lines[1], lines[0]
    sizes = tuple([line.meta.numel for line in lines])
    columns = [(*(1,) * k, size, *(1,) * (len(sizes) - k - 1)) for k, size in enumerate(sizes)]
    grids = [part("expand", part("view", line, column), sizes) for line, column in zip(lines, columns, strict=True)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def public_broadcast_tensors(*tensors: Any) -> Any:
    """broadcast_tensors of the arguments, or of one list of them."""
    return invoke("broadcast_tensors", tensors_argument("broadcast_tensors", tensors))


def public_meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    """Return the meshgrid of the arguments or of one list of them; warn once when `indexing` is not given."""
    given = tensors_argument("meshgrid", tensors)
    if indexing is None:
        warn_once("meshgrid(): in an upcoming release it will be required to pass the argument 'indexing'; it is 'ij'")
        indexing = "ij"
    return invoke("meshgrid.indexing", given, indexing=indexing)


def _atleast(count: int) -> Callable[[Tensor], Tensor]:
    """Return the function that gives a view with at least `count` dims: a vector becomes a row, or goes to the middle
    of three dims, which a matrix is the front of."""

    @composite
    def atleast(part: Part, self: Tensor) -> Tensor:
        return widened(part, self, count)

    return atleast


atleast_1d, atleast_2d, atleast_3d = map(_atleast, (1, 2, 3))


def _of_each(name: str) -> Callable[..., Any]:
    """Return the function that applies an operator to each of several tensors."""
    return lambda tensors: tuple([apply(name, tensor) for tensor in tensors])


def _public(name: str) -> Callable[..., Any]:
    """The public function: of one tensor, or a tuple for several."""

    def atleast(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return invoke(name, tensors[0])
        return invoke(f"{name}.Sequence", tensors_argument(name, tensors))

    atleast.__doc__ = f"{name} of one tensor, or a tuple for several."
    return atleast


atleast_1d_Sequence, public_atleast_1d = _of_each("atleast_1d"), _public("atleast_1d")
atleast_2d_Sequence, public_atleast_2d = _of_each("atleast_2d"), _public("atleast_2d")
atleast_3d_Sequence, public_atleast_3d = _of_each("atleast_3d"), _public("atleast_3d")


def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """For each dim of a tensor of sizes `shape` the places of the elements that `indices` counts row by row. Raises
    TypeError for indices that are no integers, ValueError for negative sizes."""
    if not isinstance(indices, Tensor):
        type_error("unravel_index", "indices", indices, "Tensor")
    if indices.meta.dtype.kind != 1:
        name = indices.meta.dtype.name
        raise TypeError(f"unravel_index(): expected 'indices' to be integer dtype, but got {name}")
    sizes = check_ints("unravel_index", "shape", shape)
    if any(size < 0 for size in sizes):
        raise ValueError(f"unravel_index(): 'shape' cannot have negative values, but got {list(sizes)}")
    places, step, indices = [], 1, apply("to.dtype", indices, int64)
    for size in reversed(sizes):
        counted = apply("div.Scalar_mode", indices, step, rounding_mode="floor")
        places.append(apply("remainder.Scalar", counted, size))
        step *= size
    return tuple(reversed(places))


def _unsafe(view: str) -> Callable[..., Any]:
    """Return the function that gives the parts of a view, which may be written to while the input is not used any
    more, and the other way round."""

    def run(self: Tensor, *args: Any) -> Any:
        views = invoke(view, self, *args)
        call = view_call(self, tuple(views)) if self.__class__ is Tensor and self.autograd is None else None
        return Planned(_parted(views), call and (lambda self: _parted(call(self))), (self,))

    return plannable(run)


def _parted(views: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Make views independent tensors, each with a version counter of its own."""
    for view in views:
        view.base = None
        if view.counter is not INFERENCE:
            view.counter = VersionCounter()
    return tuple(views)


unsafe_chunk, unsafe_split_Tensor = _unsafe("chunk"), _unsafe("split.Tensor")
unsafe_split_with_sizes = _unsafe("split_with_sizes")


@composite
def sum_to_size(part: Part, self: Tensor, size: Sequence[int]) -> Tensor:
    """The sum over the dims by which `self` is larger than `size`. Raises RuntimeError unless `size` expands to it."""
    sizes, wanted = self.meta.sizes, tuple(size)
    extra = len(sizes) - len(wanted)
    fits = extra >= 0 and all(a in (1, b) for a, b in zip(wanted, sizes[extra:], strict=True))
    if not fits:
        raise RuntimeError(f"sum_to_size(): size {list(wanted)} is not expandable to size {list(sizes)}.")
    if not wanted:
        return part("sum", self)
    gone = [d for d in range(len(sizes)) if d < extra or (wanted[d - extra] == 1 and sizes[d] != 1)]
    total = part("sum.dim_IntList", self, gone, True) if gone else self
    return part("view", part("contiguous", total), wanted) if extra else total


@composite
def diag_embed(part: Part, self: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the rows of the last dim on a diagonal, zeros elsewhere; they span `dim1` and `dim2`. Raises
    IndexError for dims out of range, RuntimeError when they are one."""
    meta = self.meta
    if not meta.ndim:
        raise IndexError("diag_embed(): Dimension out of range: the input must have at least one dim")
    first, second = (wrap_dim("diag_embed", dim, meta.ndim + 1) for dim in (dim1, dim2))
    if first == second:
        raise RuntimeError(f"diag_embed(): diagonal dimensions cannot be identical {dim1}, {dim2}")
    length = meta.sizes[-1] + abs(offset)
    sizes = list(meta.sizes[:-1])
    for dim in sorted((first, second)):
        sizes.insert(dim, length)
    made = contiguous_meta(tuple(sizes), meta.dtype, meta.device)
    plan = _replaced(None, made, meta, lambda zeros: diagonal(zeros, offset, first, second))
    result: Tensor = part.fresh(plan.fresh, self)
    return result


@composite
def diagflat(part: Part, self: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements on a diagonal."""
    return part("diag", part("reshape", self, (-1,)), offset)


@plannable
def fill_diagonal_(self: Tensor, fill_value: Number, wrap: bool = False) -> Tensor | Planned[Tensor]:
    """Write a number on the main diagonal; `wrap` goes on below the square part of a tall matrix. Raises RuntimeError
    for fewer than two dims, and for more unless all sizes are equal."""
    sizes, strides = self.meta.sizes, self.meta.strides
    if len(sizes) < 2:
        raise RuntimeError(f"fill_diagonal_(): dimensions must larger than 1, got {len(sizes)}")
    if len(sizes) > 2 and len(set(sizes)) > 1:
        raise RuntimeError(f"fill_diagonal_(): all dimensions of input must be of equal length, got {list(sizes)}")
    meta = self.meta
    for row in range(0, sizes[0], sizes[1] + 1) if wrap and len(sizes) == 2 and meta.numel else (0,):
        part = as_strided(self, (min(sizes[0] - row, *sizes[1:]),), (sum(strides),), self.offset + row * strides[0])
        apply("fill_.Scalar", part, fill_value)
    if meta.device is not cpu or meta.lazy or not meta.numel or wrap:
        return self
    launch = element_launch("identity", part.meta, [Immediate(meta.dtype)], meta.dtype)
    assert launch is not None
    loop, tail = launch.call()
    write = Into(loop, tail).native()
    call = lambda self, value: write(self, stored_number("fill_", value, meta.dtype))  # noqa: E731
    return Planned(self, call, (self, fill_value))


def _triangle(operator: str, dtype: DType, row: int, col: int, offset: int = 0, *, lower: bool) -> Plan:
    """Rows and columns of the places on and below, or above, a diagonal, row by row, as two rows."""
    for name, size in (("row", row), ("col", col)):
        if size < 0:
            raise RuntimeError(f"{operator}(): {name} must be non-negative, got {size}")
    check_implemented(operator, dtype, dtype.kind == 1)
    if max(row, col, offset, -offset - 1) > INT64_MAX:
        raise RuntimeError(f"{operator}(): the numbers of a triangle must fit 64 bits, got {row}, {col} and {offset}")
    if lower:
        col = min(col, max(0, row + offset))  # no row reaches further
    offset = max(-row, min(offset, col))
    first, last = (max(0, -offset), row) if lower else (0, min(row, col - offset))
    last = last if col else first
    places = _places(first, last, col, offset, lower)
    if places > INT64_MAX:
        raise RuntimeError(f"{operator}(): the triangle's {places} places do not fit 64 bits")

    def fill(result: Tensor) -> None:
        target = array_of(result)
        rows = np.arange(first, last)
        starts = np.zeros_like(rows) if lower else np.maximum(rows + offset, 0)
        counts = (np.minimum(rows + offset + 1, col) if lower else col) - starts
        target[0] = np.repeat(rows, counts)
        target[1] = np.arange(places) - np.repeat(np.cumsum(counts) - counts - starts, counts)

    return Plan((2, places), fill)


lower_triangle = partial(_triangle, "tril_indices", lower=True)
upper_triangle = partial(_triangle, "triu_indices", lower=False)


def _places(first: int, last: int, col: int, offset: int, lower: bool) -> int:
    """Return how many places the rows from `first` to `last` of a triangle hold; as an exact int it cannot wrap."""
    turn = min(max(col - offset if lower else -offset, first), last)
    if lower:  # row r holds r + offset + 1 places before the turn
        return (turn - first) * (first + turn + 2 * offset + 1) // 2 + (last - turn) * col
    return (turn - first) * col + (last - turn) * (2 * (col - offset) - turn - last + 1) // 2


def _copy(self: Tensor, whole: bool = False) -> Tensor:
    """A copy with the strides of `self`, the gaps between elements included; with `whole`, of all its storage."""
    meta = self.meta
    if meta.lazy or internal_overlap(meta.sizes, meta.strides) is Overlap.YES:
        return apply("clone", self)
    if whole:
        count, start = self.storage_impl.nbytes // meta.dtype.itemsize, 0
    elif meta.dense or not meta.numel:
        return apply("clone", self)
    else:
        count = 1 + sum((size - 1) * step for size, step in zip(meta.sizes, meta.strides, strict=True))
        start = self.offset
    copy = apply("clone", apply("as_strided", self, (count,), (1,), start))
    return apply("as_strided_", copy, meta.sizes, meta.strides, self.offset - start)


def _replaced(
    self: TensorMeta | None, made: TensorMeta, src: TensorMeta, view: Callable[[Tensor], Tensor]
) -> LoopPlan:
    """Return the plan of a copy of `self`, or of zeros, in which what a view of it shows is replaced by `src`."""
    plan = LoopPlan([src] if self is None else [self, src], [made])
    if made.device is cpu:
        (whole,), shown = plan.results, view(new_like(made))
        plan.copy(whole, plan.inputs[0]) if self is not None else plan.fill(whole, 0)
        meta = shown.meta
        into = whole._replace(offset=shown.offset * meta.dtype.itemsize, sizes=meta.sizes, strides=meta.byte_strides)
        plan.copy(into, plan.inputs[-1])
    return plan


def _replacing(operator: str, view: str, whole: bool = False) -> Callable[..., Tensor]:
    """Return the function that copies a tensor with what a view of it shows replaced by `src`. Raises RuntimeError for
    other sizes, and as the view."""

    @plannable
    def run(self: Tensor, src: Tensor, *args: Any, **kwargs: Any) -> Tensor | Planned[Tensor]:
        meta = self.meta
        plain = meta.dense and not whole and not meta.lazy and src.meta.dtype is meta.dtype and not src.meta.lazy
        copy = new_like(meta) if plain else _copy(self, whole)
        part = apply(view, copy, *args, **kwargs)
        if part.meta.sizes != src.meta.sizes:
            raise RuntimeError(
                f"{operator}(): expected src to have a size equal to the slice of self. src size = "
                f"{list(src.meta.sizes)}, slice size = {list(part.meta.sizes)}"
            )
        if plain:
            key = (operator, src.meta, part.meta, part.offset)
            return recalled(meta.plans, key, _replaced, meta, meta, src.meta, lambda _: part).planned(self, src)
        apply("copy_", part, src)
        return copy

    return run


select_scatter = _replacing("select_scatter", "select.int")
slice_scatter = _replacing("slice_scatter", "slice.Tensor")
diagonal_scatter = _replacing("diagonal_scatter", "diagonal")
as_strided_scatter = _replacing("as_strided_scatter", "as_strided", whole=True)
