"""Factories of regular values: arange, linspace, logspace, eye."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.device import as_device, cpu
from ..core.dtype import DEFAULTS, DType, dtype_of_number, int64
from ..core.errors import check_int
from ..core.layout import Layout
from ..memory.elements import read_bytes, store_bytes
from ..tensor.array_view import array_of
from ..tensor.geometry import remember
from ..tensor.getters import set_requires_grad
from ..tensor.reshaping import reshape
from ..tensor.tensor import Tensor, empty_tensor
from .arguments import check_layout, check_out_dtype, dtype_argument, into
from .factories import FEW_BYTES, AnyDevice, Number, fill_zeros, number_of

Target = tuple[Tensor | None, DType | None]
"""out= and the dtype that was asked for, which must be that of out=."""


def arange(
    *bounds: Any,
    start: Any = None,
    end: Any = None,
    step: Any = None,
    out: Tensor | None = None,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: AnyDevice = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """start, start + step, ... before end: int64 for ints, else the default dtype, unless given.

    Raises RuntimeError for step 0, a step that leads away from end, and bounds that are not finite.
    """
    unsaid = start is None and dtype is None and device is None and out is None and layout is None and not requires_grad
    if unsaid and len(bounds) == 1 and bounds[0].__class__ is int and end is None and step is None and bounds[0] >= 0:
        return _counting(bounds[0])
    first, last, by = _bounds(bounds, start, end, step)
    check_layout("arange", layout)
    whole = not any(isinstance(value, float) for value in (first, last, by))
    kind = dtype_argument("arange", dtype)
    if kind is None and isinstance(out, Tensor):
        kind = out.geometry.dtype
    if kind is None:
        kind = int64 if whole else DEFAULTS.dtype
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
    count = -((first - last) // by) if exact else math.ceil((last - first) / by)
    if kind.kind == 1:
        first, by = int(first), int(by)
    target = (out, dtype)
    return _filled("arange", count, kind, device, target, requires_grad, lambda: _steps(first, by, count, kind))


def _counting(count: int) -> Tensor:
    """0, 1, ... below `count`; the bytes of a short one are kept with its geometry."""
    result = empty_tensor((count,), int64)
    geometry = result.geometry
    pattern = geometry.plans.get("arange")
    if pattern is None:
        array_of(result)[...] = np.arange(count, dtype=np.int64)
        if geometry.nbytes <= FEW_BYTES:
            remember(geometry.plans, "arange", read_bytes(result.pointer, geometry.nbytes))
    else:
        store_bytes(result.pointer, pattern)
    return result


def _steps(first: Any, by: Any, count: int, kind: DType) -> np.ndarray[Any, Any]:
    places = np.arange(count, dtype=np.int64)
    if kind.kind == 1:
        return np.int64(first) + places * np.int64(by)
    return np.float64(first) + places * np.float64(by)


def _bounds(bounds: tuple[Any, ...], start: Any, end: Any, step: Any) -> tuple[Any, Any, Any]:
    given = list(bounds)
    if len(given) > 3:
        raise TypeError(f"arange() takes at most 3 bounds, got {len(given)}")
    if len(given) == 1 and end is None:
        end = given.pop()
    elif given:
        start = given.pop(0)
        end = given.pop(0) if given else end
        step = given.pop(0) if given else step
    if end is None:
        raise TypeError('arange() missing 1 required positional arguments: "end"')
    values = []
    for argument, value in (
        ("start", 0 if start is None else start),
        ("end", end),
        ("step", 1 if step is None else step),
    ):
        number = number_of("arange", argument, value)
        if isinstance(number, complex):
            raise RuntimeError(f"arange(): argument '{argument}' must be real, got {number}")
        values.append(number)
    return values[0], values[1], values[2]


def _filled(
    name: str, count: int, kind: DType, device: AnyDevice, target: Target, requires_grad: bool, values: Any
) -> Tensor:
    out, dtype = target
    if isinstance(out, Tensor):
        check_out_dtype(dtype_argument(name, dtype), out)
        kind = out.geometry.dtype
    result = empty_tensor((count,), kind, as_device(device))
    if count and result.geometry.device is cpu:
        with np.errstate(all="ignore"):
            array_of(result)[...] = values().astype(kind.numpy)
    if isinstance(out, Tensor) and out.geometry.numel == count:
        result = reshape(result, out.geometry.sizes)
    result = into(name, out, result)
    return set_requires_grad(result, True) if requires_grad else result


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Tensor | None = None,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: AnyDevice = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """`steps` values from start to end, both included. Raises RuntimeError for negative `steps`."""
    count, first, last, kind = _spread("linspace", start, end, steps, dtype)
    check_layout("linspace", layout)
    return _filled("linspace", count, kind, device, (out, dtype), requires_grad, lambda: _line(first, last, count))


def _line(first: Number, last: Number, count: int) -> np.ndarray[Any, Any]:
    mixed = isinstance(first, complex) or isinstance(last, complex)
    wide: Callable[[Any], Any] = np.complex128 if mixed else np.float64
    if count == 1:
        return np.array([wide(first)])
    places = np.arange(count)
    step = (wide(last) - wide(first)) / (count - 1)
    line: np.ndarray[Any, Any] = np.where(places < count / 2, first + step * places, last - step * (count - 1 - places))
    return line


def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: AnyDevice = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """`base` to the powers of linspace. Raises RuntimeError for negative `steps`."""
    count, first, last, kind = _spread("logspace", start, end, steps, dtype)
    check_layout("logspace", layout)
    target = (out, dtype)
    return _filled("logspace", count, kind, device, target, requires_grad, lambda: base ** _line(first, last, count))


def _spread(name: str, start: Any, end: Any, steps: Any, dtype: DType | None) -> tuple[int, Number, Number, DType]:
    first, last = number_of(name, "start", start), number_of(name, "end", end)
    count = check_int(name, "steps", steps)
    if count < 0:
        raise RuntimeError(f"{name}(): number of steps must be non-negative, got {count}")
    mixed = isinstance(first, complex) or isinstance(last, complex)
    usual = dtype_of_number(0j) if mixed else DEFAULTS.dtype
    kind = dtype_argument(name, dtype) or usual
    if kind.kind == 1 and not mixed:
        first, last = _whole(name, first), _whole(name, last)
    return count, first, last, kind


def _whole(name: str, bound: Any) -> int:
    if not math.isfinite(bound):
        raise RuntimeError(f"{name}(): {bound} cannot be converted to an integer dtype without overflow")
    return int(bound)


def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: AnyDevice = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Ones on the diagonal of an n x m matrix of zeros. Raises RuntimeError for negative sizes."""
    rows = check_int("eye", "n", n)
    columns = rows if m is None else check_int("eye", "m", m)
    for argument, value in (("n", rows), ("m", columns)):
        if value < 0:
            raise RuntimeError(f"eye(): {argument} must be greater or equal to 0, got {value}")
    check_layout("eye", layout)
    kind = dtype_argument("eye", dtype) or (DEFAULTS.dtype if out is None else out.geometry.dtype)
    result = empty_tensor((rows, columns), kind, as_device(device))
    fill_zeros(result)
    if result.geometry.numel and result.geometry.device is cpu:
        np.fill_diagonal(array_of(result)[: min(rows, columns)], 1)
    result = into("eye", out, result, dtype)
    return set_requires_grad(result, True) if requires_grad else result
