"""The values of arange, linspace, logspace and eye: plans for the table of factories, and calls without a dispatcher.

A plan takes the dtype of the result and the arguments of the schema, by name, and returns the sizes of the result and
the function that fills a tensor of them on the CPU. It raises what the arguments deserve.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from struct import error as struct_error
from typing import Any, NamedTuple

import numpy as np

from ..core.away import away
from ..core.dtype import DEFAULTS, DType, bool_, complex32, dtype_of_number, float32, float64, int64
from ..core.promotion import UPSTREAM_NAMES
from ..core.warn import warn
from ..dispatch.dispatcher import call
from ..iteration.tensor_iterator import Number
from ..kernels.compiler import Builtin
from ..memory.elements import pack_elements, read_bytes, store_bytes
from ..tensor.array_view import array_of
from ..tensor.reshaping import reshape
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import contiguous_meta, remember
from .allocation import COPY, resized
from .arrays import STEPS, Array
from .fresh_fill import FEW_BYTES, fill_zeros

SHORT = 32
"""Values up to which Python's arithmetic is quicker than a call of NumPy's."""
MOST = 1 << 53
"""Values beyond which their number is not known exactly."""
NUMBERS = frozenset({int, float})


class Plan(NamedTuple):
    """The sizes of a new tensor, and what fills one of them on the CPU."""

    sizes: tuple[int, ...]
    fill: Callable[[Tensor], object]


class Line(NamedTuple):
    """The values of a vector as an array, and what the compiled loop of the dtype takes to count them; None where it
    cannot."""

    values: Callable[[], Array]
    steps: tuple[Number, ...] | None

    def fill(self, result: Tensor) -> None:
        """Fill a vector on the CPU."""
        if self.steps is not None:
            count_by(result, self.steps)
        else:
            away(STEPS * result.meta.numel, _assign, array_of(result), self.values)


def _assign(into: Array, values: Callable[[], Array]) -> None:
    with np.errstate(all="ignore"):
        into[...] = values().astype(into.dtype)


_COUNTING: dict[DType, Builtin] = {}
"""The compiled loops by dtype, of the instruction set of this process."""


def count_by(result: Tensor, steps: tuple[Number, ...]) -> Tensor:
    """Fill a contiguous tensor by the compiled loop of its dtype; `steps` are the numbers that it takes."""
    meta = result.meta
    kernel = _COUNTING.get(meta.dtype)
    if kernel is None:
        from ..kernels.ranges import steps_kernel

        kernel = _COUNTING[meta.dtype] = steps_kernel(meta.dtype)
    kernel(result.pointer, result.pointer, *steps, meta.numel)
    return result


def _packed(result: Tensor, numbers: list[Any]) -> bool:
    """Write numbers that fit the dtype; False, with nothing written, when one does not."""
    try:
        packed = pack_elements(result.meta.dtype, numbers)
    except (OverflowError, struct_error, TypeError):
        return False
    store_bytes(result.pointer, packed)
    return True


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
    if kind.kind in (0, 3):
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
        start, step = int(start), int(step)
    steps: tuple[Number, ...] | None = None
    if kind in (float32, float64):
        steps = (float(start), float(step), 0.0, math.inf, 0.0)
    elif kind is int64 and max(abs(start), abs(step), abs(start + count * step)) < 1 << 63:
        steps = (start, step)
    return Plan((count,), Line(lambda: _steps(start, step, count, kind), steps).fill)


def _steps(start: Any, step: Any, count: int, kind: DType) -> Array:
    if kind.kind == 1:
        wrapped = np.arange(count, dtype=np.uint64) * np.uint64(step % (1 << 64)) + np.uint64(start % (1 << 64))
        return wrapped.view(np.int64)
    values = np.arange(count, dtype=np.float64)
    values *= np.float64(step)
    values += np.float64(start)
    return values


def quick_arange(given: tuple[Any, ...], dtype: DType | None) -> Tensor | None:
    """Return arange of ints and floats given by position, on the CPU; None for anything else."""
    if len(given) == 1 and dtype is None and given[0].__class__ is int and given[0] >= 0:
        return _counting(given[0])
    kinds = set(map(type, given))
    if not 1 <= len(given) <= 3 or not kinds <= NUMBERS:
        return None
    start, end, step = given if len(given) == 3 else (*given, 1) if len(given) == 2 else (0, *given, 1)
    if dtype is None and len(given) > 1 and step:
        length = (end - start) / step
        kind = DEFAULTS.dtype
        if float in kinds and 0 < length < MOST and kind in (float32, float64):
            made = new_like(contiguous_meta((math.ceil(length),), kind))
            return count_by(made, (float(start), float(step), 0.0, math.inf, 0.0))
        if float not in kinds and 0 < length <= SHORT:
            numbers = range(start, end, step)
            made = new_like(contiguous_meta((len(numbers),), int64))
            if _packed(made, list(numbers)):
                return made
    kind = dtype or arange_dtype(end, start, step)
    return planned(arange(kind, end, start, step), kind)


def _counting(count: int) -> Tensor:
    """0, 1, ... below `count`; the bytes of a short one are kept with its meta."""
    meta = contiguous_meta((count,), int64)
    result = new_like(meta)
    pattern = meta.plans.get("arange")
    if pattern is None:
        if meta.nbytes > FEW_BYTES:
            return count_by(result, (0, 1))
        array_of(result)[...] = np.arange(count, dtype=np.int64)
        remember(meta.plans, "arange", read_bytes(result.pointer, meta.nbytes))
    else:
        store_bytes(result.pointer, pattern)
    return result


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
    real = kind in (float32, float64) and not isinstance(first, complex) and not isinstance(last, complex)
    halves = _halves(float(first), float(last), steps) if real and steps > 1 else None
    return Plan((steps,), Line(lambda: _line(first, last, steps), halves).fill)


def logspace(kind: DType, start: Any, end: Any, steps: int, base: float = 10.0) -> Plan:
    """`base` to the powers of linspace. Raises as `linspace`."""
    first, last = _ends("logspace", start, end, steps, kind)

    def values() -> Array:
        return np.asarray(base ** _line(first, last, steps))

    return Plan((steps,), Line(values, None).fill)


def quick_linspace(given: tuple[Any, ...], dtype: DType | None) -> Tensor | None:
    """Return linspace of two real numbers and an int given by position, on the CPU; None for anything else."""
    if len(given) != 3 or given[0].__class__ not in NUMBERS or given[1].__class__ not in NUMBERS:
        return None
    first, last, count = given
    if count.__class__ is not int:
        return None
    kind = dtype or DEFAULTS.dtype
    if dtype is None and count > 1 and kind in (float32, float64):
        begin, end = float(first), float(last)
        steps = (begin, (end - begin) / (count - 1), end, float((count + 1) // 2), float(count - 1))
        return count_by(new_like(contiguous_meta((count,), kind)), steps)
    return planned(linspace(kind, first, last, count), kind)


def _line(first: Any, last: Any, count: int) -> Array:
    mixed = isinstance(first, complex) or isinstance(last, complex)
    wide: Callable[[Any], Any] = np.complex128 if mixed else np.float64
    if count == 1:
        return np.array([wide(first)])
    step = (wide(last) - wide(first)) / (count - 1)
    if not mixed:
        return _real_line(float(first), float(last), count, step)
    places = np.arange(count)
    line: Array = np.where(places < count / 2, first + step * places, last - step * (count - 1 - places))
    return line


def _real_line(first: float, last: float, count: int, step: Any) -> Array:
    """The first half counted from `first`, the second one back from `last`."""
    half = (count + 1) // 2
    line = np.arange(count, dtype=np.float64)
    begin, end = line[:half], line[half:]
    begin *= step
    begin += first
    np.subtract(count - 1, end, out=end)
    end *= step
    np.subtract(last, end, out=end)
    return line


def _halves(first: float, last: float, count: int) -> tuple[float, ...]:
    """Return the values of `_real_line` as the compiled loop takes them."""
    with np.errstate(all="ignore"):
        step = float((np.float64(last) - np.float64(first)) / (count - 1))
    return first, step, last, float((count + 1) // 2), float(count - 1)


def _ends(name: str, start: Any, end: Any, count: int, kind: DType) -> tuple[Any, Any]:
    """Return the ends as the dtype of the result takes them."""
    if count < 0:
        raise RuntimeError(f"{name}(): number of steps must be non-negative, got {count}")
    if (isinstance(start, complex) or isinstance(end, complex)) and not kind.is_complex:
        raise RuntimeError(
            f"{name}(): inferred dtype {dtype_of_number(0j).name} can't be safely cast to passed dtype {kind.name}: "
            f"{start} to {end} are complex"
        )
    if kind is bool_ or kind is complex32:
        raise NotImplementedError(f"\"{name}\" not implemented for '{UPSTREAM_NAMES[kind.name]}'")
    if kind.kind != 1:
        return start, end
    for bound in (start, end):
        if not math.isfinite(bound):
            raise RuntimeError(f"{name}(): {bound} cannot be converted to an integer dtype without overflow")
    return int(start), int(end)


def eye(kind: DType, n: int, m: int | None = None) -> Plan:
    """Ones on the diagonal of an n x m matrix of zeros, square by default. Raises RuntimeError for negative sizes."""
    if kind is complex32:
        raise NotImplementedError(f"\"eye\" not implemented for '{UPSTREAM_NAMES[kind.name]}'")
    sizes = (n, n if m is None else m)
    for argument, value in zip(("n", "m"), sizes, strict=True):
        if value < 0:
            raise RuntimeError(f"eye(): {argument} must be greater or equal to 0, got {value}")
    return Plan(sizes, _fill_eye)


def _fill_eye(result: Tensor) -> None:
    """Fill a matrix on the CPU; the bytes of a small one are kept with its meta."""
    meta = result.meta
    pattern = meta.plans.get("eye")
    if pattern is not None:
        store_bytes(result.pointer, pattern)
        return
    fill_zeros(result)
    np.fill_diagonal(array_of(result)[: min(meta.sizes)], 1)
    if meta.nbytes <= FEW_BYTES:
        remember(meta.plans, "eye", read_bytes(result.pointer, meta.nbytes))


def quick_eye(given: tuple[Any, ...], dtype: DType | None) -> Tensor | None:
    """Return eye of one or two ints, on the CPU; None for anything else."""
    sizes = given if len(given) == 2 else given * 2
    if len(sizes) != 2 or sizes[0].__class__ is not int or sizes[1].__class__ is not int:
        return None
    if min(sizes) < 0 or dtype is complex32:
        return None
    result = new_like(contiguous_meta(sizes, dtype or DEFAULTS.dtype))
    if result.meta.numel:
        _fill_eye(result)
    return result


def write_vector(out: Tensor, result: Tensor) -> Tensor:
    """Write `result` into `out`, in its own sizes if it has as many elements, else resized."""
    if out.meta.numel == result.meta.numel:
        result = reshape(result, out.meta.sizes)
    written: Tensor = call(COPY, resized(out, result.meta.sizes), result)
    return written


def write_range(out: Tensor, result: Tensor) -> Tensor:
    """Write `result` into `out` as `write_vector` does; warn when elements of `out` are lost or new ones come."""
    meta, count = out.meta, result.meta.numel
    if meta.numel not in (0, count):
        warn(
            f"arange(): the out tensor of sizes {list(meta.sizes)} has {meta.numel} elements, and {count} are "
            f"computed, which may be due to rounding: it is resized"
        )
    return write_vector(out, result)
