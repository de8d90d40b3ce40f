"""Accessors: typed element access for kernel writers; dtype and number of dims are checked once, strides always apply.

`accessor(t, float32, 2)` reads and writes elements, `a[i, j]`, or gives the accessor of a row, `a[i]`. A packed
accessor holds address, sizes and strides by value: it can be handed to code that cannot follow references. Access to
an element is not checked: indices lie in [0, size).
"""

from __future__ import annotations

from ctypes import memmove
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, Any

from ..core.device import cpu
from ..core.dtype import DType
from ..core.rounding import ROUNDED_HERE
from ..iteration.dimensions import fits_32bit
from ..memory.elements import pack_element, read_element, write_element

if TYPE_CHECKING:
    from ..tensor.tensor import Tensor

INDEX_BITS = (32, 64)
_PLAIN = frozenset({"bool", "int", "float"})


@dataclass(slots=True, eq=False, repr=False)
class PackedAccessor:
    """Address, sizes and strides (elements) of a tensor by value; it does not keep the memory alive."""

    pointer: int
    dtype: DType
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    index_bits: int = 64
    storage: Any = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.dtype.name} {list(self.sizes)} strides {list(self.strides)}>"

    @property
    def ndim(self) -> int:
        """Number of dims."""
        return len(self.sizes)

    def size(self, dim: int) -> int:
        """Elements along a dim."""
        return self.sizes[dim]

    def stride(self, dim: int) -> int:
        """Elements in memory from one index to the next along a dim."""
        return self.strides[dim]

    def address(self, *indices: int) -> int:
        """The address of an element, or of the first element behind leading indices."""
        offset = sum([index * stride for index, stride in zip(indices, self.strides, strict=False)])
        return self.pointer + offset * self.dtype.itemsize

    def __getitem__(self, index: int | tuple[int, ...]) -> Any:
        indices = index if isinstance(index, tuple) else (index,)
        place = self.address(*indices)
        if len(indices) == len(self.sizes):
            return read_element(place, self.dtype)
        depth = len(indices)
        return type(self)(place, self.dtype, self.sizes[depth:], self.strides[depth:], self.index_bits, self.storage)

    def __setitem__(self, index: int | tuple[int, ...], value: Any) -> None:
        indices = index if isinstance(index, tuple) else (index,)
        if len(indices) != len(self.sizes):
            raise TypeError(f"an element has {len(self.sizes)} indices, got {len(indices)}")
        place = self.address(*indices)
        if self.dtype.category in _PLAIN and self.dtype not in ROUNDED_HERE:
            memmove(place, pack_element(self.dtype, value), self.dtype.itemsize)
        else:
            write_element(place, self.dtype, value)

    def to_bytes(self) -> bytes:
        """Address (8 bytes), sizes and strides (`index_bits` each), in the machine's order: a kernel's parameter."""
        code = "i" if self.index_bits == 32 else "q"
        layout = Struct(f"=Q{2 * len(self.sizes)}{code}")
        return layout.pack(self.pointer, *self.sizes, *self.strides)


class TensorAccessor(PackedAccessor):
    """A packed accessor that keeps the tensor's memory alive by its storage."""

    __slots__ = ()


def accessor(tensor: Tensor, dtype: DType, ndim: int, *, index_bits: int = 64) -> TensorAccessor:
    """The accessor of a tensor with this dtype and number of dims.

    Raises RuntimeError for another dtype or number of dims, for a tensor without data, one that is lazily conjugate
    or negative, and with index_bits=32 for one whose elements or byte offsets 32 bits cannot count.
    """
    _check("accessor", tensor, dtype, ndim, index_bits)
    meta = tensor.meta
    return TensorAccessor(tensor.pointer, dtype, meta.sizes, meta.strides, index_bits, tensor.storage_impl)


def packed_accessor(tensor: Tensor, dtype: DType, ndim: int, *, index_bits: int = 64) -> PackedAccessor:
    """As accessor, by value: the caller keeps the tensor's memory alive. Raises RuntimeError as accessor."""
    _check("packed_accessor", tensor, dtype, ndim, index_bits)
    meta = tensor.meta
    return PackedAccessor(tensor.pointer, dtype, meta.sizes, meta.strides, index_bits)


def _check(function: str, tensor: Tensor, dtype: DType, ndim: int, index_bits: int) -> None:
    meta = tensor.meta
    if index_bits not in INDEX_BITS:
        raise RuntimeError(f"{function}(): argument 'index_bits' must be 32 or 64, got {index_bits!r}")
    if meta.dtype is not dtype:
        raise RuntimeError(f"{function}(): expected a tensor of dtype {dtype.name} but got {meta.dtype.name}")
    if meta.ndim != ndim:
        raise RuntimeError(f"{function}(): expected a tensor with {ndim} dims but got {meta.ndim}")
    if meta.device is not cpu:
        raise RuntimeError(f"{function}(): a tensor on device '{meta.device}' has no memory to access")
    if meta.lazy:
        raise RuntimeError(f"{function}(): the tensor is lazily conjugate or negative: resolve it first")
    if index_bits == 32 and not fits_32bit(meta.sizes, [meta.byte_strides]):
        raise RuntimeError(
            f"{function}(): 32-bit indices cannot reach every byte of a {dtype.name} tensor of size "
            f"{list(meta.sizes)} with strides {list(meta.strides)}"
        )
