"""Histograms, covariance and correlation, quantiles, the most frequent value, and runs of equal elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core import lazy_numpy as np
from ...core.device import meta_device
from ...core.dtype import bool_, float32, float64, int64
from ...core.errors import type_error, wrap_dim
from ...core.warn import warn
from ...iteration.tensor_iterator import Number
from ...kernels.ordering import Order
from ...tensor.reshaping import contiguous
from ...tensor.scalars import item
from ...tensor.tensor import Tensor, new_like
from ...tensor.tensor_meta import contiguous_meta
from ..arrays import Array, filled_arrays, from_array, values
from ..composites import asked, is_plain
from ..composition import Part, composite
from ..conversion import host
from ..invoke import apply, invoke, reshape, unsqueeze
from ..operand_checks import check_implemented
from ..plan import Filling, Planned, plannable
from ..searching import Runs, parts_first, runs_of, with_empty
from ..sorting import one_along


def bincount(self: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Return how often each number from 0 occurs in a vector of ints, or the sum of its weights.

    There are at least `minlength` bins.

    Raises RuntimeError for negative numbers, other than vectors, weights of another size, NotImplementedError for
    other dtypes, and for a meta tensor, whose number of bins is not known.
    """
    dtype = self.meta.dtype
    if minlength < 0:
        raise RuntimeError(f"minlength should be >= 0, got {minlength}")
    if weights is not None and (weights.meta.ndim != 1 or weights.meta.numel != self.meta.numel):
        raise RuntimeError("weights should be 1-d and have the same length as input")
    check_implemented("bincount_cpu", dtype, dtype.kind == 1 and dtype.name not in ("uint16", "uint32", "uint64"))
    if self.meta.device.type != "cpu":
        raise NotImplementedError("bincount: the size of the result depends on data, which a meta tensor has not")
    numbers = values(self)
    if numbers.ndim != 1 or (numbers.size and numbers.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None or not numbers.size:
        return from_array(np.bincount(numbers.astype(np.int64), minlength=minlength), int64)
    kind = float32 if weights.meta.dtype is float32 else float64
    return from_array(np.bincount(numbers.astype(np.int64), values(weights).astype(np.float64), minlength), kind)


def _range(operator: str, array: Array, low: float, high: float, *, chosen: bool) -> tuple[Any, Any]:
    """The ends of the bins: those given, else the extremes of the data, moved apart when they are equal."""
    if not chosen:
        low, high = (array.min(), array.max()) if array.size else (0.0, 1.0)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"torch.{operator}: range of [{low}, {high}] is not finite")
    return low, high


@plannable
def histc(self: Tensor, bins: int = 100, min: Number = 0, max: Number = 0) -> Tensor | Filling:
    """Return how many elements lie in each of `bins` equal parts of [min, max], or of the data's range if both agree.
    Raises RuntimeError for bins below 1, a range that is empty or not finite, NotImplementedError for other dtypes."""
    check_implemented("histogram_cpu", self.meta.dtype, self.meta.dtype.kind == 2)
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")

    def compute(array: Array) -> tuple[Array]:
        array = array.reshape(-1)
        low, high = _range("histc", array, float(min.real), float(max.real), chosen=min != max)
        if low == high:
            low, high = low - 1, high + 1
        if low > high:
            raise RuntimeError(f"torch.histc: max must be larger than min, got {min} and {max}")
        low, high = array.dtype.type(low), array.dtype.type(high)
        given = array[(array >= low) & (array <= high)]
        with np.errstate(all="ignore"):
            places = ((given - low) * array.dtype.type(bins) / (high - low)).astype(np.int64)
        return (np.bincount(np.clip(places, 0, bins - 1), minlength=bins),)

    return filled_arrays(None, (self,), compute, (contiguous_meta, (bins,), self.meta.dtype))


def _histogram(
    operator: str, self: Tensor, bins: int, weight: Tensor | None, density: bool, find: Callable[[Array], Array]
) -> Filling:
    """Return how many elements lie in each bin, the last of which has its right edge, or the sums of their weights;
    and the edges, which `find` finds."""

    def compute(given: Array, *weighed: Array) -> tuple[Array, Array]:
        ends = np.asarray(find(given), given.dtype)
        array, edges = given.reshape(-1).astype(np.float64), ends.astype(np.float64)
        inside = (array >= edges[0]) & (array <= edges[-1])
        weights = weighed[0].reshape(-1)[inside].astype(np.float64) if weighed else None
        places = np.clip(np.searchsorted(edges, array[inside], "right") - 1, 0, max(bins - 1, 0))
        counts = np.bincount(places, weights, bins).astype(np.float64)
        if density:
            with np.errstate(all="ignore"):
                counts = counts / counts.sum() / np.diff(edges)
        return counts, ends

    wanted = [(contiguous_meta, (size,), self.meta.dtype) for size in (bins, bins + 1)]
    operands = (self,) if weight is None else (self, weight)
    return filled_arrays(operator, operands, compute, *wanted)


def _check_weight(self: Tensor, weight: Tensor | None) -> None:
    if weight is None:
        return
    if weight.meta.dtype is not self.meta.dtype:
        raise RuntimeError(
            f"torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
            f"dtype, but got {self.meta.dtype.name} and {weight.meta.dtype.name}"
        )
    if weight.meta.numel != self.meta.numel:
        raise RuntimeError(
            f"torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
            f"excluding its innermost dimension, but got input of {self.meta.numel} elements and weight with "
            f"shape {list(weight.meta.sizes)}"
        )


@plannable
def histogram_bins_tensor(self: Tensor, bins: Tensor, *, weight: Tensor | None = None, density: bool = False) -> Any:
    """(hist, bin_edges) over the bins between the given ascending edges. Raises RuntimeError for other dtypes."""
    check_implemented("histogramdd", self.meta.dtype, self.meta.dtype.kind == 2)
    _check_weight(self, weight)
    if bins.meta.dtype is not self.meta.dtype:
        raise RuntimeError(
            f"torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
            f"{self.meta.dtype.name} and bins for dimension 0 with dtype {bins.meta.dtype.name}"
        )
    if bins.meta.ndim != 1 or not bins.meta.numel:
        raise RuntimeError("torch.histogramdd: bins tensor should have one dimension and at least one element")
    return _histogram("histogram.bins_tensor", self, bins.meta.numel - 1, weight, density, lambda _: values(bins))


@plannable
def histogram_bin_ct(
    self: Tensor, bins: int = 100, *, range: Sequence[float] | None = None, weight: Tensor | None = None,
    density: bool = False,
) -> Any:  # fmt: skip
    """(hist, bin_edges) over `bins` equal parts of `range`, by default that of the data. Raises RuntimeError for a
    range that is not ascending and finite, NotImplementedError for other dtypes."""
    check_implemented("histogramdd", self.meta.dtype, self.meta.dtype in (float32, float64))
    _check_weight(self, weight)
    if range is not None and len(range) != 2:
        raise RuntimeError(f"torch.histogramdd: range must have 2 numbers for dimension 0, got {len(range)}")
    if bins <= 0:
        raise RuntimeError(f"torch.histogramdd(): bins must be > 0, but got {bins} for dimension 0")

    def edges(array: Array) -> Array:
        low, high = _range("histogramdd", array, *(range or (0.0, 0.0)), chosen=range is not None)
        if low > high:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {low} max {high} for dimension 0"
            )
        if low == high:
            low, high = low - 0.5, high + 0.5
        kind = array.dtype.type
        low, high, k = kind(low), kind(high), np.arange(bins + 1)
        step = kind((high - low) / kind(bins))
        # Equal steps from both ends, so that they are symmetric.
        from_low, from_high = low + step * k.astype(kind), high - step * (bins - k).astype(kind)
        return np.asarray(np.where(k < (bins + 1) / 2, from_low, from_high))

    return _histogram("histogram.bin_ct", self, bins, weight, density, edges)


NO_FREEDOM = "cov(): degrees of freedom is <= 0"


def _check_weights(name: str, weights: Tensor, count: int, *, integral: bool) -> None:
    meta = weights.meta
    if meta.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {meta.ndim} dimensions"
        )
    if (meta.dtype.kind != 1) if integral else (meta.dtype.kind != 2):
        wanted = "integral" if integral else "floating point"
        raise RuntimeError(f"cov(): expected {name} to have {wanted} dtype but got {name} with {meta.dtype.name} dtype")
    if meta.numel != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{meta.numel} != {count}"
        )
    if count and meta.device is not meta_device and (values(host(weights)) < 0).any():
        raise RuntimeError(f"cov(): {name} cannot be negative")


def cov(self: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariance matrix of variables (rows) observed in columns; a vector is one variable.

    `fweights` say how often each observation counts, `aweights` how much; the sum of weights less `correction` divides.
    Raises RuntimeError for more than two dims, bool, and weights of a wrong dtype or size.
    """
    meta = self.meta
    if meta.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {meta.ndim} dimensions"
        )
    if meta.dtype is bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = self if meta.ndim == 2 else reshape(self, (1, meta.numel))
    count = rows.meta.sizes[1]
    weights: Tensor | None = None
    if fweights is not None:
        _check_weights("fweights", fweights, count, integral=True)
        weights = fweights
    if aweights is not None:
        _check_weights("aweights", aweights, count, integral=False)
        weights = aweights if weights is None else apply("mul.Tensor", weights, aweights)
    total: Any = count if weights is None else apply("sum", weights)
    by = "div.Scalar" if weights is None else "div.Tensor"
    weighted = rows if weights is None else apply("mul.Tensor", rows, weights)
    centred = apply("sub.Tensor", rows, unsqueeze(apply(by, apply("sum.dim_IntList", weighted, (1,)), total), 1))
    other = centred if weights is None else apply("mul.Tensor", centred, weights)
    product = apply("mm", centred, apply("conj", apply("t", other)))
    if weights is None:
        if count <= correction:
            warn(NO_FREEDOM)
        return apply("squeeze", apply("div.Scalar", product, max(count - correction, 0)))
    less = apply("mul.Scalar", apply("ones_like", total), correction)
    if aweights is not None and correction:
        squares = apply("sum", apply("mul.Tensor", weights, aweights))
        less = apply("mul.Scalar", apply("div.Tensor", squares, total), correction)
    remaining = apply("sub.Tensor", total, less)
    if remaining.meta.device is not meta_device and item(remaining) <= 0:
        warn(NO_FREEDOM)
    return apply("squeeze", apply("div.Tensor", product, apply("clamp_min", remaining, 0)))


def corrcoef(self: Tensor) -> Tensor:
    """Pearson's correlation coefficients of variables in rows. Raises RuntimeError for more than two dims."""
    meta = self.meta
    if meta.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {meta.ndim} "
            f"dimensions"
        )
    found = apply("cov", self)
    if not found.meta.ndim:
        return apply("div.Tensor", found, found)
    variance = apply("diagonal", found)
    deviation = apply("sqrt", apply("real", variance) if found.meta.dtype.is_complex else variance)
    scaled = apply("div.Tensor", apply("div.Tensor", found, unsqueeze(deviation, 1)), unsqueeze(deviation, 0))
    if scaled.meta.dtype.is_complex:
        parts = [apply("clamp", apply(part, scaled), -1, 1) for part in ("real", "imag")]
        return apply("complex", *parts)
    return apply("clamp", scaled, -1, 1)


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
            raise RuntimeError(f"{operator}() q tensor must be same dtype as the input tensor, got {q.meta.dtype.name}")
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


def _along_last(part: Part, ordered: Tensor, shares: Tensor, interpolation: str, ignore_nan: bool) -> Tensor:
    """The quantiles of sorted values, NaN last, along the last dim."""
    missing, last = part("isnan", ordered), ordered.meta.sizes[-1] - 1
    if ignore_nan:
        counted = part("sum.dim_IntList", part("logical_not", missing), (-1,), True)
        ranks = part("mul.Tensor", shares, part("clamp_min", part("sub.Scalar", counted, 1), 0))
    else:
        spoilt = part("narrow", missing, -1, last, 1)
        ranks = part("where.ScalarSelf", spoilt, last, part("mul.Scalar", shares, last))
    if interpolation in ROUNDED:
        return part("gather", ordered, -1, part("to.dtype", part(ROUNDED[interpolation], ranks), int64))
    below, above = part("floor", ranks), part("ceil", ranks)
    low, high = (part("gather", ordered, -1, part("to.dtype", place, int64)) for place in (below, above))
    weight = part("full_like", ranks, 0.5) if interpolation == "midpoint" else part("sub.Tensor", ranks, below)
    blended = part("lerp.Tensor", low, high, weight)
    return part("where.self", part("eq.Tensor", below, above), low, blended)


def _quantiles(operator: str, ignore_nan: bool) -> Callable[..., Tensor]:
    """Return quantile, where NaN spreads, or nanquantile, which leaves it out."""

    @composite
    def quantiles(
        part: Part, self: Tensor, q: Tensor | float, dim: int | None = None, keepdim: bool = False, *,
        interpolation: str = "linear",
    ) -> Tensor:  # fmt: skip
        """The values below which shares `q` of the elements lie; a vector of shares is the first dim of the result.

        Raises RuntimeError for no elements, other dtypes than float32 and float64, shares outside [0, 1] and an unknown
        interpolation, IndexError for a dim out of range.
        """
        part.run(_check, operator, self, q, interpolation)
        meta = self.meta
        place = 0 if dim is None else wrap_dim(operator, dim, meta.ndim)
        flat = dim is None or not meta.ndim
        shares = q if isinstance(q, Tensor) else part("full", (), q, dtype=meta.dtype, device=meta.device)
        if flat:
            rows = part("reshape", self, (*((1,) * meta.ndim if keepdim else ()), -1))
        else:
            rows = part("transpose.int", part("unsqueeze", self, -1), place, -1)
        ordered = part.first("sort", rows, -1)
        found = _along_last(part, ordered, part("reshape", shares, (-1,)), interpolation, ignore_nan)
        found = part("movedim.int", found, -1, 0)
        if not keepdim and not flat:
            found = part("squeeze.dim", found, place + 1)
        return found if shares.meta.ndim else part("squeeze.dim", found, 0)

    return quantiles


quantile = _quantiles("quantile", False)
nanquantile = _quantiles("nanquantile", True)


@plannable
def mode(self: Tensor, dim: int = -1, keepdim: bool = False) -> Planned[Any]:
    """(values, indices): the most frequent value along `dim`, the smallest of several, and its last place. Raises
    IndexError for a dim that is out of range or empty, NotImplementedError for complex values."""
    wrap_dim("mode", dim, self.meta.ndim)
    check_implemented("mode_cpu", self.meta.dtype, not self.meta.dtype.is_complex)
    return one_along("mode", self, dim, keepdim, Order.MODE)


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
    if dim is None:
        return with_empty(_consecutive(self, return_inverse, return_counts))
    array, place = values(self), wrap_dim("unique_consecutive", dim, meta.ndim)
    array = array if array.ndim else array.reshape(-1)
    moved = np.moveaxis(array, place, 0) if place else array
    starts, new = np.ones(len(moved), bool), moved[1:] != moved[:-1]
    starts[1:] = new.any(tuple(range(1, new.ndim))) if new.ndim > 1 else new
    found, run = np.compress(starts, array, place) if place else array[starts], np.cumsum(starts) - 1
    lengths = np.diff(np.append(np.flatnonzero(starts), len(starts)))
    return parts_first(found, place, meta.dtype), from_array(run, int64), from_array(lengths, int64)


def _consecutive(self: Tensor, inverse: bool, counts: bool) -> Runs:
    meta = self.meta
    check_implemented("unique", meta.dtype, not meta.dtype.is_complex)
    row, found = contiguous(reshape(self, (-1,))), new_like(contiguous_meta((meta.numel,), meta.dtype))
    return runs_of(meta, row, None, found, inverse, counts)


def public_unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The first of every run; a tuple with each element's run and the lengths of the runs when asked for."""
    if not isinstance(input, Tensor):
        type_error("unique_consecutive", "input", input, "Tensor")
    found: Sequence[Tensor | None]
    if dim is None and is_plain(input):
        found = _consecutive(input, return_inverse, return_counts)
    else:
        found = invoke("unique_consecutive", input, return_inverse, return_counts, dim)
    return asked(found, return_inverse, return_counts)
