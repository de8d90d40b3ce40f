"""Copies: copy_, clone and what fills the tensor floor's copy hooks; any strides, any dtypes, lazy bits resolved."""

from __future__ import annotations

from collections.abc import Callable

from ..core.device import cpu, meta_device
from ..core.memory_format import MemoryFormat, check_memory_format, contiguous_format, preserve_format
from ..core.warn import warn
from ..dispatch.dispatcher import call
from ..dispatch.registry import REGISTRY
from ..iteration.dimensions import broadcast_shapes
from ..iteration.overlap import check_no_internal_overlap, check_no_partial_overlap
from ..kernels.bound_call import bound
from ..memory.devices import read_device, write_device
from ..memory.elements import read_bytes, write_bytes
from ..memory.storage import allocate_storage
from ..tensor.geometry import (
    CONJUGATE,
    NEGATIVE,
    Geometry,
    channels_last_strides,
    default_strides,
    extent,
    geometry_of,
    preserve_format_strides,
    remember,
)
from ..tensor.hooks import hooks
from ..tensor.tensor import Tensor, make_tensor, new_like
from ..tensor.versions import bump_version
from .extents import extent_of
from .launch import Launch, element_launch
from .plan import Planned, plannable
from .registration import kernel

BUILTIN = (cpu, meta_device)
FORMULA_OF_LAZY = {0: "identity", CONJUGATE: "conj_physical", NEGATIVE: "neg", CONJUGATE | NEGATIVE: "neg_conj"}


ELSEWHERE: dict[str, Callable[[Tensor, Tensor, bool], None]] = {}
"""Device type -> what copies to and from it, with what copy_ says on blocking; the others go through host memory."""


def copy_values(destination: Tensor, source: Tensor, non_blocking: bool = False) -> None:
    """Write `source`, broadcast and converted, into `destination`; no checks, no version change."""
    key = ("copy", source.geometry)
    plans = destination.geometry.plans
    try:
        launch: Launch | None = plans[key]
    except KeyError:
        if destination.geometry.device not in BUILTIN or source.geometry.device not in BUILTIN:
            copy_elsewhere(destination, source, non_blocking)
            return
        launch = copying(destination.geometry, source.geometry)
        remember(plans, key, launch)
    if launch is not None:
        launch.run([destination.pointer, source.pointer])


def host_image(tensor: Tensor) -> Tensor:
    """A tensor in host memory with the sizes, strides and elements of one on another device."""
    geometry = tensor.geometry
    here = geometry_of(geometry.sizes, geometry.strides, geometry.dtype, cpu, geometry.lazy)
    data = read_device(geometry.device, tensor.pointer, _spanned(geometry))
    storage = allocate_storage(len(data))
    write_bytes(storage.pointer, data)
    return make_tensor(here, storage, 0, None)


def _spanned(geometry: Geometry) -> int:
    return extent(geometry.sizes, geometry.strides) * geometry.dtype.itemsize if geometry.numel else 0


def copy_elsewhere(destination: Tensor, source: Tensor, non_blocking: bool) -> None:
    """copy_values where one of the two lies neither on the CPU nor on meta. NotImplementedError without data."""
    kinds = (destination.geometry.device.type, source.geometry.device.type)
    copy = ELSEWHERE.get(kinds[0]) or ELSEWHERE.get(kinds[1])
    if kinds[0] == "meta":
        return
    if kinds[1] == "meta":
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if copy is None:
        copy_through_host(destination, source)
    else:
        copy(destination, source, non_blocking)


def copy_through_host(destination: Tensor, source: Tensor) -> None:
    """copy_values from or to a device whose memory only its allocator reaches. NotImplementedError without data."""
    values = source if source.geometry.device in BUILTIN else host_image(source)
    if destination.geometry.device is cpu:
        copy_values(destination, values)
        return
    image = host_image(destination)
    copy_values(image, values)
    data = read_bytes(image.pointer, _spanned(image.geometry))
    write_device(destination.geometry.device, destination.pointer, data)


def copying(destination: Geometry, source: Geometry) -> Launch | None:
    """The launch that copies, None without data. Raises NotImplementedError for a source without data."""
    if destination.device is not cpu:
        return None
    if source.device is not cpu:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    # Whole numbers are negated as what they become: those without a sign, and zeros, have no negative.
    compute = destination.dtype if destination.lazy and source.dtype.kind < destination.dtype.kind else source.dtype
    return element_launch(FORMULA_OF_LAZY[destination.lazy ^ source.lazy], destination, [source], compute)


@kernel("copy_")
@plannable
def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor | Planned[Tensor]:
    """Write `src`, broadcast and converted to self's dtype, into self; RuntimeError when it does not broadcast."""
    if not isinstance(src, Tensor):
        result: Tensor = call(REGISTRY.find("fill_.Scalar"), self, src)
        return result
    geometry, source = self.geometry, src.geometry
    if self is src:
        bump_version(self)
        return self
    check_no_internal_overlap(geometry.sizes, geometry.strides)
    if self.storage_impl is src.storage_impl:
        check_no_partial_overlap(extent_of(self), extent_of(src))
    if source.sizes != geometry.sizes and broadcast_shapes((geometry.sizes, source.sizes)) != geometry.sizes:
        raise RuntimeError(
            f"copy_(): output with shape {list(geometry.sizes)} doesn't match the broadcast shape "
            f"{list(broadcast_shapes((geometry.sizes, source.sizes)))}"
        )
    warn_of_lost_imaginary_part(source, geometry)
    bump_version(self)
    copy_values(self, src, non_blocking)
    launch = geometry.plans.get(("copy", source))
    if launch is not None and not (source.dtype.is_complex and not geometry.dtype.is_complex):
        return Planned(self, _call(launch))
    return self


def _call(launch: Launch) -> Callable[[Tensor, Tensor], Tensor]:
    """What copies between tensors of the same geometries, which fit."""
    builtin, tail = launch.call()

    def run(self: Tensor, src: Tensor) -> Tensor:
        if self.storage_impl is src.storage_impl:
            return copy_(self, src)
        bump_version(self)
        builtin(self.pointer, src.pointer, *tail)
        return self

    return run


def warn_of_lost_imaginary_part(source: Geometry, destination: Geometry) -> None:
    """UserWarning when complex values go into a real dtype other than bool."""
    if source.dtype.is_complex and not destination.dtype.is_complex and destination.dtype.kind:
        warn("Casting complex values to real discards the imaginary part")


def format_strides(geometry: Geometry, memory_format: MemoryFormat | None) -> tuple[int, ...]:
    """Strides of a copy of `geometry` in a memory format (None and preserve_format keep the layout).

    RuntimeError when the rank does not go with the format.
    """
    if memory_format is None or memory_format is preserve_format:
        return preserve_format_strides(geometry.sizes, geometry.strides)
    if memory_format is contiguous_format:
        return default_strides(geometry.sizes)
    check_memory_format("clone", memory_format)
    if memory_format.rank != geometry.ndim:
        raise RuntimeError(f"required rank {memory_format.rank} tensor to use {memory_format.name} format")
    return channels_last_strides(geometry.sizes, memory_format)


@kernel("clone")
@plannable
def clone(self: Tensor, *, memory_format: MemoryFormat | None = None) -> Planned[Tensor]:
    """A fresh tensor with the same values; the layout is kept unless a memory format is given."""
    geometry = self.geometry
    strides = format_strides(geometry, memory_format)
    made = geometry_of(geometry.sizes, strides, geometry.dtype, geometry.device)
    result = new_like(made)
    copy_values(result, self)
    launch = made.plans.get(("copy", geometry))
    return Planned(result, None if launch is None else bound(launch.builtin(), (made,), launch.call()[1]))


hooks.copy_into = copy_values
