"""Factories of regular values: arange, linspace, logspace, eye; public functions here, kernels in range_kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.dtype import DType, int64
from ..core.errors import check_int, type_error
from ..core.layout import Layout
from ..dispatch.dispatcher import call
from ..dispatch.registry import REGISTRY
from ..memory.elements import read_bytes, store_bytes
from ..tensor.array_view import array_of
from ..tensor.geometry import contiguous_geometry, remember
from ..tensor.tensor import Tensor, new_like
from .arguments import dtype_argument
from .factories import AnyDevice, finished, out_of, plain, tensor_options
from .fresh_fill import FEW_BYTES, number_of
from .range_kernels import arange_start_step, count_by, eye_m, few_between, few_steps, linspace_kernel, logspace_kernel

ARANGE = REGISTRY.find("arange")
ARANGE_START = REGISTRY.find("arange.start")
ARANGE_STEP = REGISTRY.find("arange.start_step")
ARANGE_OUT = REGISTRY.find("arange.out")
ARANGE_START_OUT = REGISTRY.find("arange.start_out")
LINSPACE, LINSPACE_OUT = REGISTRY.find("linspace"), REGISTRY.find("linspace.out")
LOGSPACE, LOGSPACE_OUT = REGISTRY.find("logspace"), REGISTRY.find("logspace.out")
EYE, EYE_M = REGISTRY.find("eye"), REGISTRY.find("eye.m")
EYE_OUT, EYE_M_OUT = REGISTRY.find("eye.out"), REGISTRY.find("eye.m_out")


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
    if not plain(device) or out is not None or layout is not None or pin_memory:
        return _arange_called(bounds, start, end, step, out, dtype, layout, device, requires_grad, pin_memory)
    unsaid = dtype is None and end is None and step is None and start is None and not requires_grad
    if unsaid and len(bounds) == 1 and bounds[0].__class__ is int and bounds[0] >= 0:
        return _counting(bounds[0])
    result = few_steps(bounds) if unsaid else None
    if result is not None:
        return result
    first, last, by = _bounds(bounds, start, end, step)
    result = arange_start_step(
        0 if first is None else first, last, 1 if by is None else by, dtype=dtype_argument("arange", dtype)
    )
    return finished(result, requires_grad)


def _arange_called(
    bounds: tuple[Any, ...], start: Any, end: Any, step: Any, out: Any, dtype: Any, layout: Any, device: AnyDevice,
    requires_grad: bool, pin_memory: bool,
) -> Tensor:  # fmt: skip
    """arange by way of the dispatcher: the overload of the bounds that were given."""
    first, last, by = _bounds(bounds, start, end, step)
    if out is not None:
        target = out_of("arange", out, dtype)
        if first is None and by is None:
            return finished(call(ARANGE_OUT, last, out=target), requires_grad)
        by = 1 if by is None else by
        return finished(call(ARANGE_START_OUT, 0 if first is None else first, last, by, out=target), requires_grad)
    options = tensor_options("arange", dtype, layout, device, pin_memory)
    if by is not None:
        return finished(call(ARANGE_STEP, 0 if first is None else first, last, by, **options), requires_grad)
    if first is not None:
        return finished(call(ARANGE_START, first, last, **options), requires_grad)
    return finished(call(ARANGE, last, **options), requires_grad)


def _counting(count: int) -> Tensor:
    """0, 1, ... below `count`; the bytes of a short one are kept with its geometry."""
    geometry = contiguous_geometry((count,), int64)
    result = new_like(geometry)
    pattern = geometry.plans.get("arange")
    if pattern is None:
        if geometry.nbytes > FEW_BYTES:
            count_by(result, (0, 1))
            return result
        array_of(result)[...] = np.arange(count, dtype=np.int64)
        remember(geometry.plans, "arange", read_bytes(result.pointer, geometry.nbytes))
    else:
        store_bytes(result.pointer, pattern)
    return result


def _bounds(bounds: tuple[Any, ...], start: Any, end: Any, step: Any) -> tuple[Any, Any, Any]:
    """start, end and step as numbers; None for a start or step that was not given. Raises TypeError, RuntimeError."""
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
    for argument, value in (("start", start), ("end", end), ("step", step)):
        number = None if value is None else number_of("arange", argument, value)
        if isinstance(number, complex):
            raise RuntimeError(f"arange(): argument '{argument}' must be real, got {number}")
        values.append(number)
    return values[0], values[1], values[2]


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
    first, last = number_of("linspace", "start", start), number_of("linspace", "end", end)
    count = check_int("linspace", "steps", steps)
    if out is not None:
        return finished(call(LINSPACE_OUT, first, last, count, out=out_of("linspace", out, dtype)), requires_grad)
    if plain(device) and layout is None and not pin_memory:
        result = few_between(first, last, count) if dtype is None else None
        if result is not None:
            return finished(result, requires_grad)
        return finished(linspace_kernel(first, last, count, dtype=dtype_argument("linspace", dtype)), requires_grad)
    options = tensor_options("linspace", dtype, layout, device, pin_memory)
    return finished(call(LINSPACE, first, last, count, **options), requires_grad)


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
    first, last = number_of("logspace", "start", start), number_of("logspace", "end", end)
    count = check_int("logspace", "steps", steps)
    if isinstance(base, bool) or not isinstance(base, int | float):
        type_error("logspace", "base", base, "float")
    if out is not None:
        target = out_of("logspace", out, dtype)
        return finished(call(LOGSPACE_OUT, first, last, count, base, out=target), requires_grad)
    if plain(device) and layout is None and not pin_memory:
        kind = dtype_argument("logspace", dtype)
        return finished(logspace_kernel(first, last, count, base, dtype=kind), requires_grad)
    options = tensor_options("logspace", dtype, layout, device, pin_memory)
    return finished(call(LOGSPACE, first, last, count, base, **options), requires_grad)


SQUARE: Any = object()
"""Default for the number of columns: the number of rows."""


def eye(
    n: int,
    m: int = SQUARE,
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
    columns = None if m is SQUARE else check_int("eye", "m", m)
    if out is not None:
        target = out_of("eye", out, dtype)
        if columns is None:
            return finished(call(EYE_OUT, rows, out=target), requires_grad)
        return finished(call(EYE_M_OUT, rows, columns, out=target), requires_grad)
    if plain(device) and layout is None and not pin_memory:
        kind = dtype_argument("eye", dtype)
        return finished(eye_m(rows, rows if columns is None else columns, dtype=kind), requires_grad)
    options = tensor_options("eye", dtype, layout, device, pin_memory)
    if columns is None:
        return finished(call(EYE, rows, **options), requires_grad)
    return finished(call(EYE_M, rows, columns, **options), requires_grad)
