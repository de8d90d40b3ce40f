"""Distinct values and binary search: unique, searchsorted, bucketize, isin."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from math import prod
from typing import Any

from ..core.away import long_call
from ..core.device import cpu
from ..core.dtype import DType, bool_, dtype_of_number, int32, int64, uint64
from ..core.errors import INT64_MAX, wrap_dim
from ..core.promotion import common_dtype
from ..core.warn import is_warn_always_enabled, warn_once
from ..iteration.tensor_iterator import Number
from ..kernels.binary_search import search_kernel
from ..kernels.bound_call import Fresh
from ..kernels.ordering import Order
from ..kernels.runs import row_runs_kernel, runs_kernel
from ..memory.elements import read_element
from ..tensor.reshaping import reshape
from ..tensor.tensor import Tensor, make_tensor, new_like
from ..tensor.tensor_meta import TensorMeta, contiguous_meta, default_strides, meta_of, recalled
from .arrays import computed, filled, values
from .composition import Part, composite
from .fill import number_call
from .invoke import apply
from .loop_plan import ROW_STEPS, LoopPlan, row_launch
from .operand_checks import check_implemented, check_number
from .plan import Planned, plannable
from .registration import kernel
from .sorting import order_launch

Runs = tuple[Tensor, Tensor | None, Tensor | None]


@kernel("_unique2", "CPU")
def unique2(
    self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The distinct values in order, the place of each element among them, and how often each occurs. NaNs are all
    distinct. Results that are not asked for have no elements."""
    return with_empty(runs(self, return_inverse, return_counts))


@kernel("unique_dim", "CPU")
def unique_dim(
    self: Tensor, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The distinct parts along `dim` in lexicographic order, with inverse and counts. Raises IndexError."""
    return with_empty(part_runs("unique_dim", self, dim, True, True))


def with_empty(found: Runs) -> tuple[Tensor, Tensor, Tensor]:
    """Return the results with tensors without elements in place of None."""
    first, *others = found
    second, third = [new_like(contiguous_meta((0,), int64)) if one is None else one for one in others]
    return first, second, third


def runs(self: Tensor, inverse: bool, counts: bool, in_order: bool = False) -> Runs:
    """Return the first element of each run of equal ones, the run of each element, and the lengths of the runs; None
    for what is not asked for. The elements are put in order first, unless they are taken `in_order`, as they are."""
    meta = self.meta
    check_implemented("unique", meta.dtype, not meta.dtype.is_complex and meta.dtype.computes)
    if meta.dtype is bool_ and not in_order:
        return _runs_of_truths(self, inverse, counts)
    values, many, places, lengths = _found(self, _runs_plan, inverse, counts, in_order)
    return _beginning(values, contiguous_meta((many,), meta.dtype)), places, lengths


def _runs_of_truths(self: Tensor, inverse: bool, counts: bool) -> Runs:
    """Return what `runs` does for bools, which are counted instead of sorted."""
    true: int = apply("count_nonzero", self).item()  # type: ignore[attr-defined]
    found = [(value, many) for value, many in ((False, self.meta.numel - true), (True, true)) if many]
    values, lengths = [value for value, _ in found], [many for _, many in found]
    places = None
    if inverse:
        places = apply("to.dtype", self, int64) if len(found) == 2 else apply("zeros_like", self, dtype=int64)
    return filled((len(found),), bool_, values), places, filled((len(found),), int64, lengths) if counts else None


def part_runs(operator: str, self: Tensor, dim: int, inverse: bool, counts: bool, in_order: bool = False) -> Runs:
    """Return what `runs` does for the parts along `dim`, in lexicographic order. The parts follow one another in
    memory. Raises IndexError for a dim out of range."""
    meta = self.meta
    check_implemented(operator, meta.dtype, not meta.dtype.is_complex and meta.dtype.computes)
    place, sizes = wrap_dim(operator, dim, meta.ndim), meta.sizes or (1,)
    if meta.numel == sizes[place]:
        values, many, places, lengths = _found(reshape(self, (-1,)), _runs_plan, inverse, counts, in_order)
    else:
        values, many, places, lengths = _found(self, _part_runs_plan, place, inverse, counts, in_order)
    steps = default_strides((many, *sizes[:place], *sizes[place + 1 :]))
    laid = (*steps[1 : place + 1], steps[0], *steps[place + 1 :])
    return _beginning(values, meta_of((*sizes[:place], many, *sizes[place + 1 :]), laid, meta.dtype)), places, lengths


def _found(
    self: Tensor, build: Callable[..., LoopPlan], *options: Any
) -> tuple[Tensor, int, Tensor | None, Tensor | None]:
    """Return the results of a plan for a tensor and options, of which the last three are those of `runs`: the values,
    how many of them there are, and what else is asked for."""
    meta, (inverse, counts, _) = self.meta, options[-3:]
    plan = recalled(meta.plans, (build, *options), build, meta, *options)
    values, total, *others = plan.call(self) or plan.planned(self).result
    many = read_element(total.pointer, int64)
    lengths = _beginning(others[-1], contiguous_meta((many,), int64)) if counts else None
    return values, many, others[0] if inverse else None, lengths


def _beginning(given: Tensor, made: TensorMeta) -> Tensor:
    """Return the first elements of a tensor that nobody else has, laid out anew, in its memory unless that is much
    larger."""
    if made is given.meta:
        return given
    if made.numel > given.meta.numel // 4:
        return make_tensor(made, given.storage_impl, given.offset, None)
    result = new_like(made)
    ctypes.memmove(result.pointer, given.pointer, made.nbytes)
    return result


def _runs_plan(meta: TensorMeta, inverse: bool, counts: bool, in_order: bool) -> LoopPlan:
    size, dtype = meta.numel, meta.dtype
    vector, places = contiguous_meta((size,), dtype), contiguous_meta((size,), int64)
    others = [*[contiguous_meta(meta.sizes, int64)] * inverse, *[places] * counts]
    plan = LoopPlan([meta], [vector, contiguous_meta((1,), int64), *others])
    if not size:
        plan.fill(plan.results[1], 0)
        return plan
    row, indices = plan.inputs[0], []
    if not meta.contiguous:
        row = plan.row_major(row)
    if not in_order:
        order = plan.results[-1] if counts else plan.temporary(places)
        (sort, tail), temporaries = order_launch(Order.SORTED, (vector, places), vector, 0, size, False)
        plan.kernel(sort, [plan.results[0], order, *map(plan.temporary, temporaries), row], (size, *tail))
        row, indices = plan.results[0], [order] * inverse
    views = [*plan.results, row, *indices]
    kernel = long_call(ROW_STEPS * size, runs_kernel(dtype, inverse, counts, bool(indices)))
    plan.kernel(kernel, views, (1, size, *[0] * len(views)))
    return plan


def _part_runs_plan(meta: TensorMeta, dim: int, inverse: bool, counts: bool, in_order: bool) -> LoopPlan:
    count, others = meta.sizes[dim], (*meta.sizes[:dim], *meta.sizes[dim + 1 :])
    values, places = contiguous_meta((count, *others), meta.dtype), contiguous_meta((count,), int64)
    plan = LoopPlan([meta], [values, contiguous_meta((1,), int64), *[places] * (inverse + counts)])
    (rows,) = plan.inputs
    if dim or not meta.contiguous:
        steps = (rows.strides[dim], *rows.strides[:dim], *rows.strides[dim + 1 :])
        rows = plan.row_major(rows._replace(sizes=values.sizes, strides=steps))
    scratch = [] if in_order else [plan.temporary(contiguous_meta((2 * count,), int64))]
    views = [*plan.results, *scratch, rows]
    kernel = long_call(ROW_STEPS * meta.numel, row_runs_kernel(meta.dtype, inverse, counts, in_order))
    plan.kernel(kernel, views, (prod(others), 1, count, *[0] * len(views)))
    return plan


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
