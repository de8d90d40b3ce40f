"""Elements moved, repeated and laid out anew: roll, flip, rot90, triangles, repeat, tile, diag, diff."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain

from ..core.away import long_call
from ..core.device import cpu
from ..core.dtype import bool_, int32, int64
from ..core.errors import INT64_MAX, wrap_dim
from ..core.memory_format import contiguous_format
from ..iteration.tensor_iterator import TensorIterator
from ..kernels.repeats import repeat_kernel, total_kernel
from ..kernels.triangles import triangle_kernel
from ..tensor.reshaping import reshape
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import TensorMeta, contiguous_meta, meta_like, meta_of
from ..tensor.views import expand as expand_view
from .composition import UNNOTED, Part, composite
from .invoke import apply
from .joining import joined_strides
from .loop_plan import LoopPlan
from .plan import Planned, plannable
from .registration import kernel

TURNED = 3
"""Dims that are shifted at once; each doubles the number of copies."""


@kernel("roll")
@plannable
def roll(self: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tensor | Planned[Tensor]:
    """Each dim of `dims` shifted cyclically towards higher indices; without `dims` the flattened elements. Raises
    RuntimeError unless there are as many shifts as dims, IndexError for a dim out of range."""
    shifts, dims = _ints(shifts), _ints(dims)
    meta = self.meta
    if not shifts:
        raise RuntimeError("`shifts` required")
    if len(dims) != len(shifts) and not (not dims and len(shifts) == 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if dims and not meta.ndim:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    places = tuple([wrap_dim("roll", dim, meta.ndim) for dim in dims])
    made = meta if dims else contiguous_meta(meta.sizes, meta.dtype, meta.device)
    for shift, place in zip(shifts, places, strict=False):
        made = _joined_again(made, shift, place)
    if meta.device is not cpu or not meta.numel:
        return new_like(made)
    return _rolling(meta, made, shifts, places).planned(self)


def _joined_again(meta: TensorMeta, shift: int, dim: int) -> TensorMeta:
    """Return the meta of what lies on both sides of a new first place, joined in the other order."""
    sizes = [*meta.sizes]
    start = -shift % max(sizes[dim], 1)
    parts = []
    for size in (sizes[dim] - start, start):
        sizes[dim] = size
        parts.append(meta_of(tuple(sizes), meta.strides, meta.dtype, meta.device))
    return meta_of(meta.sizes, joined_strides(parts, meta.sizes), meta.dtype, meta.device)


def _rolling(meta: TensorMeta, made: TensorMeta, shifts: Sequence[int], dims: tuple[int, ...]) -> LoopPlan:
    """Return the plan that copies what lies in front of the place of a new first element and what lies behind it, along
    each dim that is shifted; all elements in row-major order, as one dim, if there are no `dims`."""
    plan = LoopPlan([meta], [made])
    source, result = plan.inputs[0], plan.results[0]
    if not dims:
        source = source if meta.contiguous else plan.row_major(source)
        source, result, dims = source.flat(), result.flat(), (0,)
    moved = dict.fromkeys(dims, 0)
    for shift, dim in zip(shifts, dims, strict=True):
        moved[dim] = (moved[dim] + shift) % source.sizes[dim]
    turned = [(dim, shift) for dim, shift in moved.items() if shift]
    for begin in range(0, max(len(turned), 1), TURNED):
        last = begin + TURNED >= len(turned)
        target = result if last else plan.temporary(contiguous_meta(source.sizes, meta.dtype))
        pieces = [(target, source)]
        for dim, shift in turned[begin : begin + TURNED]:
            rest = source.sizes[dim] - shift
            spans = ((shift, 0, rest), (0, rest, shift))
            pieces = [
                (to.narrow(dim, first, size), given.narrow(dim, start, size))
                for to, given in pieces
                for first, start, size in spans
            ]
        for to, given in pieces:
            plan.copy(to, given)
        source = target
    return plan


@kernel("flip")
@plannable
def flip(self: Tensor, dims: Sequence[int]) -> Tensor | Planned[Tensor]:
    """A copy with the order along `dims` reversed, in strides like the input's. Raises RuntimeError for a repeated dim,
    IndexError for one out of range."""
    meta = self.meta
    places = [wrap_dim("flip", dim, meta.ndim) for dim in _ints(dims)]
    for place in places:
        if places.count(place) > 1:
            raise RuntimeError(f"dim {place} appears multiple times in the list of dims")
    made = meta_like(meta)
    if meta.device is not cpu or not meta.numel:
        return new_like(made)
    plan = LoopPlan([meta], [made])
    (source,) = plan.inputs
    for place in places if meta.ndim else ():
        source = source.narrow(place, meta.sizes[place] - 1, meta.sizes[place], -1)
    plan.copy(plan.results[0], source)
    return plan.planned(self)


def _register_flip(name: str, least: int, dim: int) -> None:
    """Register flip along one dim of tensors of at least so many dims, others raise RuntimeError."""

    @kernel(name)
    @plannable
    def flipped(self: Tensor) -> Tensor | Planned[Tensor]:
        if self.meta.ndim < least:
            raise RuntimeError(f"Input must be >= {least}-d.")
        return flip.planned(self, (dim,))


_register_flip("fliplr", 2, 1)
_register_flip("flipud", 1, 0)


@kernel("rot90")
@composite
def rot90(part: Part, self: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """A copy turned `k` times by 90 degrees from the first of two dims towards the second. Raises RuntimeError unless
    `dims` are two different dims of a tensor of at least 2-D."""
    meta = self.meta
    dims = _ints(dims)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if meta.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {meta.ndim}")
    first, second = (wrap_dim("rot90", dim, meta.ndim) for dim in dims)
    if first == second:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    if k % 4 == 1:
        return part("transpose.int", part("flip", self, (second,)), first, second)
    if k % 4 == 3:
        return part("transpose.int", part("flip", self, (first,)), first, second)
    return part("flip", self, (first, second)) if k % 4 else part("clone", self, memory_format=contiguous_format)


def _register_triangle(name: str, lower: bool) -> None:
    """Register tril or triu: a copy with zeros above or below a diagonal of each matrix. Raises RuntimeError below
    2-D."""

    @kernel(name)
    @plannable
    def triangle(self: Tensor, diagonal: int = 0) -> Tensor | Planned[Tensor]:
        meta = self.meta
        if meta.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        made = contiguous_meta(meta.sizes, meta.dtype, meta.device)
        if meta.device is not cpu or not meta.numel:
            return new_like(made)
        plan = LoopPlan([meta], [made])
        (source,), (result,), size = plan.inputs, plan.results, meta.dtype.itemsize
        source = source if source.strides[-1] == size else plan.row_major(source)
        rows, columns = meta.sizes[-2:]
        nothing = (0,) * (meta.ndim - 2)
        steps = [result.strides[:-2], source.strides[:-2], nothing, nothing]
        matrices = TensorIterator.restrided(meta.sizes[:-2], steps, [meta.dtype] * 4)
        laid = chain.from_iterable(zip((rows, columns * size, source.strides[-2], 1, 0), *matrices.dims, strict=True))
        edge = max(-rows, min(columns, diagonal))
        tail = columns, edge, columns, 1 + len(matrices.dims), *laid
        plan.kernel(long_call(meta.numel, triangle_kernel(size, lower)), [result, source, source, source], tail)
        return plan.planned(self)


_register_triangle("tril", lower=True)
_register_triangle("triu", lower=False)


def _ints(value: int | Sequence[int]) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else tuple(value)


@kernel("repeat")
def repeat(self: Tensor, repeats: Sequence[int]) -> Tensor:
    """The tensor copied ``repeats[k]`` times along each dim; additional leading repeats add dims. Raises RuntimeError
    for fewer repeats than dims or a negative one."""
    meta = self.meta
    repeats = (repeats,) if isinstance(repeats, int) else tuple(repeats)
    if len(repeats) < meta.ndim:
        raise RuntimeError(
            f"Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor: "
            f"{len(repeats)} < {meta.ndim}"
        )
    sizes = (1,) * (len(repeats) - meta.ndim) + meta.sizes
    pairs = list(zip(repeats, sizes, strict=True))
    block = reshape(self, [part for size in sizes for part in (1, size)])
    blocks = expand_view(block, [part for pair in pairs for part in pair])
    return reshape(apply("clone", blocks, memory_format=contiguous_format), [count * size for count, size in pairs])


@kernel("tile")
def tile(self: Tensor, dims: Sequence[int]) -> Tensor:
    """repeat with 1 for the leading dims that `dims` leaves out."""
    dims = (dims,) if isinstance(dims, int) else tuple(dims)
    return repeat(self, (1,) * (self.meta.ndim - len(dims)) + dims)


@kernel("repeat_interleave.self_int", "CompositeImplicitAutograd")
@composite
def repeat_interleave_int(
    part: Part, self: Tensor, repeats: int, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Every part along `dim` (of the flattened tensor without `dim`) `repeats` times in a row. RuntimeError below 0."""
    if repeats < 0:
        raise RuntimeError(f"Repeats must be non-negative, got {repeats}")
    source, place = _parts(part, self, dim)
    sizes = source.meta.sizes
    total = sizes[place] * repeats
    if total >= 1 << 63:
        raise RuntimeError(f"{repeats} repeats give {total} elements, which does not fit 64 bits")
    single = part("unsqueeze", source, place + 1)
    repeated = part("expand", single, (*sizes[: place + 1], repeats, *sizes[place + 1 :]))
    copies = part("clone", repeated, memory_format=contiguous_format)
    return part("view", copies, (*sizes[:place], total, *sizes[place + 1 :]))


@kernel("repeat_interleave.self_Tensor", "CompositeImplicitAutograd")
def repeat_interleave_tensor(
    self: Tensor, repeats: Tensor, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Part k along `dim` ``repeats[k]`` times in a row. Raises RuntimeError for negative repeats or a wrong number of
    them, NotImplementedError unless they are integers."""
    _check_repeats(repeats)
    source, place = _parts(UNNOTED, self, dim)
    size, given = source.meta.sizes[place], repeats.meta.numel
    if given not in (1, size):
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {given} and "
            f"input.size({0 if dim is None else dim}) = {size}"
        )
    counts = repeats if repeats.meta.sizes == (size,) else apply("expand", repeats, (size,))
    return apply("index_select", source, place, apply("repeat_interleave.Tensor", counts, output_size=output_size))


def _parts(part: Part, self: Tensor, dim: int | None) -> tuple[Tensor, int]:
    """Return the tensor and the wrapped `dim`; the flattened tensor and 0 without it. Raises IndexError."""
    if dim is None:
        return self if self.meta.ndim == 1 else part("reshape", self, (-1,)), 0
    place = wrap_dim("repeat_interleave", dim, self.meta.ndim)
    if not self.meta.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return self, place


@kernel("repeat_interleave.Tensor", derive=False)
def repeat_interleave(repeats: Tensor, *, output_size: int | None = None) -> Tensor:
    """Index k ``repeats[k]`` times in a row, in the dtype of `repeats`. Raises as repeat_interleave of a tensor."""
    _check_repeats(repeats)
    meta, size = repeats.meta, repeats.meta.numel
    if meta.device is not cpu:
        if output_size is None:
            raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
        return new_like(contiguous_meta((output_size,), meta.dtype, meta.device))
    cells, counts = array("q", (0, 0)), (1, size, 0, meta.byte_strides[0] if meta.ndim else 0)
    total_kernel(meta.dtype)(cells.buffer_info()[0], repeats.pointer, *counts)
    total, least = cells
    if least < 0:
        raise RuntimeError("repeats can not be negative")
    if total == INT64_MAX:
        raise RuntimeError("the repeats add up to a number that does not fit 64 bits")
    result = new_like(contiguous_meta((total,), meta.dtype))
    if total:
        long_call(total, repeat_kernel(meta.dtype))(result.pointer, repeats.pointer, total, *counts)
    return result


def _check_repeats(repeats: Tensor) -> None:
    if repeats.meta.dtype not in (int32, int64):
        raise NotImplementedError(
            f'"repeat_interleave" not implemented for {repeats.meta.dtype.name} repeats; allowed: int32, int64'
        )
    if repeats.meta.ndim > 1:
        raise RuntimeError(f"repeats must be 0-dim or 1-dim tensor, got {repeats.meta.ndim} dims")


@kernel("diag", "CompositeImplicitAutograd")
@composite
def diag(part: Part, self: Tensor, diagonal: int = 0) -> Tensor:
    """A square matrix with a vector on one diagonal, or a copy of a diagonal of a matrix. RuntimeError otherwise."""
    if self.meta.ndim == 1:
        return part("diag_embed", self, diagonal)
    if self.meta.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {self.meta.ndim}D")
    return part("clone", part("diagonal", self, diagonal), memory_format=contiguous_format)


@kernel("diff", "CompositeImplicitAutograd")
@composite
def diff(
    part: Part, self: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The n-th difference of neighbours along `dim`; booleans by exclusive or. Raises RuntimeError for a 0-dim tensor
    or a negative `n`."""
    if not self.meta.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if not n:
        return part("clone", self)
    parts = [one for one in (prepend, self, append) if one is not None]
    joined = part("cat", parts, dim) if len(parts) > 1 else self
    place = wrap_dim("diff", dim, joined.meta.ndim)
    steps = min(n, joined.meta.sizes[place])
    less = "logical_xor" if joined.meta.dtype is bool_ else "sub.Tensor"
    for _ in range(steps):
        count = joined.meta.sizes[place] - 1
        joined = part(less, *[part("narrow", joined, place, start, count) for start in (1, 0)])
    return joined if steps else part("clone", joined)
