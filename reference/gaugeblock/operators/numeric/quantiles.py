"""Quantiles along a dim, with NaN spreading or left out."""

from __future__ import annotations

from math import prod

import numpy as np

from ...core.device import cpu
from ...core.dtype import float32, float64
from ...core.errors import wrap_dim
from ...tensor.array_view import array_of
from ...tensor.reshaping import reshape
from ...tensor.tensor import Tensor, new_like
from ...tensor.tensor_meta import default_strides, meta_of
from ..arrays import Array, values
from ..many_dims import has_many_dims

METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def _check(operator: str, self: Tensor, q: Tensor | float, interpolation: str) -> None:
    dtype = self.meta.dtype
    if not self.meta.numel:
        raise RuntimeError(f"{operator}() input tensor must be non-empty")
    if dtype is not float32 and dtype is not float64:
        raise RuntimeError(f"{operator}() input tensor must be either float or double dtype, got {dtype.name}")
    if isinstance(q, Tensor):
        if q.meta.ndim > 1:
            raise RuntimeError(f"{operator}() q must be a scalar or 1D tensor, got {q.meta.ndim} dims")
        if q.meta.dtype is not dtype:
            raise RuntimeError(
                f"{operator}() q tensor must be same dtype as the input tensor, got {q.meta.dtype.name}"
            )
    elif not 0 <= q <= 1:
        raise RuntimeError(f"{operator}() q must be in the range [0, 1] but got {q}")
    if interpolation not in METHODS:
        raise RuntimeError(
            f"{operator}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            f"{interpolation}"
        )


def quantiles(
    operator: str,
    self: Tensor,
    q: Tensor | float,
    dim: int | None,
    keepdim: bool,
    interpolation: str,
    ignore_nan: bool,
) -> Tensor:
    """The values below which shares `q` of the elements lie; a vector of shares is the first dim of the result.

    Raises RuntimeError for no elements, other dtypes than float32 and float64, shares outside [0, 1] and an unknown
    interpolation, IndexError for a dim out of range.
    """
    _check(operator, self, q, interpolation)
    sizes = self.meta.sizes
    place = 0 if dim is None else wrap_dim(operator, dim, len(sizes))
    if dim is None:
        rest: tuple[int, ...] = (1,) * len(sizes) if keepdim else ()
    elif not sizes:
        rest = ()
    else:
        rest = tuple(1 if d == place else size for d, size in enumerate(sizes) if keepdim or d != place)
    first = q.meta.sizes if isinstance(q, Tensor) else ()
    if has_many_dims(self.meta):
        ends = (prod(sizes[:place]), sizes[place], prod(sizes[place + 1 :])) if dim is not None else (-1,)
        inner = None if dim is None else 1
        fewer = quantiles(operator, reshape(self, ends), q, inner, False, interpolation, ignore_nan)
        return reshape(fewer, (*first, *rest))
    strides = default_strides((*rest, *first))
    strides = (strides[-1], *strides[:-1]) if first else strides
    result = new_like(meta_of((*first, *rest), strides, self.meta.dtype, self.meta.device))
    if self.meta.device is not cpu:
        return result
    target = array_of(result)
    dtype = self.meta.dtype.numpy
    array = values(self).reshape(-1) if dim is None or not sizes else np.moveaxis(values(self), place, -1)
    shares = values(q).reshape(-1) if isinstance(q, Tensor) else np.asarray([q], dtype)
    if not ((shares >= 0) & (shares <= 1)).all():
        raise RuntimeError(f"{operator}() q values must be in the range [0, 1]")
    with np.errstate(all="ignore"):
        found = _along_last(np.sort(array, -1), shares.astype(dtype), interpolation, ignore_nan)
    target[...] = np.moveaxis(found, -1, 0).reshape(target.shape)
    return result


def _along_last(ordered: Array, shares: Array, interpolation: str, ignore_nan: bool) -> Array:
    """The quantiles of sorted values, NaN last, along the last dim."""
    missing = np.isnan(ordered)
    count = (~missing).sum(-1)[..., None] if ignore_nan else np.full((*ordered.shape[:-1], 1), ordered.shape[-1])
    ranks = shares * (count - 1).astype(ordered.dtype)
    ranks = np.maximum(ranks, 0).astype(ordered.dtype)
    if not ignore_nan:
        ranks = np.where(missing[..., -1:], ordered.shape[-1] - 1, ranks).astype(ordered.dtype)
    if interpolation in ("lower", "higher", "nearest"):
        ranks = {"lower": np.floor, "higher": np.ceil, "nearest": np.rint}[interpolation](ranks)
    below, above = np.floor(ranks), np.ceil(ranks)
    low = np.take_along_axis(ordered, below.astype(np.int64), -1)
    high = np.take_along_axis(ordered, above.astype(np.int64), -1)
    weight = np.full_like(ranks, 0.5) if interpolation == "midpoint" else ranks - below
    blended = np.where(weight < 0.5, low + weight * (high - low), high - (high - low) * (1 - weight))
    return np.where(above == below, low, blended).astype(ordered.dtype)


def quantile(
    self: Tensor, q: Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The quantiles of a tensor of shares; NaN spreads."""
    return quantiles("quantile", self, q, dim, keepdim, interpolation, False)


def quantile_scalar(
    self: Tensor, q: float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The quantile of one share; NaN spreads."""
    return quantiles("quantile", self, q, dim, keepdim, interpolation, False)


def nanquantile(
    self: Tensor, q: Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The quantiles of a tensor of shares, NaN left out."""
    return quantiles("nanquantile", self, q, dim, keepdim, interpolation, True)


def nanquantile_scalar(
    self: Tensor, q: float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The quantile of one share, NaN left out."""
    return quantiles("nanquantile", self, q, dim, keepdim, interpolation, True)
