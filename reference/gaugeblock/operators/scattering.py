"""Writing at computed places, in place and on a copy: scatter, index_add, index_copy, index_fill, put."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.device import cpu
from ..core.dtype import bool_, int64
from ..core.errors import wrap_dim
from ..core.memory_format import contiguous_format
from ..core.promotion import UPSTREAM_NAMES
from ..core.warn import warn_deprecated
from ..iteration.dimensions import broadcast_shapes
from ..iteration.overlap import check_no_internal_overlap
from ..iteration.tensor_iterator import Number
from ..tensor.array_view import FEW, array_of
from ..tensor.scalars import item
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta, default_strides, remember
from ..tensor.versions import bump_version, check_written_in_inference
from ..tensor.views import expand
from .advanced_indexing import index_error
from .arrays import Array, has_many_dims, number_as, outside, values, without_dims
from .complex_half import taking
from .copy import clone
from .gathering import (
    check_index_dtype,
    check_not_empty,
    check_take,
    check_within,
    gather_dim,
    gather_places,
    index_values,
)
from .operand_checks import check_fits, check_no_overlap, warn_of_internal_overlap
from .plan import Plannable, Planned
from .registration import F, derived_out, kernel
from .rows import rows

KEEPING = ("index_fill", "put")
"""Functions whose results have the strides of their first argument; those of the others are row-major."""


def writing(name: str, inplace: str) -> Callable[[F], F]:
    """Register the decorated in-place function as `inplace`, and as `name` on a copy of its first argument."""

    layout = None if name.startswith(KEEPING) else contiguous_format

    def register(function: F) -> F:
        def written(self: Tensor, *args: Any, **kwargs: Any) -> Any:
            result = function(clone(self, memory_format=layout), *args, **kwargs)
            result.storage_impl.version = 0
            return result if kwargs else _planned(name.partition(".")[0], result, self, args)

        written.__name__, written.__doc__ = name.partition(".")[0], function.__doc__
        functional = Plannable(written)
        kernel(inplace, derive=False)(function)
        kernel(name, derive=False)(functional)
        row = rows()[name]
        if row.out_name is not None:
            kernel(row.out_name, derive=False)(derived_out(row, taking(name, functional)))
        return function

    return register


def _planned(operator: str, result: Tensor, self: Tensor, args: tuple[Any, ...]) -> Tensor | Planned[Tensor]:
    from .indexing.scatter_loop import planned_scatter

    if operator not in ("scatter", "scatter_add") or len(args) != 3 or not args[1].meta.numel:
        return result
    dim = gather_dim(operator, self, args[0], args[1])
    return planned_scatter(operator, result, self, dim, *args[1:], add=operator == "scatter_add")


def writable(self: Tensor) -> Array:
    """The memory of `self`, 1-D for a 0-dim tensor."""
    check_written_in_inference(self)
    array = array_of(self)
    return array if array.ndim else array.reshape(1)


def check_same_dtype(operator: str, self: Tensor, source: Tensor, name: str) -> None:
    """Raise RuntimeError unless both tensors have one dtype."""
    if self.meta.dtype is not source.meta.dtype:
        raise RuntimeError(
            f"{operator}(): Expected self.dtype to be equal to {name}.dtype: self "
            f"({UPSTREAM_NAMES[self.meta.dtype.name]}) and {name} ({UPSTREAM_NAMES[source.meta.dtype.name]}) "
            f"must have the same scalar type"
        )


def _offsets(meta: TensorMeta, sizes: tuple[int, ...], dim: int) -> Array:
    """For an index of these sizes, the row-major place of each element but for its step along `dim`."""
    key = ("scatter offsets", sizes, dim)
    known: Array | None = meta.plans.get(key)
    if known is None:
        known = np.zeros(sizes, np.int64)
        for d, step in enumerate(default_strides(meta.sizes or (1,))):
            if d != dim:
                known += (np.arange(sizes[d]) * step).reshape((-1,) + (1,) * (len(sizes) - 1 - d))
        if known.size <= FEW:
            remember(meta.plans, key, known)
    return known


def add_at(target: Array, key: tuple[Any, ...], source: Any) -> None:
    """Add `source` at places that may repeat; booleans by or."""
    with np.errstate(all="ignore"):
        operation = np.logical_or if target.dtype == np.bool_ else np.add
        operation.at(target, key[0] if len(key) == 1 else key, source)


Combine = Callable[[Array, tuple[Any, ...], Any], None]
"""Writes values at places that may repeat."""


def replace_at(target: Array, key: tuple[Any, ...], source: Any) -> None:
    """Write `source`; of places that repeat the last one counts."""
    target[key] = source


def multiply_at(target: Array, key: tuple[Any, ...], source: Any) -> None:
    """Multiply by `source` at places that may repeat; booleans by and."""
    with np.errstate(all="ignore"):
        np.multiply.at(target, key[0] if len(key) == 1 else key, source)


def _reduction(reduce: str) -> Combine:
    if reduce == "add":
        return add_at
    if reduce == "multiply":
        return multiply_at
    raise RuntimeError(f"scatter(): reduce argument must be either add or multiply, got {reduce!r}")


def placed(operator: str, self: Tensor, dim: int, index: Tensor, source: Tensor | Number, *, add: bool) -> bool:
    """Return whether a compiled loop has written `source`; there is none for some dtypes and operands that share
    memory."""
    from .indexing.scatter_loop import run_scatter, scatter_loop_of

    steps = scatter_loop_of(self, dim, index, source, add=add)
    return steps is not None and run_scatter(operator, steps, self, index, source)


def _scatter(operator: str, self: Tensor, dim: int, index: Tensor, source: Tensor | Number, combine: Combine) -> Tensor:
    """Combine `source` into `self` at the places of `index`; the checks are those of all scatters."""
    dim = gather_dim(operator, self, dim, index)
    check_no_internal_overlap(self.meta.sizes, self.meta.strides)
    check_no_overlap(self, index)
    if isinstance(source, Tensor):
        _check_source(operator, self, index, source)
        check_no_overlap(self, source)
    mine, theirs = self.meta.sizes or (1,), index.meta.sizes or (1,)
    given = source.meta.sizes or (1,) if isinstance(source, Tensor) else None
    for other, size in enumerate(theirs if index.meta.numel else ()):
        if (other != dim and size > mine[other]) or (given is not None and size > given[other]):
            raise RuntimeError(
                f"Expected index {list(theirs)} to be no larger than self {list(mine)} apart from "
                f"dimension {dim} and to be no larger size than src {list(given or ())}"
            )
    if has_many_dims(self.meta) and index.meta.numel:
        ones = {other for other, size in enumerate(mine) if size == 1 and other != dim}
        if ones:
            dim -= sum(other < dim for other in ones)
            given_parts = without_dims(source, ones) if isinstance(source, Tensor) else source
            _scatter(operator, without_dims(self, ones), dim, without_dims(index, ones), given_parts, combine)
            return self
    if index.meta.numel and self.meta.device is cpu:
        places = gather_places(operator, self, dim, index)
        check_written_in_inference(self)
        if combine in (replace_at, add_at) and placed(operator, self, dim, index, source, add=combine is add_at):
            bump_version(self)
            return self
        target, added = writable(self), _added(operator, self, places, source)
        elements = target.reshape(-1)
        flat = _offsets(self.meta, places.shape, dim) + places * default_strides(mine)[dim]
        combine(elements, (flat.reshape(-1),), added.reshape(-1) if added.ndim else added)
        if not self.meta.contiguous:
            target[...] = elements.reshape(target.shape)
    bump_version(self)
    return self


def _check_source(operator: str, self: Tensor, index: Tensor, src: Tensor) -> None:
    check_same_dtype(operator, self, src, "src")
    if index.meta.numel and max(src.meta.ndim, 1) != max(index.meta.ndim, 1):
        raise RuntimeError(
            f"{operator}(): Index tensor must have the same number of dimensions as src tensor, got "
            f"{index.meta.ndim} and {src.meta.ndim}"
        )


def _added(operator: str, self: Tensor, places: Array, source: Tensor | Number) -> Array:
    """Return what goes to `places`: the corner of a tensor that they cover, or one number."""
    if not isinstance(source, Tensor):
        return number_as(operator, self.meta.dtype, source)
    array = values(source).reshape(source.meta.sizes or (1,))[tuple([slice(size) for size in places.shape])]
    return array.copy() if source.storage_impl is self.storage_impl else array


@writing("scatter.src", "scatter_.src")
def scatter_(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """``self[index[i][j]][j] = src[i][j]`` (for dim 0); repeated places keep the last value.

    Raises RuntimeError for an index out of [0, size), sizes that do not fit and dtypes that differ.
    """
    return _scatter("scatter", self, dim, index, src, replace_at)


@writing("scatter.value", "scatter_.value")
def scatter_value_(self: Tensor, dim: int, index: Tensor, value: Number) -> Tensor:
    """scatter of one number. Raises RuntimeError as scatter, and for a number that does not fit the dtype."""
    check_fits("scatter", value, self.meta.dtype)
    return _scatter("scatter", self, dim, index, value, replace_at)


@writing("scatter.reduce", "scatter_.reduce")
def scatter_reduce_(self: Tensor, dim: int, index: Tensor, src: Tensor, *, reduce: str) -> Tensor:
    """scatter that adds ("add") or multiplies ("multiply"), repeated places included. Raises as scatter."""
    warn_deprecated("scatter(reduce=)", "scatter_reduce")
    return _scatter("scatter", self, dim, index, src, _reduction(reduce))


@writing("scatter.value_reduce", "scatter_.value_reduce")
def scatter_value_reduce_(self: Tensor, dim: int, index: Tensor, value: Number, *, reduce: str) -> Tensor:
    """scatter of one number that adds or multiplies. Raises RuntimeError as scatter."""
    check_fits("scatter", value, self.meta.dtype)
    return _scatter("scatter", self, dim, index, value, _reduction(reduce))


@writing("scatter_add", "scatter_add_")
def scatter_add_(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """scatter that adds, repeated places included. Raises RuntimeError as scatter."""
    return _scatter("scatter_add", self, dim, index, src, add_at)


def _vector(operator: str, self: Tensor, dim: int, index: Tensor) -> int:
    """The wrapped `dim`. Raises IndexError and RuntimeError for an index that is no vector of integers."""
    place = wrap_dim(operator, dim, self.meta.ndim)
    if index.meta.ndim > 1:
        raise IndexError(f"{operator}(): Index is supposed to be a vector, got {index.meta.ndim} dims")
    check_index_dtype(operator, index)
    check_no_overlap(self, index)
    if operator != "index_fill_":
        check_no_internal_overlap(self.meta.sizes, self.meta.strides)
    else:
        warn_of_internal_overlap(operator, self)
    return place


def _part(dim: int, places: Array) -> tuple[Any, ...]:
    return (slice(None),) * dim + (places,)


def _check_part(operator: str, self: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
    check_no_overlap(self, source)
    mine, given = self.meta.sizes or (1,), source.meta.sizes or (1,)
    wanted = (*mine[:dim], index.meta.numel, *mine[dim + 1 :])
    if given != wanted:
        raise RuntimeError(
            f"{operator}(): source/destination slices must have same sizes: expected source {list(wanted)}, got "
            f"{list(given)}"
        )


def _vector_places(operator: str, target: Array, dim: int, index: Tensor) -> Array:
    """The values of a vector of places along `dim`. Raises IndexError out of [0, size)."""
    places = index_values(index).reshape(-1)
    check_within(operator, places, target.shape[dim], IndexError)
    return places


@writing("index_add", "index_add_")
def index_add_(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
    """Add ``alpha * source`` to the parts at `index` along `dim`, repeated places included.

    Raises IndexError out of range, RuntimeError for dtypes or sizes that do not fit.
    """
    return _into_parts("index_add_", self, dim, index, source, alpha)


def _into_parts(operator: str, self: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Number | None) -> Tensor:
    """Add ``alpha * source`` to the parts at `index`, or without `alpha` write it there."""
    dim = _vector(operator, self, dim, index)
    check_same_dtype(operator, self, source, "source")
    if alpha is not None:
        check_fits(operator, alpha, self.meta.dtype)
    _check_part(operator, self, dim, index, source)
    if self.meta.device is cpu:
        target = writable(self)
        places = _vector_places(operator, target, dim, index)
        looped = alpha in (None, 1) and places.size
        if not (looped and placed(operator, self, dim, index, source, add=alpha is not None)):
            given = values(source).reshape(source.meta.sizes or (1,))
            if alpha is None:
                target[_part(dim, places)] = given.copy() if source.storage_impl is self.storage_impl else given
            else:
                with np.errstate(all="ignore"):
                    scaled = given if alpha == 1 else given * number_as(operator, self.meta.dtype, alpha)
                add_at(target, _part(dim, places), scaled)
    bump_version(self)
    return self


@writing("index_copy", "index_copy_")
def index_copy_(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Write `source` into the parts at `index` along `dim`; repeated places keep the last. Raises as index_add."""
    if index.meta.dtype is not int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {index.meta.dtype.name}")
    return _into_parts("index_copy_", self, dim, index, source, None)


@writing("index_fill.int_Scalar", "index_fill_.int_Scalar")
def index_fill_(self: Tensor, dim: int, index: Tensor, value: Number) -> Tensor:
    """Fill the parts at `index` (negative from the end) along `dim`. Raises IndexError out of range."""
    if index.meta.dtype is not int64:
        raise IndexError(f"index_fill_(): Expected dtype int64 for index, but got {index.meta.dtype.name}")
    dim = _vector("index_fill_", self, dim, index)
    check_fits("index_fill_", value, self.meta.dtype)
    if self.meta.device is cpu:
        _fill_places(writable(self), dim, index_values(index).reshape(-1), number_as("", self.meta.dtype, value))
    bump_version(self)
    return self


def _fill_places(target: Array, dim: int, places: Array, value: Array) -> None:
    size = target.shape[dim]
    bad = outside(places, size, -size)
    if bad is not None:
        raise index_error(bad, dim, size)
    target[_part(dim, places)] = value


@writing("index_fill.int_Tensor", "index_fill_.int_Tensor")
def index_fill_tensor_(self: Tensor, dim: int, index: Tensor, value: Tensor) -> Tensor:
    """index_fill with the value of a 0-dim tensor. Raises RuntimeError for more dims, IndexError out of range."""
    if value.meta.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.meta.ndim} "
            f"dimension(s)."
        )
    return index_fill_(self, dim, index, item(value) if value.meta.device is cpu else 0)


@writing("put", "put_")
def put_(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Write `source` at positions `index` (int64) of the flattened tensor; with `accumulate` add.

    Raises IndexError out of range, RuntimeError for dtypes or counts that differ, and for tensors that share memory.
    """
    check_index_dtype("put_", index, (int64,))
    check_same_dtype("put_", self, source, "source")
    if index.meta.numel != source.meta.numel:
        raise RuntimeError(
            f"put_(): Expected source and index to have the same number of elements, but got "
            f"{source.meta.numel} and {index.meta.numel}"
        )
    check_not_empty("put_", self, index)
    check_no_internal_overlap(self.meta.sizes, self.meta.strides)
    check_no_overlap(self, index, source)
    if index.meta.numel and self.meta.device is cpu:
        _put_into(writable(self), index_values(index).reshape(-1), values(source).reshape(-1).copy(), accumulate)
    bump_version(self)
    return self


def _put_into(target: Array, places: Array, given: Array, accumulate: bool) -> None:
    check_take("put_", places, target.size)
    key = np.unravel_index(places % target.size, target.shape)
    if accumulate:
        add_at(target, key, given)
    else:
        target[key] = given


@kernel("masked_scatter", derive=False)
def masked_scatter(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """masked_scatter_ on a copy, which has the sizes that self and mask broadcast to."""
    sizes = broadcast_shapes((self.meta.sizes, mask.meta.sizes))
    target = self if sizes == self.meta.sizes else expand(self, sizes)
    return masked_scatter_(clone(target, memory_format=contiguous_format), mask, source)


@kernel("masked_scatter_", derive=False)
def masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Write the first elements of `source` where `mask` is true, in row-major order.

    Raises RuntimeError for a mask that is not bool, dtypes that differ and too few elements.
    """
    if mask.meta.dtype is not bool_:
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.meta.dtype}"
        )
    check_same_dtype("masked_scatter_", self, source, "source")
    if broadcast_shapes((self.meta.sizes, mask.meta.sizes)) != self.meta.sizes:
        raise RuntimeError(
            f"masked_scatter_(): mask of shape {list(mask.meta.sizes)} does not broadcast to self "
            f"{list(self.meta.sizes)}"
        )
    check_no_internal_overlap(self.meta.sizes, self.meta.strides)
    if self.meta.device is cpu:
        target = writable(self)
        chosen = np.broadcast_to(values(mask), self.meta.sizes).reshape(target.shape)
        _write_chosen(target, chosen, values(source).reshape(-1))
    bump_version(self)
    return self


def _write_chosen(target: Array, chosen: Array, source: Array) -> None:
    count = int(np.count_nonzero(chosen))
    if count > source.size:
        raise RuntimeError(
            f"masked_scatter_: Number of elements of source < number of ones in mask: {source.size} < {count}"
        )
    target[chosen] = source[:count].copy()
