"""Promotion: the dtype in which operands of several dtypes meet, and the dtypes to which a result may be cast."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from .dtype import (
    ALL_DTYPES,
    DEFAULTS,
    FLOAT8,
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
    if a in FLOAT8 or b in FLOAT8:
        return None
    low, high = (a, b) if a.kind <= b.kind else (b, a)
    if low in _WIDE_UNSIGNED or high in _WIDE_UNSIGNED:
        return high if high.is_floating_point else None
    if low is bool_:
        return high
    if low.kind == 1 and high.kind == 1:
        if uint8 in (a, b):
            other = b if a is uint8 else a
            return int16 if other is int8 else other
        return a if a.itemsize > b.itemsize else b
    if low.kind == 1:
        return high
    if high.is_complex:
        if float64 in (a, b) or complex128 in (a, b):
            return complex128
        return complex32 if low is float16 and high is complex32 else complex64
    if {low, high} == {float16, bfloat16}:
        return float32
    return low if low.itemsize > high.itemsize else high


_TABLE: dict[tuple[DType, DType], DType | None] = {(a, b): _join(a, b) for a in ALL_DTYPES for b in ALL_DTYPES}


def promote_types(type1: DType, type2: DType) -> DType:
    """The smallest dtype that both promote to. RuntimeError for uint16, uint32, uint64 with all but floats, and for the
    8-bit floats with any other dtype."""
    try:
        result = _TABLE[type1, type2]
    except (KeyError, TypeError):
        if type1 is type2 and isinstance(type1, DType):
            return type1
        _refuse("promote_types", ("type1", type1), ("type2", type2))
    if result is None:
        limited = "Float8" if type1 in FLOAT8 or type2 in FLOAT8 else "uint16, uint32, uint64"
        raise RuntimeError(
            f"Promotion for {limited} types is not supported, attempted to promote {type1.name} and {type2.name}"
        )
    return result


def can_cast(from_: DType, to: DType) -> bool:
    """Return whether a result of `from_` may be stored as `to`: the kind bool < int < float < complex must not drop."""
    try:
        return from_.kind <= to.kind
    except AttributeError:
        _refuse("can_cast", ("from_", from_), ("to", to))


def _refuse(operator: str, *given: tuple[str, object]) -> NoReturn:
    for name, value in given:
        if not isinstance(value, DType):
            type_error(operator, name, value, "dtype")
    for name, value in given:
        if isinstance(value, DType) and value.quantized:
            raise RuntimeError(f"{operator}(): argument '{name}' {value.name} has no common dtype with others")
    raise KeyError(given)


PRIORITIES = ("number", "0-dim tensor", "tensor")
UPSTREAM_NAMES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "float16": "Half", "bfloat16": "BFloat16",
    "float32": "Float", "float64": "Double", "complex32": "ComplexHalf", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble", "float8_e4m3fn": "Float8_e4m3fn", "float8_e5m2": "Float8_e5m2",
    "float8_e4m3fnuz": "Float8_e4m3fnuz", "float8_e5m2fnuz": "Float8_e5m2fnuz",
}  # fmt: skip
"""dtype names as PyTorch's messages spell them."""


def common_dtype(operands: Iterable[tuple[DType, int]]) -> DType:
    """The dtype of operands given as (dtype, priority): 2 with dims, 1 0-dim, 0 Python number. Each class promotes
    within itself; a lower class changes the result only by a higher kind."""
    classes: list[DType | None] = [None, None, None]
    for dtype, priority in operands:
        found = classes[priority]
        classes[priority] = dtype if found is None or found is dtype else promote_types(found, dtype)
    result = _raise_kind(_raise_kind(classes[2], classes[1]), classes[0])
    if result is None:
        raise RuntimeError("an iterator needs at least one input to find its dtype")
    return result


def _raise_kind(higher: DType | None, lower: DType | None) -> DType | None:
    if higher is None or lower is None:
        return lower if higher is None else higher
    if higher.kind >= lower.kind:
        return higher
    if lower.is_complex and higher.is_floating_point:
        return higher.to_complex()
    return lower if higher.kind == 0 else promote_types(higher, lower)


def floating(dtype: DType) -> DType:
    """`dtype`, or the default floating dtype for bool and integers."""
    return dtype if dtype.kind >= 2 else DEFAULTS.dtype


def check_castable(result: DType, output: DType) -> None:
    """RuntimeError when writing `result` into `output` would lower its kind."""
    if not can_cast(result, output):
        raise RuntimeError(
            f"result type {UPSTREAM_NAMES[result.name]} can't be cast to the desired output type "
            f"{UPSTREAM_NAMES[output.name]}"
        )
