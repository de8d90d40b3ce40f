"""Answers about whole tensors: equal, allclose, is_nonzero, is_same_size, item, and questions about dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.promotion import UPSTREAM_NAMES
from ..iteration.tensor_iterator import TensorIterator
from ..kernels.equality import equality_call
from ..tensor.getters import is_complex, is_floating_point, is_signed
from ..tensor.scalars import item, to_bool
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta, recalled
from .arrays import check_same_device
from .invoke import apply
from .plan import Planned, plannable
from .registration import kernel

MOST_COMPARED = 1 << 16
"""Elements that one call compares without giving way to other threads."""


@kernel("equal", "CPU")
@plannable
def equal(self: Tensor, other: Tensor) -> bool | Planned[bool]:
    """Return whether sizes and, after promotion, all values are the same; NaN equals nothing. Raises RuntimeError."""
    check_same_device("equal", self, other)
    left, right = self.meta, other.meta
    if left.sizes != right.sizes or not left.numel:
        return left.sizes == right.sizes
    call = recalled(left.plans, ("equal", right), _equality, left, right)
    found = None if call is None else call(self, other)
    if found is None:
        return not to_bool(apply("any", apply("ne.Tensor", self, other)))
    return Planned(found, call)


def _equality(left: TensorMeta, right: TensorMeta) -> Callable[[Any, Any], bool | None] | None:
    """Return the call in machine code for elements of one dtype, of which it takes the first ones if they are many."""
    dtype, parts = left.dtype.to_real(), 2 if left.dtype.is_complex else 1
    if left.dtype is not right.dtype or left.lazy or right.lazy:
        return None
    strides = [(*one.byte_strides, dtype.itemsize) for one in (left, right)]
    laid = TensorIterator.restrided((*left.sizes, parts), strides, [dtype, dtype])
    length, rows, *_ = (*laid.shape, 1, 1)
    (step, down, *_), (other_step, other_down, *_) = ((*one, 0, 0) for one in laid.strides)
    first = min(length, MOST_COMPARED), min(rows, max(1, MOST_COMPARED // max(1, length)))
    more = first[0] * first[1] < left.numel * parts
    return equality_call(dtype, first, (down, other_down), (step, other_step), more=more)


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
