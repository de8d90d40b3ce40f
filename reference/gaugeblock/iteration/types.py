"""Step: the dtype in which the operator computes, and what its outputs may be."""

from __future__ import annotations

from collections.abc import Iterable

from ..core.dtype import DEFAULTS, DType
from ..core.promotion import can_cast, promote_types

PRIORITIES = ("number", "0-dim tensor", "tensor")
UPSTREAM_NAMES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "float16": "Half", "bfloat16": "BFloat16",
    "float32": "Float", "float64": "Double", "complex32": "ComplexHalf", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}  # fmt: skip
"""dtype names as PyTorch's messages spell them."""


def common_dtype(operands: Iterable[tuple[DType, int]]) -> DType:
    """The dtype of operands given as (dtype, priority): 2 with dims, 1 0-dim, 0 Python number.

    Each class promotes within itself; a lower class changes the result only by a higher kind.
    """
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
