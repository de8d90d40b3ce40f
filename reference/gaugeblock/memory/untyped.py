"""UntypedStorage: the public handle of a storage."""

from __future__ import annotations

from collections.abc import Iterator

from ..core.device import Device, as_device, cpu
from ..core.errors import check_int, type_error, value_error
from .storage import Storage, allocate_storage, read_device, resize_storage, write_device


def _byte(operator: str, value: int) -> bytes:
    number = check_int(operator, "value", value)
    if not 0 <= number <= 255:
        value_error(operator, "value", value, "in [0, 255]")
    return bytes([number])


class UntypedStorage:
    """Bytes shared by tensors: ``UntypedStorage(nbytes)`` allocates, ``x.untyped_storage()`` gives a tensor's. Handles
    of one storage are equal and hash alike."""

    __slots__ = ("storage_impl",)

    storage: Storage

    def __init__(self, nbytes: int = 0, *, device: Device | str | None = None) -> None:
        self.storage_impl = allocate_storage(check_int("UntypedStorage", "nbytes", nbytes), as_device(device))

    @classmethod
    def of(cls, storage: Storage) -> UntypedStorage:
        """The handle of an existing storage."""
        self = cls.__new__(cls)
        self.storage_impl = storage
        return self

    def nbytes(self) -> int:
        """The size in bytes."""
        return self.storage_impl.nbytes

    def size(self) -> int:
        """The size in bytes."""
        return self.storage_impl.nbytes

    def element_size(self) -> int:
        """Always 1."""
        return 1

    def data_ptr(self) -> int:
        """The address of the first byte; 0 when there is none."""
        return self.storage_impl.pointer

    @property
    def device(self) -> Device:
        """Return where the bytes are."""
        return self.storage_impl.device

    def resizable(self) -> bool:
        """Return whether resize_ may be called."""
        return bool(self.storage_impl.resizable)

    def resize_(self, size: int) -> UntypedStorage:
        """Change the size to `size` bytes, old bytes kept as far as they fit, and return self. Tensors that no longer
        fit raise RuntimeError when read. Raises RuntimeError when not resizable."""
        resize_storage(self.storage_impl, check_int("resize_", "size", size))
        return self

    def fill_(self, value: int) -> UntypedStorage:
        """Set every byte to `value` and return self."""
        self._check_data("fill_")
        byte = _byte("fill_", value)
        storage = self.storage_impl
        pointer, nbytes = storage.pointer, storage.nbytes  # read together: other threads may resize it
        write_device(storage.device, pointer, byte * nbytes)
        return self

    def copy_(self, source: UntypedStorage) -> UntypedStorage:
        """Copy the bytes of an equally long `source` and return self. Raises RuntimeError for other lengths."""
        if not isinstance(source, UntypedStorage):
            type_error("copy_", "source", source, "UntypedStorage")
        data = bytes(source)
        # Read together: other threads may resize it.
        pointer, nbytes = self.storage_impl.pointer, self.storage_impl.nbytes
        if len(data) != nbytes:
            raise RuntimeError(f"copy_(): sizes differ, {nbytes} and {len(data)} bytes")
        write_device(self.device, pointer, data)
        return self

    def clone(self) -> UntypedStorage:
        """A storage of its own with the same bytes."""
        return UntypedStorage(self.nbytes(), device=self.device).copy_(self)

    def tolist(self) -> list[int]:
        """The bytes as ints."""
        return list(bytes(self))

    def _check_data(self, operator: str) -> None:
        storage = self.storage_impl
        if storage.device is not cpu and storage.nbytes and storage.allocator is None:
            raise NotImplementedError(f"{operator}(): a storage on {storage.device} has no data")

    def __bytes__(self) -> bytes:
        self._check_data("__bytes__")
        storage = self.storage_impl
        return read_device(storage.device, storage.pointer, storage.nbytes)

    def __len__(self) -> int:
        return self.storage_impl.nbytes

    def __getitem__(self, index: int) -> int:
        self._check_data("__getitem__")
        return read_device(self.device, self._address("__getitem__", index), 1)[0]

    def __setitem__(self, index: int, value: int) -> None:
        self._check_data("__setitem__")
        write_device(self.device, self._address("__setitem__", index), _byte("__setitem__", value))

    def _address(self, operator: str, index: int) -> int:
        place = check_int(operator, "index", index)
        size = self.storage_impl.nbytes
        if not -size <= place < size:
            raise IndexError(f"{operator}(): index {place} out of range for storage of size {size}")
        return self.storage_impl.pointer + place % size

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other.storage_impl is self.storage_impl

    def __hash__(self) -> int:
        return hash(self.storage_impl)

    @property
    def _cdata(self) -> int:
        return id(self.storage_impl)

    def __repr__(self) -> str:
        return f"gaugeblock.UntypedStorage(device={self.device}) of size {self.nbytes()}"
