"""Fourier transforms along several dims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import preserve_format_strides
from ..arrays import Array, outline_in, values
from .lines import DOUBLED, HALVED
from .plans import OPPOSITE, check_length, check_norm, computed_dtype, dims_and_sizes
from .strides import Ints, fitted_layout, transformed_strides

Sizes = Sequence[int] | int | None
PLANE = (-2, -1)


def _over(
    operator: str, transform: Callable[..., Any], self: Tensor, s: Sizes, dim: Sizes, norm: str | None, length: str = ""
) -> Tensor:
    """The transform along several dims, the last of which is halved or doubled.

    Raises RuntimeError for no points or dims, half precision, an unknown normalisation, IndexError.
    """
    dims, shape = dims_and_sizes(operator, self, s, dim)
    mode = check_norm(norm)
    dtype = computed_dtype(operator, self, real=length == HALVED)
    if length and not dims:
        raise RuntimeError(f"{operator} must transform at least one axis")
    sizes, points = list(self.meta.sizes), []
    for k, (place, wanted) in enumerate(zip(dims, shape, strict=True)):
        last, size = k == len(dims) - 1, sizes[place]
        own = 2 * (size - 1) if last and length == DOUBLED else size
        points.append(check_length(operator, own if wanted == -1 else wanted))
        sizes[place] = points[-1] // 2 + 1 if last and length == HALVED else points[-1]
    found = dtype.to_real() if length == DOUBLED else dtype.to_complex()
    cast = self.meta.dtype is not (dtype if length == HALVED else dtype.to_complex())
    strides = _strides_over(operator, self, dims, points, sizes, length, cast=cast)
    result, target = outline_in(sizes, strides, found, self.meta.device)
    if target is not None and not self.meta.numel:
        target[...] = 0
    elif target is not None and target.size:
        given = values(self).astype(dtype.numpy) if length == HALVED else values(self).astype(dtype.to_complex().numpy)
        target[...] = transform(given, points, dims, mode) if dims else given
    return result


def _strides_over(
    operator: str, self: Tensor, dims: Ints, points: list[int], sizes: list[int], length: str, *, cast: bool
) -> Ints:
    """Return the strides of a result of `sizes`; those of a transform in several steps follow from its steps."""
    given = dict(zip(dims, points, strict=True))
    if length == DOUBLED:
        given[dims[-1]] = points[-1] // 2 + 1
    fitted, strides = fitted_layout(self.meta, given, cast=cast)
    if not dims:
        return preserve_format_strides(fitted, strides)
    if operator == "hfftn" and not dims[:-1]:
        strides = preserve_format_strides(fitted, strides)
    if length == HALVED and operator == "ihfftn":
        strides = transformed_strides(sizes, strides, dims[-1:])
        return transformed_strides(sizes, strides, dims[:-1]) if dims[:-1] else strides
    if length == DOUBLED:
        if dims[:-1]:
            strides = transformed_strides(fitted, strides, dims[:-1])
        return transformed_strides(sizes, strides, dims[-1:])
    return transformed_strides(sizes, strides, dims, last=length == HALVED)


def _hermitian(array: Array, points: list[int], dims: tuple[int, ...], norm: str) -> Array:
    return np.fft.irfftn(np.conjugate(array), points, dims, OPPOSITE[norm])


def _inverse_hermitian(array: Array, points: list[int], dims: tuple[int, ...], norm: str) -> Array:
    return np.conjugate(np.fft.rfftn(array, points, dims, OPPOSITE[norm]))


def fft_fftn(self: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform over dims, all by default."""
    return _over("fftn", np.fft.fftn, self, s, dim, norm)


def fft_ifftn(self: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """The inverse of fftn."""
    return _over("ifftn", np.fft.ifftn, self, s, dim, norm)


def fft_rfftn(self: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """The transform of real numbers, the last dim halved."""
    return _over("rfftn", np.fft.rfftn, self, s, dim, norm, HALVED)


def fft_irfftn(self: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """The inverse of rfftn."""
    return _over("irfftn", np.fft.irfftn, self, s, dim, norm, DOUBLED)


def fft_hfftn(self: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """hfft along the last dim, fft along the others."""
    return _over("hfftn", _hermitian, self, s, dim, norm, DOUBLED)


def fft_ihfftn(self: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """The inverse of hfftn."""
    return _over("ihfftn", _inverse_hermitian, self, s, dim, norm, HALVED)


def fft_fft2(self: Tensor, s: Sizes = None, dim: Sizes = PLANE, norm: str | None = None) -> Tensor:
    """fftn over two dims."""
    return fft_fftn(self, s, dim, norm)


def fft_ifft2(self: Tensor, s: Sizes = None, dim: Sizes = PLANE, norm: str | None = None) -> Tensor:
    """ifftn over two dims."""
    return fft_ifftn(self, s, dim, norm)


def fft_rfft2(self: Tensor, s: Sizes = None, dim: Sizes = PLANE, norm: str | None = None) -> Tensor:
    """rfftn over two dims."""
    return fft_rfftn(self, s, dim, norm)


def fft_irfft2(self: Tensor, s: Sizes = None, dim: Sizes = PLANE, norm: str | None = None) -> Tensor:
    """irfftn over two dims."""
    return fft_irfftn(self, s, dim, norm)


def fft_hfft2(self: Tensor, s: Sizes = None, dim: Sizes = PLANE, norm: str | None = None) -> Tensor:
    """hfftn over two dims."""
    return fft_hfftn(self, s, dim, norm)


def fft_ihfft2(self: Tensor, s: Sizes = None, dim: Sizes = PLANE, norm: str | None = None) -> Tensor:
    """ihfftn over two dims."""
    return fft_ihfftn(self, s, dim, norm)
