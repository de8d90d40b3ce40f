"""Fourier transforms along one dim."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import preserve_format_strides
from ..arrays import outline_in, values
from .plans import check_length, check_norm, computed_dtype, one_dim
from .strides import fitted_layout, transformed_strides

HALVED, DOUBLED = "halved", "doubled"
"""What a transform does to the length: real to complex keeps the first half, complex to real restores both."""


def _along(
    operator: str,
    transform: Callable[..., Any],
    self: Tensor,
    n: int | None,
    dim: int,
    norm: str | None,
    length: str = "",
) -> Tensor:
    """The transform of `n` points along `dim`, cut or padded with zeros.

    Raises RuntimeError for no points, half precision, an unknown normalisation, IndexError for a dim out of range.
    """
    place = one_dim(operator, self, dim)
    mode = check_norm(norm)
    dtype = computed_dtype(operator, self, real=length == HALVED)
    size = self.meta.sizes[place]
    points = check_length(operator, n if n is not None else 2 * (size - 1) if length == DOUBLED else size)
    sizes = list(self.meta.sizes)
    sizes[place] = points // 2 + 1 if length == HALVED else points
    found = dtype.to_real() if length == DOUBLED else dtype.to_complex()
    cast = self.meta.dtype is not (dtype.to_complex() if length == DOUBLED else dtype)
    fitted = points // 2 + 1 if length == DOUBLED else points
    laid, strides = fitted_layout(self.meta, {place: fitted}, cast=cast)
    if operator == "hfft":
        strides = preserve_format_strides(laid, strides)
    strides = transformed_strides(sizes, strides, (place,))
    result, target = outline_in(sizes, strides, found, self.meta.device)
    if target is not None and not self.meta.numel:
        target[...] = 0
    elif target is not None and target.size:
        given = values(self).astype(dtype.numpy) if length == HALVED else values(self).astype(dtype.to_complex().numpy)
        target[...] = transform(given, points, place, mode)
    return result


def fft_fft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform."""
    return _along("fft", np.fft.fft, self, n, dim, norm)


def fft_ifft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of fft."""
    return _along("ifft", np.fft.ifft, self, n, dim, norm)


def fft_rfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first half of the transform of real numbers; the rest is its mirrored conjugate."""
    return _along("rfft", np.fft.rfft, self, n, dim, norm, HALVED)


def fft_irfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of rfft; `n` defaults to an even length."""
    return _along("irfft", np.fft.irfft, self, n, dim, norm, DOUBLED)


def fft_hfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The transform of half of a signal that equals its mirrored conjugate; the result is real."""
    return _along("hfft", np.fft.hfft, self, n, dim, norm, DOUBLED)


def fft_ihfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of hfft."""
    return _along("ihfft", np.fft.ihfft, self, n, dim, norm, HALVED)
