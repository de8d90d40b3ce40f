"""Writing at computed places where several values meet: scatter_reduce and index_reduce."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.device import cpu
from ...core.dtype import DType, bool_, int64
from ...core.limits import iinfo
from ...core.memory_format import contiguous_format
from ...core.promotion import UPSTREAM_NAMES
from ...tensor.tensor import Tensor
from ...tensor.versions import bump_version, check_written_in_inference
from ..complex_half import refuse_complex32
from ..copy import clone, copy_values
from ..invoke import apply
from ..operand_checks import check_no_overlap
from ..scattering import check_scatter, check_vector_places, vector_dim
from .scatter_loop import write_at

SCATTERED = ("sum", "prod", "mean", "amax", "amin")
INDEXED = ("prod", "mean", "amax", "amin")
COMBINING = {"sum": "add", "mean": "add", "prod": "multiply"}
"""Reduction -> how the kernel combines two values; the others have the kernel's names."""


def _start(reduce: str, dtype: DType) -> Any:
    """Return what a reduction begins with where the old value does not count."""
    if reduce not in ("amax", "amin"):
        return int(reduce == "prod")
    if dtype is bool_:
        return reduce == "amin"
    if dtype.kind == 1:
        return iinfo(dtype).min if reduce == "amax" else iinfo(dtype).max
    return -float("inf") if reduce == "amax" else float("inf")


def _reduce(
    operator: str, self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool
) -> None:
    """Reduce values that meet at a place of `self`, the old one among them if `include_self`."""
    check_written_in_inference(self)
    if not include_self:
        write_at(operator, self, dim, index, _start(reduce, self.meta.dtype))
    write_at(operator, self, dim, index, source, COMBINING.get(reduce, reduce))
    if reduce == "mean":
        counts = apply("full_like", self, int(include_self), dtype=int64)
        write_at(operator, counts, dim, index, 1, "add")
        total = apply("clamp_min", counts, 1)
        if self.meta.dtype.kind == 1:  # rounded down
            quotient = apply("floor_divide", apply("to.dtype", self, int64), total)
        else:
            quotient = apply("div.Tensor", self, apply("to.dtype", total, self.meta.dtype))
        copy_values(self, quotient)


def _check_reduction(operator: str, self: Tensor, reduce: str, allowed: tuple[str, ...], message: str) -> None:
    dtype = self.meta.dtype
    refuse_complex32(operator, dtype)
    if reduce not in allowed:
        raise RuntimeError(message)
    if (reduce == "mean" and dtype is bool_) or (reduce in ("amax", "amin") and dtype.is_complex):
        raise NotImplementedError(f"\"{operator}\" not implemented for '{UPSTREAM_NAMES[dtype.name]}'")


def scatter_reduce__two(
    self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Reduce the values of `src` at the places of `index` along `dim` into `self`, with the old ones if `include_self`.

    Raises RuntimeError for an unknown reduction, sizes, dtypes and places that do not fit.
    """
    message = f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
    _check_reduction("scatter_reduce", self, reduce, SCATTERED, f"scatter_reduce(): {message}")
    place = check_scatter("scatter_reduce", self, dim, index, src)
    if self.meta.device is cpu and index.meta.numel:
        _reduce("scatter_reduce", self, place, index, src, reduce, include_self)
    bump_version(self)
    return self


def index_reduce_(
    self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Reduce parts of `source` into the parts of `self` at `index` along `dim`.

    Raises RuntimeError for an unknown reduction, sizes and dtypes that do not fit, IndexError for places out of range.
    """
    message = f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}."
    _check_reduction("index_reduce", self, reduce, INDEXED, message)
    place = vector_dim("index_reduce_", self, dim, index)
    if self.meta.dtype is not source.meta.dtype:
        raise RuntimeError(
            f"index_reduce_(): self ({UPSTREAM_NAMES[self.meta.dtype.name]}) and source "
            f"({UPSTREAM_NAMES[source.meta.dtype.name]}) must have the same scalar type"
        )
    given = source.meta.sizes or (1,)
    count = index.meta.numel
    if len(given) <= place or given[place] != count:
        raise RuntimeError(
            f"index_reduce_(): Number of indices ({count}) should be equal to source.size(dim): "
            f"({given[place] if place < len(given) else 0}), for dim: {place}"
        )
    mine = self.meta.sizes or (1,)
    if given[:place] + given[place + 1 :] != mine[:place] + mine[place + 1 :]:
        raise RuntimeError(
            f"index_reduce_(): source of sizes {list(given)} must have those of self {list(mine)} apart from dim "
            f"{place}"
        )
    check_no_overlap(self, source)
    if self.meta.device is cpu and count:
        check_vector_places("index_reduce_", self, place, index)
        _reduce("index_reduce_", self, place, index, source, reduce, include_self)
    bump_version(self)
    return self


def _on_copy(inplace: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the function that writes into a copy of its first argument."""

    def run(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return inplace(clone(self, memory_format=contiguous_format), *args, **kwargs)

    return run


scatter_reduce_two, index_reduce = _on_copy(scatter_reduce__two), _on_copy(index_reduce_)
