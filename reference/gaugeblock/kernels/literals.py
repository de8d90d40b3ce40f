"""Constants in LLVM IR syntax."""

from __future__ import annotations

import struct

from .expression import BOOL, F32, LaneType


def literal(value: bool | int | float, type: LaneType) -> str:
    """A scalar constant in IR syntax."""
    if type is BOOL:
        return "true" if value else "false"
    if type.is_float:
        if type is F32:
            value = round_to_float32(float(value))
        return "0x" + struct.pack(">d", value).hex().upper()
    return str(value)


def round_to_float32(value: float) -> float:
    """The float32 nearest to a Python float, as a Python float."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
