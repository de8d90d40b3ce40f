"""Gradients of normalizations. Statistics are computed again where the gradient itself is to be differentiated."""

from __future__ import annotations

from typing import Any

from ...core.dtype import bfloat16, float16
from ...core.limits import finfo
from ...operators.networks.row_normalization import normalization_gradients
from ..forward_mode import is_differentiated

Tensor = Any
Gradients = tuple[Any, ...]


def _wide(*tensors: Tensor | None) -> tuple[Any, ...]:
    """Half floats as float32, in which the sums of a gradient cancel less; everything else as it is."""
    halves = (float16, bfloat16)
    return tuple(t.float() if t is not None and t.dtype in halves else t for t in tensors)


def _normal(input: Tensor, dims: list[int], eps: float) -> tuple[Tensor, Tensor]:
    centred = input - input.mean(dims, keepdim=True)
    inverse = ((centred * centred).mean(dims, keepdim=True) + eps).rsqrt()
    return centred * inverse, inverse


def layer_norm_back(
    grad: Tensor, input: Tensor, normalized_shape: tuple[int, ...], mean: Tensor, inverse: Tensor,
    weight: Tensor | None, eps: float, needed: tuple[bool, ...],
) -> Gradients:  # fmt: skip
    """The gradients of input, weight and bias; the last dims are normalized."""
    dims = list(range(input.ndim - len(normalized_shape), input.ndim))
    summed = list(range(dims[0]))
    if is_differentiated():
        normal, inverse = _normal(input, dims, eps)
    else:
        found = normalization_gradients(grad, input, mean, inverse, weight, dims, summed, needed)
        if found is not None:
            return found
        normal = (input - mean) * inverse
    return _gradients(grad, normal, inverse, weight, dims, summed, needed)


def _gradients(
    grad: Tensor, normal: Tensor, inverse: Tensor, weight: Tensor | None, dims: list[int], summed: list[int],
    needed: tuple[bool, ...], *, fixed: bool = False,
) -> Gradients:  # fmt: skip
    """The gradients of an input normalized over dims, by `fixed` statistics or its own, and of its parameters, which
    are the same along the `summed` dims."""
    weighted = grad if weight is None else grad * weight
    own = None
    if needed[0]:
        slope = weighted
        if not fixed:
            aligned = (weighted * normal).mean(dims, keepdim=True)
            slope = weighted - weighted.mean(dims, keepdim=True) - normal * aligned
        own = inverse * slope
    return own, _summed(grad * normal, summed) if needed[1] else None, _summed(grad, summed) if needed[2] else None


def _summed(grad: Tensor, dims: list[int]) -> Tensor:
    return grad.sum(dims) if dims else grad


def batch_norm_back(
    grad: Tensor, input: Tensor, weight: Tensor | None, running_mean: Tensor, running_var: Tensor, mean: Tensor,
    inverse: Tensor, training: bool, eps: float, needed: tuple[bool, ...],
) -> Gradients:  # fmt: skip
    """The gradients of input, weight and bias; all dims but dim 1 are normalized, or shifted by fixed statistics.
    `mean` and `inverse` are those of the batch, used where the gradient itself is not recorded."""
    grad, input, weight, running_mean, running_var = _wide(grad, input, weight, running_mean, running_var)
    dims = [dim for dim in range(input.ndim) if dim != 1]
    shape = (1, -1, *(1,) * (input.ndim - 2))
    weight = None if weight is None else weight.reshape(shape)
    if training and not is_differentiated():
        statistics = mean.reshape(shape), inverse.reshape(shape)
        found = normalization_gradients(grad, input, *statistics, weight, dims, dims, needed)
        if found is not None:
            return found
    if training:
        normal, inverse = _normal(input, dims, eps)
    else:
        inverse = (running_var.reshape(shape) + eps).rsqrt()
        normal = (input - running_mean.reshape(shape)) * inverse
    return _gradients(grad, normal, inverse, weight, dims, dims, needed, fixed=not training)


def group_norm_back(
    grad: Tensor, input: Tensor, weight: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float,
    needed: tuple[bool, ...],
) -> Gradients:  # fmt: skip
    """The gradients of input, weight and bias; the channels of a group and all places are normalized together."""
    grad, input, weight = _wide(grad, input, weight)
    grouped = (N, group, C // group, HxW)
    weight = None if weight is None else weight.reshape((group, C // group, 1))
    normal, inverse = _normal(input.reshape(grouped), [2, 3], eps)
    own, *rest = _gradients(grad.reshape(grouped), normal, inverse, weight, [2, 3], [0, 3], needed)
    return (
        None if own is None else own.reshape(tuple(input.shape)),
        *(None if part is None else part.reshape((C,)) for part in rest),
    )


def rms_norm_back(
    grad: Tensor, input: Tensor, normalized_shape: tuple[int, ...], weight: Tensor | None, eps: float | None,
    needed: tuple[bool, ...],
) -> Gradients:  # fmt: skip
    """The gradients of input and weight; the last dims are divided by their root mean square."""
    dims = list(range(input.ndim - len(normalized_shape), input.ndim))
    least = finfo(input.dtype).eps if eps is None else eps
    inverse = ((input * input).mean(dims, keepdim=True) + least).rsqrt()
    normal, inverse = (input * inverse).conj(), inverse.conj()
    weighted = grad if weight is None else grad * weight.conj()
    own = inverse * (weighted - normal * (weighted * normal).mean(dims, keepdim=True)) if needed[0] else None
    return own, _summed(grad * normal, list(range(dims[0]))) if needed[1] else None
