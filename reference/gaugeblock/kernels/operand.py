"""What a kernel's operand is: a memory operand of some dtype, or a Python number given at call time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..core.dtype import DType
from .complex_lanes import Complex, Value
from .conversion import rounded, storage_type
from .expression import BOOL, F64, INT, Lane, LaneType
from .isa import Level


@dataclass(frozen=True, slots=True)
class Immediate:
    """A Python number converted to `dtype` at every call; ints wrap to the width.

    A raw one is not converted further to the compute dtype.
    """

    dtype: DType
    raw: bool = False


@dataclass(frozen=True, slots=True)
class Raw:
    """A memory operand that the formula takes in its own dtype, not converted to the compute dtype."""

    dtype: DType


class Memory(NamedTuple):
    """An operand in memory: name in the IR, dtype, storage lane type, components per element (2 for complex)."""

    name: str
    dtype: DType
    storage: LaneType
    components: int

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize


def memory(name: str, dtype: DType) -> Memory:
    """A memory operand called `name` in the IR."""
    return Memory(name, dtype, storage_type(dtype), 2 if dtype.is_complex else 1)


def raw_types(dtype: DType) -> tuple[LaneType, ...]:
    """Lane types of the C values that a Python number for `dtype` is read into."""
    if dtype.category == "bool":
        return (BOOL,)
    if dtype.category == "int":
        return (INT[64],)
    return (F64, F64) if dtype.is_complex else (F64,)


def immediate_value(raw: tuple[Lane, ...], dtype: DType, level: Level) -> Value:
    """Lanes of `dtype` (rounded to it) for the raw C values of a Python number."""
    value: Value = Complex(raw[0], raw[1]) if dtype.is_complex else raw[0]
    return rounded(value, dtype, level.half_hardware)
