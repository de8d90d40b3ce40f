"""Kernels of the factories of regular values, on every device: arange, linspace, logspace, eye."""

from __future__ import annotations

import math
from collections.abc import Callable
from struct import error as struct_error
from typing import Any

import numpy as np

from ..core.away import away
from ..core.device import Device, as_device, cpu
from ..core.dtype import DEFAULTS, DType, dtype_of_number, float32, float64, int64
from ..core.layout import Layout
from ..core.warn import warn
from ..dispatch.dispatcher import call
from ..iteration.operand import Number
from ..kernels.compiler import Builtin
from ..memory.elements import pack_elements, read_bytes, store_bytes
from ..tensor.array_view import array_of
from ..tensor.geometry import contiguous_geometry, remember
from ..tensor.reshaping import reshape
from ..tensor.tensor import Tensor, empty_tensor, new_like
from .allocation import COPY, on_device
from .arguments import check_layout
from .arrays import STEPS, Array
from .factory_kernels import COMPOSITE, resized
from .fresh_fill import FEW_BYTES, PACKED, fill_zeros
from .registration import kernel

AnyDevice = Device | str | None


SHORT = 32
"""Values up to which Python's arithmetic is quicker than a call of NumPy's."""


def _fill_with(into: Array, values: Callable[[], Array]) -> None:
    with np.errstate(all="ignore"):
        into[...] = values().astype(into.dtype)


def _line_of(
    count: int, kind: DType, device: Device, values: Callable[[], Array], few: Callable[[], list[Any]],
    steps: tuple[Number, ...] | None = None,
) -> Tensor:  # fmt: skip
    """A vector of `count` values, which are asked for on the CPU only; few of them as Python numbers, and those that a
    compiled loop can count by `steps` that way."""

    def make(place: Device) -> Tensor:
        result = empty_tensor((count,), kind, place)
        if 0 < count <= SHORT and place is cpu and kind in PACKED and _packed(result, few()):
            return result
        if count and place is cpu and steps is not None:
            count_by(result, steps)
        elif count and place is cpu:
            away(STEPS * count, _fill_with, array_of(result), values)
        return result

    return on_device(device, make)


_COUNTING: dict[DType, Builtin] = {}
"""The compiled loops by dtype, of the instruction set of this process."""


def count_by(result: Tensor, steps: tuple[Number, ...]) -> Tensor:
    """Fill a contiguous tensor by the compiled loop of its dtype; `steps` are the numbers that it takes."""
    geometry = result.geometry
    kernel = _COUNTING.get(geometry.dtype)
    if kernel is None:
        from ..kernels.steps import steps_kernel

        kernel = _COUNTING[geometry.dtype] = steps_kernel(geometry.dtype)
    kernel(result.pointer, result.pointer, *steps, geometry.numel)
    return result


def _packed(result: Tensor, numbers: list[Any]) -> bool:
    """Write numbers that fit the dtype; False, with nothing written, when one does not."""
    try:
        packed = pack_elements(result.geometry.dtype, numbers)
    except (OverflowError, struct_error, TypeError):
        return False
    store_bytes(result.pointer, packed)
    return True


NUMBERS = frozenset({int, float})
MOST = 1 << 53
"""Values beyond which their number is not known exactly."""


def few_steps(bounds: tuple[Any, ...]) -> Tensor | None:
    """arange of two or three bounds that gives a few values on the CPU, or floats; None for anything else."""
    kinds = set(map(type, bounds))
    if not 2 <= len(bounds) <= 3 or not kinds <= NUMBERS or (len(bounds) == 3 and not bounds[2]):
        return None
    first, last, by = bounds if len(bounds) == 3 else (*bounds, 1)
    length = (last - first) / by
    whole, kind = float not in kinds, DEFAULTS.dtype
    if not whole and 0 < length < MOST and kind in (float32, float64):
        made = new_like(contiguous_geometry((math.ceil(length),), kind))
        return count_by(made, (float(first), float(by), 0.0, math.inf, 0.0))
    if not 0 < length <= SHORT:
        return None
    numbers: list[Any] = list(range(first, last, by)) if whole else _fractions(first, by, math.ceil(length))
    kind = int64 if whole else kind
    result = new_like(contiguous_geometry((len(numbers),), kind))
    return result if kind in PACKED and _packed(result, numbers) else None


def few_between(first: Any, last: Any, count: int) -> Tensor | None:
    """linspace of real numbers that gives a few values on the CPU, or floats; None for anything else."""
    kind = DEFAULTS.dtype
    if first.__class__ not in NUMBERS or last.__class__ not in NUMBERS or kind not in PACKED:
        return None
    if count > 1 and kind in (float32, float64):
        begin, end = float(first), float(last)  # type: ignore[arg-type]
        steps = (begin, (end - begin) / (count - 1), end, float((count + 1) // 2), float(count - 1))
        return count_by(new_like(contiguous_geometry((count,), kind)), steps)
    if not 0 < count <= SHORT:
        return None
    result = new_like(contiguous_geometry((count,), kind))
    return result if _packed(result, _few_of_line(first, last, count, kind)) else None


def _write(out: Tensor, result: Tensor) -> Tensor:
    """`out` with the values of `result`, in its own sizes if it has as many elements, else resized."""
    if out.geometry.numel == result.geometry.numel:
        result = reshape(result, out.geometry.sizes)
    written: Tensor = call(COPY, resized(out, result.geometry.sizes), result)
    return written


@kernel("arange.start_step", COMPOSITE, derive=False)
def arange_start_step(
    start: Number, end: Number, step: Number = 1, *, dtype: DType | None = None, layout: Layout | None = None,
    device: AnyDevice = None, pin_memory: bool | None = None,
) -> Tensor:  # fmt: skip
    """start, start + step, ... before end: int64 for ints, else the default dtype, unless given. RuntimeError."""
    check_layout("arange", layout)
    first: Any = start
    last: Any = end
    by: Any = step
    kind = dtype
    if kind is None:
        kind = DEFAULTS.dtype if any(isinstance(value, float) for value in (first, last, by)) else int64
    if kind.kind in (0, 3):
        raise NotImplementedError(f"arange(): not implemented for dtype {kind}")
    if not by:
        raise RuntimeError(f"arange(): step must be nonzero, got {by}")
    if not (math.isfinite(first) and math.isfinite(last) and math.isfinite(by)):
        raise RuntimeError(f"arange(): unsupported range: {first} -> {last}")
    if (by > 0) != (last >= first) and last != first:
        raise RuntimeError("arange(): upper bound and lower bound inconsistent with step sign")
    if kind is int64:
        first, last, by = int(first), int(last), int(by)
        if not by:
            raise ValueError("arange(): step must be nonzero, but a step between -1 and 1 is 0 in int64")
    exact = isinstance(first, int) and isinstance(last, int) and isinstance(by, int)
    if not exact and not math.isfinite((last - first) / by):
        raise RuntimeError(f"arange(): {first} to {last} in steps of {by} has too many elements")
    count = -((first - last) // by) if exact else math.ceil((last - first) / by)
    if kind.kind == 1:
        first, by = int(first), int(by)
    steps: tuple[Number, ...] | None = None
    if kind in (float32, float64):
        steps = (float(first), float(by), 0.0, math.inf, 0.0)
    elif kind is int64 and max(abs(first), abs(by), abs(first + count * by)) < 1 << 63:
        steps = (first, by)
    return _line_of(
        count,
        kind,
        as_device(device),
        lambda: _steps(first, by, count, kind),
        lambda: [first + place * by for place in range(count)] if kind.kind == 1 else _fractions(first, by, count),
        steps,
    )


def _fractions(first: Any, by: Any, count: int) -> list[float]:
    begin, step = float(first), float(by)
    return [begin + place * step for place in range(count)]


def _steps(first: Any, by: Any, count: int, kind: DType) -> Array:
    if kind.kind == 1:
        end = first + count * by
        if max(abs(first), abs(end)) < 1 << 63:
            return np.arange(first, end, by, dtype=np.int64)
        wrapped = np.arange(count, dtype=np.uint64) * np.uint64(by % (1 << 64)) + np.uint64(first % (1 << 64))
        return wrapped.view(np.int64)
    places = np.arange(count, dtype=np.float64)
    places *= np.float64(by)
    places += np.float64(first)
    return places


@kernel("arange.start", COMPOSITE, derive=False)
def arange_start(start: Number, end: Number, **options: Any) -> Tensor:
    """arange with step 1."""
    return arange_start_step(start, end, **options)


@kernel("arange", COMPOSITE, derive=False)
def arange_end(end: Number, **options: Any) -> Tensor:
    """arange from 0 with step 1."""
    return arange_start_step(0, end, **options)


@kernel("arange.start_out", COMPOSITE, derive=False)
def arange_start_out(start: Number, end: Number, step: Number = 1, *, out: Tensor) -> Tensor:
    """arange into `out`, in its dtype."""
    geometry = out.geometry
    made = arange_start_step(start, end, step, dtype=geometry.dtype, device=geometry.device)
    if geometry.numel not in (0, made.geometry.numel):
        warn(
            f"arange(): the out tensor of sizes {list(geometry.sizes)} has {geometry.numel} elements, and "
            f"{made.geometry.numel} are computed, which may be due to rounding: it is resized"
        )
    return _write(out, made)


@kernel("arange.out", COMPOSITE, derive=False)
def arange_out(end: Number, *, out: Tensor) -> Tensor:
    """arange from 0 with step 1 into `out`, in its dtype."""
    return arange_start_out(0, end, out=out)


@kernel("linspace", COMPOSITE, derive=False)
def linspace_kernel(
    start: Number, end: Number, steps: int, *, dtype: DType | None = None, layout: Layout | None = None,
    device: AnyDevice = None, pin_memory: bool | None = None,
) -> Tensor:  # fmt: skip
    """`steps` values from start to end, both included. Raises RuntimeError for negative `steps`."""
    check_layout("linspace", layout)
    first, last, kind = _spread("linspace", start, end, steps, dtype)
    real = kind in (float32, float64) and not isinstance(first, complex) and not isinstance(last, complex)
    return _line_of(
        steps,
        kind,
        as_device(device),
        lambda: _line(first, last, steps),
        lambda: _few_of_line(first, last, steps, kind),
        _halves(float(first), float(last), steps) if real and steps > 1 else None,  # type: ignore[arg-type]
    )


@kernel("logspace", COMPOSITE, derive=False)
def logspace_kernel(
    start: Number, end: Number, steps: int, base: float = 10.0, *, dtype: DType | None = None,
    layout: Layout | None = None, device: AnyDevice = None, pin_memory: bool | None = None,
) -> Tensor:  # fmt: skip
    """`base` to the powers of linspace. Raises RuntimeError for negative `steps`."""
    check_layout("logspace", layout)
    first, last, kind = _spread("logspace", start, end, steps, dtype)

    def values() -> Array:
        return np.asarray(base ** _line(first, last, steps))

    return _line_of(steps, kind, as_device(device), values, lambda: list(values().tolist()))


@kernel("linspace.out", COMPOSITE, derive=False)
def linspace_out(start: Number, end: Number, steps: int, *, out: Tensor) -> Tensor:
    """linspace into `out`, in its dtype."""
    geometry = out.geometry
    start, end = _without_imaginary(geometry.dtype, start, end)
    return _write(out, linspace_kernel(start, end, steps, dtype=geometry.dtype, device=geometry.device))


@kernel("logspace.out", COMPOSITE, derive=False)
def logspace_out(start: Number, end: Number, steps: int, base: float = 10.0, *, out: Tensor) -> Tensor:
    """logspace into `out`, in its dtype."""
    geometry = out.geometry
    start, end = _without_imaginary(geometry.dtype, start, end)
    return _write(out, logspace_kernel(start, end, steps, base, dtype=geometry.dtype, device=geometry.device))


def _without_imaginary(dtype: DType, *bounds: Number) -> list[Number]:
    """Return the numbers; for a real `dtype`, those with a zero imaginary part become real."""
    return [
        bound.real if isinstance(bound, complex) and not bound.imag and not dtype.is_complex else bound
        for bound in bounds
    ]


def _line(first: Number, last: Number, count: int) -> Array:
    mixed = isinstance(first, complex) or isinstance(last, complex)
    wide: Callable[[Any], Any] = np.complex128 if mixed else np.float64
    if count == 1:
        return np.array([wide(first)])
    step = (wide(last) - wide(first)) / (count - 1)
    if not mixed:
        return _real_line(float(first), float(last), count, step)  # type: ignore[arg-type]
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
    """What the compiled loop takes for the values of `_real_line`."""
    with np.errstate(all="ignore"):
        step = float((np.float64(last) - np.float64(first)) / (count - 1))
    return first, step, last, float((count + 1) // 2), float(count - 1)


def _few_of_line(first: Any, last: Any, count: int, kind: DType) -> list[Any]:
    """The values of `_line` as Python numbers."""
    begin, end = (complex(first), complex(last)) if isinstance(first + last, complex) else (float(first), float(last))
    if count == 1:
        return [begin]
    step = (end - begin) / (count - 1)
    half = count / 2
    line: list[Any] = [
        begin + step * place if place < half else end - step * (count - 1 - place) for place in range(count)
    ]
    return [int(value) for value in line] if kind.kind == 1 else line


def _spread(name: str, start: Number, end: Number, count: int, dtype: DType | None) -> tuple[Number, Number, DType]:
    """The ends as the dtype of the result takes them, and that dtype."""
    if count < 0:
        raise RuntimeError(f"{name}(): number of steps must be non-negative, got {count}")
    mixed = isinstance(start, complex) or isinstance(end, complex)
    kind = dtype or (dtype_of_number(0j) if mixed else DEFAULTS.dtype)
    if mixed and not kind.is_complex:
        raise RuntimeError(
            f"{name}(): inferred dtype {dtype_of_number(0j).name} can't be safely cast to passed dtype {kind.name}: "
            f"{start} to {end} are complex"
        )
    if kind.kind == 0:
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")
    if kind.kind == 1:
        return _whole(name, start), _whole(name, end), kind
    return start, end, kind


def _whole(name: str, bound: Any) -> int:
    if not math.isfinite(bound):
        raise RuntimeError(f"{name}(): {bound} cannot be converted to an integer dtype without overflow")
    return int(bound)


@kernel("eye.m", COMPOSITE, derive=False)
def eye_m(
    n: int, m: int, *, dtype: DType | None = None, layout: Layout | None = None, device: AnyDevice = None,
    pin_memory: bool | None = None,
) -> Tensor:  # fmt: skip
    """Ones on the diagonal of an n x m matrix of zeros. Raises RuntimeError for negative sizes."""
    check_layout("eye", layout)
    for argument, value in (("n", n), ("m", m)):
        if value < 0:
            raise RuntimeError(f"eye(): {argument} must be greater or equal to 0, got {value}")

    def make(place: Device) -> Tensor:
        result = empty_tensor((n, m), dtype or DEFAULTS.dtype, place)
        geometry = result.geometry
        pattern = geometry.plans.get("eye")
        if pattern is not None:
            store_bytes(result.pointer, pattern)
            return result
        fill_zeros(result)
        if geometry.numel and place is cpu:
            np.fill_diagonal(array_of(result)[: min(n, m)], 1)
            if geometry.nbytes <= FEW_BYTES:
                remember(geometry.plans, "eye", read_bytes(result.pointer, geometry.nbytes))
        return result

    return on_device(as_device(device), make)


@kernel("eye", COMPOSITE, derive=False)
def eye_square(n: int, **options: Any) -> Tensor:
    """eye with as many columns as rows."""
    return eye_m(n, n, **options)


@kernel("eye.m_out", COMPOSITE, derive=False)
def eye_m_out(n: int, m: int, *, out: Tensor) -> Tensor:
    """eye into `out`, in its dtype."""
    result = eye_m(n, m, dtype=out.geometry.dtype, device=out.geometry.device)
    written: Tensor = call(COPY, resized(out, (n, m)), result)
    return written


@kernel("eye.out", COMPOSITE, derive=False)
def eye_out(n: int, *, out: Tensor) -> Tensor:
    """eye with as many columns as rows into `out`."""
    return eye_m_out(n, n, out=out)
