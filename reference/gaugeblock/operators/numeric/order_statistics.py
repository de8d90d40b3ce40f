"""Quantiles, the most frequent value, and runs of equal elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.device import meta_device
from ...core.dtype import float32, float64, int64
from ...core.errors import type_error, wrap_dim
from ...tensor.tensor import Tensor
from ..arrays import Array, filled, from_array, values
from ..composites import asked
from ..conversion import host
from ..invoke import apply, apply_for_many, invoke
from ..operand_checks import check_implemented
from ..plan import Planned, plannable
from ..searching import parts_first
from ..sorting import one_along, sortable

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
        if q.meta.device is not meta_device:
            shares = values(host(q))
            if not ((shares >= 0) & (shares <= 1)).all():
                raise RuntimeError(f"{operator}() q values must be in the range [0, 1]")
    elif not 0 <= q <= 1:
        raise RuntimeError(f"{operator}() q must be in the range [0, 1] but got {q}")
    if interpolation not in METHODS:
        raise RuntimeError(
            f"{operator}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            f"{interpolation}"
        )


ROUNDED = {"lower": "floor", "higher": "ceil", "nearest": "round"}


def _along_last(ordered: Tensor, shares: Tensor, interpolation: str, ignore_nan: bool) -> Tensor:
    """The quantiles of sorted values, NaN last, along the last dim."""
    missing, last = apply("isnan", ordered), ordered.meta.sizes[-1] - 1
    if ignore_nan:
        counted = apply("sum.dim_IntList", apply("logical_not", missing), (-1,), True)
        ranks = apply("mul.Tensor", shares, apply("clamp_min", apply("sub.Scalar", counted, 1), 0))
    else:
        spoilt = apply("narrow", missing, -1, last, 1)
        ranks = apply("where.ScalarSelf", spoilt, last, apply("mul.Scalar", shares, last))
    if interpolation in ROUNDED:
        ranks = apply(ROUNDED[interpolation], ranks)
    below, above = apply("floor", ranks), apply("ceil", ranks)
    low, high = (apply("gather", ordered, -1, apply("to.dtype", place, int64)) for place in (below, above))
    if interpolation in ROUNDED:
        return low
    weight = apply("full_like", ranks, 0.5) if interpolation == "midpoint" else apply("sub.Tensor", ranks, below)
    blended = apply("lerp.Tensor", low, high, weight)
    return apply("where.self", apply("eq.Tensor", below, above), low, blended)


def _quantiles(operator: str, ignore_nan: bool) -> Callable[..., Tensor]:
    """Return quantile, where NaN spreads, or nanquantile, which leaves it out."""

    def quantiles(
        self: Tensor, q: Tensor | float, dim: int | None = None, keepdim: bool = False, *,
        interpolation: str = "linear",
    ) -> Tensor:  # fmt: skip
        """The values below which shares `q` of the elements lie; a vector of shares is the first dim of the result.

        Raises RuntimeError for no elements, other dtypes than float32 and float64, shares outside [0, 1] and an unknown
        interpolation, IndexError for a dim out of range.
        """
        _check(operator, self, q, interpolation)
        meta = self.meta
        place = 0 if dim is None else wrap_dim(operator, dim, meta.ndim)
        flat = dim is None or not meta.ndim
        shares = q if isinstance(q, Tensor) else apply("full", (), q, dtype=meta.dtype, device=meta.device)
        if flat:
            rows = apply("reshape", self, (*((1,) * meta.ndim if keepdim else ()), -1))
        else:
            rows = apply("transpose.int", apply("unsqueeze", self, -1), place, -1)
        ordered = apply_for_many("sort", rows, -1)[0]
        found = _along_last(ordered, apply("reshape", shares, (-1,)), interpolation, ignore_nan)
        found = apply("movedim.int", found, -1, 0)
        if not keepdim and not flat:
            found = apply("squeeze.dim", found, place + 1)
        return found if shares.meta.ndim else apply("squeeze.dim", found, 0)

    return quantiles


quantile = _quantiles("quantile", False)
nanquantile = _quantiles("nanquantile", True)


@plannable
def mode(self: Tensor, dim: int = -1, keepdim: bool = False) -> Planned[Any]:
    """(values, indices): the most frequent value along `dim`, the smallest of several, and its last place.

    Raises IndexError for a dim that is out of range or empty, NotImplementedError for complex values.
    """
    wrap_dim("mode", dim, self.meta.ndim)
    check_implemented("mode_cpu", self.meta.dtype, not self.meta.dtype.is_complex)
    return one_along("mode", self, dim, keepdim, _last_of_most)


def _last_of_most(rows: Array) -> Array:
    """The last place of the most frequent value along the last axis."""
    rows = sortable(rows)
    order = np.argsort(rows, -1, kind="stable")
    ordered = np.take_along_axis(rows, order, -1)
    new = np.ones(ordered.shape, bool)
    new[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    k = np.arange(ordered.shape[-1])
    length = k - np.maximum.accumulate(np.where(new, k, 0), -1)
    return np.take_along_axis(order, np.argmax(length, -1)[..., None], -1)[..., 0]


def unique_consecutive(
    self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The first element (or part along `dim`) of every run, each element's run, and the lengths of the runs.

    What is not asked for has no elements. Raises IndexError for a dim out of range, NotImplementedError for complex
    values and for a meta tensor, whose runs are not known.
    """
    meta = self.meta
    check_implemented("unique", meta.dtype, not meta.dtype.is_complex)
    if meta.device.type != "cpu":
        raise NotImplementedError("unique_consecutive: the sizes depend on data, which a meta tensor has not")
    nothing, array = filled((0,), int64, 0), values(self)
    place = 0 if dim is None else wrap_dim("unique_consecutive", dim, meta.ndim)
    array = array.reshape(-1) if dim is None or not array.ndim else array
    moved = np.moveaxis(array, place, 0)
    starts = np.ones(len(moved), bool)
    starts[1:] = (moved[1:] != moved[:-1]).any(tuple(range(1, moved.ndim)))
    found, run = np.compress(starts, array, place), np.cumsum(starts) - 1
    inverse = run.reshape(meta.sizes if dim is None else -1)
    lengths = np.diff(np.append(np.flatnonzero(starts), len(starts)))
    return (
        from_array(found, meta.dtype) if dim is None else parts_first(found, place, meta.dtype),
        from_array(inverse, int64) if return_inverse or dim is not None else nothing,
        from_array(lengths, int64) if return_counts or dim is not None else nothing,
    )


def public_unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The first of every run; a tuple with each element's run and the lengths of the runs when asked for."""
    if not isinstance(input, Tensor):
        type_error("unique_consecutive", "input", input, "Tensor")
    found = invoke("unique_consecutive", input, return_inverse, return_counts, dim)
    return asked(found, return_inverse, return_counts)
