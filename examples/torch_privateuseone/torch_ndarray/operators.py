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

from .memory import Array, array, kernel, read, refuse_overlap, write

Function = Callable[..., Any]

ARITHMETIC: Mapping[str, Function] = {
    "add.out": lambda x, y, alpha=1: x + y * np.asarray(alpha).astype(x.dtype),
    "sub.out": lambda x, y, alpha=1: x - y * np.asarray(alpha).astype(x.dtype),
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
"""Operator -> its function of arrays that have the common dtype of the operands."""

GIVES_FLOATS = frozenset(f"{name}.out" for name in ("div", "exp", "log", "sin", "cos", "tanh", "sqrt"))
"""Operators that compute integers in the default dtype."""

COMPARISONS: Mapping[str, Function] = {
    f"{name}.{kind}_out": function
    for name, function in {
        "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
        "ge": np.greater_equal,
    }.items()
    for kind in ("Tensor", "Scalar")
}  # fmt: skip
"""The same of the comparisons, which give bools."""


_NEED_AN_ORDER = (np.less, np.less_equal, np.greater, np.greater_equal)
_NOT_OF_BOOLS = (np.floor, np.ceil)
_NAMES = {
    torch.bool: "Bool", torch.uint8: "Byte", torch.int8: "Char", torch.int16: "Short", torch.int32: "Int",
    torch.int64: "Long", torch.float16: "Half", torch.bfloat16: "BFloat16", torch.float32: "Float",
    torch.float64: "Double", torch.complex64: "ComplexFloat", torch.complex128: "ComplexDouble",
}  # fmt: skip
"""Names of dtypes in the messages of PyTorch's kernels."""


def register() -> None:
    """Give PyTorch the kernels of this module."""
    for name, function in ARITHMETIC.items():
        kernel(name, partial(_pointwise, name, function))
    for name, function in COMPARISONS.items():
        kernel(name, partial(_pointwise, name, function))
    kernel("sum.IntList_out", _sum)
    kernel("mm.out", _mm)


def _pointwise(name: str, function: Function, *operands: Any, out: Any, **options: Any) -> Any:
    _check(name, *operands, out=out, **options)
    dtype = torch.result_type(*operands) if len(operands) > 1 else operands[0].dtype
    if name in GIVES_FLOATS and not (dtype.is_floating_point or dtype.is_complex):
        dtype = torch.get_default_dtype()
    arrays = [_converted(operand, dtype) for operand in operands]
    refusal = NotImplementedError(f"\"{name.partition('.')[0]}\" not implemented for '{_NAMES.get(dtype, dtype)}'")
    if (dtype.is_complex and function in _NEED_AN_ORDER) or (dtype is torch.bool and function in _NOT_OF_BOOLS):
        raise refusal
    try:
        with np.errstate(all="ignore"):
            return write(out, function(*arrays, **options))
    except TypeError as error:
        raise refusal from error


def _converted(operand: Any, dtype: Any) -> Array:
    """An operand as an array of a dtype; floats in the next wider format, so that results are rounded once."""
    values = read(operand) if isinstance(operand, torch.Tensor) else np.asarray(operand)
    narrow = array(torch.empty(0, dtype=dtype)).dtype
    with np.errstate(all="ignore"):
        values = values.astype(narrow)
        return values.astype(_WIDER.get(dtype, narrow))


_WIDER = {torch.float16: np.dtype(np.float32), torch.bfloat16: np.dtype(np.float32),
          torch.float32: np.dtype(np.float64), torch.complex64: np.dtype(np.complex128)}  # fmt: skip


def _check(name: str, *operands: Any, out: Any, **options: Any) -> None:
    """Let the meta device check a call, and give ``out`` the sizes of its result.

    Raises:
        RuntimeError: what PyTorch says of such operands; ``out`` overlaps itself or an operand in part.
    """
    call: Any = getattr(torch, name.partition(".")[0])
    resized = call(*map(_outline, operands), out=_outline(out), **options)
    if resized.shape != out.shape:
        out.resize_(resized.shape)
    refuse_overlap(out, *operands)


def _outline(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")


def _sum(tensor: Any, dims: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any) -> Any:
    _check("sum.IntList_out", tensor, dims, keepdim, dtype=dtype, out=out)
    axes = tuple(dim % max(tensor.dim(), 1) for dim in dims or range(tensor.dim()))
    return write(out, np.sum(_converted(tensor, out.dtype), axes if tensor.dim() else (), keepdims=keepdim))


def _mm(left: Any, right: Any, *, out: Any) -> Any:
    _check("mm.out", left, right, out=out)
    if left.dtype != right.dtype:
        raise RuntimeError(f"mm: expected matrices of the same dtype, not {left.dtype} and {right.dtype}")
    return write(out, np.matmul(_converted(left, out.dtype), _converted(right, out.dtype)))
