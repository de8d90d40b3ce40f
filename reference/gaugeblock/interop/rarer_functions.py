"""Functions composed of others: empty_permuted, range, hash_tensor, histogramdd."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..core import lazy_numpy as np
from ..core.dtype import DEFAULTS, float64, int64, uint64
from ..core.errors import check_int, check_ints, type_error, wrap_dims
from ..core.warn import warn
from ..operators.arguments import tensor_options
from ..operators.arrays import from_array, values
from ..operators.invoke import apply
from ..operators.operand_checks import check_implemented
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta


def empty_permuted(size: Any, physical_layout: Any, **options: Any) -> Any:
    """Return an uninitialized tensor whose dims are ordered in memory by `physical_layout`, outermost first.

    Takes the options of empty(). Raises RuntimeError unless `physical_layout` is a permutation of the dims.
    Source: torch.empty_permuted.
    """
    sizes = check_ints("empty_permuted", "size", size)
    order = check_ints("empty_permuted", "physical_layout", physical_layout)
    if sorted(order) != list(builtins.range(len(sizes))):
        raise RuntimeError(
            f"empty_permuted(): argument 'physical_layout' must name each of the {len(sizes)} dims of 'size' once, "
            f"from 0 on, got {list(order)}"
        )
    options, requires_grad = tensor_options("empty_permuted", options)
    made: Any = apply("empty.memory_format", [sizes[dim] for dim in order], **options)
    return made.permute([order.index(dim) for dim in builtins.range(len(sizes))]).detach().requires_grad_(requires_grad)


def _real(name: str, bound: Any) -> float:
    """Return a bound of range() as a number. Raises TypeError unless it is a real number or a tensor of one."""
    number = bound.item() if isinstance(bound, Tensor | np.generic) else bound  # type: ignore[union-attr]
    if not isinstance(number, int | float):
        type_error("range", name, bound, "a real number")
    return number


def range(start: Any = 0, end: Any = None, step: Any = 1, **options: Any) -> Any:
    """Return start, start + step, ... up to and including end, in the default dtype unless another is given.

    Takes the options of arange(). Deprecated: it warns. Raises RuntimeError for a step of 0 or of the wrong sign.
    Source: torch.range.
    """
    if end is None:
        raise TypeError('range() missing 1 required positional arguments: "end"')
    warn("range() is deprecated: unlike arange(), it includes the end. Use arange()")
    bounds = {"start": start, "end": end, "step": step}
    first, last, by = (_real(name, bound) for name, bound in bounds.items())
    if by == 0:
        raise RuntimeError("range(): argument 'step' must be nonzero")
    if not all(map(math.isfinite, (first, last, (last - first) / by))):
        raise RuntimeError(f"range(): unsupported range: {first} -> {last}")
    if (last - first) / by < 0:
        raise RuntimeError("range(): upper bound and lower bound inconsistent with step sign")
    out = options.pop("out", None)
    options, requires_grad = tensor_options("range", options)
    dtype = options.pop("dtype", DEFAULTS.dtype if out is None else out.dtype)
    check_implemented("range", dtype, dtype.computes)
    count = math.floor((last - first) / by) + 1
    made: Any = apply("arange", count, dtype=int64 if dtype.kind == 1 else float64, **options)
    made = (made * by + first).to(dtype)
    if out is not None:
        return out.resize_(made.shape).copy_(made)
    return made.requires_grad_() if requires_grad else made


def hash_tensor(input: Tensor, dim: Any = (), *, keepdim: bool = False, mode: int = 0, out: Any = None) -> Any:
    """Return the bitwise exclusive or of the elements over `dim`, by default all dims, as uint64.

    Integers are converted to int64 and floats to float64 first. Raises RuntimeError for a `mode` other than 0 and for
    an empty tensor without `dim`, NotImplementedError for complex elements. Source: torch.hash_tensor.
    """
    if not isinstance(input, Tensor):
        type_error("hash_tensor", "input", input, "Tensor")
    if mode != 0:
        raise RuntimeError(f"hash_tensor(): Unknown mode: {mode}")
    dtype = input.meta.dtype
    check_implemented("hash_tensor", dtype, not dtype.is_complex)
    dims = () if dim is None else check_ints("hash_tensor", "dim", dim)
    if not input.meta.numel and not dims:
        raise RuntimeError("hash_tensor(): dims must be given for a tensor without elements")
    ndim = input.meta.ndim
    axes = wrap_dims("hash_tensor", dims, ndim, "dim") if dims else tuple(builtins.range(ndim))
    axes = axes if ndim else ()
    bits = values(input).astype(np.float64 if dtype.kind == 2 else np.int64).view(np.uint64)
    reduce: Any = np.bitwise_xor.reduce
    made: Any = from_array(np.asarray(reduce(bits, axis=axes, keepdims=keepdim)), uint64)
    return made if out is None else out.resize_(made.shape).copy_(made)


class Histogramdd(NamedTuple):
    """The result of histogramdd: counts, and the bin edges along each dim."""

    hist: Any
    bin_edges: tuple[Any, ...]


Histogramdd.__name__ = "histogramdd"


def histogramdd(
    input: Tensor, bins: Any, *, range: Sequence[float] | None = None, weight: Any = None, density: bool = False
) -> Any:
    """Return the number of points of `input`, whose last dim holds coordinates, in each cell of a grid, and its edges.

    `bins` is a number of bins, a number for each coordinate, or a tensor of edges for each; the last bin includes its
    upper edge. `range` holds the two ends for each coordinate, by default those of the data. Raises RuntimeError when
    `bins` or `range` does not fit the number of coordinates. Source: torch.histogramdd.
    """
    if not isinstance(input, Tensor):
        type_error("histogramdd", "input", input, "Tensor")
    meta = input.meta
    if meta.ndim < 2:
        raise RuntimeError("histogramdd(): input tensor should have at least 2 dimensions")
    check_implemented("histogramdd", meta.dtype, meta.dtype.kind == 2)
    count = meta.sizes[-1]
    given = tuple(bins) if isinstance(bins, (tuple, list)) else (bins,) * count
    if len(given) != count:
        raise RuntimeError("histogramdd(): The size of bins must be equal to the innermost dimension of the input.")
    if isinstance(bins, (bool, Tensor)):
        type_error("histogramdd", "bins", bins, "int, a list of ints or of Tensors")
    if not count:  # no coordinate names a cell, so that none is counted
        return Histogramdd(from_array(np.full((), np.nan if density else 0.0), meta.dtype), ())
    rows = values(input).reshape(-1, count)
    if range is not None and len(range) != 2 * count:
        raise RuntimeError(f"histogramdd(): argument 'range' must have {2 * count} elements, got {len(range)}")
    edges: list[Any] = []
    for place, one in enumerate(given):
        if isinstance(one, Tensor):
            _check_edges(one, place, meta)
            edges.append(one.detach().clone())  # type: ignore[attr-defined]
            continue
        bin_count = check_int("histogramdd", "bins", one)
        if bin_count < 1:
            raise RuntimeError(f"histogramdd(): bins must be > 0, but got {bin_count} for dimension {place}")
        column = rows[:, place]
        ends: Sequence[float] = (float(column.min()), float(column.max())) if column.size else (0.0, 1.0)
        ends = ends if range is None else range[2 * place : 2 * place + 2]
        low, high = (ends[0] - 0.5, ends[1] + 0.5) if ends[0] == ends[1] else ends
        edges.append(apply("linspace", low, high, bin_count + 1, dtype=meta.dtype))
    weights = None if weight is None else values(weight).reshape(-1)
    found, _ = np.histogramdd(rows, [values(one).astype(np.float64) for one in edges], density=density, weights=weights)
    return Histogramdd(from_array(found, meta.dtype), tuple(edges))


def _check_edges(edges: Tensor, place: int, points: TensorMeta) -> None:
    """Raise RuntimeError unless `edges` are a rising sequence in the dtype of `points`, one at least."""
    meta = edges.meta
    where = f"in the bins tensor for dimension {place}"
    if meta.ndim != 1:
        raise RuntimeError(f"histogramdd(): bins tensor should have one dimension, but got {meta.ndim} {where}")
    if meta.dtype is not points.dtype:
        raise RuntimeError(
            f"histogramdd(): input and bins should have the same dtype, but got {points.dtype.name} and "
            f"{meta.dtype.name} {where}"
        )
    array = values(edges)
    if array.size < 2 or (array[1:] < array[:-1]).any():
        raise RuntimeError(f"histogramdd(): bins tensor should have two or more edges that rise, got {array} {where}")
