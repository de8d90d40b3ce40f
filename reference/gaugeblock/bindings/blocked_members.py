"""Methods of the blocked layout: to_mkldnn, loaded when it is first called, and what blocked tensors answer instead of
strided ones."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NoReturn

from ..core.dtype import DType
from ..core.errors import type_error
from ..core.memory_format import MemoryFormat, contiguous_format
from ..dispatch.dispatcher import REGISTRY, call
from ..dispatch.state import STATE
from ..tensor.blocked_tensor import BlockedTensor
from ..tensor.printing import to_text
from ..tensor.tensor import Tensor
from . import dispatched


def to_mkldnn(self: Tensor, dtype: DType | None = None) -> Tensor:
    """The tensor in the blocked layout, in its dtype or another. Raises RuntimeError for a dtype that the layout does
    not have, for no dims or more than five, and for a tensor that takes part in autograd."""
    if dtype is not None and not isinstance(dtype, DType):
        type_error("to_mkldnn", "dtype", dtype, "dtype")
    import_module("..blocked.kernels", __package__)
    given = (self,) if dtype is None else (self, dtype)
    if self.meta.has_autograd:
        if self.requires_grad and STATE.grad:  # type: ignore[attr-defined]
            raise RuntimeError(
                "to_mkldnn(): blocked tensors take no part in autograd: call detach() first, or use no_grad()"
            )
        given = (self.detach(), *given[1:])  # type: ignore[attr-defined]
    made: Tensor = call(REGISTRY.find("to_mkldnn"), *given)
    return made


def _factory(name: str) -> Callable[..., Tensor]:
    def kernel(*args: Any, layout: Any = None, **options: Any) -> Tensor:
        """Make a strided tensor and put its elements into blocks."""
        return to_mkldnn(call(REGISTRY.find(name), *args, **options))

    return kernel


for _name in ("zeros", "empty.memory_format", "ones", "full"):
    REGISTRY.register(_name, "MkldnnCPU", _factory(_name))


def untyped_storage(self: Tensor) -> NoReturn:
    """Raise NotImplementedError: nobody sees the blocks."""
    raise NotImplementedError("Cannot access storage of a tensor of layout _mkldnn: convert it with to_dense() first")


def data_ptr(self: Tensor) -> NoReturn:
    """Raise RuntimeError: there is no address of a first element."""
    raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage: it has layout _mkldnn")


def stride(self: Tensor, dim: int | None = None) -> NoReturn:
    """Raise RuntimeError: elements are not found by strides."""
    raise RuntimeError("stride(): a tensor of layout _mkldnn has no strides: convert it with to_dense() first")


def storage_offset(self: Tensor) -> NoReturn:
    """Raise RuntimeError: there is no first element in a storage."""
    raise RuntimeError("storage_offset(): a tensor of layout _mkldnn has no storage: convert it with to_dense() first")


def is_contiguous(self: Tensor, memory_format: MemoryFormat = contiguous_format) -> bool:
    """False: no memory format means anything here."""
    return False


def contiguous(self: Tensor, memory_format: MemoryFormat = contiguous_format) -> NoReturn:
    """Raise RuntimeError: no memory format means anything here."""
    raise RuntimeError("contiguous(): a tensor of layout _mkldnn has no strides: convert it with to_dense() first")


def numpy(self: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise TypeError: NumPy has no such arrays."""
    raise TypeError("can't convert Mkldnn layout tensor to numpy. Use Tensor.to_dense() first.")


def exchanged(self: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise BufferError: DLPack describes strided tensors alone."""
    raise BufferError("Can't export tensors with layout other than strided, got _mkldnn")


def indexed(self: Tensor, *args: Any) -> NoReturn:
    """Raise NotImplementedError: elements are not found by index."""
    raise NotImplementedError("indexing: a tensor of layout _mkldnn has no elements to be seen; use to_dense() first")


def kept(self: Tensor, *args: Any) -> NoReturn:
    """Raise NotImplementedError: the form of the blocks is no one else's business."""
    raise NotImplementedError("a tensor of layout _mkldnn is neither copied deeply nor pickled; use to_dense() first")


def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """The tensor itself, if no gradient is asked for. Raises RuntimeError for True."""
    if requires_grad:
        raise RuntimeError("requires_grad_(): tensors of layout _mkldnn take no part in autograd; use to_dense() first")
    return self


def _ask(self: Tensor, requires_grad: bool) -> None:
    requires_grad_(self, requires_grad)


def representation(self: Tensor) -> str:
    """The elements, and the layout."""
    return f"{to_text(self.to_dense())[:-1]}, layout={self.layout})"  # type: ignore[attr-defined]


METHODS: dict[str, Callable[..., Any]] = {
    "untyped_storage": untyped_storage, "storage": untyped_storage, "_typed_storage": untyped_storage,
    "data_ptr": data_ptr, "tolist": data_ptr, "stride": stride, "storage_offset": storage_offset,
    "is_contiguous": is_contiguous, "contiguous": contiguous, "numpy": numpy, "__array__": numpy,
    "__dlpack__": exchanged, "__getitem__": indexed, "__setitem__": indexed, "__iter__": indexed,
    "__deepcopy__": kept, "__reduce_ex__": kept, "__repr__": representation,
    "requires_grad_": requires_grad_, "item": dispatched.METHODS["item"],
}  # fmt: skip

Tensor.to_mkldnn = to_mkldnn  # type: ignore[attr-defined]
for _name, _method in METHODS.items():
    setattr(BlockedTensor, _name, _method)
for _name, _getter in dispatched.PROPERTIES.items():
    setattr(BlockedTensor, _name, property(_getter))
BlockedTensor.requires_grad = property(  # type: ignore[attr-defined]
    lambda self: False, _ask
)
BlockedTensor.data = property(lambda self: self.detach())  # type: ignore[attr-defined]
