"""Promotion: the dtype in which operands of several dtypes meet."""

from __future__ import annotations

from typing import NoReturn

from .dtype import (
    ALL_DTYPES,
    DType,
    bfloat16,
    bool_,
    complex32,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .errors import type_error

_WIDE_UNSIGNED = (uint16, uint32, uint64)


def _join(a: DType, b: DType) -> DType | None:
    if a is b:
        return a
    low, high = (a, b) if a.kind <= b.kind else (b, a)
    if low in _WIDE_UNSIGNED or high in _WIDE_UNSIGNED:
        return high if high.is_floating_point else None
    if low is bool_:
        return high
    if low.kind == 1 and high.kind == 1:
        return _join_ints(low, high)
    if low.kind == 1:
        return high
    if high.is_complex:
        if float64 in (a, b) or complex128 in (a, b):
            return complex128
        return complex32 if low is float16 and high is complex32 else complex64
    if {low, high} == {float16, bfloat16}:
        return float32
    return low if low.itemsize > high.itemsize else high


def _join_ints(a: DType, b: DType) -> DType:
    if uint8 in (a, b):
        other = b if a is uint8 else a
        return int16 if other is int8 else other
    return a if a.itemsize > b.itemsize else b


_TABLE: dict[tuple[DType, DType], DType | None] = {(a, b): _join(a, b) for a in ALL_DTYPES for b in ALL_DTYPES}


def promote_types(type1: DType, type2: DType) -> DType:
    """The smallest dtype that both promote to. RuntimeError for uint16, uint32, uint64 with all but floats."""
    try:
        result = _TABLE[type1, type2]
    except (KeyError, TypeError):
        _refuse("promote_types", ("type1", type1), ("type2", type2))
    if result is None:
        raise RuntimeError(
            f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{type1.name} and {type2.name}"
        )
    return result


def can_cast(from_: DType, to: DType) -> bool:
    """Whether a result of `from_` may be stored as `to`: the kind bool < int < float < complex must not drop."""
    try:
        return from_.kind <= to.kind
    except AttributeError:
        _refuse("can_cast", ("from_", from_), ("to", to))


def _refuse(operator: str, *given: tuple[str, object]) -> NoReturn:
    for name, value in given:
        if not isinstance(value, DType):
            type_error(operator, name, value, "dtype")
    raise KeyError(given)
