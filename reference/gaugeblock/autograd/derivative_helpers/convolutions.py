"""Gradients of convolutions: convolutions again."""

from __future__ import annotations

from typing import Any

from ...operators.networks.convolution_weight import weight_gradient
from ..public import gb

Tensor = Any
Sizes = tuple[int, ...]


def _per_dim(count: int, *settings: Sizes) -> list[Sizes]:
    """Each setting with a value for every one of `count` dims."""
    return [tuple(values) * count if len(values) == 1 else tuple(values) for values in settings]


def convolution_input_back(
    grad: Tensor,
    weight: Tensor,
    shape: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    groups: int,
) -> Tensor:
    """The convolution of `grad` that goes the other way, for an input of `shape`."""
    count = len(shape) - 2
    stride, padding, dilation = _per_dim(count, stride, padding, dilation)
    if transposed:
        found = gb.convolution(grad, weight.conj(), None, stride, padding, dilation, False, [0] * count, groups)
        return _cut(found, shape)
    least = [
        (grad.shape[2 + k] - 1) * stride[k] - 2 * padding[k] + dilation[k] * (weight.shape[2 + k] - 1) + 1
        for k in range(count)
    ]
    extra = [shape[2 + k] - least[k] for k in range(count)]
    return gb.convolution(grad, weight.conj(), None, stride, padding, dilation, True, extra, groups)


def convolution_weight_back(
    grad: Tensor,
    input: Tensor,
    shape: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    groups: int,
) -> Tensor:
    """The convolution of the input with `grad` over all samples, cut to the kernel's `shape`."""
    count = len(shape) - 2
    stride, padding, dilation = _per_dim(count, stride, padding, dilation)
    small, large = (input, grad) if transposed else (grad, input)
    found = weight_gradient(small, large, shape, stride, padding, dilation, groups)
    if found is not None:
        return found
    wide, kernel = (grad, input.conj()) if transposed else (input.conj(), grad)
    parts = [
        _correlated(one, other, shape, stride, padding, dilation)
        for one, other in zip(wide.chunk(groups, 1), kernel.chunk(groups, 1), strict=True)
    ]
    return parts[0] if groups == 1 else gb.cat(parts, 0)


def _correlated(wide: Tensor, kernel: Tensor, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Tensor:
    """What each kernel element saw: channels take the place of samples, strides that of dilations."""
    none = [0] * (len(shape) - 2)
    found = gb.convolution(
        wide.transpose(0, 1), kernel.transpose(0, 1), None, dilation, padding, stride, False, none, 1
    ).transpose(0, 1)
    return _cut(found, shape)


def _cut(found: Tensor, shape: Sizes) -> Tensor:
    """What lies within `shape`; strides that do not divide, and output padding, leave more behind it."""
    for dim in range(2, len(shape)):
        if found.shape[dim] != shape[dim]:
            found = found.narrow(dim, 0, shape[dim])
    return found


def summed_but_dim(grad: Tensor, dim: int) -> Tensor:
    """`grad` summed over all dims but one."""
    return grad.sum([place for place in range(grad.ndim) if place != dim])


HELPERS: dict[str, Any] = {
    "convolution_input_back": convolution_input_back,
    "convolution_weight_back": convolution_weight_back,
    "summed_but_dim": summed_but_dim,
}
