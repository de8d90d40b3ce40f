"""Geometry: everything about a tensor that does not change from one storage to the next, interned and immutable."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

from ..core.device import Device, cpu
from ..core.dtype import DType
from ..core.errors import check_addressable, check_sizes
from ..core.sealed import seal
from ..core.size import Size
from ..memory.host_allocator import NO_BLOCKS, SMALL_LIMIT, host_allocator, small_class
from .strides import default_strides, is_contiguous, is_non_overlapping_and_dense

CONJUGATE = 1
NEGATIVE = 2
TABLE_LIMIT = 1 << 14
PLAN_LIMIT = 256


class Geometry:
    """Sizes, strides (in elements), dtype and device of a tensor, with what follows from them.

    Two equal geometries are usually one object, so ``is`` may serve as a quick hint; it never proves a difference.
    `pool` is the free list for a block of a dense tensor (None when there is none), `calls` the call cache, `plans` a
    bounded cache for whoever works on tensors of this geometry, `keys` the dispatch keys. `views` caches the
    geometries of views, by the tuple of sizes for expand, the length for a slice of dim 0, "row" for one of its parts,
    and otherwise by a tuple that starts with the operator's name.
    `arrays` holds NumPy's views of a few addresses, kept for small tensors, whose blocks come again.
    `lazy` is 0, or the bits CONJUGATE and NEGATIVE when the elements in memory stand for their conjugate or negative.
    A tensor that autograd watches has the `watched_twin` of its geometry, equal in every field but for its own empty
    caches and `watched`: so what was learnt for the one never serves the other, and the fast paths pay nothing.
    """

    __slots__ = (
        "_byte_strides",
        "_contiguous",
        "_dense",
        "_device",
        "_dtype",
        "_lazy",
        "_nbytes",
        "_ndim",
        "_numel",
        "_pool",
        "_shape",
        "_sizes",
        "_strides",
        "_watched",
        "arrays",
        "calls",
        "keys",
        "plans",
        "transposed",
        "twin",
        "views",
    )

    sizes: tuple[int, ...]
    _sizes: tuple[int, ...]
    strides: tuple[int, ...]
    _strides: tuple[int, ...]
    byte_strides: tuple[int, ...]
    _byte_strides: tuple[int, ...]
    dtype: DType
    _dtype: DType
    device: Device
    _device: Device
    ndim: int
    _ndim: int
    numel: int
    _numel: int
    nbytes: int
    _nbytes: int
    contiguous: bool
    _contiguous: bool
    dense: bool
    _dense: bool
    lazy: int
    _lazy: int
    shape: Size
    _shape: Size
    keys: int | None
    pool: list[int] | None
    _pool: list[int] | None
    calls: dict[Any, Any]
    plans: dict[Any, Any]
    views: dict[Any, Any]
    transposed: Geometry | None
    arrays: dict[int, Any]
    twin: Geometry | None
    watched: bool
    _watched: bool

    def __repr__(self) -> str:
        return f"Geometry({self.sizes}, {self.strides}, {self.dtype.name}, {str(self.device)!r})"


FIXED = tuple(
    "byte_strides contiguous dense device dtype lazy nbytes ndim numel pool shape sizes strides watched".split()
)
"""The members set at construction; the others are caches."""
seal(Geometry, FIXED)

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


def regeometry(geometry: Geometry, sizes: tuple[int, ...], strides: tuple[int, ...]) -> Geometry:
    """`geometry` with other sizes and strides."""
    return geometry_of(sizes, strides, geometry.dtype, geometry.device, geometry.lazy)


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
    check_addressable(sizes, strides)
    self = Geometry()
    self._sizes = sizes
    self._strides = strides
    self._byte_strides = tuple([stride * dtype.itemsize for stride in strides])
    self._dtype = dtype
    self._device = device
    self._lazy = lazy
    self._ndim = len(sizes)
    self._numel = prod(sizes)
    self._nbytes = self.numel * dtype.itemsize
    self._contiguous = is_contiguous(sizes, strides)
    self._dense = self.contiguous or is_non_overlapping_and_dense(sizes, strides)
    self._shape = Size(sizes)
    self.keys = None
    pooled = device is cpu and self.dense and 0 < self.nbytes <= SMALL_LIMIT
    self._pool = host_allocator.pools[small_class(self.nbytes)] if pooled else None
    if device is cpu and not self.nbytes:
        self._pool = NO_BLOCKS
    self.calls = {}
    self.plans = {}
    self.views = {}
    self.transposed = None
    self.arrays = {}
    self.twin = None
    self._watched = False
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
        for name in FIXED:
            setattr(twin, f"_{name}", getattr(geometry, name))
        twin.keys = None
        twin._pool = None
        twin.calls, twin.plans, twin.views, twin.arrays, twin.transposed = {}, {}, {}, {}, None
        twin.twin = geometry
        twin._watched = True
        geometry.twin = twin
    return twin


def as_watched(geometry: Geometry) -> Geometry:
    """Return the geometry of a tensor that requires grad, with the same fields as the one given."""
    return geometry if geometry.watched else watched_twin(geometry)


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
