"""Answers about whole tensors: equal, allclose, is_nonzero, is_same_size, item, and questions about dtypes."""

from __future__ import annotations

from collections.abc import Callable

from ..core import lazy_numpy as np
from ..core.promotion import UPSTREAM_NAMES, promote_types
from ..tensor.array_view import FEW, kept_array
from ..tensor.getters import is_complex, is_floating_point, is_signed
from ..tensor.scalars import item, to_bool
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta
from .arrays import check_same_device, values
from .invoke import apply
from .plan import Planned, plannable
from .registration import kernel


@kernel("equal", "CPU")
@plannable
def equal(self: Tensor, other: Tensor) -> bool | Planned[bool]:
    """Return whether sizes and, after promotion, all values are the same; NaN equals nothing. Raises RuntimeError."""
    check_same_device("equal", self, other)
    left, right = self.meta, other.meta
    if left.sizes != right.sizes:
        return False
    if left.dtype is right.dtype:
        same = bool((values(self) == values(other)).all())
        return Planned(same, _equal_call(left, right)) if 0 < left.numel <= FEW else same
    wide = promote_types(left.dtype, right.dtype).numpy
    return bool(np.array_equal(values(self).astype(wide), values(other).astype(wide)))


def _equal_call(left: TensorMeta, right: TensorMeta) -> Callable[[Tensor, Tensor], bool]:
    def run(self: Tensor, other: Tensor) -> bool:
        same = kept_array(left, self.pointer) == kept_array(right, other.pointer)
        return b"\0" not in same.tobytes()

    return run


@kernel("is_same_size", "CPU", "Meta")
def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Return whether the sizes are the same."""
    return self.meta.sizes == other.meta.sizes


@kernel("is_nonzero")
def is_nonzero(self: Tensor) -> bool:
    """Return whether the only element is not zero; NaN is not. Raises RuntimeError unless there is exactly one."""
    return to_bool(self)


@kernel("allclose", "CPU")
def allclose(self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Return whether ``|self - other| <= atol + rtol * |other|`` everywhere; infinities only match themselves. NaN
    matches NaN only with `equal_nan`. Raises RuntimeError for dtypes that differ and negative tolerances."""
    check_same_device("allclose", self, other)
    dtype = self.meta.dtype
    if dtype is not other.meta.dtype:
        raise RuntimeError(
            f"{UPSTREAM_NAMES[dtype.name]} did not match {UPSTREAM_NAMES[other.meta.dtype.name]}: allclose() wants "
            f"self and other of one dtype"
        )
    for value, name in ((rtol, "rtol"), (atol, "atol")):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")
    return to_bool(apply("all", apply("isclose", self, other, rtol, atol, equal_nan)))


kernel("item", "CPU")(item)
for _question in (is_floating_point, is_complex, is_signed):
    kernel(_question.__name__, "CompositeExplicitAutograd")(_question)
