"""TypedStorage: the legacy view of a storage as elements of one dtype."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..core.device import Device
from ..core.dtype import BY_NAME, DEFAULTS, DType
from ..core.errors import check_int, type_error
from ..core.warn import warn
from ..memory.storage import Storage
from ..memory.untyped import UntypedStorage
from ..operators.invoke import apply
from ..operators.tensor_data import tensor
from ..tensor.tensor import make_tensor
from ..tensor.tensor_meta import contiguous_meta

_WARNED: list[None] = []


class TypedStorage:
    """A storage seen as elements of `dtype`: ``TypedStorage(size)``, ``TypedStorage(sequence)`` or of `wrap_storage`.

    Without `dtype` the default dtype is used. Deprecated: the first one in a process warns. Raises RuntimeError for
    more than one of size, sequence and `wrap_storage`.

    Source: torch.storage.TypedStorage.
    """

    def __init__(
        self, *args: Any, wrap_storage: UntypedStorage | None = None, dtype: DType | None = None, device: Any = None
    ) -> None:
        if not _WARNED:
            _WARNED.append(None)
            warn("TypedStorage is deprecated. Use UntypedStorage, tensor.untyped_storage()")
        self.dtype: DType = dtype or DEFAULTS.dtype
        if len(args) > (0 if wrap_storage is not None else 1):
            raise RuntimeError(f"TypedStorage(): takes one size or sequence, or wrap_storage, got {len(args)}")
        if wrap_storage is not None:
            if not isinstance(wrap_storage, UntypedStorage):
                type_error("TypedStorage", "wrap_storage", wrap_storage, "UntypedStorage")
            self._storage_impl = wrap_storage.storage_impl
        elif args and isinstance(args[0], Sequence):
            self._storage_impl = tensor(list(args[0]), dtype=self.dtype, device=device).storage_impl
        else:
            size = check_int("TypedStorage", "size", args[0]) if args else 0
            self._storage_impl = apply("empty.memory_format", (size,), dtype=self.dtype, device=device).storage_impl

    @classmethod
    def of(cls, storage: Storage, dtype: DType) -> TypedStorage:
        """Return an existing storage as elements of `dtype`."""
        return cls(wrap_storage=UntypedStorage.of(storage), dtype=dtype)

    @classmethod
    def without_warning(cls, storage: Storage, dtype: DType) -> TypedStorage:
        """Return an existing storage as elements of `dtype`, without the warning that the class is deprecated."""
        self = cls.__new__(cls)
        self._storage_impl, self.dtype = storage, dtype
        return self

    def _elements(self) -> Any:
        """Return all elements as a 1-D tensor on the storage."""
        meta = contiguous_meta((self.size(),), self.dtype, self._storage_impl.device)
        return make_tensor(meta, self._storage_impl, 0, None)

    def untyped(self) -> UntypedStorage:
        """Return the same storage without a dtype."""
        return UntypedStorage.of(self._storage_impl)

    @property
    def device(self) -> Device:
        """Return the device of the storage."""
        return self._storage_impl.device

    @property
    def is_cuda(self) -> bool:
        """Return whether the storage is on a CUDA device."""
        return self._storage_impl.device.type == "cuda"

    @property
    def _cdata(self) -> int:
        return id(self._storage_impl)

    def size(self) -> int:
        """Return the number of elements."""
        return self._storage_impl.nbytes // self.dtype.itemsize

    __len__ = size

    def nbytes(self) -> int:
        """Return the size in bytes."""
        return self._storage_impl.nbytes

    def element_size(self) -> int:
        """Return the size of one element in bytes."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        return self._storage_impl.pointer

    def tolist(self) -> list[Any]:
        """Return the elements as Python numbers."""
        return list(self._elements().tolist())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._elements()[self._place(index)].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements()[index if isinstance(index, slice) else self._place(index)] = value

    def _place(self, index: Any) -> int:
        place, size = check_int("TypedStorage", "index", index), self.size()
        if not -size <= place < size:
            raise IndexError(f"index {place} out of range for storage of size {size}")
        return place

    def fill_(self, value: Any) -> TypedStorage:
        """Set every element to `value`, and return self."""
        self._elements().fill_(value)
        return self

    def copy_(self, source: TypedStorage) -> TypedStorage:
        """Copy the elements of another storage of the same size, and return self."""
        if not isinstance(source, TypedStorage):
            type_error("copy_", "source", source, "TypedStorage")
        self._elements().copy_(source._elements())
        return self

    def resize_(self, size: int) -> TypedStorage:
        """Change the number of elements, and return self."""
        UntypedStorage.of(self._storage_impl).resize_(check_int("resize_", "size", size) * self.dtype.itemsize)
        return self

    def to_dtype(self, dtype: DType) -> TypedStorage:
        """Return the storage converted to `dtype`; self if it has that dtype."""
        return self if dtype is self.dtype else TypedStorage.of(self._elements().to(dtype).storage_impl, dtype)

    def clone(self) -> TypedStorage:
        """Return a copy of the storage."""
        return TypedStorage.of(self._elements().clone().storage_impl, self.dtype)

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> TypedStorage:
        return self.clone()

    def cpu(self) -> TypedStorage:
        """Return the storage on the CPU; self if it is there."""
        return TypedStorage.of(self._elements().cpu().storage_impl, self.dtype)

    def is_shared(self) -> bool:
        """Return whether the storage lies in memory that other processes can map."""
        return bool(self.untyped().is_shared())  # type: ignore[attr-defined]

    def share_memory_(self) -> TypedStorage:
        """Move the storage to memory that other processes can map, and return self."""
        self.untyped().share_memory_()  # type: ignore[attr-defined]
        return self

    def __repr__(self) -> str:
        lines = "".join(f" {one}\n" for one in self.tolist()) if self._storage_impl.device.type != "meta" else "...\n"
        shown = f"gaugeblock.TypedStorage(dtype={self.dtype}, device={self.device}) of size {self.size()}"
        return f"{lines}[{shown}]"


CONVERSIONS = {
    "bool": "bool", "byte": "uint8", "char": "int8", "short": "int16", "int": "int32", "long": "int64",
    "half": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float64",
    "complex_float": "complex64", "complex_double": "complex128",
}  # fmt: skip
"""Method of a storage -> the dtype that it converts the elements to."""


def _conversion(name: str, dtype: DType) -> Any:
    def convert(self: TypedStorage) -> TypedStorage:
        return self.to_dtype(dtype)

    convert.__name__, convert.__qualname__ = name, f"TypedStorage.{name}"
    convert.__doc__ = f"Return the storage converted to {dtype.name}; self if it has that dtype."
    return convert


for _name, _dtype in CONVERSIONS.items():
    setattr(TypedStorage, _name, _conversion(_name, BY_NAME[_dtype]))


def is_storage(obj: object) -> bool:
    """Return whether `obj` is a storage, typed or untyped. Source: torch.is_storage."""
    return isinstance(obj, (TypedStorage, UntypedStorage))
