"""Powers computed in double precision, whatever the dtype of the operands."""

from __future__ import annotations

from ...core.dtype import DType, complex128, float64
from ...core.promotion import UPSTREAM_NAMES
from ...iteration.tensor_iterator import Number
from ...tensor.tensor import Tensor
from ..conversion import converted
from ..invoke import apply


def _double(*operands: Tensor | Number) -> DType:
    """complex128 when an operand is complex, else float64."""
    for operand in operands:
        if operand.meta.dtype.is_complex if isinstance(operand, Tensor) else isinstance(operand, complex):
            return complex128
    return float64


def _wide(number: Number, dtype: DType) -> Number:
    return number if dtype is complex128 or isinstance(number, complex) else float(number)


def float_power_Tensor_Tensor(self: Tensor, exponent: Tensor) -> Tensor:
    """``self ** exponent`` in float64, or complex128 for complex operands."""
    dtype = _double(self, exponent)
    return apply("pow.Tensor_Tensor", converted(self, dtype), converted(exponent, dtype))


def float_power_Tensor_Scalar(self: Tensor, exponent: Number) -> Tensor:
    """``self ** exponent`` in float64, or complex128 for complex operands."""
    dtype = _double(self, exponent)
    return apply("pow.Tensor_Scalar", converted(self, dtype), _wide(exponent, dtype))


def float_power_Scalar(self: Number, exponent: Tensor) -> Tensor:
    """``self ** exponent`` in float64, or complex128 for complex operands."""
    dtype = _double(self, exponent)
    return apply("pow.Scalar", _wide(self, dtype), converted(exponent, dtype))


def _check_base(self: Tensor, exponent: Tensor | Number) -> None:
    dtype, own = _double(self, exponent), self.meta.dtype
    if own is not dtype:
        raise RuntimeError(
            f"float_power_(): the base given has dtype {UPSTREAM_NAMES[own.name]} but the operation's result requires "
            f"dtype {UPSTREAM_NAMES[dtype.name]}"
        )


def float_power__Tensor(self: Tensor, exponent: Tensor) -> Tensor:
    """float_power written into `self`. Raises RuntimeError unless it has the dtype of the result."""
    _check_base(self, exponent)
    return apply("pow_.Tensor", self, converted(exponent, self.meta.dtype))


def float_power__Scalar(self: Tensor, exponent: Number) -> Tensor:
    """float_power written into `self`. Raises RuntimeError unless it has the dtype of the result."""
    _check_base(self, exponent)
    return apply("pow_.Scalar", self, _wide(exponent, self.meta.dtype))
