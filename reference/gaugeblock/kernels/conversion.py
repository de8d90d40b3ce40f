"""Operands in memory and Python numbers given at call time: how each dtype is stored, and what it is computed in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..core.dtype import (
    ALL_DTYPES,
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
)
from . import float8
from .expression import BOOL, F32, F64, INT, UINT, Complex, Expr, ScalarType, Value, constant, select
from .functions import bits_of, cast, fabs, float_of_bits
from .isa import Level

SCALAR_TYPES: dict[DType, ScalarType] = {
    bool_: BOOL,
    **{one: (INT if one.is_signed else UINT)[one.itemsize * 8] for one in ALL_DTYPES if one.category == "int"},
    **dict.fromkeys((float16, bfloat16, float32, complex32, complex64, *FLOAT8), F32),
    **dict.fromkeys((float64, complex128), F64),
}
"""Dtype -> the type in which it is computed: float32 for narrower floats, that of the components if it is complex."""


def storage_type(dtype: DType) -> ScalarType:
    """Expr type of one stored component: bytes for bool, patterns of bits for floats narrower than float32."""
    if dtype.category == "bool":
        return UINT[8]
    return UINT[dtype.to_real().itemsize * 8] if is_half(dtype) else SCALAR_TYPES[dtype]


def is_half(dtype: DType) -> bool:
    """Return whether a dtype, or each component of a complex one, is a float of 16 or 8 bits."""
    return (dtype.is_floating_point and dtype.itemsize < 4) or dtype is complex32


def from_storage(stored: tuple[Expr, ...], dtype: DType, half_hardware: bool) -> Value:
    """The expression that stored components stand for."""
    exprs = [_loaded(x, dtype.to_real(), half_hardware) for x in stored]
    return Complex(*exprs) if dtype.is_complex else exprs[0]


def _loaded(x: Expr, dtype: DType, half_hardware: bool) -> Expr:
    if dtype.category == "bool":
        return x != 0
    if dtype is bfloat16:
        return _marked(float_of_bits(cast(x, UINT[32]) << 16), dtype, x)
    if dtype is float16:
        return _marked(Expr("half_extend", F32, (x,)) if half_hardware else half_to_float(x), dtype, x)
    if dtype in FLOAT8:
        return _marked(float8.widened(x, dtype), dtype, x)
    return x


def _marked(value: Expr, dtype: DType, stored: Expr) -> Expr:
    """`value`, remembering that `dtype` stores it as `stored`: copies keep the bits."""
    return Expr("retype", value.type, (value,), (dtype, stored))


def to_storage(value: Value, dtype: DType, half_hardware: bool) -> tuple[Expr, ...]:
    """The components to store for a value, converted to `dtype`."""
    value = convert(value, dtype)
    exprs = (value.re, value.im) if isinstance(value, Complex) else (value,)
    return tuple([_stored(expr, dtype.to_real(), half_hardware) for expr in exprs])


def _stored(value: Expr, dtype: DType, half_hardware: bool) -> Expr:
    if dtype.category == "bool":
        return cast(value, UINT[8])
    if value.opcode == "retype" and value.attribute and value.attribute[0] is dtype:
        stored: Expr = value.attribute[1]
        return stored
    if dtype is bfloat16:
        return float_to_bfloat16(value)
    if dtype is float16:
        return Expr("half_truncate", UINT[16], (value,)) if half_hardware else float_to_half(value)
    return float8.narrowed(value, dtype) if dtype in FLOAT8 else value


def convert(value: Value, dtype: DType) -> Value:
    """A value converted to `dtype`: dropping imaginary parts, wrapping ints, rounding float64 once."""
    if dtype.is_complex:
        part = dtype.to_real()
        re, im = (value.re, value.im) if isinstance(value, Complex) else (value, constant(0.0, SCALAR_TYPES[part]))
        return Complex(_converted(re, part), _converted(im, part))
    if isinstance(value, Complex):
        if dtype.category == "bool":
            return (value.re != 0.0) | (value.im != 0.0)
        value = value.re
    return _converted(value, dtype)


def _converted(value: Expr, dtype: DType) -> Expr:
    return round_to_odd(value) if value.type is F64 and is_half(dtype) else cast(value, SCALAR_TYPES[dtype])


def rounded(value: Value, dtype: DType, half_hardware: bool) -> Value:
    """A value converted to `dtype` and rounded to what it can hold."""
    return from_storage(to_storage(value, dtype, half_hardware), dtype, half_hardware)


def round_to_odd(x: Expr) -> Expr:
    """float64 to float32 keeping a sticky last bit, so that rounding once more to fewer bits is right."""
    near = cast(x, F32)
    back = cast(near, F64)
    bits = bits_of(near)
    step = select(fabs(back) > fabs(x), constant(-1, UINT[32]), 1)
    inexact = (back != x) & (x == x) & ((bits & 1) == 0)
    return float_of_bits(select(inexact, bits + step, bits))


def half_to_float(x: Expr) -> Expr:
    """float16 bits to float32, subnormals included."""
    wide = cast(x, UINT[32])
    magnitude = (wide & 0x7FFF) << 13
    scaled = bits_of(float_of_bits(magnitude) * 2.0**112)
    special = magnitude >= 0x0F800000
    return float_of_bits(select(special, magnitude | 0x7F800000, scaled) | ((wide & 0x8000) << 16))


def float_to_half(x: Expr) -> Expr:
    """float32 to float16 bits, to nearest even, overflowing to infinity."""
    bits = bits_of(x)
    magnitude = bits & 0x7FFFFFFF
    normal = (magnitude - 0x38000000 + 0xFFF + ((magnitude >> 13) & 1)) >> 13
    small = bits_of(float_of_bits(magnitude) + 0.5) - 0x3F000000
    special = select(magnitude > 0x7F800000, ((magnitude >> 13) & 0x3FF) | 0x7E00, constant(0x7C00, UINT[32]))
    result = select(magnitude < 0x38800000, small, select(magnitude >= 0x47800000, special, normal))
    return cast(result | ((bits >> 16) & 0x8000), UINT[16])


def float_to_bfloat16(x: Expr) -> Expr:
    """float32 to bfloat16 bits, to nearest even; NaN stays a quiet NaN."""
    bits = bits_of(x)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return cast(select(x == x, rounded, (bits >> 16) | 0x40), UINT[16])


@dataclass(frozen=True, slots=True)
class Immediate:
    """A Python number converted to `dtype` at every call; ints wrap to the width. A raw one is not converted further to
    the compute dtype."""

    dtype: DType
    raw: bool = False


@dataclass(frozen=True, slots=True)
class Raw:
    """A memory operand that the formula takes in its own dtype, not converted to the compute dtype."""

    dtype: DType


class Memory(NamedTuple):
    """An operand in memory: name in the IR, dtype, storage scalar type, components per element (2 for complex)."""

    name: str
    dtype: DType
    storage: ScalarType
    components: int

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def align(self) -> int:
        """Bytes at which its components are aligned."""
        return self.dtype.itemsize // self.components

    def symbols(self) -> tuple[Expr, ...]:
        """Return fresh arguments for the components of an element."""
        return tuple(Expr("argument", self.storage) for _ in range(self.components))

    def ir_type(self, width: int) -> str:
        """Return the IR type of `width` elements in a row."""
        count = width * self.components
        return self.storage.ir if count == 1 else f"<{count} x {self.storage.ir}>"


def memory(name: str, dtype: DType) -> Memory:
    """A memory operand called `name` in the IR."""
    return Memory(name, dtype, storage_type(dtype), 2 if dtype.is_complex else 1)


def raw_types(dtype: DType) -> tuple[ScalarType, ...]:
    """Expr types of the C values that a Python number for `dtype` is read into."""
    if dtype.category == "bool":
        return (BOOL,)
    if dtype.category == "int":
        return (INT[64],)
    return (F64, F64) if dtype.is_complex else (F64,)


def immediate_value(raw: tuple[Expr, ...], dtype: DType, level: Level) -> Value:
    """Exprs of `dtype` (rounded to it) for the raw C values of a Python number."""
    value: Value = Complex(raw[0], raw[1]) if dtype.is_complex else raw[0]
    return rounded(value, dtype, level.half_hardware)
