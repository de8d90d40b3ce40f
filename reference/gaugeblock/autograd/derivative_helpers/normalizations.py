"""Gradients of normalizations. Statistics are computed again where the gradient itself is to be differentiated."""

from __future__ import annotations

from typing import Any

from ...core.dtype import bfloat16, float16
from ...core.limits import finfo
from ..grad_mode import is_grad_enabled

Tensor = Any
Gradients = tuple[Any, ...]


def _wide(*tensors: Tensor | None) -> tuple[Any, ...]:
    """Half floats as float32, in which the sums of a gradient cancel less; everything else as it is."""
    halves = (float16, bfloat16)
    return tuple(t.float() if t is not None and t.dtype in halves else t for t in tensors)


def _through(grad: Tensor, normal: Tensor, inverse: Tensor, dims: list[int]) -> Tensor:
    """Return the gradient of x in (x - mean) * inverse over dims, from that of the normalized values."""
    aligned = (grad * normal).mean(dims, keepdim=True)
    return inverse * (grad - grad.mean(dims, keepdim=True) - normal * aligned)


def _normal(input: Tensor, dims: list[int], eps: float) -> tuple[Tensor, Tensor]:
    centred = input - input.mean(dims, keepdim=True)
    inverse = ((centred * centred).mean(dims, keepdim=True) + eps).rsqrt()
    return centred * inverse, inverse


def layer_norm_back(
    grad: Tensor,
    input: Tensor,
    normalized_shape: tuple[int, ...],
    mean: Tensor,
    inverse: Tensor,
    weight: Tensor | None,
    eps: float,
    needed: tuple[bool, ...],
) -> Gradients:
    """The gradients of input, weight and bias; the last dims are normalized."""
    dims = list(range(input.ndim - len(normalized_shape), input.ndim))
    if is_grad_enabled():
        normal, inverse = _normal(input, dims, eps)
    else:
        normal = (input - mean) * inverse
    weighted = grad if weight is None else grad * weight
    lead = list(range(dims[0]))
    return (
        _through(weighted, normal, inverse, dims) if needed[0] else None,
        _summed(grad * normal, lead) if needed[1] else None,
        _summed(grad, lead) if needed[2] else None,
    )


def _summed(grad: Tensor, dims: list[int]) -> Tensor:
    return grad.sum(dims) if dims else grad


def batch_norm_back(
    grad: Tensor,
    input: Tensor,
    weight: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
    eps: float,
    needed: tuple[bool, ...],
) -> Gradients:
    """The gradients of input, weight and bias; all dims but dim 1 are normalized, or shifted by fixed statistics."""
    grad, input, weight, running_mean, running_var = _wide(grad, input, weight, running_mean, running_var)
    dims = [dim for dim in range(input.ndim) if dim != 1]
    shape = (1, -1, *(1,) * (input.ndim - 2))
    scaled = grad if weight is None else grad * weight.reshape(shape)
    if training:
        normal, inverse = _normal(input, dims, eps)
        own = _through(scaled, normal, inverse, dims) if needed[0] else None
    else:
        inverse = (running_var.reshape(shape) + eps).rsqrt()
        normal = (input - running_mean.reshape(shape)) * inverse
        own = scaled * inverse if needed[0] else None
    return own, (grad * normal).sum(dims) if needed[1] else None, grad.sum(dims) if needed[2] else None


def group_norm_back(
    grad: Tensor,
    input: Tensor,
    weight: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
    needed: tuple[bool, ...],
) -> Gradients:
    """The gradients of input, weight and bias; the channels of a group and all places are normalized together."""
    grad, input, weight = _wide(grad, input, weight)
    grouped = (N, group, (C // group) * HxW)
    normal, inverse = _normal(input.reshape(grouped), [2], eps)
    places, channels = grad.reshape((N, C, HxW)), normal.reshape((N, C, HxW))
    weighted = places if weight is None else places * weight.reshape((1, C, 1))
    own = _through(weighted.reshape(grouped), normal, inverse, [2]).reshape(tuple(input.shape)) if needed[0] else None
    return own, (places * channels).sum((0, 2)) if needed[1] else None, places.sum((0, 2)) if needed[2] else None


def rms_norm_back(
    grad: Tensor,
    input: Tensor,
    normalized_shape: tuple[int, ...],
    weight: Tensor | None,
    eps: float | None,
    needed: tuple[bool, ...],
) -> Gradients:
    """The gradients of input and weight; the last dims are divided by their root mean square."""
    dims = list(range(input.ndim - len(normalized_shape), input.ndim))
    least = finfo(input.dtype).eps if eps is None else eps
    inverse = ((input * input).mean(dims, keepdim=True) + least).rsqrt()
    normal, inverse = (input * inverse).conj(), inverse.conj()
    weighted = grad if weight is None else grad * weight.conj()
    own = inverse * (weighted - normal * (weighted * normal).mean(dims, keepdim=True)) if needed[0] else None
    return own, _summed(grad * normal, list(range(dims[0]))) if needed[1] else None
