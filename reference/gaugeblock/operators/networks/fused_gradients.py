"""Gradients in a few passes over memory, for float32 and float64 tensors on the CPU whose gradients nobody records."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...core.device import cpu
from ...core.dtype import float32, float64
from ...dispatch.keys import any_autograd
from ...tensor.hooks import SPECIAL
from ...tensor.tensor import Tensor, new_like
from ..invoke import apply
from .calls import suggested, write


def unrecorded(*tensors: Tensor) -> bool:
    """Return whether all are plain tensors of one of these dtypes on the CPU that no graph or mode follows."""
    dtype = tensors[0].meta.dtype
    plain = all(
        one.__class__ is Tensor and one.meta.device is cpu and not one.meta.lazy and one.meta.dtype is dtype
        for one in tensors
    )
    return plain and dtype in (float32, float64) and not SPECIAL and not any_autograd(tensors, {})


def fused(formula: str, self: Any, *others: Any) -> Any:
    """Return a formula of the tables over `self` and what broadcasts to it; None for tensors that are followed."""
    if not unrecorded(self, *others):
        return None
    return write(formula, new_like(suggested(self.meta)), [self, *others], self.meta.dtype)


def normalization_gradients(
    grad: Tensor,
    input: Tensor,
    mean: Tensor,
    inverse: Tensor,
    weight: Tensor | None,
    dims: Sequence[int],
    summed: Sequence[int],
    needed: tuple[bool, ...],
) -> tuple[Tensor | None, ...] | None:
    """Return the gradients of an input normalized over `dims`, of its weight, and of its bias.

    `mean` and `inverse`, of the deviation, broadcast to the input, as the weight does; the weight and the bias are the
    same along the `summed` dims. None for tensors that are followed, and without elements.
    """
    meta, dtype = input.meta, input.meta.dtype
    given = [one for one in (grad, input, mean, inverse, weight) if one is not None]
    if not meta.numel or not unrecorded(*given):
        return None
    normal, made, size = [input, mean, inverse], suggested(meta), prod(meta.sizes[dim] for dim in dims)
    of_channels = dims == summed
    weighted = grad if weight is None or of_channels else apply("mul.Tensor", grad, weight)
    own = None
    if needed[0] or of_channels:
        product = write("normalized.product", new_like(made), [*normal, weighted], dtype)
        aligned, total = (apply("sum.dim_IntList", one, dims, True) for one in (product, weighted))
    if needed[0]:
        factor = apply("mul.Tensor", inverse, weight) if of_channels and weight is not None else inverse
        means = [apply("div.Scalar", one, size) for one in (total, aligned)]
        own = write("normalized.gradient", new_like(made), [*normal, weighted, *means, factor], dtype)
    if of_channels:
        return own, *(apply("reshape", one, (-1,)) for one in (aligned, total))
    products = write("normalized.product", new_like(made), [*normal, grad], dtype) if needed[1] else None
    return own, *(
        one if one is None or not summed else apply("sum.dim_IntList", one, summed)
        for one in (products, grad if needed[2] else None)
    )
