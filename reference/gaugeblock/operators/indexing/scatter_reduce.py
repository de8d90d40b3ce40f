"""Writing at computed places where several values meet: scatter_reduce and index_reduce."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.device import cpu
from ...core.dtype import bool_
from ...core.limits import finfo, iinfo
from ...core.memory_format import contiguous_format
from ...core.promotion import UPSTREAM_NAMES
from ...tensor.tensor import Tensor
from ...tensor.versions import bump_version
from ..arrays import Array, values
from ..copy import clone
from ..operand_checks import check_no_overlap
from ..scattering import Combine, _part, _scatter, _vector, _vector_places, add_at, writable

SCATTERED = ("sum", "prod", "mean", "amax", "amin")
INDEXED = ("prod", "mean", "amax", "amin")


def identity(reduce: str, self: Tensor) -> Any:
    """Return what a reduction begins with where the old value does not count."""
    dtype = self.meta.dtype
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if dtype is bool_:
        return reduce == "amin"
    if dtype.kind == 1:
        return iinfo(dtype).min if reduce == "amax" else iinfo(dtype).max
    if dtype.is_complex:
        return 0
    return -float("inf") if reduce == "amax" else float("inf") if finfo(dtype) else 0


def reducing(reduce: str, self: Tensor, include_self: bool) -> Combine:
    """Writes that reduce values meeting at a place, the old one among them if `include_self`."""
    start = identity(reduce, self)

    def combine(target: Array, key: tuple[Any, ...], source: Any) -> None:
        with np.errstate(all="ignore"):
            if not include_self:
                target[key] = start
            if reduce in ("sum", "mean"):
                add_at(target, key, source)
            elif reduce == "prod":
                (np.logical_and if target.dtype == np.bool_ else np.multiply).at(target, key, source)
            else:
                (np.maximum if reduce == "amax" else np.minimum).at(target, key, source)
            if reduce == "mean":
                _divide(target, key, source, include_self)

    return combine


def _divide(target: Array, key: tuple[Any, ...], source: Any, include_self: bool) -> None:
    """Divide sums by how many values they have, ints rounded down."""
    counts = np.zeros(target.shape, np.int64)
    np.add.at(counts, key, np.ones(np.shape(source), np.int64))
    written = counts > 0
    total = counts[written] + int(include_self)
    if target.dtype.kind in "iu":
        target[written] = target[written].astype(np.int64) // total
    else:
        target[written] = (target[written] / total.astype(target.dtype)).astype(target.dtype)


def _check_reduction(operator: str, self: Tensor, reduce: str, allowed: tuple[str, ...], message: str) -> None:
    dtype = self.meta.dtype
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
    return _scatter("scatter_reduce", self, dim, index, src, reducing(reduce, self, include_self))


def index_reduce_(
    self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Reduce parts of `source` into the parts of `self` at `index` along `dim`.

    Raises RuntimeError for an unknown reduction, sizes and dtypes that do not fit, IndexError for places out of range.
    """
    message = f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}."
    _check_reduction("index_reduce", self, reduce, INDEXED, message)
    place = _vector("index_reduce_", self, dim, index)
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
        target = writable(self)
        places = _vector_places("index_reduce_", target, place, index)
        array = values(source).reshape(given)
        reducing(reduce, self, include_self)(target, _part(place, places), array)
    bump_version(self)
    return self


def _on_copy(inplace: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the function that writes into a copy of its first argument."""

    def run(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return inplace(clone(self, memory_format=contiguous_format), *args, **kwargs)

    return run


scatter_reduce_two, index_reduce = _on_copy(scatter_reduce__two), _on_copy(index_reduce_)
