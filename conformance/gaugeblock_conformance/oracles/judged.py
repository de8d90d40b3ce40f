"""Elements whose value the spec leaves open, operator by operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from gaugeblock_spec import operators
from gaugeblock_spec.schema import parse

from ..backend import Array, dtype_name
from ..values import COMPLEX, FLOATS

Rule = Callable[..., Any]
# Complex operators that look at the parts alone, or move them: right for every number there is.
_WHOLE_NUMBERS = frozenset("eq ne isnan isinf isfinite neg nan_to_num where".split())


def judged(operator: str, arrays: Sequence[Array | None], want: Array, **numbers: Any) -> Array:
    """True where a result is judged by value (broadcast to the shape of ``want``).

    Not judged: complex numbers with parts that are not finite or of extreme size, since no standard fixes the way a
    formula of several steps takes there (an absolute value is right as long as it is finite); and what the row's
    ``open`` says.
    """
    given = [a for a in arrays if a is not None]
    mask = np.ones(want.shape, dtype=bool)
    with np.errstate(all="ignore"):
        if dtype_name(want.dtype) in COMPLEX or any(dtype_name(a.dtype) in COMPLEX for a in given):
            base = operator.split(".")[0]
            test = np.isfinite if base == "abs" else _moderate
            for array in () if base in _WHOLE_NUMBERS else (*given, want):
                mask = mask & test(np.asarray(array))
        mask = mask & _in_domain(operator, arrays)
        for condition in operators.load()[operator].open:
            if condition == "at_the_edge":
                mask &= _beside_the_edge(given[0], given[1], numbers.get("rtol", 1e-05), numbers.get("atol", 1e-08))
            else:
                mask = mask & _SETTLED[condition](*_leading(given, numbers))
    return np.asarray(np.broadcast_to(mask, want.shape))


def _leading(given: list[Array], numbers: dict[str, Any]) -> list[Array]:
    """The operands, with a number in the place of ``self``, ``other`` or ``exponent``."""
    for name in ("other", "exponent"):
        if name in numbers:
            given = [*given, _beside(given[0], numbers[name])]
    return [_beside(given[0], numbers["self"]), *given] if "self" in numbers else given


def _beside(array: Array, number: complex) -> Array:
    """A number in the dtype of the tensor beside it, or in one of its own higher kind."""
    kind = array.dtype
    if isinstance(number, complex) and kind.kind != "c":
        kind = np.dtype(np.complex128)
    if isinstance(number, float) and kind.kind in "biu":
        kind = np.dtype(np.float32)
    return np.asarray(number).astype(kind)


def _in_domain(operator: str, arrays: Sequence[Array | None]) -> Any:
    """Where every real operand lies in the domain that the operator's row states for it (specials always do)."""
    row = operators.load()[operator]
    mask: Any = np.True_
    names = [a.name for a in parse(row.schema).arguments if a.type.startswith("Tensor")]
    for name, array in zip(names, arrays, strict=False):
        limits = row.domain.get(name)
        if limits is None or array is None or array.dtype.kind == "c":
            continue
        wide = array.astype(np.float64)
        inside = np.isin(wide, limits.exclude, invert=True) if limits.exclude else np.ones(wide.shape, dtype=bool)
        for edge, beyond in ((limits.low, np.less), (limits.high, np.greater)):
            if edge is not None:
                inside &= ~beyond(wide, edge)
        mask = mask & inside
    return mask


def _moderate(array: Array) -> Array:
    mask = np.ones(array.shape, dtype=bool)
    if array.dtype.kind != "c":
        return mask
    for part in (array.real, array.imag):
        size = np.abs(part)
        mask &= (size == 0) | ((size >= 1e-3) & (size <= 100))
    return mask


def _divisor_fits(a: Array, b: Array) -> Array:
    """The absolute value of the smallest integer is not representable, nor is every common multiple."""
    mask = np.ones(np.broadcast(a, b).shape, dtype=bool)
    for v in (a, b):
        mask = mask & ~((v < 0) & (v == -v))
    return mask


def _multiple_fits(a: Array, b: Array) -> Array:
    exact = np.abs(a.astype(np.longdouble)) * np.abs(b.astype(np.longdouble)) / np.maximum(np.gcd(a, b), 1)
    # An operand without dims does not widen the other: the narrower dtype is the one that surely holds.
    largest = min(np.iinfo(v.dtype).max for v in (a, b))
    return _divisor_fits(a, b) & (exact <= largest)


def _beside_the_edge(a: Array, b: Array, rtol: float, atol: float) -> Any:
    """Where the roundings of the distance, or of the distance allowed, do not decide; integers are made float32 first.
    Nothing is rounded where no distance is allowed."""
    if rtol == atol == 0:
        return np.True_
    kind = a.dtype if dtype_name(a.dtype) in (*FLOATS, *COMPLEX) else np.dtype(np.float32)
    finfo: Any = ml_dtypes.finfo
    unit, tiny = float(finfo(kind).eps), float(finfo(kind).smallest_subnormal)
    wide_a, wide_b = (v.astype(np.clongdouble if kind.kind == "c" else np.longdouble) for v in (a, b))
    distance, allowed = np.abs(wide_a - wide_b), atol + rtol * np.abs(wide_b)
    moved = 0 if kind is a.dtype else np.abs(wide_a) + np.abs(wide_b)
    return ~(np.abs(distance - allowed) <= 2 * tiny + 2 * unit * (distance + allowed + moved))


def _whole(z: Array) -> Any:
    """Not a zero of the sine, where nothing of the result is left but the rounding of π, nor far from the origin."""
    if z.dtype.kind != "c":
        return np.True_
    zero = (z.imag == 0) & (z.real == np.round(z.real)) & (z != 0)
    return ~zero & (np.abs(z) <= 2)


def _moderate_power(a: Array, b: Array) -> Any:
    """The error of a complex power grows with its exponent, but for that of 0."""
    if a.dtype.kind == "c" or b.dtype.kind == "c":
        return (a == 0) | ~(np.abs(b * np.log(a.astype(np.complex128))) > 16)
    return np.True_


def _power_has_a_value(a: Array, b: Array) -> Any:
    if a.dtype.kind == "c" or b.dtype.kind == "c":
        return (a != 0) | (b.real > 0)
    return np.True_


def _exponential_fits(a: Array) -> Any:
    """Where the exponential and the function are far from the largest number, or beyond it both."""
    if dtype_name(a.dtype) not in FLOATS:
        return np.True_
    limit = np.log(np.finfo(np.float64 if dtype_name(a.dtype) == "float64" else np.float32).max)
    size = np.abs(a.astype(np.float64))
    return ~((size > limit - 0.5) & (size < limit + 1))


def _exponential_near(a: Array, b: Array) -> Any:
    """Complex operands whose exponentials stay in range; only the real formula promises to take the larger one out."""
    if a.dtype.kind != "c" and b.dtype.kind != "c":
        return np.True_
    return (np.abs(a) <= 20) & (np.abs(b) <= 20)


# Where elements are judged, by the condition under which they are open.
_SETTLED: dict[str, Rule] = {
    "magnitude_overflows": _divisor_fits,
    "multiple_overflows": _multiple_fits,
    "near_a_zero": _whole,
    "large_exponent": _moderate_power,
    "power_of_zero": _power_has_a_value,
    "exponential_overflows": _exponential_fits,
    "exponential_far": _exponential_near,
}
CONDITIONS = frozenset(_SETTLED) | {"at_the_edge"}
"""Names under ``open`` that this module knows."""
