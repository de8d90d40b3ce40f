"""Gradients of normalizations by the statistics that the forward pass has found, in a few passes over memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...core.device import cpu
from ...core.dtype import float32, float64
from ...dispatch.keys import any_autograd
from ...tensor.hooks import SPECIAL
from ...tensor.tensor import Tensor, new_like
from ..invoke import apply
from .calls import suggested, write


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
    same along the `summed` dims. None for what is recorded, watched by modes, on other devices, empty, or of other
    dtypes than float32 and float64.
    """
    meta, dtype = input.meta, input.meta.dtype
    given = [one for one in (grad, input, mean, inverse, weight) if one is not None]
    plain = all(
        one.__class__ is Tensor and one.meta.device is cpu and not one.meta.lazy and one.meta.dtype is dtype
        for one in given
    )
    if not plain or dtype not in (float32, float64) or SPECIAL or any_autograd(given, {}) or not meta.numel:
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
