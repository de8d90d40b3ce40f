"""The calls of NVIDIA's driver library that CuPy has no names for: virtual memory, and streams with priorities.

CuPy has got streams with priorities in its version 14.
"""

from __future__ import annotations

import ctypes
from typing import Any

from .protocol import DriverError, DriverOutOfMemory

LIBRARY = "libcuda.so.1"
_OUT_OF_MEMORY = 2
_PINNED = 1
_ON_DEVICE = 1
_READ_WRITE = 3
_MINIMUM = 0
_NON_BLOCKING = 1

_U64 = ctypes.c_ulonglong
_SIZE = ctypes.c_size_t
_POINTER = ctypes.c_void_p
FUNCTIONS: dict[str, tuple[type, ...]] = {
    "cuGetErrorName": (ctypes.c_int, _POINTER),
    "cuCtxGetStreamPriorityRange": (_POINTER, _POINTER),
    "cuStreamCreateWithPriority": (_POINTER, ctypes.c_uint, ctypes.c_int),
    "cuMemGetAllocationGranularity": (_POINTER, _POINTER, ctypes.c_int),
    "cuMemAddressReserve": (_POINTER, _SIZE, _SIZE, _U64, _U64),
    "cuMemAddressFree": (_U64, _SIZE),
    "cuMemCreate": (_POINTER, _SIZE, _POINTER, _U64),
    "cuMemRelease": (_U64,),
    "cuMemMap": (_U64, _SIZE, _SIZE, _U64, _U64),
    "cuMemSetAccess": (_U64, _SIZE, _POINTER, _SIZE),
    "cuMemUnmap": (_U64, _SIZE),
}


class Location(ctypes.Structure):
    """The place of memory: on the device of that index."""

    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class AllocationProperties(ctypes.Structure):
    """The memory that is asked for; the last fields, for other systems and compression, stay zero."""

    _fields_ = (
        ("type", ctypes.c_int), ("handle_types", ctypes.c_int), ("location", Location), ("windows", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )  # fmt: skip


class AccessDescription(ctypes.Structure):
    """Who may use mapped memory."""

    _fields_ = (("location", Location), ("flags", ctypes.c_int))


class CudaLibrary:
    """The driver library; every call wants a current context on its thread. `load` opens it, by default libcuda."""

    def __init__(self, load: Any = ctypes.CDLL) -> None:
        try:
            library = load(LIBRARY)
        except OSError as error:
            raise DriverError(f"the CUDA driver library cannot be opened: {error}", "cudaErrorNoDevice") from error
        self._functions: dict[str, Any] = {}
        for name, types in FUNCTIONS.items():
            function = getattr(library, name)
            function.argtypes = types
            function.restype = ctypes.c_int
            self._functions[name] = function

    def _call(self, name: str, *arguments: Any) -> None:
        status = self._functions[name](*arguments)
        if status == _OUT_OF_MEMORY:
            raise DriverOutOfMemory(f"{name} finds no memory")
        if status:
            text = ctypes.c_char_p()
            self._functions["cuGetErrorName"](status, ctypes.byref(text))
            code = (text.value or b"%d" % status).decode()
            raise DriverError(f"{name} gives {code}", code)

    def _made(self, name: str, kind: type[Any], *arguments: Any) -> int:
        """Return the number that a function writes to its first argument."""
        found = kind()
        self._call(name, ctypes.byref(found), *arguments)
        return int(found.value)

    @staticmethod
    def _properties(device: int) -> AllocationProperties:
        return AllocationProperties(type=_PINNED, location=Location(_ON_DEVICE, device))

    def priority_range(self) -> tuple[int, int]:
        """The lowest and the highest priority of streams on the current device."""
        lowest, highest = ctypes.c_int(), ctypes.c_int()
        self._call("cuCtxGetStreamPriorityRange", ctypes.byref(lowest), ctypes.byref(highest))
        return lowest.value, highest.value

    def create_stream(self, priority: int) -> int:
        """A new stream of the current device that does not wait for the default stream."""
        return self._made("cuStreamCreateWithPriority", _U64, _NON_BLOCKING, priority)

    def granularity(self, device: int) -> int:
        """Return the bytes that sizes and addresses are multiples of."""
        properties = ctypes.byref(self._properties(device))
        return self._made("cuMemGetAllocationGranularity", _SIZE, properties, _MINIMUM)

    def reserve(self, size: int) -> int:
        """The address of a range without memory."""
        return self._made("cuMemAddressReserve", _U64, size, 0, 0, 0)

    def unreserve(self, address: int, size: int) -> None:
        """Give a range back."""
        self._call("cuMemAddressFree", address, size)

    def create(self, device: int, size: int) -> int:
        """The handle of memory without address."""
        return self._made("cuMemCreate", _U64, size, ctypes.byref(self._properties(device)), 0)

    def release(self, handle: int) -> None:
        """Forget a handle."""
        self._call("cuMemRelease", handle)

    def map(self, device: int, address: int, size: int, handle: int) -> None:
        """Put memory at an address, readable and writable by its device."""
        self._call("cuMemMap", address, size, 0, handle, 0)
        access = AccessDescription(Location(_ON_DEVICE, device), _READ_WRITE)
        try:
            self._call("cuMemSetAccess", address, size, ctypes.byref(access), 1)
        except DriverError:
            self._call("cuMemUnmap", address, size)
            raise

    def unmap(self, address: int, size: int) -> None:
        """Take away whole mappings."""
        self._call("cuMemUnmap", address, size)
