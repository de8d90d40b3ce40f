"""Quantiles, histograms, covariances, differences and areas, on widened operands."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor
from typing import Any

import numpy as np

from ..backend import Array
from .moves import Oracle
from .near import Near, Refused, Undefined, exactly
from .totals import norm, whole

_EDGE = 1e-6


def largest(x: Array) -> Any:
    return np.max(np.abs(x), initial=0)


def _between(rows: Array, q: float, how: str) -> Array:
    """The element, or mean of two, at the share ``q`` of sorted rows (their last dim)."""
    place = q * (rows.shape[-1] - 1)
    low, high = rows[..., floor(place)], rows[..., ceil(place)]
    share = np.longdouble(place) - floor(place)
    return np.asarray({
        "linear": low + share * (high - low), "midpoint": (low + high) / 2, "lower": low, "higher": high,
        "nearest": rows[..., round(place)],
    }[how])  # fmt: skip


def quantile(x: Array, q: Any, dim: int | None, keepdim: bool, how: str, ignore: bool = False) -> Near:
    """Over a dim or all; one result for each ``q``, in a leading dim if it is a tensor of one. NaN, unless ignored,
    makes NaN."""
    rows = x.reshape(-1) if dim is None or not x.ndim else np.moveaxis(x, dim, -1)
    if not rows.size:
        raise Refused("no elements")
    size = largest(rows[~np.isnan(rows)]) if how in ("linear", "midpoint") else 0
    rows = np.sort(rows, axis=-1)
    shares = np.asarray(q, np.float64)
    found = np.empty((shares.size, *rows.shape[:-1]), rows.dtype)
    for k, share in enumerate(shares.reshape(-1)):
        found[k] = _row_by_row(rows, float(share), how, ignore)
    if keepdim and x.ndim:
        found = found.reshape(len(found), *[1] * x.ndim) if dim is None else np.expand_dims(found, dim % x.ndim + 1)
    return Near(found.reshape(shares.shape + found.shape[1:]), size, 4)


def _row_by_row(rows: Array, q: float, how: str, ignore: bool) -> Array:
    found = np.empty(rows.shape[:-1], rows.dtype)
    for at in np.ndindex(*found.shape):
        valid = rows[at][~np.isnan(rows[at])]
        spoilt = len(valid) == 0 or (len(valid) < rows.shape[-1] and not ignore)
        found[at] = np.nan if spoilt else _between(valid, q, how)
    return found


def bincount(x: Array, weights: Array | None, least: int) -> Near:
    """Sums of weights of float32 are of that dtype, all others of float64."""
    size = max(int(x.max(initial=0)) + 1 if x.size else 0, least)
    if weights is None or not x.size:
        return Near(np.array([(x == k).sum() for k in range(size)], np.int64), kind="int64")
    sums = np.array([weights[x == k].astype(np.longdouble).sum() for k in range(size)], np.longdouble)
    return Near(sums, float(largest(weights)) * x.size, 4, "float32" if weights.dtype == np.float32 else "float64")


def binned(x: Array, edges: Array, weight: Array | None) -> Array:
    """The weight of the elements from each edge up to the next, the last one included."""
    share = np.ones(x.shape, np.longdouble) if weight is None else weight
    last = len(edges) - 2
    below = [(x < edges[k + 1]) | ((x == edges[-1]) & (k == last)) for k in range(last + 1)]
    return np.array([share[(x >= edges[k]) & below[k]].sum() for k in range(last + 1)], np.longdouble)


def _even(x: Array, bins: int, low: float, high: float, around: float) -> Array:
    """Edges of ``bins`` parts; from the smallest element to the largest if none are given, or ``around`` them if they
    are equal; from 0 to 1 if there is no element."""
    if low == high:
        low, high = (float(x.min()), float(x.max())) if x.size else (0.0, 1.0)
        if low == high:
            low, high = low - around, high + around
    edges = np.longdouble(low) + (np.longdouble(high) - low) * np.arange(bins + 1) / np.longdouble(bins)
    near = np.abs(x.reshape(-1, 1) - edges[None, 1:-1])
    if np.any((near < _EDGE) & (np.asarray(edges[1:-1] != np.round(edges[1:-1] * 4) / 4))):
        raise Undefined("at_a_rounded_edge")
    return np.asarray(edges)


def histc(x: Array, bins: int, low: Any, high: Any) -> Near:
    return exactly(binned(x.reshape(-1), _even(x.reshape(-1), bins, float(low), float(high), 1), None), "input")


def histogram(x: Array, edges: Array, weight: Array | None, density: bool) -> tuple[Near, Near]:
    if len(edges) < 2:
        raise Undefined("no_bins")
    if np.any(edges[1:] <= edges[:-1]):
        raise ValueError(f"edges that do not rise: {edges}")
    flat = x.reshape(-1)
    found = binned(flat, edges, None if weight is None else weight.reshape(-1))
    scale = 1 if weight is None else np.abs(weight).sum()
    if density:
        # Nothing over nothing is NaN.
        scale = np.maximum(scale, np.abs(found)) / (np.abs(found.sum()) * np.diff(edges)) if found.sum() else 0
        found = found / found.sum() / np.diff(edges)
    return Near(found, scale, 16 + x.size / 16, "input"), Near(edges, largest(edges), 2, "input")


def histogram_of_range(x: Array, bins: int, limits: Any, weight: Array | None, density: bool) -> tuple[Near, Near]:
    low, high = limits if limits is not None else (0.0, 0.0)
    return histogram(x, _even(x.reshape(-1), bins, low, high, 0.5), weight, density)


def covariance(x: Array, correction: int, counts: Array | None, weights: Array | None) -> Near:
    """Of rows as variables; ``counts`` repeat the columns, ``weights`` weigh them."""
    rows = x.reshape(1, -1) if x.ndim < 2 else x
    share = np.ones(rows.shape[1], np.longdouble) if counts is None else np.real(counts).astype(np.longdouble)
    total = share.sum()
    if weights is not None:
        total, share = (share * weights).sum(), share * weights
    freedom = total - correction * (1 if weights is None else (share * weights).sum() / total)
    freedom = max(freedom, 0)
    off = rows - (rows * share).sum(axis=1, keepdims=True) / total
    value = (off * share) @ off.conj().T / freedom
    scale = largest(rows) ** 2 * total / freedom
    return Near(value[0, 0] if len(rows) == 1 else value, scale, 16)


def correlation(x: Array) -> Near:
    """The covariance over the roots of the variances; of a single observation all are NaN."""
    rows = x.reshape(1, -1) if x.ndim < 2 else x
    found = np.atleast_2d(covariance(rows, 1, None, None).value)
    spread = np.sqrt(np.diagonal(found).real)
    # The mean of equal elements may be rounded, so that something is left of them.
    equal = np.all(rows == rows[:, :1], axis=1) if rows.shape[1] > 1 else np.zeros(len(rows), bool)
    value = found / spread[:, None] / spread[None, :]
    scale = largest(x) ** 2 * rows.shape[1] / np.min(spread, initial=np.inf, where=spread > 0) ** 2
    still = equal[:, None] | equal
    parts = [part[0, 0] if len(rows) == 1 else part for part in (value, still)]
    return Near(parts[0], scale, 16, open={"no_variance": np.asarray(parts[1])})


def renorm(x: Array, p: Any, dim: int, most: Any) -> Near:
    """Slices whose norm is above ``most`` made as short; a rounding beside zero is allowed to the factor."""
    others = tuple(k for k in range(x.ndim) if k != dim % x.ndim)
    size = norm(x, p, others, True)
    factor = np.where(size > most, np.longdouble(most) / np.where(size == 0, 1, size), 1)
    return Near(x * factor, np.abs(x * factor), 16, least=1e-6)


def distance(x: Array, y: Array, p: Any) -> Near:
    found = norm(x - y, p)
    return Near(found, found, 8, "real")


def _slope(places: Array, values: Array, at: Any) -> Any:
    """The derivative at ``at`` of the polynomial through these points."""
    total: Any = 0
    for j, value in enumerate(values):
        others = [k for k in range(len(places)) if k != j]
        for m in others:
            term = 1 / (places[j] - places[m])
            for k in others:
                if k != m:
                    term = term * (at - places[k]) / (places[j] - places[k])
            total = total + value * term
    return total


def slopes(x: Array, places: Array, dim: int, edge: int) -> Near:
    """Derivatives along a dim at ``places``: of parabolas through three neighbours, at the edges of a line or one."""
    rows = np.moveaxis(x, dim, 0)
    n = len(rows)
    if n <= edge or np.any(places[1:] == places[:-1]):
        raise ValueError(f"no slopes of {n} elements at {places}")
    found = []
    for k in range(n):
        if 0 < k < n - 1:
            part = slice(k - 1, k + 2)
        else:
            part = slice(0, edge + 1) if k == 0 else slice(n - edge - 1, n)
        found.append(_slope(places[part], rows[part], places[k]))
    scale = largest(rows) / np.min(np.abs(np.diff(places)), initial=np.inf)
    return Near(np.moveaxis(np.stack(found), 0, dim), scale * (largest(np.diff(places)) + 1) ** 2, 32, least=_EDGE)


def gradient(x: Array, spacing: Any, dims: Any, edge: int) -> list[Near]:
    """Along each dim named, or all; ``spacing`` is a distance for all or one each, or places."""
    axes_of = list(range(x.ndim)) if dims is None else [int(d) % x.ndim for d in np.atleast_1d(dims)]
    steps = list(spacing) if isinstance(spacing, list | tuple) else [1 if spacing is None else spacing] * len(axes_of)
    found = []
    for axis, step in zip(axes_of, steps, strict=True):
        even = np.arange(x.shape[axis]).astype(np.longdouble)
        places = step if isinstance(step, np.ndarray) and step.ndim else even * np.asarray(step)
        assert len(places) == x.shape[axis], (places, axis)
        found.append(slopes(x, places, axis, edge))
    return found


def areas(y: Array, x: Any, dim: int) -> tuple[Array, Array]:
    """The areas of the trapezoids between neighbours, and their sizes; ``x`` are places or one distance."""
    if not y.shape[dim]:
        raise Undefined("no_places")
    rows = np.moveaxis(y, dim, -1)
    if isinstance(x, np.ndarray) and x.ndim:
        full = x.reshape((1,) * (y.ndim - x.ndim) + x.shape)
        places = x if x.ndim == 1 else np.moveaxis(full, dim, -1)
        widths: Any = places[..., 1:] - places[..., :-1]
        size: Any = np.abs(places[..., 1:]) + np.abs(places[..., :-1])
    else:
        widths, size = np.asarray(x), np.abs(x)
    ends = np.abs(rows[..., 1:]) + np.abs(rows[..., :-1])
    return (rows[..., 1:] + rows[..., :-1]) * widths / 2, ends * size


def trapezoid(y: Array, x: Any, dim: int) -> Near:
    parts, sizes = areas(y, x, dim)
    return Near(parts.sum(axis=-1), sizes.sum(axis=-1), 4)


def running_trapezoid(y: Array, x: Any, dim: int) -> Near:
    parts, sizes = areas(y, x, dim)
    return Near(np.moveaxis(np.cumsum(parts, axis=-1), -1, dim), np.moveaxis(np.cumsum(sizes, axis=-1), -1, dim), 4)


def vander(x: Array, n: int | None, increasing: bool) -> Near:
    """The powers of each element; integers wrap."""
    order = range(x.shape[-1] if n is None else n)
    found = [whole(x) ** k if x.dtype.kind in "iub" else x**k for k in order]
    empty = np.zeros((*x.shape, 0), whole(x).dtype)
    value = np.stack(found if increasing else found[::-1], -1) if found else empty
    return Near(value, np.abs(value) if x.dtype.kind in "fc" else 0, 4 * max(len(found), 1))


def stacked_powers(x: Array, n: int | None) -> Near:
    if (x.shape[-1] if n is None else n) < 2:
        raise Refused("below 2")
    return vander(x, n, True)


def summed_to(x: Array, size: Sequence[int]) -> Array:
    """Summed over the dims that ``size`` lacks or has as 1."""
    lead = x.ndim - len(size)
    over = (*range(lead), *(k + lead for k, n in enumerate(size) if n == 1 and x.shape[k + lead] != 1))
    return np.asarray(whole(x).sum(axis=over)).reshape(tuple(size)) if over else x


COUNTS: dict[str, Oracle] = {"bincount": bincount}
STATISTICS: dict[str, Oracle] = {
    "quantile": quantile,
    "nanquantile": lambda x, q, dim, keepdim, how: quantile(x, q, dim, keepdim, how, True),
    "histc": histc,
    "histogram.bins_tensor": histogram,
    "histogram.bin_ct": histogram_of_range,
    "cov": covariance,
    "corrcoef": correlation,
    "renorm": renorm,
    "dist": distance,
    "gradient.scalarint": gradient,
    "gradient.scalararray": gradient,
    "gradient.array": lambda x, dims, edge: gradient(x, None, dims, edge),
    "gradient.scalarrayint": gradient,
    "gradient.scalarrayarray": gradient,
    "gradient.tensorarrayint": gradient,
    "gradient.tensorarray": gradient,
    "trapezoid": trapezoid,
    "trapz": trapezoid,
    "cumulative_trapezoid": running_trapezoid,
    "linalg_vander": stacked_powers,
    "vander": vander,
    "sum_to_size": summed_to,
}
