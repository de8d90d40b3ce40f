"""Tensor: one fixed record over a storage, and its constructor."""

from __future__ import annotations

from typing import Any, TypeVar

from ..core.device import Device, cpu
from ..core.dtype import DType
from ..core.layout import Layout, strided
from ..core.sealed import seal
from ..core.size import Size
from ..memory.storage import Storage, allocate_storage, check_nbytes, new_object
from .tensor_meta import TensorMeta, contiguous_meta, extent, meta_of


class Tensor:
    """A view of `meta` into `storage`, starting `offset` elements in.

    `class_keys` are dispatch keys that all tensors of a subclass carry. `pointer` is the address of the first element.
    `base` is the root tensor of a view. `counter` is None while the
    version lives in ``storage.version``; `autograd` and `requires_grad_flag` belong to autograd. `viewed` is
    there once a view was made of a tensor that is none itself.
    """

    __slots__ = (
        "__dict__", "__weakref__", "_meta", "_offset", "_pointer", "_storage_impl", "autograd", "base", "counter",
        "requires_grad_flag", "viewed",
    )  # fmt: skip

    meta: TensorMeta
    _meta: TensorMeta
    storage_impl: Storage
    _storage_impl: Storage
    offset: int
    _offset: int
    pointer: int
    _pointer: int
    base: Tensor | None
    counter: Any
    autograd: Any
    requires_grad_flag: bool
    viewed: bool
    class_keys = 0

    @property
    def shape(self) -> Size:
        """The sizes."""
        return self.meta.shape

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.meta.dtype

    @property
    def device(self) -> Device:
        """Return where the storage lives."""
        return self.meta.device

    @property
    def layout(self) -> Layout:
        """Always strided."""
        return strided

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return self.meta.ndim


T = TypeVar("T", bound=Tensor)
seal(Tensor, ("meta", "storage_impl", "offset", "pointer"))


INITIAL: dict[str, object] = {"base": None, "counter": None, "autograd": None, "requires_grad_flag": False}
"""Slots beside those that say where a tensor's elements are -> what they hold in a tensor that is new."""


def tensor_object(kind: type[T], meta: TensorMeta, storage: Storage, offset: int) -> T:
    """Return a new tensor of a class; the address of its first element is left to the caller, as the last thing. A
    tensor on a storage that may be resized meanwhile must refer to it before the address is read: see changing.py."""
    self = new_object(kind)
    self._meta = meta
    self._storage_impl = storage
    self._offset = offset
    self.base = None
    self.counter = None
    self.autograd = None
    self.requires_grad_flag = False
    return self


def make_tensor(meta: TensorMeta, storage: Storage, offset: int, base: Tensor | None) -> Tensor:
    """A tensor over existing storage; the caller guarantees that it fits."""
    self = tensor_object(Tensor, meta, storage, offset)
    self._pointer = storage.pointer + offset * meta.dtype.itemsize
    self.base = base
    return self


def view_at_same_place(self: Tensor, meta: TensorMeta) -> Tensor:
    """The view of `self` with `meta` at the same element; it shares the storage, the version and the root tensor."""
    view = new_object(Tensor)
    view._meta = meta
    view._storage_impl = self.storage_impl
    view._offset = self.offset
    view._pointer = self.pointer
    base = self.base
    if base is None:
        base = self
        self.viewed = True
    view.base = base
    view.counter = self.counter
    view.autograd = None
    view.requires_grad_flag = False
    return view


def make_view(self: Tensor, meta: TensorMeta, offset: int) -> Tensor:
    """The view of `self` with `meta` at `offset`. Raises RuntimeError when its storage was resized under it."""
    view = view_at_same_place(self, meta)
    view._offset = offset
    view._pointer = self.pointer and view._storage_impl.pointer + offset * meta.dtype.itemsize
    return view


def new_like(meta: TensorMeta) -> Tensor:
    """A fresh tensor of `meta`, contents undefined: the way to make an output. RuntimeError when it is too big."""
    pool = meta.pool
    try:
        pointer = pool.pop()  # type: ignore[union-attr]
    except (IndexError, AttributeError):
        if meta.dtype.quantized:
            raise RuntimeError(f"a new tensor of {meta.dtype} needs a quantizer: use quantize_per_tensor()") from None
        elements = meta.numel if meta.dense else extent(meta.sizes, meta.strides)
        nbytes = check_nbytes("empty", elements * meta.dtype.itemsize)
        return make_tensor(meta, allocate_storage(nbytes, meta.device), 0, None)
    storage = new_object(Storage)
    storage.pool = pool
    storage._pointer = pointer
    storage._nbytes = meta.nbytes
    storage.allocator = None
    storage.deleter = None
    storage.owner = None
    storage.device = cpu
    storage.resizable = True
    storage.version = 0
    self = new_object(Tensor)
    self._meta = meta
    self._storage_impl = storage
    self._offset = 0
    self._pointer = pointer
    self.base = None
    self.counter = None
    self.autograd = None
    self.requires_grad_flag = False
    return self


def empty_tensor(sizes: tuple[int, ...], dtype: DType, device: Device = cpu) -> Tensor:
    """A fresh row-major tensor, contents undefined. Raises RuntimeError for negative or impossible sizes."""
    return new_like(contiguous_meta(sizes, dtype, device))


def empty_strided_tensor(
    sizes: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device = cpu
) -> Tensor:
    """A fresh tensor with the given strides over a storage that just holds it, contents undefined."""
    meta = meta_of(sizes, strides, dtype, device)
    nbytes = check_nbytes("empty_strided", extent(sizes, strides) * dtype.itemsize)
    return make_tensor(meta, allocate_storage(nbytes, device), 0, None)
