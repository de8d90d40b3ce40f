"""Element-wise functions of the standard."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import Any

from ..calls.functions import ops
from ..core import dtype as dtypes
from ..tensor.tensor import Tensor
from .data_types import Scalar
from .operands import (
    WIDE,
    bits,
    by_order,
    check_array,
    check_kind,
    computed,
    converted,
    ordered,
    pair,
    unsigned,
)

_UNARY: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        """acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 reciprocal sin sinh sqrt tan
        tanh""".split(),
        ("", "float complex"),
    ),
    "signbit": ("", "float"),
    "isfinite": ("", "int float complex"), "isinf": ("", "int float complex"), "isnan": ("", "int float complex"),
    "negative": ("neg", "int float complex"), "square": ("", "int float complex"),
    "logical_not": ("", "bool"), "bitwise_invert": ("bitwise_not", "bool int"), "imag": ("", "complex"),
}  # fmt: skip
"""Function -> the operator, if it is called otherwise, and the categories of dtypes that it takes."""

_BINARY: dict[str, tuple[str, str]] = {
    "add": ("", "int float complex"), "subtract": ("sub", "int float complex"),
    "multiply": ("mul", "int float complex"), "divide": ("div", "float complex"), "atan2": ("", "float"),
    "copysign": ("", "float"), "hypot": ("", "float"), "logaddexp": ("", "float"), "nextafter": ("", "float"),
    "bitwise_and": ("", "bool int"), "bitwise_or": ("", "bool int"), "bitwise_xor": ("", "bool int"),
    "bitwise_left_shift": ("", "int"), "equal": ("eq", "bool int float complex"),
    "not_equal": ("ne", "bool int float complex"), "logical_and": ("", "bool"), "logical_or": ("", "bool"),
    "logical_xor": ("", "bool"),
}  # fmt: skip

_ORDERED = {"less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge"}


def _unary(name: str, operator: str, categories: str) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor, /) -> Tensor:
        check_kind(name, check_array(name, "x", x).meta.dtype, categories)
        return computed(getattr(ops, operator), x)  # type: ignore[no-any-return]

    function.__doc__ = f"Return {name} of each element."
    return function


def _binary(name: str, operator: str, categories: str) -> Callable[..., Tensor]:
    def function(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
        first, second = pair(name, x1, x2)
        check_kind(name, first.meta.dtype, categories)
        return computed(getattr(ops, operator), first, second)  # type: ignore[no-any-return]

    function.__doc__ = f"Return {name} of each pair of elements."
    return function


def _ordering(name: str, operator: str) -> Callable[..., Tensor]:
    def function(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
        first, second = pair(name, x1, x2)
        check_kind(name, first.meta.dtype, "bool int float")
        if first.meta.dtype in WIDE:
            first, second = ordered(first), ordered(second)
        return getattr(ops, operator)(first, second)  # type: ignore[no-any-return]

    function.__doc__ = f"Return {name} of each pair of elements."
    return function


def _extreme(name: str) -> Callable[..., Tensor]:
    def function(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
        first, second = pair(name, x1, x2)
        check_kind(name, first.meta.dtype, "int float")
        return by_order(getattr(ops, name), first, second)  # type: ignore[no-any-return]

    function.__doc__ = f"Return {name} of each pair of elements; NaN if one is."
    return function


def _rounding(name: str) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor, /) -> Tensor:
        dtype = check_array(name, "x", x).meta.dtype
        check_kind(name, dtype, "int float complex" if name == "round" else "int float")
        if dtype.category == "int":
            return ops.clone(x)  # type: ignore[no-any-return]
        if dtype.is_complex:
            return ops.view_as_complex(ops.round(ops.view_as_real(ops.resolve_conj(x))))  # type: ignore[no-any-return]
        return getattr(ops, name)(x)  # type: ignore[no-any-return]

    function.__doc__ = f"Return {name} of each element; integers stay what they are."
    return function


def abs(x: Tensor, /) -> Tensor:
    """Return the absolute value of each element, real for complex ones."""
    check_kind("abs", check_array("abs", "x", x).meta.dtype, "int float complex")
    return ops.clone(x) if x.meta.dtype in WIDE else ops.abs(x)  # type: ignore[no-any-return]


def positive(x: Tensor, /) -> Tensor:
    """Return a copy of `x`."""
    check_kind("positive", check_array("positive", "x", x).meta.dtype, "int float complex")
    return ops.clone(x)  # type: ignore[no-any-return]


def sign(x: Tensor, /) -> Tensor:
    """Return -1, 0 or 1 for each element, NaN for NaN, and x / abs(x) for complex ones."""
    dtype = check_array("sign", "x", x).meta.dtype
    check_kind("sign", dtype, "int float complex")
    if dtype in WIDE:
        return ops.ne(x, ops.zeros_like(x)).to(dtype)  # type: ignore[no-any-return]
    found = ops.sgn(x)
    if dtype.category == "int":
        return found  # type: ignore[no-any-return]
    unknown = ops.full((), complex(nan, nan) if dtype.is_complex else nan, dtype=dtype, device=x.meta.device)
    return ops.where(ops.isnan(x), unknown, found)  # type: ignore[no-any-return]


def conj(x: Tensor, /) -> Tensor:
    """Return the complex conjugate of each element."""
    check_kind("conj", check_array("conj", "x", x).meta.dtype, "int float complex")
    return ops.conj_physical(x) if x.meta.dtype.is_complex else ops.clone(x)  # type: ignore[no-any-return]


def real(x: Tensor, /) -> Tensor:
    """Return the real part of each element."""
    check_kind("real", check_array("real", "x", x).meta.dtype, "int float complex")
    return ops.real(x) if x.meta.dtype.is_complex else x


def bitwise_right_shift(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return each element shifted right by bits; the sign is kept."""
    first, second = pair("bitwise_right_shift", x1, x2)
    dtype = first.meta.dtype
    check_kind("bitwise_right_shift", dtype, "int")
    if dtype not in WIDE:
        return ops.bitwise_right_shift(first, second)  # type: ignore[no-any-return]
    number, shift = bits(first), bits(second)
    found = ops.bitwise_right_shift(number, shift)
    if dtype is dtypes.uint64:  # the bits that the sign left behind are cleared
        mask = ops.bitwise_not(ops.bitwise_left_shift(ops.full_like(shift, -2), ops.sub(63, shift)))
        found = ops.where(shift > 0, found & mask, number)
    return unsigned(found, dtype)  # type: ignore[no-any-return]


def _divided(first: Any, second: Any) -> tuple[Any, Any]:
    """Return quotient and remainder of wide unsigned integers, as int64 bits."""
    if first.meta.dtype is not dtypes.uint64:
        number, divisor = bits(first), bits(second)
        return ops.floor_divide(number, divisor), ops.remainder(number, divisor)
    number, divisor = ops.broadcast_tensors(bits(first), bits(second))
    large = divisor < 0
    half = ops.bitwise_right_shift(number, 1) & ((1 << 63) - 1)
    quotient = ops.floor_divide(half, ops.where(large, 1, divisor)) * 2
    rest = number - quotient * divisor
    least = -(1 << 63)
    quotient = ops.where((rest ^ least) >= (divisor ^ least), quotient + 1, quotient)
    quotient = ops.where(large, ((number ^ least) >= (divisor ^ least)).to(dtypes.int64), quotient)
    return quotient, number - quotient * divisor


def floor_divide(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return the quotient of each pair of elements, rounded down; those of zeros and infinities are the quotients."""
    first, second = pair("floor_divide", x1, x2)
    dtype = first.meta.dtype
    check_kind("floor_divide", dtype, "int float")
    if dtype in WIDE:
        return unsigned(_divided(first, second)[0], dtype)  # type: ignore[no-any-return]
    found = ops.floor_divide(first, second)
    if not dtype.is_floating_point:
        return found  # type: ignore[no-any-return]
    exact = ops.isinf(first) | ops.isinf(second) | (first == 0) | (second == 0)
    return ops.where(exact, ops.div(first, second), found)  # type: ignore[no-any-return]


def remainder(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return the remainder of each pair of elements, with the sign of the divisor."""
    first, second = pair("remainder", x1, x2)
    dtype = first.meta.dtype
    check_kind("remainder", dtype, "int float")
    if dtype in WIDE:
        return unsigned(_divided(first, second)[1], dtype)  # type: ignore[no-any-return]
    found = ops.remainder(first, second)
    if not dtype.is_floating_point:
        return found  # type: ignore[no-any-return]
    inside = ops.isfinite(first) & ops.isinf(second)  # nothing is taken off, or once
    kept = ops.signbit(first) == ops.signbit(second)
    found = ops.where(inside, ops.where(kept | (first == 0), ops.where(first == 0, ops.copysign(first, second), first),
                                        second), found)  # fmt: skip
    return ops.where((found == 0) & ~ops.isnan(second), ops.copysign(found, second), found)  # type: ignore[no-any-return]


def pow(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return x1 to the power of x2 for each pair of elements."""
    first, second = pair("pow", x1, x2)
    check_kind("pow", first.meta.dtype, "int float complex")
    return computed(ops.pow, first, second)  # type: ignore[no-any-return]


def clip(
    x: Tensor, /, min: Tensor | Scalar | None = None, max: Tensor | Scalar | None = None
) -> Tensor:  # fmt: skip
    """Return each element, but not less than `min` and not more than `max`; the dtype stays."""
    dtype = check_array("clip", "x", x).meta.dtype
    check_kind("clip", dtype, "int float")
    found: Any = x
    for bound, operator in ((min, ops.maximum), (max, ops.minimum)):
        if bound is not None:
            array = bound if isinstance(bound, Tensor) else ops.full((), bound, dtype=dtype, device=x.meta.device)
            found = by_order(operator, *ops.broadcast_tensors(found, converted(array, dtype)))
    return ops.clone(found) if found is x else found  # type: ignore[no-any-return]


def where(condition: Tensor, x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return x1 where the condition holds, else x2."""
    check_kind("where", check_array("where", "condition", condition).meta.dtype, "bool")
    first, second = pair("where", x1, x2)
    return ops.where(condition, first, second)  # type: ignore[no-any-return]


def _install(name: str, function: Callable[..., Any]) -> None:
    function.__name__ = function.__qualname__ = name
    globals()[name] = function


for _name, (_operator, _kinds) in _UNARY.items():
    _install(_name, _unary(_name, _operator or _name, _kinds))
for _name, (_operator, _kinds) in _BINARY.items():
    _install(_name, _binary(_name, _operator or _name, _kinds))
for _name, _operator in _ORDERED.items():
    _install(_name, _ordering(_name, _operator))
for _name in ("maximum", "minimum"):
    _install(_name, _extreme(_name))
for _name in ("ceil", "floor", "round", "trunc"):
    _install(_name, _rounding(_name))

FUNCTIONS = (
    *_UNARY, *_BINARY, *_ORDERED, "maximum", "minimum", "ceil", "floor", "round", "trunc", "abs", "positive", "sign",
    "conj", "real", "bitwise_right_shift", "floor_divide", "remainder", "pow", "clip", "where",
)  # fmt: skip
"""All functions of this module that are public."""
