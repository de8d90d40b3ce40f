"""Geometry: everything about a tensor that does not change from one storage to the next, interned and immutable."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

from ..core.device import Device, cpu
from ..core.dtype import DType
from ..core.errors import check_sizes
from ..core.size import Size
from ..memory.host_allocator import SMALL_LIMIT, host_allocator, small_class
from .strides import default_strides, is_contiguous, is_non_overlapping_and_dense

CONJUGATE = 1
NEGATIVE = 2
TABLE_LIMIT = 1 << 14
PLAN_LIMIT = 256


class Geometry:
    """Sizes, strides (in elements), dtype and device of a tensor, with what follows from them.

    Two equal geometries are usually one object, so ``is`` may serve as a quick hint; it never proves a difference.
    `pool` is the free list for a block of a dense tensor (None when there is none), `plans` a bounded cache
    for whoever works on tensors of this geometry, `keys` the dispatch keys. `views` caches the geometries of views, by
    the tuple of sizes for expand, the length for a slice of dim 0, "row" for one of its parts, and otherwise by a
    tuple that starts with the operator's name.
    `arrays` holds NumPy's views of a few addresses, kept for small tensors, whose blocks come again.
    `lazy` is 0, or the bits CONJUGATE and NEGATIVE when the elements in memory stand for their conjugate or negative.
    A tensor that autograd watches has the `watched_twin` of its geometry, equal in every field but for its own empty
    caches and `watched`: so what was learnt for the one never serves the other, and the fast paths pay nothing.
    """

    __slots__ = (
        "arrays",
        "byte_strides",
        "contiguous",
        "dense",
        "device",
        "dtype",
        "keys",
        "lazy",
        "nbytes",
        "ndim",
        "numel",
        "plans",
        "pool",
        "shape",
        "sizes",
        "strides",
        "transposed",
        "twin",
        "views",
        "watched",
    )

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    byte_strides: tuple[int, ...]
    dtype: DType
    device: Device
    ndim: int
    numel: int
    nbytes: int
    contiguous: bool
    dense: bool
    lazy: int
    shape: Size
    keys: int | None
    pool: list[int] | None
    plans: dict[Any, Any]
    views: dict[Any, Any]
    transposed: Geometry | None
    arrays: dict[int, Any]
    twin: Geometry | None
    watched: bool

    def __repr__(self) -> str:
        return f"Geometry({self.sizes}, {self.strides}, {self.dtype.name}, {str(self.device)!r})"


Key = tuple[tuple[int, ...], tuple[int, ...], DType, Device, int]
_TABLE: dict[Key, Geometry] = {}
_FRESH: dict[tuple[tuple[int, ...], DType, Device], Geometry] = {}


def geometry_of(
    sizes: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device = cpu, lazy: int = 0
) -> Geometry:
    """The geometry with exactly these members; sizes and strides are tuples of non-negative ints of equal length."""
    key = (sizes, strides, dtype, device, lazy)
    known = _TABLE.get(key)
    return known if known is not None else _build(key)


def known_geometry(
    sizes: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device = cpu
) -> Geometry | None:
    """The geometry with these members if there is one already, which says that they are valid; else None."""
    return _TABLE.get((sizes, strides, dtype, device, 0))


def contiguous_geometry(sizes: tuple[int, ...], dtype: DType, device: Device = cpu) -> Geometry:
    """The geometry of a fresh row-major tensor. Raises RuntimeError for negative sizes."""
    key = (sizes, dtype, device)
    known = _FRESH.get(key)
    if known is None:
        check_sizes("empty", sizes)
        known = geometry_of(sizes, default_strides(sizes), dtype, device)
        if len(_FRESH) >= TABLE_LIMIT:
            _FRESH.clear()
        _FRESH[key] = known
    return known


def _build(key: Key) -> Geometry:
    sizes, strides, dtype, device, lazy = key
    self = Geometry()
    self.sizes = sizes
    self.strides = strides
    self.byte_strides = tuple([stride * dtype.itemsize for stride in strides])
    self.dtype = dtype
    self.device = device
    self.lazy = lazy
    self.ndim = len(sizes)
    self.numel = prod(sizes)
    self.nbytes = self.numel * dtype.itemsize
    self.contiguous = is_contiguous(sizes, strides)
    self.dense = self.contiguous or is_non_overlapping_and_dense(sizes, strides)
    self.shape = Size(sizes)
    self.keys = None
    pooled = device is cpu and self.dense and 0 < self.nbytes <= SMALL_LIMIT
    self.pool = host_allocator.pools[small_class(self.nbytes)] if pooled else None
    self.plans = {}
    self.views = {}
    self.transposed = None
    self.arrays = {}
    self.twin = None
    self.watched = False
    if len(_TABLE) >= TABLE_LIMIT:
        _TABLE.clear()
    _TABLE[key] = self
    return self


WATCHED_KEY = 1 << 63
"""Beside the dispatch keys of a watched geometry: calls with such a tensor go to autograd's recorders."""


def watched_twin(geometry: Geometry) -> Geometry:
    """The geometry for tensors that autograd watches; `geometry` is one that it does not."""
    twin = geometry.twin
    if twin is None:
        twin = Geometry()
        for name in Geometry.__slots__:
            setattr(twin, name, getattr(geometry, name))
        twin.keys = None
        twin.pool = None
        twin.plans, twin.views, twin.arrays, twin.transposed = {}, {}, {}, None
        twin.twin = geometry
        twin.watched = True
        geometry.twin = twin
    return twin


def unwatched(geometry: Geometry) -> Geometry:
    """The geometry itself, or the one that it is the watched twin of."""
    return geometry.twin if geometry.watched else geometry  # type: ignore[return-value]


_INTS = frozenset({int})


def only_ints(values: Iterable[Any]) -> bool:
    """Whether all values are ints: what was kept for ints must not serve floats and bools, which are equal to them."""
    return _INTS.issuperset(map(type, values))


def remember(plans: dict[Any, Any], key: Any, value: Any) -> Any:
    """Put `value` into a geometry's cache, emptying it first when it is full, and return it."""
    if len(plans) >= PLAN_LIMIT:
        plans.clear()
    plans[key] = value
    return value
