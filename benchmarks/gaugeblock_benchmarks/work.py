"""The work that a call cannot avoid: bytes that it must read and write once, and floating-point operations."""

from __future__ import annotations

from collections.abc import Callable

from .cases import CHANNELS, KERNEL, Case

_ITEM = {"float32": 4, "bfloat16": 2}


def _image(case: Case) -> int:
    _, channels, height, width = case.image
    return channels * max(height - KERNEL + 1, 0) * max(width - KERNEL + 1, 0)


RESULTS: dict[str, Callable[[Case], int]] = {
    "like": lambda case: case.size,
    "both": lambda case: 2 * case.size,
    "sorted": lambda case: 3 * case.size,
    "one": lambda case: 1,
    "row": lambda case: case.shape[0],
    "square": lambda case: case.shape[0] ** 2,
    "image": _image,
    "view": lambda case: 0,
}
"""Elements of a result; a view has none of its own, and an index of 8 bytes counts as two of float32."""


def result_bytes(case: Case) -> int:
    """What the result holds: the least memory that a call needs beside its operands."""
    return RESULTS[case.operator.result](case) * _ITEM[case.dtype]


def operand_bytes(case: Case) -> int:
    """What the operands hold, elements that are broadcast counted once."""
    if case.operator.result == "view":
        return 0
    item = _ITEM[case.dtype]
    sizes = {"m": case.size, "i": 8 * case.size, "w": 4 * (CHANNELS * KERNEL) ** 2}
    if case.layout == "row broadcast":
        sizes["b"] = case.shape[1] * item
    return sum(sizes.get(name, case.size * item) for name in case.operator.operands)


def bytes_moved(case: Case) -> int:
    """Bytes that any implementation reads and writes; 0 for a view."""
    return operand_bytes(case) + result_bytes(case)


def operations(case: Case) -> int:
    """Multiplications and additions of a product or convolution; 0 for what memory alone bounds."""
    if case.operator.family == "product":
        rows, columns = case.shape
        return 2 * rows * rows * columns
    if case.operator.family == "convolution":
        return 2 * CHANNELS * KERNEL**2 * _image(case)
    return 0
