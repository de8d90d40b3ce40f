"""PTX's arithmetic on bit patterns: integers, floats rounded to nearest, comparisons, conversions."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

Operation = Callable[..., int]
_FORMATS = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}
_LIBRARY = ctypes.CDLL(ctypes.util.find_library("m"))
_FUSED: dict[int, Any] = {32: _LIBRARY.fmaf, 64: _LIBRARY.fma}
for _bits, _type in ((32, ctypes.c_float), (64, ctypes.c_double)):
    _FUSED[_bits].restype, _FUSED[_bits].argtypes = _type, [_type] * 3
_NAN = float("nan")


def read(kind: str, bits: int, pattern: int) -> Any:
    """The number that a bit pattern stands for."""
    pattern &= (1 << bits) - 1
    if kind == "f":
        number, raw = _FORMATS[bits]
        return struct.unpack(number, struct.pack(raw, pattern))[0]
    return pattern - (1 << bits) if kind == "s" and pattern >> (bits - 1) else pattern


def written(kind: str, bits: int, value: Any) -> int:
    """The bit pattern of a number, rounded to nearest."""
    if kind != "f":
        return int(value) & ((1 << bits) - 1)
    number, raw = _FORMATS[bits]
    try:
        packed = struct.pack(number, value)
    except OverflowError:
        packed = struct.pack(number, math.copysign(math.inf, value))
    found: int = struct.unpack(raw, packed)[0]
    return found


def _quotient(a: Any, b: Any) -> Any:
    if isinstance(a, int):
        return (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else -1
    if b:
        return a / b
    return _NAN if not a or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)


def _larger(a: Any, b: Any) -> Any:
    return b if a != a or (b == b and b > a) else a


def _smaller(a: Any, b: Any) -> Any:
    return b if a != a or (b == b and b < a) else a


def _left(a: int, n: int) -> int:
    return a << n if n < 64 else 0


_SIMPLE: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": _quotient,
    "rem": lambda a, b: a - _quotient(a, b) * b, "min": _smaller, "max": _larger, "neg": lambda a: -a, "abs": abs,
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "not": lambda a: ~a,
    "shl": _left, "shr": lambda a, n: a >> min(n, 63), "mad": lambda a, b, c: a * b + c,
    "rcp": lambda a: _quotient(1.0, a), "sqrt": lambda a: math.sqrt(a) if a >= 0 else _NAN,
    "copysign": lambda sign, size: math.copysign(size, sign), "mov": lambda a: a, "cvta": lambda a: a,
}  # fmt: skip
_ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


def operation(opcode: tuple[str, ...]) -> Operation:
    """The function of bit patterns that an opcode stands for. Raises ValueError for one that is not known."""
    name, type = opcode[0], opcode[-1]
    if type == "pred":
        return _predicate(name)
    if name == "cvt":
        return _conversion(opcode)
    if name == "setp":
        return _comparison(opcode[1], type)
    if name == "selp":
        return lambda a, b, condition: a if condition else b
    if name in _BYTES:
        return _BYTES[name]
    if name == "fma":
        return _fused(int(type[1:]))
    if name not in _SIMPLE:
        raise ValueError(f"ptx emulation: the instruction {'.'.join(opcode)!r} is not known")
    kind, bits = type[0], int(type[1:])
    function, shifted = _SIMPLE[name], bits if "hi" in opcode else 0
    wide = 2 * bits if "wide" in opcode else bits
    if name in ("shl", "shr"):
        return lambda a, amount: written(kind, bits, function(read(kind, bits, a), amount & 0xFFFFFFFF))

    def compute(*given: int) -> int:
        result = function(*[read(kind, bits, pattern) for pattern in given])
        return written(kind, wide, result >> shifted if shifted else result)

    return compute


def _predicate(name: str) -> Operation:
    if name == "not":
        return lambda a: int(not a)
    function = _SIMPLE[name]
    return lambda *given: int(function(*given))


def _fused(bits: int) -> Operation:
    function = _FUSED[bits]
    return lambda a, b, c: written("f", bits, function(*(read("f", bits, one) for one in (a, b, c))))


def _comparison(relation: str, type: str) -> Operation:
    kind, bits = type[0], int(type[1:])
    unordered = kind == "f" and len(relation) == 3 and relation.endswith("u")
    function = _ORDERED.get(relation[:2])

    def compute(first: int, second: int) -> int:
        a, b = read(kind, bits, first), read(kind, bits, second)
        missing = kind == "f" and (a != a or b != b)
        if relation in ("nan", "num"):
            return int(missing is (relation == "nan"))
        assert function is not None
        return int(unordered if missing else function(a, b))

    return compute


_ROUNDINGS: dict[str, Callable[[float], int]] = {
    "rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil,
}  # fmt: skip


def _whole(value: float, mode: str) -> float:
    if not math.isfinite(value):
        return value
    return math.copysign(float(_ROUNDINGS[mode](value)), value)


def _conversion(opcode: tuple[str, ...]) -> Operation:
    (to, to_bits), (source, bits) = ((one[0], int(one[1:])) for one in opcode[-2:])
    mode = opcode[1]

    def compute(pattern: int) -> int:
        value = read(source, bits, pattern)
        if source == "f":
            if mode in _ROUNDINGS:
                value = _whole(value, mode)
            if to == "f":
                return written(to, to_bits, value)
            low, high = (-(1 << (to_bits - 1)), (1 << (to_bits - 1)) - 1) if to == "s" else (0, (1 << to_bits) - 1)
            return written(to, to_bits, 0 if value != value else int(min(max(value, low), high)))
        if to == "f" and to_bits == 32:
            value = float(np.array(value, np.int64 if source == "s" else np.uint64).astype(np.float32))
        # The register may be wider than the type: its upper bits repeat the sign.
        return read(to, to_bits, int(value)) if to == "s" else written(to, to_bits, value)

    return compute


def _permuted(a: int, b: int, selector: int) -> int:
    """prmt: four bytes of the eight of (b, a), each perhaps replaced by its sign."""
    both = (a & 0xFFFFFFFF) | (b & 0xFFFFFFFF) << 32
    result = 0
    for place in range(4):
        choice = selector >> 4 * place
        byte = both >> 8 * (choice & 7) & 0xFF
        result |= (0xFF * (byte >> 7) if choice & 8 else byte) << 8 * place
    return result


_BYTES: dict[str, Operation] = {
    "prmt": _permuted,
    "bfe": lambda a, start, length: a >> (start & 0xFF) & ((1 << (length & 0xFF)) - 1),
    "shf": lambda a, b, n: ((b << 32 | a & 0xFFFFFFFF) << (n & 31)) >> 32 & 0xFFFFFFFF,
}
"""Instructions on parts of words; bfe unsigned, shf to the left, wrapping."""
