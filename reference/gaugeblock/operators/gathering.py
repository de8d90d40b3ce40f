"""Reading at computed places: index_select, gather, take, take_along_dim, masked_select, nonzero, argwhere."""

from __future__ import annotations

import numpy as np

from ..core.dtype import DType, bool_, int32, int64
from ..core.errors import wrap_dim
from ..iteration.broadcast import broadcast_shapes
from ..iteration.types import UPSTREAM_NAMES
from ..tensor.array_view import array_of
from ..tensor.reshaping import reshape
from ..tensor.tensor import Tensor, empty_strided_tensor, empty_tensor
from ..tensor.views import expand
from .advanced_indexing import take_true
from .arrays import Array, filled, values
from .registration import kernel


def index_values(operator: str, index: Tensor, *, allowed: tuple[DType, ...] = (int32, int64)) -> Array:
    """The values of an index tensor as int64. Raises RuntimeError for a dtype that is not allowed."""
    if index.geometry.dtype not in allowed:
        names = "/".join(dtype.name for dtype in allowed)
        raise RuntimeError(
            f"{operator}(): Expected dtype {names} for index, but got {UPSTREAM_NAMES[index.geometry.dtype.name]}"
        )
    return values(index).astype(np.int64, copy=False)


@kernel("index_select", "CPU")
def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    """The parts of `self` at the int32 or int64 vector `index` along `dim`.

    Raises IndexError out of [0, size) and for an index with more than one dim, RuntimeError for another dtype.
    """
    if index.geometry.dtype not in (int32, int64):
        raise RuntimeError(
            f"index_select(): Expected dtype int32 or int64 for index, but got {index.geometry.dtype.name}"
        )
    if index.geometry.ndim > 1:
        raise IndexError(f"index_select(): Index is supposed to be a vector, got {index.geometry.ndim} dims")
    place = wrap_dim("index_select", dim, self.geometry.ndim)
    places = index_values("index_select", index).reshape(-1)
    if not self.geometry.ndim:
        if places.size != 1:
            raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {places.size} value(s)")
        check_within("index_select", places, 1, IndexError)
        return filled((), self.geometry.dtype, values(self))
    check_within("index_select", places, self.geometry.sizes[place], IndexError)
    result = empty_tensor(
        self.geometry.sizes[:place] + places.shape + self.geometry.sizes[place + 1 :], self.geometry.dtype
    )
    if result.geometry.numel:
        values(self).take(places, axis=place, out=array_of(result), mode="clip")
    return result


def check_within(operator: str, index: Array, size: int, error: type[Exception]) -> None:
    """Raise `error` unless every index lies in [0, size)."""
    if index.size and (int(index.min()) < 0 or int(index.max()) >= size):
        bad = int(index.min()) if int(index.min()) < 0 else int(index.max())
        raise error(f"{operator}(): index out of range in self: index {bad} is out of bounds for size {size}")


def gather_places(operator: str, self: Tensor, dim: int, index: Tensor) -> tuple[int, Array]:
    """The wrapped `dim` and the index values, checked against the dims and sizes of `self`; 0-dim counts as 1-D."""
    place = wrap_dim(operator, dim, self.geometry.ndim)
    if not index.geometry.numel:
        return place, np.empty(index.geometry.sizes, np.int64)
    places = index_values(operator, index)
    if max(index.geometry.ndim, 1) != max(self.geometry.ndim, 1):
        raise RuntimeError(
            f"{operator}(): Index tensor must have the same number of dimensions as input tensor, got "
            f"{index.geometry.ndim} and {self.geometry.ndim}"
        )
    sizes = self.geometry.sizes or (1,)
    size = sizes[place]
    low, high = int(places.min()), int(places.max())
    if low < 0 or high >= size:
        raise RuntimeError(
            f"{operator}(): index {low if low < 0 else high} is out of bounds for dimension {place} with size {size}"
        )
    return place, places


@kernel("gather", "CPU")
def gather(self: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """``out[i][j] = self[index[i][j]][j]`` (for dim 0); the result has the sizes of `index`.

    Raises RuntimeError for an index out of [0, size), other numbers of dims, sizes above those of `self` outside `dim`.
    """
    place, places = gather_places("gather", self, dim, index)
    if not places.size:
        return empty_tensor(index.geometry.sizes, self.geometry.dtype)
    array = values(self).reshape(self.geometry.sizes or (1,))
    places = places.reshape(index.geometry.sizes or (1,))
    for other, (wanted, given) in enumerate(zip(array.shape, places.shape, strict=True)):
        if other != place and given > wanted:
            raise RuntimeError(
                f"Size does not match at dimension {other} expected index {list(places.shape)} to be no larger than "
                f"self {list(array.shape)} apart from dimension {place}"
            )
    corner = tuple([slice(None) if k == place else slice(size) for k, size in enumerate(places.shape)])
    return filled(
        index.geometry.sizes,
        self.geometry.dtype,
        np.take_along_axis(array[corner], places, place).reshape(index.geometry.sizes),
    )


@kernel("take", "CPU")
def take(self: Tensor, index: Tensor) -> Tensor:
    """The elements at positions `index` (int64, negative from the end) of the flattened tensor.

    Raises IndexError out of range, RuntimeError for another dtype.
    """
    places = index_values("take", index, allowed=(int64,))
    count = self.geometry.numel
    check_take("take", places, count)
    flat = values(self).reshape(-1)
    return filled(index.geometry.sizes, self.geometry.dtype, flat.take(places, mode="wrap") if places.size else 0)


def check_take(operator: str, places: Array, count: int) -> None:
    """Raise IndexError unless every position lies in [-count, count)."""
    if not places.size:
        return
    if not count:
        raise IndexError(f"{operator}(): tried to {operator} from an empty tensor")
    low, high = int(places.min()), int(places.max())
    if low < -count or high >= count:
        bad = high if high >= count else low
        raise IndexError(f"{operator}(): out of range: tried to access index {bad} on a tensor of {count} elements.")


@kernel("take_along_dim", "CPU")
def take_along_dim(self: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """gather of tensors that broadcast outside `dim`, flattened without it; indices below 0 count from the end.

    Raises RuntimeError as gather.
    """
    if dim is None:
        return gather(reshape(self, (-1,)), 0, reshape(indices, (-1,)))
    index_values("take_along_dim", indices)
    if self.geometry.ndim != indices.geometry.ndim:
        raise RuntimeError(
            f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{self.geometry.ndim} dimensions for input, and {indices.geometry.ndim} dimensions for indices"
        )
    place = wrap_dim("take_along_dim", dim, self.geometry.ndim)
    if not self.geometry.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    mine, theirs = list(self.geometry.sizes), list(indices.geometry.sizes)
    mine[place] = theirs[place] = 1
    common = list(broadcast_shapes((tuple(mine), tuple(theirs))))
    common[place] = self.geometry.sizes[place]
    source = expand(self, tuple(common))
    common[place] = indices.geometry.sizes[place]
    places = values(expand(indices, tuple(common)))
    wrapped = np.where(places < 0, places + self.geometry.sizes[place], places)
    return gather(source, place, filled(common, int64, wrapped))


@kernel("masked_select", "CPU")
def masked_select(self: Tensor, mask: Tensor) -> Tensor:
    """The elements where `mask` is true, in row-major order; both broadcast. Raises RuntimeError unless it is bool."""
    if mask.geometry.dtype is not bool_:
        raise RuntimeError(f"masked_select: expected BoolTensor for mask, got {mask.geometry.dtype.name}")
    sizes = broadcast_shapes((self.geometry.sizes, mask.geometry.sizes))
    chosen, array = np.broadcast_to(values(mask), sizes), np.broadcast_to(values(self), sizes)
    return take_true(array, chosen, self.geometry.dtype)


@kernel("nonzero", "CPU")
def nonzero(self: Tensor) -> Tensor:
    """The indices of the elements that are not zero, row-major, as int64 of sizes (count, ndim)."""
    found = values(self).nonzero() if self.geometry.ndim else ()
    count = int(np.count_nonzero(values(self)))
    result = empty_strided_tensor((count, self.geometry.ndim), (1, max(count, 1)), int64)
    if result.geometry.numel:
        target = array_of(result)
        for column, places in enumerate(found):
            target[:, column] = places
    return result


@kernel("argwhere", "CPU")
def argwhere(self: Tensor) -> Tensor:
    """nonzero under NumPy's name."""
    return nonzero(self)
