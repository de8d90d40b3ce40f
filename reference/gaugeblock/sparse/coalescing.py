"""Coalescing: values of equal indices summed, indices distinct and in lexicographic order."""

from __future__ import annotations

from ..core import lazy_numpy as np
from ..core.device import cpu
from ..core.dtype import bool_, uint8
from ..dispatch.dispatcher import REGISTRY, call
from ..operators.arrays import Array
from ..operators.invoke import apply
from ..tensor.tensor import Tensor
from . import declarations as declarations
from .coo_tensor import columns, coo, index_tensor, indices_at, parts_of, places_of, sparse_sizes, zeros


def coalesced(self: Tensor) -> Tensor:
    """Return the tensor itself if it is coalesced, else a coalesced one with the same elements. Explicit zeros stay."""
    parts = parts_of(self)
    if parts.coalesced:
        return self
    if self.meta.device is not cpu:
        return call(OPERATOR, self)  # type: ignore[no-any-return]
    sizes = sparse_sizes(self)
    places, order, first = grouped(places_of(columns(self), sizes))
    values = sums(parts.values, order, first)
    return coo(index_tensor(indices_at(places, sizes)), values, self.meta.sizes, coalesced=True)


def grouped(places: Array) -> tuple[Array, Array, Array]:
    """Return the distinct places in order, the order that sorts the places, and where in it each group begins."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    first = np.empty(ordered.size, bool)
    first[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first], order, first


def sums(values: Tensor, order: Array, first: Array) -> Tensor:
    """Return the sum of each group of values: taken in `order`, a group begins where `first` is true. Bools are joined
    by or."""
    taken = apply("index_select", values, 0, index_tensor(order))
    count = int(np.count_nonzero(first))
    if count == order.size:
        return taken
    groups = index_tensor(np.cumsum(first) - 1)
    sizes = (count, *values.meta.sizes[1:])
    if values.meta.dtype is bool_:
        added = apply("index_add_", zeros(sizes, uint8), 0, groups, apply("to.dtype", taken, uint8))
        return apply("ne.Scalar", added, 0)
    return apply("index_add_", zeros(sizes, values.meta.dtype), 0, groups, taken)


OPERATOR = REGISTRY.find("_coalesce")
