"""Writing at computed places, in place and on a copy: scatter, index_add, index_copy, index_fill, put, and reductions
of values that meet at a place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..core import lazy_numpy as np
from ..core.away import long_call
from ..core.device import cpu
from ..core.dtype import DType, bool_, int64
from ..core.errors import wrap_dim
from ..core.limits import iinfo
from ..core.memory_format import contiguous_format
from ..core.promotion import UPSTREAM_NAMES
from ..core.warn import warn_deprecated
from ..iteration.dimensions import broadcast_shapes
from ..iteration.overlap import check_no_internal_overlap
from ..iteration.tensor_iterator import Number
from ..kernels.bound_call import Fresh, nothing
from ..kernels.true_elements import replace_kernel
from ..tensor.reshaping import contiguous, reshape
from ..tensor.scalars import item
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import TensorMeta, contiguous_meta, default_strides, format_strides, meta_of
from ..tensor.versions import bump_version, check_written_in_inference
from ..tensor.views import expand
from .advanced_indexing import index_error
from .arrays import from_array, number_as, outside, values
from .complex_half import taking
from .copy import copy_values
from .gathering import (
    check_index_dtype,
    check_not_empty,
    check_places,
    check_take,
    check_within,
    gather_dim,
    index_values,
)
from .invoke import apply
from .masks import expanded_strides, masked_finder, row_major_walk
from .operand_checks import check_fits, check_implemented, check_no_overlap, warn_of_internal_overlap
from .plan import Filling, Plannable, Planned, plannable
from .registration import SMALL_BYTES, F, derived_out, kernel, storing
from .rows import rows

KEEPING = ("index_fill", "put")
"""Functions whose results have the strides of their first argument; those of the others are row-major."""


Write = Callable[[Tensor], object]
"""Writes into a tensor like the one that was checked."""


def writing(name: str, inplace: str) -> Callable[[F], F]:
    """Register a function that checks the arguments of an operator and returns what writes: in place as `inplace`, and
    as `name` into a copy of the first argument."""

    base, layout = name.partition(".")[0], None if name.startswith(KEEPING) else contiguous_format

    def register(function: F) -> F:
        def written(self: Tensor, *args: Any, **kwargs: Any) -> Tensor | Planned[Tensor]:
            meta = self.meta
            strides = format_strides("clone", meta.sizes, meta.strides, layout)
            result = new_like(meta_of(meta.sizes, strides, meta.dtype, meta.device))
            write = function(result, *args, **kwargs)

            def fill(out: Tensor) -> None:
                copy_values(out, self)
                write(out)

            options = {name: value for name, value in kwargs.items() if name != "include_self" or not value}
            kept = None if options.keys() - {"reduce"} else _kept(base, result.meta, self, args, **options)
            call, operands, loops = kept or (None, None, None)
            filling = Filling((result.meta,), fill, loops=loops)
            values = [self, *[one for one in args if isinstance(one, Tensor)]]
            check = partial(CHECKS.get(base, nothing), base, args[0])
            return Planned.unrun(filling, values, call, operands, check=check, outline=result)

        def changed(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
            function(self, *args, **kwargs)(self)
            bump_version(self)
            return self

        written.__name__, written.__doc__ = base, function.__doc__
        changed.__name__, changed.__doc__ = f"{base}_", function.__doc__
        functional = Plannable(written)
        kernel(inplace, derive=False)(_small_inplace(base, changed) if base in COMBINED else changed)
        kernel(name, derive=False)(functional)
        row = rows()[name]
        if row.out_name is not None:
            kernel(row.out_name, derive=False)(derived_out(row, taking(name, functional)))
        return function

    return register


COMBINED = {"scatter": None, "scatter_add": "add", "index_add": "add", "index_copy": None, "index_fill": None}
"""Operators that one loop serves -> how it combines an element with what is there."""
Kept = tuple[Callable[..., Any], tuple[Any, ...], Fresh | None]
"""The call that writes into copies of other tensors, its operands, and its loops if these do all of it."""


def _kept(operator: str, meta: TensorMeta, self: Tensor, args: Sequence[Any], reduce: str | None = None) -> Kept | None:
    from .indexing.scatter_loop import planned_put, planned_scatter

    if operator == "put":
        loops = planned_put(meta, self.meta, *args)
        return None if loops is None else (loops.native(), (self, *args[:2]), loops)
    if operator in ("scatter_reduce", "index_reduce") and len(args) == 4 and args[3] != "mean":
        reduce = COMBINING.get(args[3], args[3])
        args = args[:3]
    elif operator not in COMBINED:
        return None
    if len(args) != 3 or not args[1].meta.numel:
        return None
    dim, source, sizes = wrap_dim(operator, args[0], self.meta.ndim), args[2], self.meta.sizes
    if operator == "index_fill" and isinstance(source, Tensor):  # one value for all places
        if source.meta.dtype is not self.meta.dtype or not sizes or source.meta.device is not cpu:
            return None
        source = expand(source, (*sizes[:dim], args[1].meta.numel, *sizes[dim + 1 :]))
    found = planned_scatter(operator, meta, self.meta, dim, args[1], source, reduce or COMBINED[operator])
    return None if found is None else (found[0], (self, *args[1:]), found[1])


def _small_inplace(operator: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the in-place kernel, planned for small tensors: they are written as a copy, and stored if all places are
    there, since a place that is not must leave them as they were."""

    def inplace(self: Tensor, *args: Any, **kwargs: Any) -> Tensor | Planned[Tensor]:
        function(self, *args, **kwargs)
        small = not kwargs and self.meta.nbytes <= SMALL_BYTES and self.meta.contiguous
        kept = _kept(operator, self.meta, self, args) if small else None
        if kept is None:
            return self
        return Planned(self, storing(kept[0], apart=True), kept[1])

    inplace.__name__, inplace.__doc__ = f"{operator}_", function.__doc__
    return Plannable(inplace)


def _write(
    operator: str, self: Tensor, dim: int, index: Tensor, source: Tensor | Number, combine: str | None = None
) -> None:
    """Write into a tensor at places that have been checked; on the CPU alone there are any."""
    from .indexing.scatter_loop import write_at

    check_written_in_inference(self)
    if index.meta.numel and self.meta.device is cpu:
        write_at(operator, self, dim, index, source, combine)


def check_same_dtype(operator: str, self: Tensor, source: Tensor, name: str) -> None:
    """Raise RuntimeError unless both tensors have one dtype."""
    if self.meta.dtype is not source.meta.dtype:
        raise RuntimeError(
            f"{operator}(): Expected self.dtype to be equal to {name}.dtype: self "
            f"({UPSTREAM_NAMES[self.meta.dtype.name]}) and {name} ({UPSTREAM_NAMES[source.meta.dtype.name]}) "
            f"must have the same scalar type"
        )


def check_scatter(operator: str, self: Tensor, dim: int, index: Tensor, source: Tensor | Number) -> int:
    """Return the wrapped `dim` of a scatter. Raises RuntimeError for dtypes, sizes and places that do not fit."""
    if not isinstance(source, Tensor):
        check_fits(operator, source, self.meta.dtype)
    dim = gather_dim(operator, self, dim, index)
    check_no_internal_overlap(self.meta.sizes, self.meta.strides)
    check_no_overlap(self, index)
    if isinstance(source, Tensor):
        check_same_dtype(operator, self, source, "src")
        if index.meta.numel and max(source.meta.ndim, 1) != max(index.meta.ndim, 1):
            raise RuntimeError(
                f"{operator}(): Index tensor must have the same number of dimensions as src tensor, got "
                f"{index.meta.ndim} and {source.meta.ndim}"
            )
        check_no_overlap(self, source)
    mine, theirs = self.meta.sizes or (1,), index.meta.sizes or (1,)
    given = source.meta.sizes or (1,) if isinstance(source, Tensor) else None
    for other, size in enumerate(theirs if index.meta.numel else ()):
        if (other != dim and size > mine[other]) or (given is not None and size > given[other]):
            raise RuntimeError(
                f"Expected index {list(theirs)} to be no larger than self {list(mine)} apart from "
                f"dimension {dim} and to be no larger size than src {list(given or ())}"
            )
    if index.meta.numel and self.meta.device is cpu:
        check_places(operator, dim, self, index)
    return dim


def _scatter(
    operator: str, self: Tensor, dim: int, index: Tensor, source: Tensor | Number, combine: str | None = None
) -> Write:
    """Return what writes `source` at the places of `index`, or combines it with what is there."""
    dim = check_scatter(operator, self, dim, index, source)
    return lambda target: _write(operator, target, dim, index, source, combine)


@writing("scatter.src", "scatter_.src")
@writing("scatter.value", "scatter_.value")
def scatter_(self: Tensor, dim: int, index: Tensor, source: Tensor | Number) -> Write:
    """``self[index[i][j]][j] = source[i][j]`` (for dim 0), or a number; repeated places keep the last value.

    Raises RuntimeError for an index out of [0, size), sizes that do not fit, dtypes that differ and a number that does
    not fit the dtype.
    """
    return _scatter("scatter", self, dim, index, source)


@writing("scatter.reduce", "scatter_.reduce")
@writing("scatter.value_reduce", "scatter_.value_reduce")
def scatter_reduce_(self: Tensor, dim: int, index: Tensor, source: Tensor | Number, *, reduce: str) -> Write:
    """scatter that adds ("add") or multiplies ("multiply"), repeated places included. Raises as scatter."""
    if isinstance(source, Tensor):
        warn_deprecated("scatter(reduce=)", "scatter_reduce")
    if reduce not in ("add", "multiply"):
        raise RuntimeError(f"scatter(): reduce argument must be either add or multiply, got {reduce!r}")
    return _scatter("scatter", self, dim, index, source, reduce)


@writing("scatter_add", "scatter_add_")
def scatter_add_(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Write:
    """scatter that adds, repeated places included. Raises RuntimeError as scatter."""
    return _scatter("scatter_add", self, dim, index, src, "add")


def vector_dim(operator: str, self: Tensor, dim: int, index: Tensor) -> int:
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


def check_vector_places(operator: str, dim: int, self: Tensor, index: Tensor, *_: Tensor) -> None:
    """Raise IndexError unless a vector of places along `dim` lies in [0, size)."""
    check_within(operator, index_values(index), (self.meta.sizes or (1,))[dim], IndexError)


@writing("index_add", "index_add_")
def index_add_(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Write:
    """Add ``alpha * source`` to the parts at `index` along `dim`, repeated places included. Raises IndexError out of
    range, RuntimeError for dtypes or sizes that do not fit."""
    return _into_parts("index_add_", self, dim, index, source, alpha)


def _into_parts(operator: str, self: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Number | None) -> Write:
    """Add ``alpha * source`` to the parts at `index`, or without `alpha` write it there."""
    dim = vector_dim(operator, self, dim, index)
    check_same_dtype(operator, self, source, "source")
    if alpha is not None:
        check_fits(operator, alpha, self.meta.dtype)
    check_no_overlap(self, source)
    mine, given = self.meta.sizes or (1,), source.meta.sizes or (1,)
    wanted = (*mine[:dim], index.meta.numel, *mine[dim + 1 :])
    if given != wanted:
        raise RuntimeError(
            f"{operator}(): source/destination slices must have same sizes: expected source {list(wanted)}, got "
            f"{list(given)}"
        )
    if self.meta.device is cpu:
        check_vector_places(operator, dim, self, index)
        if alpha not in (None, 1):
            with np.errstate(all="ignore"):
                scaled = values(source) * number_as(operator, self.meta.dtype, alpha)
            source = from_array(np.asarray(scaled), self.meta.dtype)
    return lambda target: _write(operator, target, dim, index, source, None if alpha is None else "add")


@writing("index_copy", "index_copy_")
def index_copy_(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Write:
    """Write `source` into the parts at `index` along `dim`; repeated places keep the last. Raises as index_add."""
    if index.meta.dtype is not int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {index.meta.dtype.name}")
    return _into_parts("index_copy_", self, dim, index, source, None)


@writing("index_fill.int_Scalar", "index_fill_.int_Scalar")
def index_fill_(self: Tensor, dim: int, index: Tensor, value: Number) -> Write:
    """Fill the parts at `index` (negative from the end) along `dim`. Raises IndexError out of range."""
    if index.meta.dtype is not int64:
        raise IndexError(f"index_fill_(): Expected dtype int64 for index, but got {index.meta.dtype.name}")
    dim = vector_dim("index_fill_", self, dim, index)
    check_fits("index_fill_", value, self.meta.dtype)
    if self.meta.device is cpu:
        places, size = index_values(index), (self.meta.sizes or (1,))[dim]
        bad = outside(places, size, -size)
        if bad is not None:
            raise index_error(bad, dim, size)
        index = from_array((places % max(size, 1)).reshape(-1), int64)
    return lambda target: _write("index_fill_", target, dim, index, value)


@writing("index_fill.int_Tensor", "index_fill_.int_Tensor")
def index_fill_tensor_(self: Tensor, dim: int, index: Tensor, value: Tensor) -> Write:
    """index_fill with the value of a 0-dim tensor. Raises RuntimeError for more dims, IndexError out of range."""
    if value.meta.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.meta.ndim} "
            f"dimension(s)."
        )
    return index_fill_(self, dim, index, item(value) if value.meta.device is cpu else 0)


@writing("put", "put_")
def put_(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Write:
    """Write `source` at positions `index` (int64) of the flattened tensor; with `accumulate` add. Raises IndexError out
    of range, RuntimeError for dtypes or counts that differ, and for tensors that share memory."""
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
    if not index.meta.numel or self.meta.device is not cpu:
        return check_written_in_inference
    places = index_values(index)
    check_take("put_", places, self.meta.numel)
    from_start = from_array((places % self.meta.numel).reshape(-1), int64)

    def write(target: Tensor) -> None:
        flat = reshape(target, (-1,))
        _write("put_", flat, 0, from_start, reshape(source, (-1,)), "add" if accumulate else None)
        if flat.storage_impl is not target.storage_impl:
            copy_values(target, reshape(flat, target.meta.sizes))

    return write


def _check_masked_scatter(self: Tensor, mask: Tensor, source: Tensor) -> None:
    if mask.meta.dtype is not bool_:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.meta.dtype}")
    check_same_dtype("masked_scatter_", self, source, "source")


@kernel("masked_scatter", derive=False)
@plannable
def masked_scatter(self: Tensor, mask: Tensor, source: Tensor) -> Tensor | Planned[Tensor]:
    """Return a copy of `self`, of the sizes that it and the mask broadcast to, with the first elements of `source`
    where the mask is true, in row-major order. Raises RuntimeError for a mask that is not bool, dtypes that differ and
    too few elements."""
    sizes = broadcast_shapes((self.meta.sizes, mask.meta.sizes))
    _check_masked_scatter(self, mask, source)
    made, whole = contiguous_meta(sizes, self.meta.dtype, self.meta.device), contiguous(source)
    count = source.meta.numel
    operands = (self, mask, whole)
    if self.meta.device is not cpu or not made.numel:
        return Planned.unrun(Fresh(None, (made,), ()), operands, None, None)

    def check(self: Tensor, mask: Tensor, source: Tensor) -> None:
        found = masked_finder(self.meta, mask.meta).counted(mask)[0]
        if found > count:
            raise RuntimeError(
                f"masked_scatter_: Number of elements of source < number of ones in mask: {count} < {found}"
            )

    if not count:
        check(self, mask, whole)
        return Planned.unrun(Filling((made,), lambda result: copy_values(result, self)), operands, None, None)
    strides = [expanded_strides(one, sizes) for one in (made, self.meta, mask.meta)]
    still = (0,) * len(sizes)
    tail = (0, count, *row_major_walk(sizes, [strides[0], still, *strides[1:], still, default_strides(sizes)]))
    loop = long_call(made.numel, replace_kernel(made.dtype.itemsize))
    fresh = Fresh(loop, (made, contiguous_meta((), int64)), tail, temporary=1, refusing=True)
    kept = fresh.native() if whole is source else None
    return Planned.unrun(fresh, operands, kept, (self, mask, source), check=check)


@kernel("masked_scatter_", derive=False)
def masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """masked_scatter in place. Raises RuntimeError for a mask that does not broadcast to `self`, and as masked_scatter.
    """
    _check_masked_scatter(self, mask, source)
    if broadcast_shapes((self.meta.sizes, mask.meta.sizes)) != self.meta.sizes:
        raise RuntimeError(
            f"masked_scatter_: mask of shape {list(mask.meta.sizes)} does not broadcast to self "
            f"{list(self.meta.sizes)}"
        )
    check_no_internal_overlap(self.meta.sizes, self.meta.strides)
    if self.meta.device is cpu:
        check_written_in_inference(self)
        copy_values(self, apply("masked_scatter", self, mask, source))
    bump_version(self)
    return self


CHECKS = {
    **dict.fromkeys(("scatter", "scatter_add", "scatter_reduce"), check_places),
    **dict.fromkeys(("index_add", "index_copy", "index_reduce"), check_vector_places),
}
"""Operators that have out= -> what checks the places of an index."""
SCATTERED = ("sum", "prod", "mean", "amax", "amin")
INDEXED = ("prod", "mean", "amax", "amin")
COMBINING = {"sum": "add", "mean": "add", "prod": "multiply"}
"""Reduction -> how the kernel combines two values; the others have the kernel's names."""


def _start(reduce: str, dtype: DType) -> Any:
    """Return what a reduction begins with where the old value does not count."""
    if reduce not in ("amax", "amin"):
        return int(reduce == "prod")
    if dtype is bool_:
        return reduce == "amin"
    if dtype.kind == 1:
        return iinfo(dtype).min if reduce == "amax" else iinfo(dtype).max
    return -float("inf") if reduce == "amax" else float("inf")


def _reduce(
    operator: str, self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool
) -> None:
    """Reduce values that meet at a place of `self`, the old one among them if `include_self`."""
    if not index.meta.numel or self.meta.device is not cpu:
        return
    if not include_self:
        _write(operator, self, dim, index, _start(reduce, self.meta.dtype))
    _write(operator, self, dim, index, source, COMBINING.get(reduce, reduce))
    if reduce == "mean":
        counts = apply("full_like", self, int(include_self), dtype=int64)
        _write(operator, counts, dim, index, 1, "add")
        total = apply("clamp_min", counts, 1)
        if self.meta.dtype.kind == 1:  # rounded down
            quotient = apply("floor_divide", apply("to.dtype", self, int64), total)
        else:
            quotient = apply("div.Tensor", self, apply("to.dtype", total, self.meta.dtype))
        copy_values(self, quotient)


def _check_reduction(operator: str, self: Tensor, reduce: str, allowed: tuple[str, ...], message: str) -> None:
    dtype = self.meta.dtype
    if reduce not in allowed:
        raise RuntimeError(message)
    refused = dtype is bool_ if reduce == "mean" else reduce in ("amax", "amin") and dtype.is_complex
    check_implemented(operator, dtype, not refused)


@writing("scatter_reduce.two", "scatter_reduce_.two")
def scatter_reduce_two_(
    self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Write:
    """Reduce the values of `src` at the places of `index` along `dim` into `self`, with the old ones if `include_self`.
    Raises RuntimeError for an unknown reduction, sizes, dtypes and places that do not fit."""
    message = f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
    _check_reduction("scatter_reduce", self, reduce, SCATTERED, f"scatter_reduce(): {message}")
    place = check_scatter("scatter_reduce", self, dim, index, src)
    return lambda target: _reduce("scatter_reduce", target, place, index, src, reduce, include_self)


@writing("index_reduce", "index_reduce_")
def index_reduce_(
    self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Write:
    """Reduce parts of `source` into the parts of `self` at `index` along `dim`. Raises RuntimeError for an unknown
    reduction, sizes and dtypes that do not fit, IndexError for places out of range."""
    message = f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}."
    _check_reduction("index_reduce", self, reduce, INDEXED, message)
    place = vector_dim("index_reduce_", self, dim, index)
    if self.meta.dtype is not source.meta.dtype:
        raise RuntimeError(
            f"index_reduce_(): self ({UPSTREAM_NAMES[self.meta.dtype.name]}) and source "
            f"({UPSTREAM_NAMES[source.meta.dtype.name]}) must have the same scalar type"
        )
    given = source.meta.sizes or (1,)
    count = index.meta.numel
    if len(given) <= place or given[place] != count:
        raise RuntimeError(
            f"index_reduce_(): Number of indices ({count}) should be equal to source.size(dim): "
            f"({given[place] if place < len(given) else 0}), for dim: {place}"
        )
    mine = self.meta.sizes or (1,)
    if given[:place] + given[place + 1 :] != mine[:place] + mine[place + 1 :]:
        raise RuntimeError(
            f"index_reduce_(): source of sizes {list(given)} must have those of self {list(mine)} apart from dim "
            f"{place}"
        )
    check_no_overlap(self, source)
    if self.meta.device is cpu and count:
        check_vector_places("index_reduce_", place, self, index)
    return lambda target: _reduce("index_reduce_", target, place, index, source, reduce, include_self)
