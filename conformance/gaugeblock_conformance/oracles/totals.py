"""Reductions and scans by their definitions, on widened operands (see :mod:`.sums`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..backend import Array
from .moves import Oracle
from .near import Claim, Refused, Such

# Rounding errors of a complex logarithm, for each unit of the largest term.
_LOG_UNITS = 16.0


def axes(x: Array, dims: Any) -> tuple[int, ...]:
    """The dims named, or all."""
    if dims is None or not np.size(dims):
        return tuple(range(x.ndim))
    return tuple(d % x.ndim for d in np.atleast_1d(dims).tolist())


def whole(x: Array) -> Array:
    """Integers and bool as the int64 that they are summed in."""
    return x.astype(np.int64) if x.dtype.kind in "iub" else x


def total(x: Array, dims: Any = None, keepdim: bool = False) -> Array:
    return np.asarray(whole(x).sum(axis=axes(x, dims), keepdims=keepdim))


def product(x: Array, dims: Any = None, keepdim: bool = False) -> Array:
    return np.asarray(whole(x).prod(axis=axes(x, dims), keepdims=keepdim))


def count(x: Array, dims: Any) -> int:
    return math.prod([x.shape[k] for k in axes(x, dims)])


def mean(x: Array, dims: Any = None, keepdim: bool = False) -> Array:
    return np.asarray(total(x, dims, keepdim) / np.longdouble(count(x, dims)))


def valid(x: Array) -> Array:
    return np.ones(x.shape, bool) if x.dtype.kind in "iub" else ~np.isnan(x)


def nan_total(x: Array, dims: Any = None, keepdim: bool = False) -> Array:
    return total(np.where(valid(x), x, np.zeros((), x.dtype)), dims, keepdim)


def nan_mean(x: Array, dims: Any = None, keepdim: bool = False) -> Array:
    return np.asarray(nan_total(x, dims, keepdim) / total(valid(x), dims, keepdim).astype(np.longdouble))


def variance(x: Array, dims: Any = None, correction: Any = 1, keepdim: bool = False) -> Array:
    """The sum of squared deviations over the number of elements less ``correction``, but at least zero."""
    off = np.abs(x - mean(x, dims, True)) ** 2
    freedom = max(count(x, dims) - (1 if correction is None else correction), 0)
    return np.asarray(off.sum(axis=axes(x, dims), keepdims=keepdim) / np.longdouble(freedom))


def mean_square(call_root: bool, x: Array, dims: Any, correction: Any, keepdim: bool) -> Array:
    """The unit of a variance's error: the mean square of the elements, or its root."""
    freedom = max(count(x, dims) - correction, 0)
    found = (np.abs(x) ** 2).sum(axis=axes(x, dims), keepdims=keepdim) / np.longdouble(freedom)
    return np.asarray(np.sqrt(found) if call_root else found)


def norm(x: Array, p: Any = 2, dims: Any = None, keepdim: bool = False) -> Array:
    size, where = np.abs(x), axes(x, dims)
    p = 2 if p is None else p
    if (np.isinf(p) or p < 0) and not count(x, dims):
        raise Refused("no element, of which an infinite or negative order asks")
    if np.isinf(p):
        return np.asarray((size.max if p > 0 else size.min)(axis=where, keepdims=keepdim))
    if p == 0:
        return np.asarray((x != 0).sum(axis=where, keepdims=keepdim).astype(np.longdouble))
    power = np.longdouble(p)
    return np.asarray((size**power).sum(axis=where, keepdims=keepdim) ** (1 / power))


def log_sum(x: Array, dims: Any, keepdim: bool = False) -> Array | Such:
    where = axes(x, dims)
    top = _top(x, where)
    total = np.exp(x - top).sum(axis=where, keepdims=True)

    def shaped(array: Array) -> Array:
        return np.asarray(array if keepdim else np.squeeze(array, where))

    if x.dtype.kind != "c":
        return shaped(np.log(total) + top)
    terms = np.exp(x.real - top).sum(axis=where, keepdims=True)
    return _logarithm(shaped(total), shaped(terms), shaped(top), _LOG_UNITS * (1 + float(np.max(np.abs(x), initial=0))))


def running_log(x: Array, dim: int) -> Array | Such:
    if x.dtype.kind == "c":
        top = _top(x, (dim,))
        total, terms = (np.cumsum(np.exp(v - top), axis=dim) for v in (x, x.real))
        return _logarithm(total, terms, top, _LOG_UNITS * (1 + float(np.max(np.abs(x), initial=0))))
    rows = np.moveaxis(x, dim, 0)
    parts = [np.asarray(log_sum(rows[: k + 1], (0,))) for k in range(len(rows))]
    return np.moveaxis(np.stack(parts), 0, dim) if parts else x


def _top(x: Array, where: tuple[int, ...]) -> Array:
    """The largest real part, or 0 where that is no number; what is subtracted before exponentials are taken."""
    top = np.max(x.real, axis=where, keepdims=True, initial=-np.inf)
    return np.asarray(np.where(np.isfinite(top), top, 0))


def _logarithm(total: Array, terms: Array, top: Array, units: float) -> Such:
    """Any of the logarithms of a complex number: what they have in common is their exponential."""

    def claims(found: Array) -> Iterator[Claim]:
        yield Claim("the exponential of the result is their sum", np.exp(found - top), total, terms, units)

    return Such((total.shape,), ("input",), claims)


def softmax(x: Array, dim: int) -> Array:
    shares = np.exp(below_top(x, dim))
    return np.asarray(shares / shares.sum(axis=dim, keepdims=True))


def log_softmax(x: Array, dim: int) -> Array:
    off = below_top(x, dim)
    return np.asarray(off - np.log(np.exp(off).sum(axis=dim, keepdims=True)))


def below_top(x: Array, dim: int) -> Array:
    """How far each element is from the largest along ``dim``."""
    return np.asarray(x - np.max(x, axis=dim, keepdims=True, initial=-np.inf))


def _moments(root: bool, pair: bool) -> Callable[..., Any]:
    def both(x: Array, dims: Any, correction: Any, keepdim: bool) -> Any:
        spread = variance(x, dims, correction, keepdim)
        spread = np.sqrt(spread) if root else spread
        return (spread, mean(x, dims, keepdim)) if pair else spread

    return both


def _moment_rows(name: str, root: bool, pair: bool) -> dict[str, Oracle]:
    both = _moments(root, pair)
    return {
        name: lambda x, unbiased: both(x, None, int(unbiased), False),
        f"{name}.dim": lambda x, dim, unbiased, keepdim: both(x, dim, int(unbiased), keepdim),
        f"{name}.correction": lambda x, dim, correction, keepdim: both(x, dim, correction, keepdim),
    }


def differences(x: Array, n: int, dim: int, prepend: Array | None, append: Array | None) -> Array:
    """Neighbours subtracted ``n`` times, of what is joined along ``dim`` first; exclusive or for bool. Nothing is
    joined where nothing is subtracted."""
    if n:
        x = np.concatenate([part for part in (prepend, x, append) if part is not None], dim)
    for _ in range(min(n, x.shape[dim])):
        rows = np.moveaxis(x, dim, 0)
        x = np.moveaxis(rows[1:] ^ rows[:-1] if x.dtype == np.bool_ else rows[1:] - rows[:-1], 0, dim)
    return x


TOTALS: dict[str, Oracle] = {
    "sum": lambda x, dtype: total(x),
    "sum.dim_IntList": lambda x, dim, keepdim, dtype: total(x, dim, keepdim),
    "nansum": lambda x, dim, keepdim, dtype: nan_total(x, dim, keepdim),
    "prod": lambda x, dtype: product(x),
    "prod.dim_int": lambda x, dim, keepdim, dtype: product(x, dim, keepdim),
    "mean": lambda x, dtype: mean(x),
    "mean.dim": lambda x, dim, keepdim, dtype: mean(x, dim, keepdim),
    "nanmean": lambda x, dim, keepdim, dtype: nan_mean(x, dim, keepdim),
    "any": lambda x, dim=None, keepdim=False: np.asarray((x != 0).any(axis=axes(x, dim), keepdims=keepdim)),
    "all": lambda x, dim=None, keepdim=False: np.asarray((x != 0).all(axis=axes(x, dim), keepdims=keepdim)),
    "count_nonzero": lambda x, dim: np.asarray((x != 0).sum(axis=axes(x, dim))),
    "norm.Scalar": lambda x, p: norm(x, p),
    "norm.ScalarOpt_dim": norm,
    "norm.ScalarOpt_dim_dtype": lambda x, p, dim, keepdim, dtype: norm(x, p, dim, keepdim),
    "linalg_vector_norm": lambda x, ord, dim, keepdim, dtype: norm(x, ord, dim, keepdim),
    "logsumexp": log_sum,
    "softmax": lambda x, dim, dtype: softmax(x, dim),
    "log_softmax": lambda x, dim, dtype: log_softmax(x, dim),
    "cumsum": lambda x, dim, dtype: np.cumsum(whole(x), axis=dim),
    "cumprod": lambda x, dim, dtype: np.cumprod(whole(x), axis=dim),
    "logcumsumexp": running_log,
    "diff": differences,
    **_moment_rows("var", False, False),
    **_moment_rows("std", True, False),
    **_moment_rows("var_mean", False, True),
    **_moment_rows("std_mean", True, True),
}
