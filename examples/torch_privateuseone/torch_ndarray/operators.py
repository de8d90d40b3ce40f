"""Operators of the device in NumPy: some of them pointwise, one reduction, one product.

PyTorch makes ``add`` and ``add_`` of a kernel for ``add.out``: it finds sizes, dtypes and strides of the result by
itself, as it does on the meta device, and calls the kernel with ``out``. Nothing else needs to be written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from .memory import Array, array, kernel, operator, read, write

Function = Callable[..., Any]

ARITHMETIC: Mapping[str, Function] = {
    "add.out": lambda x, y, alpha=1: x + y * x.dtype.type(alpha),
    "sub.out": lambda x, y, alpha=1: x - y * x.dtype.type(alpha),
    "mul.out": np.multiply,
    "div.out": np.divide,
    "maximum.out": np.maximum,
    "minimum.out": np.minimum,
    "fmax.out": np.fmax,
    "fmin.out": np.fmin,
    "bitwise_and.Tensor_out": np.bitwise_and,
    "bitwise_or.Tensor_out": np.bitwise_or,
    "bitwise_xor.Tensor_out": np.bitwise_xor,
    "neg.out": np.negative,
    "exp.out": np.exp,
    "log.out": np.log,
    "sin.out": np.sin,
    "cos.out": np.cos,
    "tanh.out": np.tanh,
    "sqrt.out": np.sqrt,
    "floor.out": np.floor,
    "ceil.out": np.ceil,
}
"""Operator -> its function of arrays that have the dtype of the result."""

COMPARISONS: Mapping[str, Function] = {
    f"{name}.{kind}_out": function
    for name, function in {
        "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
        "ge": np.greater_equal,
    }.items()
    for kind in ("Tensor", "Scalar")
}  # fmt: skip
"""Operator -> its function of arrays that have the common dtype of the operands."""


def register() -> None:
    """Give PyTorch the kernels of this module."""
    for name, function in ARITHMETIC.items():
        kernel(name, partial(_pointwise, name, function, False))
    for name, function in COMPARISONS.items():
        kernel(name, partial(_pointwise, name, function, True))
    kernel("sum.IntList_out", _sum)
    kernel("mm.out", _mm)


def _pointwise(name: str, function: Function, compares: bool, *operands: Any, out: Any, **options: Any) -> Any:
    functional = _checked(name, *operands, out=out, **options)
    dtype = torch.result_type(*operands) if compares else functional.dtype
    arrays = [_converted(operand, dtype) for operand in operands]
    with np.errstate(all="ignore"):
        return write(out, function(*arrays, **options))


def _converted(operand: Any, dtype: Any) -> Array:
    """An operand as an array of a dtype; floats in the next wider format, so that results are rounded once."""
    values = read(operand) if isinstance(operand, torch.Tensor) else np.asarray(operand)
    narrow = array(torch.empty(0, dtype=dtype)).dtype
    with np.errstate(all="ignore"):
        values = values.astype(narrow)
        return values.astype(_WIDER.get(dtype, narrow))


_WIDER = {torch.float16: np.dtype(np.float32), torch.bfloat16: np.dtype(np.float32),
          torch.float32: np.dtype(np.float64), torch.complex64: np.dtype(np.complex128)}  # fmt: skip


def _checked(name: str, *operands: Any, out: Any, **options: Any) -> Any:
    """What the call gives on the meta device, which checks it and knows the sizes and the dtype of its result.

    Raises:
        RuntimeError: what PyTorch says of such operands, or ``out`` has other sizes, or overlaps itself or an operand.
    """
    without_data = [_outline(operand) for operand in operands]
    operator(name)(*without_data, out=_outline(out), **options)
    result: Any = getattr(torch, name.partition(".")[0])(*without_data, **options)
    if result.shape != out.shape:
        out.resize_(result.shape)
    _refuse_overlap(out, operands)
    return result


def _outline(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")


def _refuse_overlap(out: Any, operands: Any) -> None:
    if any(step == 0 and size > 1 for step, size in zip(out.stride(), out.shape, strict=True)) and out.numel():
        raise RuntimeError("unsupported operation: several elements of the written tensor have one place in memory")
    for operand in operands:
        if not isinstance(operand, torch.Tensor) or operand.device != out.device:
            continue
        same = operand.data_ptr() == out.data_ptr() and operand.stride() == out.stride() and operand.shape == out.shape
        if not same and np.shares_memory(array(operand), array(out)):
            raise RuntimeError("unsupported operation: the written tensor and an operand overlap in part")


def _sum(tensor: Any, dims: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any) -> Any:
    _checked("sum.IntList_out", tensor, dims, keepdim, dtype=dtype, out=out)
    axes = tuple(dim % max(tensor.dim(), 1) for dim in dims or range(tensor.dim()))
    return write(out, np.sum(_converted(tensor, out.dtype), axes if tensor.dim() else (), keepdims=keepdim))


def _mm(left: Any, right: Any, *, out: Any) -> Any:
    _checked("mm.out", left, right, out=out)
    return write(out, np.matmul(_converted(left, out.dtype), _converted(right, out.dtype)))
