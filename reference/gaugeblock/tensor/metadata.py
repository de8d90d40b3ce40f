"""In-place changes of a tensor's own metadata: sizes, strides, offset, storage; the data stays where it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.dtype import DType
from ..core.errors import check_int, check_ints, check_sizes, type_error
from ..core.memory_format import MemoryFormat, contiguous_format, preserve_format
from ..memory.storage import Storage, allocate_storage, check_nbytes
from ..memory.untyped import UntypedStorage
from .changing import change_metadata
from .hooks import hooks
from .refresh import grow_own_storage, grow_storage
from .tensor import Tensor, view_at_same_place
from .tensor_meta import TensorMeta, default_strides, extent, format_strides, meta_of, meta_with, without_autograd
from .versions import HOW_MADE, INFERENCE, VersionCounter, bump_version, version_of
from .views import squeeze, strided_meta, t, transpose, unsqueeze


def _become(self: Tensor, meta: TensorMeta, offset: int) -> Tensor:
    bump_version(self)
    change_metadata(self, meta, self.storage_impl, offset)
    return self


def _in_place(view: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the function that makes a tensor what the view of it at the same place is."""

    def become(self: Tensor, *args: Any) -> Tensor:
        return _become(self, view(self, *args).meta, self.offset)

    return become


t_, transpose_ = _in_place(t), _in_place(transpose)
squeeze_, unsqueeze_ = _in_place(squeeze), _in_place(unsqueeze)


def as_strided_(self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """as_strided in place; a resizable storage is not grown for it."""
    meta, offset = strided_meta("as_strided_", self, size, stride, storage_offset)
    return _become(self, meta, offset)


def detach(self: Tensor) -> Tensor:
    """A tensor on the same storage and version, outside any recorded history; not reported as a view."""
    result = view_at_same_place(self, without_autograd(self.meta))
    result.base = None
    if result.counter.__class__ in HOW_MADE:
        result.counter = None
    return result


def detach_(self: Tensor) -> Tensor:
    """Forget the recorded history, in place. Raises RuntimeError for a view that has one."""
    return self if self.autograd is None else hooks.dispatched["detach_"](self)


def resize_(self: Tensor, size: Sequence[int], memory_format: MemoryFormat | None = None) -> Tensor:
    """Give `self` other sizes, row-major, growing the storage when needed; the storage never shrinks. Raises
    RuntimeError for negative sizes, a storage that may not grow, and preserve_format."""
    meta = self.meta
    sizes = check_ints("resize_", "size", size)
    if sizes == meta.sizes and memory_format is None and self.__class__ is Tensor:
        return self
    check_sizes("resize_", sizes)
    if memory_format is preserve_format:
        raise RuntimeError("resize_(): argument 'memory_format' preserve_format is unsupported")
    if self.autograd is not None and self.requires_grad:  # type: ignore[attr-defined]
        raise RuntimeError("cannot resize variables that require grad")
    strides = format_strides("resize_", sizes, (), memory_format or contiguous_format)
    if sizes == meta.sizes and memory_format is None:
        strides = meta.strides
    needed = _needed(extent(sizes, strides), self.offset, meta.dtype)
    grow_own_storage(self, needed, meta.dtype)
    return _become(self, meta_with(meta, sizes, strides), self.offset)


def _needed(elements: int, offset: int, dtype: DType) -> int:
    return check_nbytes("resize_", (elements + offset) * dtype.itemsize) if elements else 0


def resize_as_(self: Tensor, the_template: Tensor, memory_format: MemoryFormat | None = None) -> Tensor:
    """resize_ to the sizes of `the_template`; preserve_format also takes its strides. Raises TypeError."""
    if not isinstance(the_template, Tensor):
        type_error("resize_as_", "the_template", the_template, "Tensor")
    if memory_format is preserve_format:
        template = the_template.meta
        resize_(self, template.sizes)
        if template.dense:
            meta = meta_with(self.meta, template.sizes, template.strides)
            change_metadata(self, meta, self.storage_impl, self.offset)
        return self
    return resize_(self, the_template.meta.sizes, memory_format)


def set_(
    self: Tensor, source: Tensor | UntypedStorage | None = None, storage_offset: int = 0,
    size: Sequence[int] | None = None, stride: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """Make `self` share the storage of `source`: with a tensor's metadata, or with the given ones, row-major if none.

    Without `source` it becomes an empty tensor. Raises RuntimeError for another dtype, illegal strides, or elements
    outside a storage that may not grow.
    """
    meta = self.meta
    version = None if self.counter is INFERENCE else version_of(self)
    if source is None:
        fresh = allocate_storage(0, meta.device)
        return _rebind(self, fresh, meta_of((0,), (1,), meta.dtype, meta.device), 0, version)
    if isinstance(source, Tensor):
        if source.meta.dtype is not meta.dtype:
            raise RuntimeError(
                f"set_(): Could not set tensor of dtype {source.meta.dtype} to a tensor of dtype {meta.dtype}"
            )
    elif not isinstance(source, UntypedStorage):
        type_error("set_", "source", source, "Tensor or UntypedStorage")
    # No name for the storage: growing it counts the references to it.
    if source.storage_impl.device is not meta.device:
        raise RuntimeError(f"set_(): a storage on {source.storage_impl.device} cannot hold a tensor on {meta.device}")
    if isinstance(source, Tensor) and size is None:
        return _rebind(self, source.storage_impl, source.meta, source.offset, version)
    itemsize = meta.dtype.itemsize
    sizes = (source.storage_impl.nbytes // itemsize,) if size is None else check_ints("set_", "size", size)
    strides = default_strides(sizes) if not stride and sizes else check_ints("set_", "stride", stride or ())
    check_sizes("set_", sizes)
    storage_offset = check_int("set_", "storage_offset", storage_offset)
    if len(strides) != len(sizes) or any(step < 0 for step in strides) or storage_offset < 0:
        raise RuntimeError(
            f"set_(): sizes {list(sizes)}, strides {list(strides)} and storage_offset {storage_offset} must have equal "
            "lengths and no negative member"
        )
    grow_storage(source.storage_impl, _needed(extent(sizes, strides), storage_offset, meta.dtype), meta.dtype)
    found = meta_of(sizes, strides, meta.dtype, meta.device)
    return _rebind(self, source.storage_impl, found, storage_offset, version)


def _rebind(self: Tensor, storage: Storage, meta: TensorMeta, offset: int, version: int | None) -> Tensor:
    self.counter = INFERENCE if version is None else VersionCounter(version)
    self.base = None
    bump_version(self)
    change_metadata(self, meta, storage, offset)
    return self
