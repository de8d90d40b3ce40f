"""Reading at computed places: index_select, gather, take, take_along_dim, masked_select, nonzero, argwhere."""

from __future__ import annotations

from functools import partial

from ..core import lazy_numpy as np
from ..core.device import cpu
from ..core.dtype import DType, int32, int64
from ..core.errors import wrap_dim
from ..core.promotion import UPSTREAM_NAMES
from ..iteration.dimensions import broadcast_shapes
from ..tensor.reshaping import reshape
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import contiguous_meta
from .arrays import Array, from_array, outside, values
from .composition import Part, composite
from .invoke import invoke
from .loop_plan import LoopPlan, picking
from .plan import Planned, plannable
from .registration import kernel

INDEX_DTYPES = (int32, int64)


def check_index_dtype(operator: str, index: Tensor, allowed: tuple[DType, ...] = INDEX_DTYPES) -> None:
    """Raise RuntimeError unless the dtype of an index tensor is one of `allowed`."""
    if index.meta.dtype not in allowed:
        names = "/".join(dtype.name for dtype in allowed)
        raise RuntimeError(
            f"{operator}(): Expected dtype {names} for index, but got {UPSTREAM_NAMES[index.meta.dtype.name]}"
        )


def index_values(index: Tensor) -> Array:
    """The values of an integer index tensor as int64."""
    return values(index).astype(np.int64, copy=False)


@kernel("index_select")
@plannable
def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor | Planned[Tensor]:
    """The parts of `self` at the int32 or int64 vector `index` along `dim`. Raises IndexError out of [0, size) and for
    an index with more than one dim, RuntimeError for another dtype."""
    if index.meta.dtype not in (int32, int64):
        raise RuntimeError(f"index_select(): Expected dtype int32 or int64 for index, but got {index.meta.dtype.name}")
    if index.meta.ndim > 1:
        raise IndexError(f"index_select(): Index is supposed to be a vector, got {index.meta.ndim} dims")
    place = wrap_dim("index_select", dim, self.meta.ndim)
    meta, count = self.meta, index.meta.numel
    if not meta.ndim and count != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {count} value(s)")
    sizes = (*meta.sizes[:place], count, *meta.sizes[place + 1 :]) if meta.ndim else ()
    made = contiguous_meta(sizes, meta.dtype, meta.device)
    if meta.device is cpu and made.numel:
        spread = tuple(count if d == place else 1 for d in range(max(len(sizes), 1)))
        call = picking(made, meta, index.meta, place, spread)
        check = partial(_check_selected, place)
        return Planned.unrun(call, (self, index), call.native(), (self, index), check=check)
    if meta.device is cpu:
        _check_selected(place, self, index)
    return new_like(made)


def _check_selected(place: int, self: Tensor, index: Tensor) -> None:
    """Raise IndexError for an index out of range, and RuntimeError if an empty dim of several is indexed."""
    size = (self.meta.sizes or (1,))[place]
    if not size and self.meta.ndim > 1 and index.meta.numel:
        raise RuntimeError(f"index_select(): dim {place} of self, which is indexed, must not be empty, got size 0")
    check_within("index_select", index_values(index).reshape(-1), size, IndexError)


def check_within(operator: str, index: Array, size: int, error: type[Exception]) -> None:
    """Raise `error` unless every index lies in [0, size)."""
    bad = outside(index, size)
    if bad is not None:
        raise error(f"{operator}(): index out of range in self: index {bad} is out of bounds for size {size}")


def gather_dim(operator: str, self: Tensor, dim: int, index: Tensor) -> int:
    """The wrapped `dim`; checks dtype and number of dims of `index`, where 0-dim counts as 1-D."""
    place = wrap_dim(operator, dim, self.meta.ndim)
    if index.meta.numel:
        check_index_dtype(operator, index)
        if max(index.meta.ndim, 1) != max(self.meta.ndim, 1):
            raise RuntimeError(
                f"{operator}(): Index tensor must have the same number of dimensions as input tensor, got "
                f"{index.meta.ndim} and {self.meta.ndim}"
            )
    return place


def check_places(operator: str, dim: int, self: Tensor, index: Tensor, *_: Tensor) -> None:
    """Raise RuntimeError unless the values of a non-empty index lie in [0, size of dim `dim`)."""
    place = wrap_dim(operator, dim, self.meta.ndim)
    size = (self.meta.sizes or (1,))[place]
    bad = outside(index_values(reshape(index, (-1,))), size)
    if bad is not None:
        raise RuntimeError(f"{operator}(): index {bad} is out of bounds for dimension {place} with size {size}")


@kernel("gather")
@plannable
def gather(self: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor | Planned[Tensor]:
    """``out[i][j] = self[index[i][j]][j]`` (for dim 0); the result has the sizes of `index`. Raises RuntimeError for an
    index out of [0, size), other numbers of dims, sizes above those of `self` outside `dim`."""
    place = gather_dim("gather", self, dim, index)
    made = contiguous_meta(index.meta.sizes, self.meta.dtype, self.meta.device)
    if not made.numel:
        return new_like(made)
    mine, theirs = self.meta.sizes or (1,), index.meta.sizes or (1,)
    for other, (wanted, given) in enumerate(zip(mine, theirs, strict=True)):
        if other != place and given > wanted:
            raise RuntimeError(
                f"Size does not match at dimension {other} expected index {list(theirs)} to be no larger than "
                f"self {list(mine)} apart from dimension {place}"
            )
    if self.meta.device is cpu:
        call = picking(made, self.meta, index.meta, place, theirs)
        check = partial(check_places, "gather", place)
        return Planned.unrun(call, (self, index), call.native(), (self, index), check=check)
    return new_like(made)


@kernel("take")
@plannable
def take(self: Tensor, index: Tensor) -> Tensor | Planned[Tensor]:
    """The elements at positions `index` (int64, negative from the end) of the flattened tensor. Raises IndexError out
    of range, RuntimeError for another dtype."""
    check_index_dtype("take", index, (int64,))
    check_not_empty("take", self, index)
    made = contiguous_meta(index.meta.sizes, self.meta.dtype, self.meta.device)
    if self.meta.device is not cpu or not made.numel:
        return new_like(made)
    places, source = index_values(index), index
    check_take("take", places, self.meta.numel)
    if places.min() >= 0 and not (self.meta.contiguous and index.meta.contiguous):
        plan = LoopPlan([self.meta, index.meta], [made])
        given = zip(plan.inputs, (self.meta, index.meta), strict=True)
        elements, positions = [(view if one.contiguous else plan.row_major(view)).flat() for view, one in given]
        plan.refusing = True
        plan.gather(plan.results[0].flat(), elements, positions, 0)
        return Planned.unrun(plan.fresh, (self, index), plan.call, (self, index), check=_check_taken)
    if places.min() < 0 or not index.meta.contiguous:
        source = from_array(places % self.meta.numel, int64)
    flat = reshape(self, (-1,))
    rows, vector = (contiguous_meta((index.meta.numel,), one.meta.dtype) for one in (flat, source))
    call = picking(rows, flat.meta, vector, 0, rows.sizes)._replace(results=(made,))
    native = call.native() if self.meta.contiguous and source is index else None
    return Planned.unrun(call, (flat, source), native, (self, index), check=_check_taken)


def _check_taken(self: Tensor, index: Tensor) -> None:
    check_take("take", index_values(index), self.meta.numel)


def check_not_empty(operator: str, self: Tensor, index: Tensor) -> None:
    """Raise IndexError when a place of a tensor without elements is asked for."""
    if index.meta.numel and not self.meta.numel:
        raise IndexError(f"{operator}(): tried to {operator} from an empty tensor")


def check_take(operator: str, places: Array, count: int) -> None:
    """Raise IndexError unless every position lies in [-count, count)."""
    bad = outside(places, count, -count)
    if bad is not None:
        raise IndexError(f"{operator}(): out of range: tried to access index {bad} on a tensor of {count} elements.")


@kernel("take_along_dim", "CompositeImplicitAutograd")
@composite
def take_along_dim(part: Part, self: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """gather of tensors that broadcast outside `dim`, flattened without it; indices below 0 count from the end. Raises
    RuntimeError as gather does and, with `dim`, for indices that are not int64."""
    if dim is None:
        return part("gather", part("reshape", self, (-1,)), 0, part("reshape", indices, (-1,)))
    check_index_dtype("take_along_dim", indices, (int64,))
    if self.meta.ndim != indices.meta.ndim:
        raise RuntimeError(
            f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{self.meta.ndim} dimensions for input, and {indices.meta.ndim} dimensions for indices"
        )
    place = wrap_dim("take_along_dim", dim, self.meta.ndim)
    if not self.meta.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    mine, theirs = list(self.meta.sizes), list(indices.meta.sizes)
    mine[place] = theirs[place] = 1
    common = list(broadcast_shapes((tuple(mine), tuple(theirs))))
    length = common[place] = self.meta.sizes[place]
    source = part("expand", self, tuple(common))
    common[place] = indices.meta.sizes[place]
    from_start = part("where.self", part("lt.Scalar", indices, 0), part("add.Scalar", indices, length), indices)
    return part("gather", source, place, part("expand", from_start, tuple(common)))


@kernel("where", "CompositeImplicitAutograd")
def places_where(condition: Tensor) -> tuple[Tensor, ...]:
    """The indices of the elements that are not zero, a vector for each dim; a tensor without dims counts as one."""
    found = invoke("nonzero", condition if condition.meta.ndim else invoke("unsqueeze", condition, 0))
    parts: tuple[Tensor, ...] = invoke("unbind.int", found, 1)
    return parts
