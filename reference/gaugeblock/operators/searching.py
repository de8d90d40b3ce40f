"""Distinct values and binary search: unique, searchsorted, bucketize, isin."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable
from math import prod
from typing import Any

from ..core import lazy_numpy as np
from ..core.away import long_call
from ..core.device import cpu
from ..core.dtype import DType, bfloat16, bool_, dtype_of_number, int32, int64, uint64
from ..core.errors import INT64_MAX, wrap_dim
from ..core.promotion import common_dtype
from ..core.warn import is_warn_always_enabled, warn_once
from ..iteration.tensor_iterator import Number
from ..kernels.binary_search import search_kernel
from ..kernels.bound_call import Fresh
from ..kernels.runs import runs_kernel
from ..tensor.array_view import array_of
from ..tensor.reshaping import reshape
from ..tensor.tensor import Tensor, make_tensor, new_like
from ..tensor.tensor_meta import TensorMeta, contiguous_meta, default_strides, meta_of
from .arrays import STEPS, Array, computed, from_array, has_many_dims, values
from .composition import Part, composite
from .fill import number_call
from .invoke import apply, apply_for_many
from .loop_plan import row_launch
from .operand_checks import check_implemented, check_number
from .plan import Planned, plannable
from .registration import kernel


def sortable(array: Array) -> Array:
    """`array` in a dtype that NumPy sorts; bfloat16 is widened."""
    return array.astype(np.float32) if array.dtype == bfloat16.numpy else array


@kernel("_unique2", "CPU")
def unique2(
    self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The distinct values in order, the place of each element among them, and how often each occurs. NaNs are all
    distinct. Results that are not asked for have no elements."""
    return with_empty(distinct(self, return_inverse, return_counts))


Runs = tuple[Tensor, Tensor | None, Tensor | None]


def distinct(self: Tensor, inverse: bool, counts: bool) -> Runs:
    """The results of unique that are asked for, and None for the others."""
    check_implemented("unique", self.meta.dtype, not self.meta.dtype.is_complex)
    ordered, indices = apply_for_many("sort", reshape(self, (-1,)))
    return runs_of(self.meta, ordered, indices, ordered, inverse, counts)


def with_empty(found: Runs) -> tuple[Tensor, Tensor, Tensor]:
    """Return the results with tensors without elements in place of None."""
    first, *others = found
    second, third = [new_like(contiguous_meta((0,), int64)) if one is None else one for one in others]
    return first, second, third


def runs_of(
    meta: TensorMeta, row: Tensor, indices: Tensor | None, values: Tensor, return_inverse: bool, return_counts: bool
) -> Runs:
    """The first element of each run of equal ones in a vector, the run of each element of a tensor of `meta`, and the
    lengths of the runs; None for what is not asked for. The indices say where the elements of the vector are in the
    tensor, if it has been put in order. The vector of `values`, which may be the same, is written over, and the indices
    are too."""
    size = meta.numel
    inverse = new_like(contiguous_meta(meta.sizes, int64)) if return_inverse else None
    lengths = indices if indices is not None and return_counts else None
    if return_counts and lengths is None:
        lengths = new_like(contiguous_meta((size,), int64))
    many = 0
    if size:
        total, width = array("q", (0,)), meta.dtype.itemsize
        run = runs_kernel(meta.dtype, return_counts, return_inverse, indices is not None)
        at = [0 if one is None else one.pointer for one in (lengths, inverse, indices)]
        addresses = values.pointer, at[0], at[1], total.buffer_info()[0], row.pointer, at[2]
        run = long_call(STEPS * size, run)
        run(*addresses, 1, size, width, 8, 8, 0, width, 8)
        (many,) = total
    return _beginning(values, many), inverse, None if lengths is None else _beginning(lengths, many)


def _beginning(vector: Tensor, count: int) -> Tensor:
    """Return the first elements of a vector that nobody else has, in its memory unless that is much larger."""
    meta = vector.meta
    if count == meta.numel:
        return vector
    made = contiguous_meta((count,), meta.dtype)
    if count > meta.numel // 4:
        return make_tensor(made, vector.storage_impl, vector.offset, None)
    result = new_like(made)
    ctypes.memmove(result.pointer, vector.pointer, made.nbytes)
    return result


@kernel("unique_dim", "CPU")
def unique_dim(
    self: Tensor, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The distinct parts along `dim` in lexicographic order, with inverse and counts. Raises IndexError."""
    check_implemented("unique_dim", self.meta.dtype, not self.meta.dtype.is_complex)
    place = wrap_dim("unique_dim", dim, self.meta.ndim)
    if has_many_dims(self.meta):
        sizes = self.meta.sizes
        three = reshape(self, (prod(sizes[:place]), sizes[place], prod(sizes[place + 1 :])))
        parts, where, many = unique_dim(three, 1)
        return reshape(parts, (*sizes[:place], parts.meta.sizes[1], *sizes[place + 1 :])), where, many
    array = sortable(values(self).reshape(self.meta.sizes or (1,)))
    found, inverse, counts = np.unique(array, return_inverse=True, return_counts=True, axis=place, equal_nan=False)
    return (
        parts_first(found if self.meta.ndim else found.reshape(-1), place, self.meta.dtype),
        from_array(inverse.reshape(-1), int64),
        from_array(counts, int64),
    )


def parts_first(array: Array, dim: int, dtype: DType) -> Tensor:
    """A fresh tensor of `array` whose parts along `dim` follow one another in memory."""
    shape = array.shape
    steps = default_strides((shape[dim], *shape[:dim], *shape[dim + 1 :]))
    result = new_like(meta_of(shape, (*steps[1 : dim + 1], steps[0], *steps[dim + 1 :]), dtype, cpu))
    array_of(result)[...] = array
    return result


@kernel("searchsorted.Tensor")
@plannable
def searchsorted(
    sorted_sequence: Tensor, self: Tensor, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor | Planned[Tensor]:  # fmt: skip
    """Return where each value would be inserted into the ascending sequence (row by row when it has more than one dim).
    Raises RuntimeError when leading sizes differ or `side` contradicts `right`."""
    if side not in (None, "left", "right"):
        raise RuntimeError(f"searchsorted(): side can only be 'left' or 'right' but got {side!r}")
    if side == "left" and right:
        raise RuntimeError("searchsorted(): side and right can't be set to opposites, got side of left while right")
    check_implemented("searchsorted", self.meta.dtype, self.meta.dtype.kind in (1, 2))
    check_implemented("searchsorted", sorted_sequence.meta.dtype, not sorted_sequence.meta.dtype.is_complex)
    given, wanted = sorted_sequence.meta.sizes, self.meta.sizes
    if not given:
        raise RuntimeError("searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension")
    if not wanted and len(given) != 1:
        raise RuntimeError(
            f"searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
            f"boundaries tensor dim({len(given)})"
        )
    if sorter is not None:
        _check_sorter(sorted_sequence, sorter)
    if len(given) != 1 and given[:-1] != wanted[:-1]:
        raise RuntimeError(
            f"searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor "
            f"and input value tensor must match, but we got boundaries tensor {list(given)} and input value "
            f"tensor {list(wanted)}"
        )
    _warn_of_strides("boundary", sorted_sequence)
    _warn_of_strides("input value", self)
    from_right = right or side == "right"

    if sorter is not None:
        sorted_sequence = apply("gather", sorted_sequence, -1, sorter)
    fresh = _insertion(sorted_sequence.meta, self.meta, int32 if out_int32 else int64, from_right)
    operands = (self, sorted_sequence)
    if sorted_sequence.meta.contiguous and self.meta.contiguous:
        return Planned.unrun(fresh, operands, fresh.native() if sorter is None else None, operands)
    quiet = lambda *given: None if is_warn_always_enabled() else given  # noqa: E731
    return Planned.taking(fresh, quiet, operands, values=operands, kept=sorter is None)


def _insertion(sequence: TensorMeta, given: TensorMeta, dtype: DType, from_right: bool) -> Fresh:
    """Return the call for values and a sequence that finds where the values would be inserted."""
    made, size = contiguous_meta(given.sizes, dtype, given.device), sequence.sizes[-1]
    if given.device is not cpu or not given.numel:
        return Fresh(None, (made,), ())
    rows = sequence.strides[:-1] if sequence.ndim > 1 else (0,) * (given.ndim - 1)
    steps = meta_of(given.sizes, (*rows, 0) if given.sizes else (), sequence.dtype, cpu)
    compute = common_dtype((meta.dtype, 2 if meta.ndim else 1) for meta in (sequence, given))
    kernel = search_kernel(sequence.dtype, given.dtype, compute, dtype, from_right)
    run, tail = row_launch(kernel, [made, given, steps], max(given.ndim - 1, 0))
    return Fresh(run, (made,), (size, sequence.strides[-1] * sequence.dtype.itemsize, *tail))


def _warn_of_strides(name: str, given: Tensor) -> None:
    """Warn once of tensors that are not contiguous."""
    if not given.meta.contiguous:
        warn_once(f"searchsorted(): the {name} tensor is non-contiguous, which is slower; pass a contiguous one")


def _check_sorter(sequence: Tensor, sorter: Tensor) -> None:
    """Raise RuntimeError unless `sorter` holds int64 indices into the last dim of the sequence, with its shape."""
    given, wanted = sorter.meta, sequence.meta
    if given.sizes != wanted.sizes:
        raise RuntimeError(
            f"searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
            f"{list(wanted.sizes)} and sorter tensor {list(given.sizes)}"
        )
    if given.dtype is not int64:
        raise RuntimeError(f"searchsorted(): sorter must be a tensor of int64, but got dtype {given.dtype.name}")
    if given.device is cpu and given.numel:
        places = values(sorter)
        if places.min() < 0 or places.max() >= wanted.sizes[-1]:
            raise RuntimeError("searchsorted(): sorter index out of range")


@kernel("searchsorted.Scalar")
@plannable
def searchsorted_number(sorted_sequence: Tensor, self: Number, **options: Any) -> Tensor | Planned[Tensor]:
    """searchsorted of one number in a 1-D sequence. Raises RuntimeError for another rank."""
    if sorted_sequence.meta.ndim != 1:
        raise RuntimeError(
            f"searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
            f"boundaries tensor dim({sorted_sequence.meta.ndim}) and input value {self}"
        )
    check_number("searchsorted", "self", self)
    return _of_number(searchsorted.planned(sorted_sequence, _tensor_of(self, sorted_sequence), **options), self, 1)


def _of_number(plan: Planned[Tensor], number: Number, place: int) -> Planned[Tensor]:
    """Return the plan of a search for a 0-dim tensor in a sequence, as that for a number at a place among the two."""
    make = _making(number)

    def take(*given: Any) -> tuple[Tensor, Tensor] | None:
        value = make(given[place])
        return None if value is None else (value, given[1 - place])

    computation, sequence = plan.computation, plan.values[1]
    if plan.call is None or not isinstance(computation, Fresh):
        return plan
    operands = (number, sequence) if place == 0 else (sequence, number)
    return Planned.taking(computation, take, operands, values=plan.values)


def _making(number: Number) -> Callable[[Any], Tensor | None]:
    """Return the call that makes 0-dim tensors of numbers of the same class, or None of some."""
    dtype = int64 if isinstance(number, int) else dtype_of_number(number)
    make = number_call(contiguous_meta((), dtype)).native()
    if dtype is int64:
        return lambda number: make(number) if -INT64_MAX - 1 <= number <= INT64_MAX else None
    return lambda number: make(number) if dtype_of_number(number) is dtype else None


def _tensor_of(number: Number, other: Tensor) -> Tensor:
    """The number as a 0-dim tensor on the device of `other`."""
    whole = uint64 if isinstance(number, int) and number > INT64_MAX else int64
    kind = whole if isinstance(number, (bool, int)) else dtype_of_number(number)
    return computed((), kind, other.meta.device, lambda: number)


@kernel("bucketize.Tensor")
@plannable
def bucketize(
    self: Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor | Planned[Tensor]:
    """searchsorted with the sequence second. Raises RuntimeError unless `boundaries` is 1-D."""
    if boundaries.meta.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.meta.ndim})")
    return searchsorted.planned(boundaries, self, out_int32=out_int32, right=right)


@kernel("bucketize.Scalar")
@plannable
def bucketize_number(
    self: Number, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor | Planned[Tensor]:
    """bucketize of one number. Raises RuntimeError unless `boundaries` is 1-D."""
    check_number("bucketize", "self", self)
    value = _tensor_of(self, boundaries)
    return _of_number(bucketize.planned(value, boundaries, out_int32=out_int32, right=right), self, 0)


@kernel("isin.Tensor_Tensor")
@composite
def isin(
    part: Part, elements: Tensor, test_elements: Tensor, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Return whether each element equals one of `test_elements`; with `invert` whether it equals none. Both are
    compared in their common dtype, in which one without dims counts less."""
    given = [tensor.meta for tensor in (elements, test_elements)]
    for meta in given:
        _check_isin(meta.dtype)
    dtype = common_dtype((meta.dtype, 2 if meta.ndim else 1) for meta in given)
    sizes, many = elements.meta.sizes, test_elements.meta.numel
    left = part("to.dtype", elements, dtype)
    right = part("reshape", part("to.dtype", test_elements, dtype), (-1,))
    if many <= MANY_COMPARED or many * elements.meta.numel <= MOST_COMPARED:
        found = part("any.dim", part("eq.Tensor", part("unsqueeze", left, -1), right), -1)
    else:
        right = part.first("sort", right)
        places = part("searchsorted.Tensor", right, part("contiguous", left))
        nearest = part("take", right, part("clamp_max", places, many - 1))
        found = part("eq.Tensor", left, part("reshape", nearest, sizes))
    return part("logical_not", found) if invert else found


MANY_COMPARED, MOST_COMPARED = 8, 1 << 13
"""Elements that each is compared with, and comparisons in all, up to which no order is made of them first."""


@kernel("isin.Tensor_Scalar")
@composite
def isin_number(
    part: Part, elements: Tensor, test_element: Number, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Return whether each element equals a number, or with `invert` differs from it. Raises RuntimeError as isin."""
    _check_isin(elements.meta.dtype)
    _check_isin(dtype_of_number(check_number("isin", "test_element", test_element)))
    return part("ne.Scalar" if invert else "eq.Scalar", elements, test_element)


@kernel("isin.Scalar_Tensor")
@composite
def number_isin(
    part: Part, element: Number, test_elements: Tensor, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Return whether a number equals one of `test_elements`. Raises RuntimeError as isin."""
    _check_isin(dtype_of_number(check_number("isin", "element", element)))
    _check_isin(test_elements.meta.dtype)
    found = part("any", part("eq.Scalar", test_elements, element))
    return part("logical_not", found) if invert else found


def _check_isin(dtype: DType) -> None:
    if dtype.is_complex or dtype is bool_:
        raise RuntimeError(f"Unsupported input type encountered for isin(): {dtype.name}")
