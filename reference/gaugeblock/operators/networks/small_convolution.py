"""Convolutions of a few thousand products: one call of a compiled loop, which a binding can repeat."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ...core.device import cpu
from ...core.dtype import float32, float64
from ...kernels.windows import convolution_kernel
from ...tensor.tensor import Tensor, new_like
from ...tensor.tensor_meta import TensorMeta
from .convolution_checks import Convolution

MOST_PRODUCTS = 1 << 14
"""Beyond these a product of matrices is quicker, whatever it takes to prepare it."""
Ints = tuple[int, ...]
Runner = Callable[[Tensor, Tensor, Tensor | None], Tensor]


def small_convolution(
    input: TensorMeta, weight: TensorMeta, bias: TensorMeta | None, out: TensorMeta, plan: Convolution
) -> Runner | None:
    """What convolves further tensors of these metas; None where they are large, or do not lie row-major."""
    operands = [one for one in (input, weight, bias, out) if one is not None]
    plain = all(one.contiguous and not one.lazy and one.device is cpu and one.dtype is out.dtype for one in operands)
    if not plain or out.dtype not in (float32, float64) or plan.transposed or not 0 < out.numel <= MOST_PRODUCTS:
        return None
    if not 0 < out.numel * prod(weight.sizes[1:]) <= MOST_PRODUCTS:
        return None
    channels = (out.sizes[0], plan.groups, out.sizes[1] // plan.groups, weight.sizes[1])
    spatial = [(out.sizes[2:], 1), (input.sizes[2:], 1), (weight.sizes[2:], 1), (plan.stride, 1), (plan.padding, 0),
               (plan.dilation, 1)]  # fmt: skip
    shape = [size for sizes, filler in spatial for size in (*(filler,) * (3 - len(sizes)), *sizes)]
    tail = (*channels, *shape, int(bias is not None), 1)
    kernel = convolution_kernel(out.dtype)

    def run(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        result = new_like(out)
        added = weight if bias is None else bias
        kernel(result.pointer, input.pointer, weight.pointer, added.pointer, *tail)
        return result

    return run
