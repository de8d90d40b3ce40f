"""Histograms, covariance and correlation, quantiles, the most frequent value, and runs of equal elements."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from math import inf, isfinite
from typing import Any

from ...core import lazy_numpy as np
from ...core.away import long_call
from ...core.device import cpu, meta_device
from ...core.dtype import DType, bool_, float32, float64, int64
from ...core.errors import type_error, wrap_dim
from ...core.memory_format import contiguous_format
from ...core.warn import warn
from ...iteration.tensor_iterator import Number
from ...kernels.bound_call import nothing
from ...kernels.histogram import Bins, bins_kernel, edges_kernel, ints_kernel, limits_kernel
from ...kernels.ordering import Order
from ...tensor.scalars import item
from ...tensor.tensor import Tensor, new_like
from ...tensor.tensor_meta import TensorMeta, contiguous_meta, recalled
from ..arrays import values
from ..composites import asked, is_plain
from ..composition import Part, composite
from ..conversion import host
from ..copy import copy_values
from ..fill import fill_number, fill_zeros
from ..invoke import apply, invoke, reshape, result_type, unsqueeze
from ..loop_plan import ROW_STEPS
from ..masks import expanded_strides, row_major_walk
from ..operand_checks import check_implemented
from ..plan import Filling, Planned, plannable
from ..searching import part_runs, runs, with_empty
from ..sorting import one_along


def bincount(self: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Return how often each number from 0 occurs in a vector of ints, or the sum of its weights.

    There are at least `minlength` bins.

    Raises RuntimeError for negative numbers, other than vectors, weights of another size, NotImplementedError for
    other dtypes, and for a meta tensor, whose number of bins is not known.
    """
    if minlength < 0:
        raise RuntimeError(f"minlength should be >= 0, got {minlength}")
    if weights is not None and (weights.meta.ndim != 1 or weights.meta.numel != self.meta.numel):
        raise RuntimeError("weights should be 1-d and have the same length as input")
    meta, cells = self.meta, array("q", (-1, 0))
    size, step, limits, count = recalled(meta.plans, "bincount", _counting, meta)
    if size:
        limits(cells.buffer_info()[0], self.pointer, 1, size, 0, step)
    most, least = cells
    if least < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    bins = most + 1 if most >= minlength else minlength
    if weights is None or not size:
        counts = new_like(contiguous_meta((bins,), int64))
        fill_zeros(counts)
        if size:
            count(counts.pointer, self.pointer, 0, bins, 1, size, 0, step, 0)
        return counts
    counts = new_like(contiguous_meta((bins,), float64))
    fill_zeros(counts)
    wide = apply("to.dtype", weights, float64)
    run = long_call(size, ints_kernel(meta.dtype, float64))
    run(counts.pointer, self.pointer, wide.pointer, bins, 1, size, 0, step, wide.meta.byte_strides[0])
    return apply("to.dtype", counts, float32) if weights.meta.dtype is float32 else counts


def _counting(meta: TensorMeta) -> tuple[int, int, Callable[..., None], Callable[..., None]]:
    """Return size and byte stride of a vector of ints, what finds the limits of these, and what counts them."""
    dtype, size = meta.dtype, meta.numel
    check_implemented("bincount_cpu", dtype, dtype.kind == 1 and dtype.name not in ("uint16", "uint32", "uint64"))
    if meta.device.type != "cpu":
        raise NotImplementedError("bincount: the size of the result depends on data, which a meta tensor has not")
    if meta.ndim != 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    limits, count = long_call(size, limits_kernel(dtype)), long_call(size, ints_kernel(dtype, None))
    return size, meta.byte_strides[0], limits, count


Ends = tuple[float, float]


def _extremes(operator: str, self: Tensor) -> Ends:
    """Return the least and the largest element."""
    if not self.meta.numel:
        return 0.0, 1.0
    low, high = map(item, invoke("aminmax", self))
    return _finite(operator, low, high)


def _finite(operator: str, low: float, high: float) -> Ends:
    if not (isfinite(low) and isfinite(high)):
        raise RuntimeError(f"torch.{operator}: range of [{low}, {high}] is not finite")
    return low, high


def _wide(dtype: DType) -> DType:
    """Return the dtype in which elements are compared with the edges of bins."""
    return dtype if dtype is float64 else float32


class _Counting:
    """Counts elements of some meta by bins, those of `weight`'s meta added up if there is one."""

    def __init__(self, meta: TensorMeta, weight: TensorMeta | None, bins: int) -> None:
        self.bins, self.dtype, self.weighted = bins, meta.dtype, weight is not None
        strides = [expanded_strides(one, meta.sizes) if one else (0,) * meta.ndim for one in (None, meta, weight, None)]
        self.work, self.tail = max(meta.numel, 1), row_major_walk(meta.sizes, strides)
        self.counts = contiguous_meta((bins,), float64)

    def __call__(self, kind: Bins, self_: Tensor, weight: Tensor | None, edges: int, low: float, high: float) -> Tensor:
        """Return the counts as float64, given the address of the edges."""
        counts = new_like(self.counts)
        fill_number(counts, 0)
        run = long_call(self.work * ROW_STEPS, bins_kernel(self.dtype, kind, self.weighted))
        weights = 0 if weight is None else weight.pointer
        run(counts.pointer, self_.pointer, weights, edges, low, high, self.bins, *self.tail)
        return counts


@plannable
def histc(self: Tensor, bins: int = 100, min: Number = 0, max: Number = 0) -> Tensor | Planned[Tensor]:
    """Return how many elements lie in each of `bins` equal parts of [min, max], or of the data's range if both agree.
    Raises RuntimeError for bins below 1, a range that is empty or not finite, NotImplementedError for other dtypes."""
    dtype = self.meta.dtype
    check_implemented("histogram_cpu", dtype, dtype.kind == 2)
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    made = contiguous_meta((bins,), dtype, self.meta.device)
    if self.meta.device is not cpu:
        return Planned.unrun(Filling((made,), nothing), (self,), None, None)
    wide = _wide(dtype)
    counting = _Counting(self.meta if wide is dtype else contiguous_meta(self.meta.sizes, wide), None, bins)

    def fill(result: Tensor, given: Tensor = self, least: Number = min, largest: Number = max) -> None:
        source = given if wide is dtype else apply("to.dtype", given, wide, memory_format=contiguous_format)
        if least == largest:
            low, high = _extremes("histc", source)
        else:
            low, high = _finite("histc", float(least.real), float(largest.real))
        if low == high:
            low, high = low - 1, high + 1
        if low > high:
            raise RuntimeError(f"torch.histc: max must be larger than min, got {least} and {largest}")
        copy_values(result, counting(Bins.EQUAL, source, None, 0, low, high))

    def call(given: Tensor, least: Number, largest: Number) -> Tensor:
        result = new_like(made)
        fill(result, given, least, largest)
        return result

    return Planned.unrun(Filling((made,), fill), (self,), call, (self, min, max))


def _histogram(
    operator: str, self: Tensor, bins: int, weight: Tensor | None, density: bool, given: Tensor | None,
    find: Callable[[Tensor, Tensor], tuple[Bins, float, float]],
) -> Planned[Any]:  # fmt: skip
    """Return how many elements lie in each bin, the last of which has its right edge, or the sums of their weights; and
    the edges, which `find` writes for a tensor, or for those that are `given`. It returns how to search them and their
    ends."""
    kind, meta = result_type(operator), self.meta
    metas = tuple([contiguous_meta((size,), meta.dtype, meta.device) for size in (bins, bins + 1)])
    operands = tuple([one for one in (self, given, weight) if one is not None])
    if meta.device is not cpu:
        return Planned.unrun(Filling(metas, nothing, kind), operands, None, None, kind=kind)
    wide = _wide(meta.dtype)
    as_given = wide is meta.dtype, wide is meta.dtype and (weight is None or weight.meta.sizes == meta.sizes)
    row_major = contiguous_meta(meta.sizes, wide)
    laid = None if weight is None else weight.meta if as_given[1] else row_major
    counting = _Counting(meta if as_given[0] else row_major, laid, bins)

    def converted(tensor: Tensor) -> Tensor:
        return apply("to.dtype", reshape(tensor, meta.sizes), wide, copy=True, memory_format=contiguous_format)

    def fill(result: Tensor, edges: Tensor, *values: Tensor) -> None:
        source, *others = values or operands
        way, low, high = find(others.pop(0) if given is not None else source, edges)
        if not bins:
            return  # a single edge, which is no bin
        weights = others[0] if others else None
        if weights is not None and not as_given[1]:
            weights = converted(weights)
        source = source if as_given[0] else converted(source)
        ends = edges if as_given[0] else apply("to.dtype", edges, wide)
        counts = counting(way, source, weights, ends.pointer, low, high)
        if density:
            widths = apply("diff", apply("to.dtype", edges, float64))
            counts = apply("div.Tensor", apply("div.Tensor", counts, apply("sum", counts)), widths)
        copy_values(result, counts)

    def call(*values: Tensor) -> Any:
        results = tuple(map(new_like, metas))
        fill(*results, *values)
        return kind(*results)

    return Planned.unrun(Filling(metas, fill, kind), operands, call, operands, kind=kind)


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

    def find(given: Tensor, edges: Tensor) -> tuple[Bins, float, float]:
        copy_values(edges, given)
        return Bins.ANY, 0.0, 0.0

    return _histogram("histogram.bins_tensor", self, bins.meta.numel - 1, weight, density, bins, find)


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

    ends = None if range is None else _finite("histogramdd", *range)
    single = self.meta.dtype is float32
    rounded, epsilon = (np.float32, 2.0**-20) if single else (float, 2.0**-49)

    def find(source: Tensor, edges: Tensor) -> tuple[Bins, float, float]:
        low, high = ends or _extremes("histogramdd", source)
        if low > high:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {low} max {high} for dimension 0"
            )
        if low == high:
            low, high = low - 0.5, high + 0.5
        bounds = rounded(low), rounded(high)
        step = float((bounds[1] - bounds[0]) / rounded(bins))
        low, high = map(float, bounds)
        edges_kernel(edges.meta.dtype)(edges.pointer, low, high, step, bins, 1, bins + 1, edges.meta.dtype.itemsize)
        # Where steps come near to what rounding loses, the first guess of a bin may be far off.
        even = max(bins, abs(low) / step, abs(high) / step) * epsilon < 1 if 0 < step < inf else False
        return Bins.EVEN if even else Bins.ANY, low, high

    return _histogram("histogram.bin_ct", self, bins, weight, density, None, find)


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
        return with_empty(runs(self, return_inverse, return_counts, True))
    return with_empty(part_runs("unique_consecutive", self, dim, True, True, True))


def public_unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The first of every run; a tuple with each element's run and the lengths of the runs when asked for."""
    if not isinstance(input, Tensor):
        type_error("unique_consecutive", "input", input, "Tensor")
    for name, value in (("return_inverse", return_inverse), ("return_counts", return_counts)):
        if value.__class__ is not bool:
            type_error("unique_consecutive", name, value, "bool")
    found: Sequence[Tensor | None]
    if is_plain(input):
        wanted = return_inverse, return_counts, True
        found = runs(input, *wanted) if dim is None else part_runs("unique_consecutive", input, dim, *wanted)
    else:
        found = invoke("unique_consecutive", input, return_inverse, return_counts, dim)
    return asked(found, return_inverse, return_counts)
