"""What a tensor tells about itself, without dispatch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.errors import type_error, wrap_dim
from ..core.memory_format import MemoryFormat, contiguous_format
from ..core.size import Size
from ..memory.untyped import UntypedStorage
from .hooks import hooks
from .reshaping import has_memory_format
from .tensor import Tensor
from .versions import is_inference, version_of


def size(self: Tensor, dim: int | None = None) -> Size | int:
    """The sizes, or the size of `dim`. Raises IndexError for a dim out of range."""
    meta = self.meta
    return meta.shape if dim is None else meta.sizes[_real_dim("size", dim, meta.ndim)]


def stride(self: Tensor, dim: int | None = None) -> tuple[int, ...] | int:
    """The strides in elements, or the stride of `dim`. Raises IndexError for a dim out of range."""
    meta = self.meta
    return meta.strides if dim is None else meta.strides[_real_dim("stride", dim, meta.ndim)]


def _real_dim(operator: str, dim: int, ndim: int) -> int:
    if not ndim:
        raise IndexError(f"{operator}(): Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(operator, dim, ndim)


def dim(self: Tensor) -> int:
    """The number of dims."""
    return self.meta.ndim


def numel(self: Tensor) -> int:
    """The number of elements."""
    return self.meta.numel


def storage_offset(self: Tensor) -> int:
    """The place of the first element in the storage, in elements."""
    return self.offset


def element_size(self: Tensor) -> int:
    """The bytes of one element."""
    return self.meta.dtype.itemsize


def data_ptr(self: Tensor) -> int:
    """The address of the first element; 0 without elements."""
    return self.pointer if self.meta.numel else 0


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The handle of the storage."""
    return UntypedStorage.of(self.storage_impl)


def is_contiguous(self: Tensor, memory_format: MemoryFormat = contiguous_format) -> bool:
    """Return whether the elements lie in memory in the order of `memory_format`, without gaps."""
    return has_memory_format(self, memory_format)


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Return whether storage, offset, sizes and strides all agree."""
    if not isinstance(tensor, Tensor):
        type_error("is_set_to", "tensor", tensor, "Tensor")
    mine, other = self.meta, tensor.meta
    same_layout = mine.sizes == other.sizes and mine.strides == other.strides
    return self.storage_impl is tensor.storage_impl and self.offset == tensor.offset and same_layout


def is_floating_point(self: Tensor) -> bool:
    """Return whether the dtype is a floating one."""
    return self.meta.dtype.is_floating_point


def is_complex(self: Tensor) -> bool:
    """Return whether the dtype is a complex one."""
    return self.meta.dtype.is_complex


def is_signed(self: Tensor) -> bool:
    """Return whether the dtype has negative values."""
    return self.meta.dtype.is_signed


def nbytes(self: Tensor) -> int:
    """numel times element_size, also for expanded tensors."""
    return self.meta.nbytes


def is_on(kind: str) -> Callable[[Tensor], bool]:
    """Return the getter that says whether a tensor is on a device of a type."""

    def getter(self: Tensor) -> bool:
        return self.meta.device.type == kind

    getter.__doc__ = f"Return whether the tensor is on a device {kind!r}."
    return getter


def get_device(self: Tensor) -> int:
    """The index of a CUDA device, else -1."""
    device = self.meta.device
    return device.index if device.type == "cuda" and device.index is not None else -1


def is_view(self: Tensor) -> bool:
    """Return whether the tensor is a view of another."""
    return self.base is not None


def base_of(self: Tensor) -> Tensor | None:
    """The root tensor of a view; None for a tensor that is no view."""
    return self.base


def set_requires_grad(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Ask for gradients, or stop it, and return self. Raises RuntimeError unless floating or complex."""
    if not requires_grad and self.autograd is None:
        return self
    return hooks.dispatched["set_requires_grad"](self, requires_grad)  # type: ignore[no-any-return]


METHODS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        size, stride, dim, numel, storage_offset, element_size, data_ptr, untyped_storage, is_contiguous, is_set_to,
        is_floating_point, is_complex, is_signed, is_inference, get_device,
    )
} | {"ndimension": dim, "nelement": numel, "_is_view": is_view}  # fmt: skip

PROPERTIES: dict[str, Callable[..., Any]] = {
    "nbytes": nbytes,
    "itemsize": element_size,
    **{f"is_{kind}": is_on(kind) for kind in ("cpu", "meta", "cuda", "ipu", "maia", "mps", "mtia", "xla", "xpu")},
    "_base": base_of,
    "_version": version_of,
}
