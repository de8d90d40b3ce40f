"""Gradients of Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence

from ...calls.functions import tensor_ops as ops
from . import Tensor

Sizes = Sequence[int]
ADJOINT = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}
"""The scale of the adjoint of a transform with this scale; so is that of hfft in irfft, and of ihfft in rfft."""


def _fitted(tensor: Tensor, dim: int, size: int) -> Tensor:
    """A tensor cut, or filled up with zeros, to `size` along `dim`."""
    own = tensor.shape[dim]
    if own == size:
        return tensor
    return ops.constant_pad_nd(tensor, (0, 0) * (tensor.ndim - 1 - dim % tensor.ndim) + (0, size - own))


def _dims(shape: Sizes, s: int | Sizes | None, dim: int | Sizes | None) -> tuple[int, ...]:
    """The transformed dims; without any named the last, as many as `s` has lengths, or all."""
    if dim is None:
        count = len(shape) if s is None else 1 if isinstance(s, int) else len(s)
        return tuple(range(len(shape) - count, len(shape)))
    return (dim,) if isinstance(dim, int) else tuple(dim)


def fft_back(
    grad: Tensor, shape: Sizes, s: int | Sizes | None, dim: int | Sizes | None, norm: str | None, inverse: bool
) -> Tensor:
    """The gradient of a tensor of `shape` from that of its transform, or inverse transform, over dims: the adjoint."""
    dims = _dims(shape, s, dim)
    if not dims:
        return grad
    grad = (ops.fft_fftn if inverse else ops.fft_ifftn)(grad, None, dims, ADJOINT[norm])
    for one in dims:
        grad = _fitted(grad, one, shape[one])
    return grad


def rfft_back(
    grad: Tensor, shape: Sizes, s: int | Sizes | None, dim: int | Sizes | None, norm: str | None, conjugate: bool
) -> Tensor:
    """The gradient of a real tensor of `shape` from that of its one-sided transform, or of the conjugate of that."""
    dims = _dims(shape, s, dim)
    length = s if s is None or isinstance(s, int) else s[-1]
    length = shape[dims[-1]] if length is None or length == -1 else length
    full = _fitted(grad.conj() if conjugate else grad, dims[-1], length)
    return fft_back(full, shape, None, dims, ADJOINT[norm] if conjugate else norm, False)


def irfft_back(
    grad: Tensor, shape: Sizes, s: int | Sizes | None, dim: int | Sizes | None, norm: str | None, conjugate: bool
) -> Tensor:
    """The gradient of a one-sided spectrum of `shape`, or of one that is conjugated first, from that of the signal. All
    frequencies count twice but the zeroth and, for even lengths, the last."""
    dims = _dims(shape, s, dim)
    own = ADJOINT[norm] if conjugate else norm
    last, length = dims[-1], grad.shape[dims[-1]]
    half = ops.fft_rfft(grad, None, last, ADJOINT[own])
    kept = half.shape[last]
    twice = ops.ones((kept,), dtype=grad.dtype, device=grad.device)
    twice[1 : kept - (1 - length % 2)] = 2
    half = half * twice.reshape((-1,) + (1,) * (len(shape) - 1 - last % len(shape)))
    found = fft_back(_fitted(half, last, shape[last]), shape, None, dims[:-1], own, True)
    return found.conj() if conjugate else found
