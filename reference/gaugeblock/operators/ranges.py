"""The values of arange, linspace, logspace and eye: plans for the table of factories, and calls without a dispatcher.

A plan takes the dtype of the result and the arguments of the schema, by name, and returns the sizes of the result and
the function that fills a tensor of them on the CPU. It raises what the arguments deserve.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, NamedTuple

from ..core.dtype import DEFAULTS, DType, bool_, complex32, complex128, dtype_of_number, float32, float64, int64
from ..core.warn import warn
from ..iteration.tensor_iterator import Number
from ..kernels.compiler import Builtin
from ..tensor.array_view import array_of
from ..tensor.reinterpret import view_as_real
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import TensorMeta, contiguous_meta
from ..tensor.views import select
from .allocation import resized
from .copy import copy_values
from .fill import fill_kept, fill_zeros
from .invoke import apply
from .operand_checks import check_implemented

NUMBERS = frozenset({int, float})
Steps = tuple[Number, ...]
"""What the compiled loop of int64 or that of float64 takes to count the values of a vector."""


class Plan(NamedTuple):
    """The sizes of a new tensor, and what fills one of them on the CPU."""

    sizes: tuple[int, ...]
    fill: Callable[[Tensor], object]


_COUNTING: dict[DType, Builtin] = {}
"""The compiled loops by dtype, of the instruction set of this process."""


def count_by(result: Tensor, steps: Steps) -> Tensor:
    """Fill a vector on the CPU."""
    meta = result.meta
    wide = int64 if len(steps) == 2 else float64
    if meta.dtype is not wide and (meta.dtype is not float32 or wide is int64):
        copy_values(result, count_by(new_like(contiguous_meta(meta.sizes, wide)), steps))
        return result
    kernel = _COUNTING.get(meta.dtype)
    if kernel is None:
        from ..kernels.ranges import steps_kernel

        kernel = _COUNTING[meta.dtype] = steps_kernel(meta.dtype)
    kernel(result.pointer, result.pointer, *steps, meta.numel)
    return result


def arange_dtype(end: Number, start: Number = 0, step: Number = 1) -> DType:
    """int64, the default dtype if a bound or the step is a float."""
    return DEFAULTS.dtype if any(isinstance(value, float) for value in (start, end, step)) else int64


def arange(kind: DType, end: Any, start: Any = 0, step: Any = 1) -> Plan:
    """start, start + step, ... before end.

    Raises RuntimeError for step 0, a step that leads away from end, and bounds that are complex or not finite,
    NotImplementedError for bool and complex, ValueError for a step between -1 and 1 in int64.
    """
    for argument, value in (("start", start), ("end", end), ("step", step)):
        if isinstance(value, complex):
            raise RuntimeError(f"arange(): argument '{argument}' must be real, got {value}")
    if kind.kind in (0, 3) or not kind.computes:
        raise NotImplementedError(f"arange(): not implemented for dtype {kind}")
    if not step:
        raise RuntimeError(f"arange(): step must be nonzero, got {step}")
    if not (math.isfinite(start) and math.isfinite(end) and math.isfinite(step)):
        raise RuntimeError(f"arange(): unsupported range: {start} -> {end}")
    if (step > 0) != (end >= start) and end != start:
        raise RuntimeError("arange(): upper bound and lower bound inconsistent with step sign")
    if kind is int64:
        start, end, step = int(start), int(end), int(step)
        if not step:
            raise ValueError("arange(): step must be nonzero, but a step between -1 and 1 is 0 in int64")
    exact = isinstance(start, int) and isinstance(end, int) and isinstance(step, int)
    if not exact and not math.isfinite((end - start) / step):
        raise RuntimeError(f"arange(): {start} to {end} in steps of {step} has too many elements")
    count = -((start - end) // step) if exact else math.ceil((end - start) / step)
    if kind.kind == 1:
        steps: Steps = (_wrapped(int(start)), _wrapped(int(step)))
    else:
        steps = (float(start), float(step), 0.0, math.inf, 0.0)
    return Plan((count,), partial(count_by, steps=steps))


def _wrapped(number: int) -> int:
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def quick_arange(given: tuple[Any, ...], dtype: DType | None) -> Tensor | None:
    """Return arange of ints and floats given by position, on the CPU; None for anything else."""
    if len(given) == 1 and dtype is None and given[0].__class__ is int and given[0] > 0:
        return count_by(new_like(contiguous_meta(given, int64)), (0, 1))
    if not 1 <= len(given) <= 3 or not set(map(type, given)) <= NUMBERS:
        return None
    start, end, step = given if len(given) == 3 else (*given, 1) if len(given) == 2 else (0, *given, 1)
    kind = dtype or arange_dtype(end, start, step)
    return planned(arange(kind, end, start, step), kind)


def planned(plan: Plan, dtype: DType) -> Tensor:
    """Return the tensor of a plan on the CPU."""
    result = new_like(contiguous_meta(plan.sizes, dtype))
    if result.meta.numel:
        plan.fill(result)
    return result


def linspace_dtype(start: Number, end: Number, steps: int, base: float = 10.0) -> DType:
    """The default dtype, of complex numbers if an end is complex."""
    mixed = isinstance(start, complex) or isinstance(end, complex)
    return dtype_of_number(0j) if mixed else DEFAULTS.dtype


def linspace(kind: DType, start: Any, end: Any, steps: int) -> Plan:
    """`steps` values from start to end, both included.

    Raises RuntimeError for negative `steps`, complex ends of a real dtype, and ends that no integer dtype holds,
    NotImplementedError for bool.
    """
    first, last = _ends("linspace", start, end, steps, kind)
    return Plan((steps,), partial(_fill_line, first=first, last=last))


def quick_linspace(given: tuple[Any, ...], dtype: DType | None) -> Tensor | None:
    """Return linspace of two floats or ints and an int, on the CPU in the default dtype; None for anything else."""
    kind = DEFAULTS.dtype
    if dtype is not None or len(given) != 3 or kind not in (float32, float64):
        return None
    first, last, count = given
    if not NUMBERS.issuperset((first.__class__, last.__class__)) or count.__class__ is not int or count < 1:
        return None
    return count_by(new_like(contiguous_meta((count,), kind)), _halves(float(first), float(last), count))


def logspace(kind: DType, start: Any, end: Any, steps: int, base: float = 10.0) -> Plan:
    """`base` to the powers of linspace. Raises as `linspace`."""
    first, last = _ends("logspace", start, end, steps, kind)
    wide = complex128 if kind.is_complex else float64

    def fill(result: Tensor) -> None:
        exponents = new_like(contiguous_meta((steps,), wide))
        _fill_line(exponents, first, last)
        copy_values(result, apply("pow.Scalar", base, exponents))

    return Plan((steps,), fill)


def _fill_line(result: Tensor, first: Any, last: Any) -> None:
    """Fill a vector from `first` to `last`, each component of complex numbers by itself."""
    if result.meta.dtype.is_complex:
        parts = view_as_real(result)
        line = new_like(contiguous_meta(result.meta.sizes, float64))
        for place in range(2):
            begin, end = ((complex(bound).real, complex(bound).imag)[place] for bound in (first, last))
            copy_values(select(parts, -1, place), count_by(line, _halves(begin, end, line.meta.numel)))
    else:
        count_by(result, _halves(float(first), float(last), result.meta.numel))


def _halves(first: float, last: float, count: int) -> Steps:
    """Return the steps of a line whose first half counts from `first`, the second one back from `last`."""
    return first, (last - first) / max(count - 1, 1), last, float((count + 1) // 2), float(count - 1)


def _ends(name: str, start: Any, end: Any, count: int, kind: DType) -> tuple[Any, Any]:
    """Return the ends as the dtype of the result takes them."""
    if count < 0:
        raise RuntimeError(f"{name}(): number of steps must be non-negative, got {count}")
    if (isinstance(start, complex) or isinstance(end, complex)) and not kind.is_complex:
        raise RuntimeError(
            f"{name}(): inferred dtype {dtype_of_number(0j).name} can't be safely cast to passed dtype {kind.name}: "
            f"{start} to {end} are complex"
        )
    check_implemented(name, kind, kind is not bool_ and kind.computes)
    if kind.kind != 1:
        return start, end
    for bound in (start, end):
        if not math.isfinite(bound):
            raise RuntimeError(f"{name}(): {bound} cannot be converted to an integer dtype without overflow")
    return int(start), int(end)


def eye(kind: DType, n: int, m: int | None = None) -> Plan:
    """Ones on the diagonal of an n x m matrix of zeros, square by default. Raises RuntimeError for negative sizes."""
    check_implemented("eye", kind, kind is not complex32)
    sizes = (n, n if m is None else m)
    for argument, value in zip(("n", "m"), sizes, strict=True):
        if value < 0:
            raise RuntimeError(f"eye(): {argument} must be greater or equal to 0, got {value}")
    return Plan(sizes, lambda result: fill_kept(result, "eye", _fill_eye))


def _fill_eye(result: Tensor) -> None:
    fill_zeros(result)
    rows, columns = result.meta.sizes
    array_of(result).reshape(-1)[: min(rows, columns) * columns : columns + 1] = 1


def eye_call(meta: TensorMeta) -> Callable[[], Tensor]:
    """Return the call that makes a matrix with ones on its diagonal."""
    from .loop_plan import LoopPlan

    plan = LoopPlan([], [meta])
    (matrix,) = plan.results
    plan.fill(matrix, 0)
    plan.fill(matrix._replace(sizes=(min(meta.sizes),), strides=(sum(matrix.strides),)), 1)
    return plan.fresh.native()


def resize_vector(out: Tensor, sizes: tuple[int, ...]) -> None:
    """Resize `out`, unless it has as many elements."""
    if out.meta.numel != prod(sizes):
        resized(out, sizes)


def resize_range(out: Tensor, sizes: tuple[int, ...]) -> None:
    """Resize `out` as `resize_vector` does; warn when elements of `out` are lost or new ones come."""
    meta, count = out.meta, prod(sizes)
    if meta.numel not in (0, count):
        warn(
            f"arange(): the out tensor of sizes {list(meta.sizes)} has {meta.numel} elements, and {count} are "
            f"computed, which may be due to rounding: it is resized"
        )
    resize_vector(out, sizes)
