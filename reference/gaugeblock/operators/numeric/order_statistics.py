"""Quantiles, the most frequent value, and runs of equal elements."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...core.device import cpu
from ...core.dtype import float32, float64, int64
from ...core.errors import type_error, wrap_dim
from ...core.promotion import UPSTREAM_NAMES
from ...tensor.array_view import array_of
from ...tensor.reshaping import reshape
from ...tensor.tensor import Tensor, new_like
from ...tensor.tensor_meta import default_strides, meta_of
from ..arrays import Array, along, filled, from_array, has_many_dims, outline, values
from ..invoke import invoke, pair
from ..searching import parts_first
from ..sorting import sortable

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
    self: Tensor,
    q: Tensor | float,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The quantiles of one share, or of a tensor of shares; NaN spreads."""
    return quantiles("quantile", self, q, dim, keepdim, interpolation, False)


def nanquantile(
    self: Tensor,
    q: Tensor | float,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The quantiles of one share, or of a tensor of shares, NaN left out."""
    return quantiles("nanquantile", self, q, dim, keepdim, interpolation, True)


quantile_scalar, nanquantile_scalar = quantile, nanquantile


def mode(self: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """(values, indices): the most frequent value along `dim`, the smallest of several, and its last place.

    Raises IndexError for a dim that is out of range or empty, NotImplementedError for complex values.
    """
    meta = self.meta
    if has_many_dims(meta):
        return along("mode", self, dim, lambda three: mode(three, 1, True), keepdim=keepdim)
    place = wrap_dim("mode", dim, meta.ndim)
    if meta.dtype.is_complex:
        raise NotImplementedError(f"\"mode_cpu\" not implemented for '{UPSTREAM_NAMES[meta.dtype.name]}'")
    if meta.ndim and not meta.sizes[place]:
        raise IndexError(f"mode(): Expected reduction dim {place} to have non-zero size.")
    sizes = tuple(1 if d == place else size for d, size in enumerate(meta.sizes) if keepdim or d != place)
    found, chosen = outline(sizes, meta.dtype, meta.device)
    indices, places = outline(sizes, int64, meta.device)
    if chosen is not None and places is not None and chosen.size:
        array = np.moveaxis(sortable(values(self)).reshape(meta.sizes or (1,)), place, -1)
        order = np.argsort(array, -1, kind="stable")
        ordered = np.take_along_axis(array, order, -1)
        new = np.ones(ordered.shape, bool)
        new[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
        k = np.arange(ordered.shape[-1])
        length = k - np.maximum.accumulate(np.where(new, k, 0), -1)
        last = np.argmax(length, -1)[..., None]
        chosen[...] = np.take_along_axis(ordered, last, -1).reshape(sizes)
        places[...] = np.take_along_axis(order, last, -1).reshape(sizes)
    return pair("mode", found, indices)


def unique_consecutive(
    self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The first element (or part along `dim`) of every run, each element's run, and the lengths of the runs.

    What is not asked for has no elements. Raises IndexError for a dim out of range, NotImplementedError for complex
    values and for a meta tensor, whose runs are not known.
    """
    meta = self.meta
    if meta.dtype.is_complex:
        raise NotImplementedError(f"\"unique\" not implemented for '{UPSTREAM_NAMES[meta.dtype.name]}'")
    if meta.device.type != "cpu":
        raise NotImplementedError("unique_consecutive: the sizes depend on data, which a meta tensor has not")
    array = values(self)
    nothing = filled((0,), int64, 0)
    if dim is None:
        flat = array.reshape(-1)
        starts = np.ones(flat.shape, bool)
        starts[1:] = flat[1:] != flat[:-1]
        found, sizes = flat[starts], meta.sizes
    else:
        place = wrap_dim("unique_consecutive", dim, meta.ndim)
        array = array if array.ndim else array.reshape(1)
        moved = np.moveaxis(array, place, 0)
        starts = np.ones(len(moved), bool)
        rest = tuple(range(1, moved.ndim))
        starts[1:] = (moved[1:] != moved[:-1]).any(rest)
        found, sizes = np.compress(starts, array, place), (len(moved),)
        return_inverse = return_counts = True
    run = np.cumsum(starts) - 1
    inverse = filled(sizes, int64, run.reshape(sizes)) if return_inverse else nothing
    lengths = np.diff(np.append(np.flatnonzero(starts), len(starts)))
    kept = from_array(found, meta.dtype) if dim is None else parts_first(found, place, meta.dtype)
    return kept, inverse, from_array(lengths, int64) if return_counts else nothing


def public_unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The first of every run; a tuple with each element's run and the lengths of the runs when asked for."""
    if not isinstance(input, Tensor):
        type_error("unique_consecutive", "input", input, "Tensor")
    found, inverse, counts = invoke("unique_consecutive", input, return_inverse, return_counts, dim)
    wanted = [found, *([inverse] if return_inverse else []), *([counts] if return_counts else [])]
    return tuple(wanted) if len(wanted) > 1 else found
