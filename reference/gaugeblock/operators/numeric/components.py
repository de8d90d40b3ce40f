"""Numbers taken apart and put together: frexp, complex, polar, isreal."""

from __future__ import annotations

from typing import Any

from ...core.dtype import DType, bool_, float16, int32
from ...core.promotion import UPSTREAM_NAMES
from ...iteration.dimensions import broadcast_shapes
from ...tensor.tensor import Tensor
from ...tensor.versions import bump_version
from ..arrays import check_same_device, outline_between
from ..invoke import apply, result_type
from ..networks.calls import write


def frexp_Tensor(self: Tensor) -> Any:
    """(mantissa, exponent) with ``self == mantissa * 2**exponent``, the mantissa in [0.5, 1); exponents are int32.

    0, inf and NaN are their own mantissa. Raises RuntimeError for other than floats.
    """
    dtype = self.meta.dtype
    if dtype.kind != 2:
        raise RuntimeError(f"torch.frexp() only supports floating-point dtypes, got {UPSTREAM_NAMES[dtype.name]}")
    mantissa, exponent = apply("empty_like", self), apply("empty_like", self, dtype=int32)
    write("frexp", mantissa, (self,), dtype, exponent)
    return result_type("frexp.Tensor")(mantissa, exponent)


def _joined(operator: str, first: Tensor, second: Tensor, halves: bool) -> Tensor:
    dtype = first.meta.dtype
    for tensor in (first, second):
        own = tensor.meta.dtype
        if own.kind != 2 or own.name == "bfloat16" or (own is float16 and not halves):
            raise RuntimeError(
                f"{operator}(): Expected both inputs to be Half, Float or Double tensors but got "
                f"{UPSTREAM_NAMES[dtype.name]} and {UPSTREAM_NAMES[second.meta.dtype.name]}"
            )
    if second.meta.dtype is not dtype:
        raise RuntimeError(
            f"{operator}(): Expected object of scalar type {UPSTREAM_NAMES[dtype.name]} but got scalar type "
            f"{UPSTREAM_NAMES[second.meta.dtype.name]} for second argument"
        )
    result: DType = dtype.to_complex()
    sizes = broadcast_shapes((first.meta.sizes, second.meta.sizes))
    joined = outline_between(sizes, result, check_same_device(operator, first, second), (first, second))[0]
    return write(operator, joined, (first, second), result.to_real())


def complex(real: Tensor, imag: Tensor) -> Tensor:
    """The complex tensor of two real ones, which broadcast. Raises RuntimeError for other dtypes or two of them."""
    return _joined("complex", real, imag, halves=True)


def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """``abs * (cos(angle) + i sin(angle))``. Raises RuntimeError for other dtypes or two of them."""
    return _joined("polar", abs, angle, halves=False)


def isreal(self: Tensor) -> Tensor:
    """Return whether each element has no imaginary part; True for real dtypes."""
    if not self.meta.dtype.is_complex:
        return apply("ones_like", self, dtype=bool_)
    return apply("eq.Scalar", apply("imag", self), 0)


def conj_physical(self: Tensor) -> Tensor:
    """The complex conjugate, computed at once; real tensors are returned as they are."""
    return apply("resolve_conj", apply("conj", self)) if self.meta.dtype.is_complex else self


def conj_physical_(self: Tensor) -> Tensor:
    """The complex conjugate in place; a write, even where nothing changes."""
    if self.meta.dtype.is_complex:
        return apply("copy_", self, conj_physical(self))
    bump_version(self)
    return self
