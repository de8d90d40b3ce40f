"""Numbers taken apart and put together: frexp, complex, polar, isreal."""

from __future__ import annotations

from typing import Any

from ...core.device import cpu
from ...core.dtype import DType, bool_, float16, int32
from ...core.promotion import UPSTREAM_NAMES
from ...iteration.tensor_iterator import COMPARISON, TensorIterator, planned_meta
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import meta_like, meta_of, preserve_format_strides
from ...tensor.versions import bump_version
from ..arrays import check_same_device
from ..composition import Part, composite
from ..invoke import apply, result_type
from ..loop_plan import LoopPlan
from ..networks.calls import made
from ..plan import Planned, plannable


@composite
def frexp_Tensor(part: Part, self: Tensor) -> Any:
    """(mantissa, exponent) with ``self == mantissa * 2**exponent``, the mantissa in [0.5, 1); exponents are int32. 0,
    inf and NaN are their own mantissa. Raises RuntimeError for other than floats."""
    dtype = self.meta.dtype
    if dtype.kind != 2:
        raise RuntimeError(f"torch.frexp() only supports floating-point dtypes, got {UPSTREAM_NAMES[dtype.name]}")
    results = [meta_like(self.meta), meta_like(self.meta, int32)]
    return result_type("frexp.Tensor")(*made(part, "frexp", results, (self,), dtype))


def _joined(part: Part, operator: str, first: Tensor, second: Tensor, halves: bool) -> Tensor:
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
    device = check_same_device(operator, first, second)
    meta = planned_meta(TensorIterator((None,), (first, second), COMPARISON).build(allocate=False))
    wanted = meta_of(meta.sizes, meta.strides, result, device)
    found: Tensor = made(part, operator, [wanted], (first, second), result.to_real())
    return found


@composite
def complex(part: Part, real: Tensor, imag: Tensor) -> Tensor:
    """The complex tensor of two real ones, which broadcast. Raises RuntimeError for other dtypes or two of them."""
    return _joined(part, "complex", real, imag, halves=True)


@composite
def polar(part: Part, abs: Tensor, angle: Tensor) -> Tensor:
    """``abs * (cos(angle) + i sin(angle))``. Raises RuntimeError for other dtypes or two of them."""
    return _joined(part, "polar", abs, angle, halves=False)


@plannable
def isreal(self: Tensor) -> Tensor | Planned[Tensor]:
    """Return whether each element has no imaginary part; True for real dtypes."""
    meta = self.meta
    if meta.dtype.is_complex or meta.device is not cpu:
        return _of_parts.planned(self)
    made = meta_of(meta.sizes, preserve_format_strides(meta.sizes, meta.strides), bool_)
    plan = LoopPlan([meta], [made])
    plan.fill(plan.results[0], True)
    return plan.planned(self)


@composite
def _of_parts(part: Part, self: Tensor) -> Tensor:
    if self.meta.dtype.is_complex:
        return part("eq.Scalar", part("imag", self), 0)
    return part("ones_like", self, dtype=bool_)


@composite
def conj_physical(part: Part, self: Tensor) -> Tensor:
    """The complex conjugate, computed at once; real tensors are returned as they are."""
    return part("clone", part("conj", self)) if self.meta.dtype.is_complex else self


def conj_physical_(self: Tensor) -> Tensor:
    """The complex conjugate in place; a write, even where nothing changes."""
    if self.meta.dtype.is_complex:
        return apply("copy_", self, conj_physical(self))
    bump_version(self)
    return self
