"""What sparse tensors answer instead of strided ones, without dispatch: they have no storage, address or strides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..core.layout import UPSTREAM_NAMES, sparse_coo
from ..core.memory_format import MemoryFormat, contiguous_format
from ..tensor.sparse_tensor import SparseTensor
from ..tensor.tensor import Tensor
from .copying import deep_copy, reduced, same_parts
from .printing import representation


def untyped_storage(self: Tensor) -> NoReturn:
    """Raise NotImplementedError: the elements lie in several storages."""
    raise NotImplementedError("Cannot access storage of a sparse tensor; those of its parts are there")


def data_ptr(self: Tensor) -> NoReturn:
    """Raise RuntimeError: there is no address of a first element."""
    raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


def tolist(self: Tensor) -> Any:
    """Return the number of a tensor without dims. Raises RuntimeError for any other."""
    return data_ptr(self) if self.meta.ndim else self.item()  # type: ignore[attr-defined]


def numpy(self: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise TypeError: NumPy has no such arrays."""
    raise TypeError(
        f"can't convert {UPSTREAM_NAMES[self.layout]} layout tensor to numpy. Use Tensor.to_dense() first."
    )


def stride(self: Tensor, dim: int | None = None) -> tuple[int, ...] | int:
    """Return zeros in coordinate form. Raises RuntimeError in compressed form."""
    if self.layout is not sparse_coo:
        raise RuntimeError("Sparse CSR tensors do not have strides")
    return (0,) * self.meta.ndim if dim is None else 0


def is_contiguous(self: Tensor, memory_format: MemoryFormat = contiguous_format) -> bool:
    """Return False in coordinate form. Raises RuntimeError in compressed form."""
    if self.layout is not sparse_coo:
        raise RuntimeError("Sparse CSR tensors do not have is_contiguous")
    return False


def contiguous(self: Tensor, memory_format: MemoryFormat = contiguous_format) -> NoReturn:
    """Raise RuntimeError: no memory format means anything here."""
    if self.layout is not sparse_coo:
        raise RuntimeError("Sparse CSR tensors do not have is_contiguous")
    raise RuntimeError("contiguous(): unsupported memory format option Contiguous: a sparse tensor has no strides")


def nbytes(self: Tensor) -> int:
    """Return the number of bytes of the dense tensor in compressed form. Raises RuntimeError in coordinate form."""
    if self.layout is not sparse_coo:
        return self.meta.nbytes
    raise RuntimeError(
        "nbytes is not defined for sparse tensors: add those of the indices and the values, or multiply numel() by "
        "element_size() for those of the dense tensor"
    )


def exchanged(self: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise BufferError: DLPack describes strided tensors alone."""
    raise BufferError(f"Can't export tensors with layout other than torch.strided, got {self.layout.name}")


METHODS: dict[str, Callable[..., Any]] = {
    "untyped_storage": untyped_storage, "storage": untyped_storage, "_typed_storage": untyped_storage,
    "data_ptr": data_ptr, "tolist": tolist, "numpy": numpy, "__array__": numpy, "stride": stride,
    "is_contiguous": is_contiguous, "contiguous": contiguous, "__repr__": representation, "__dlpack__": exchanged,
    "__deepcopy__": deep_copy, "__reduce_ex__": reduced,
}  # fmt: skip
PROPERTIES: dict[str, Callable[..., Any]] = {"nbytes": nbytes, "data": same_parts}

for _name, _method in METHODS.items():
    setattr(SparseTensor, _name, _method)
for _name, _getter in PROPERTIES.items():
    setattr(SparseTensor, _name, property(_getter))
