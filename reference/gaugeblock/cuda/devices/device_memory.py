"""The memory of one device as storages take it: blocks of its caching allocator, bytes in and out in stream order."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from ..allocator.caching_allocator import CachingAllocator
from ..streams import current_handle

if TYPE_CHECKING:
    from ..driver.protocol import Driver


class DeviceMemory:
    """Blocks belong to the stream that is the current one of the device when they are asked for."""

    def __init__(self, driver: Driver, index: int, config: str = "") -> None:
        self.driver = driver
        self.index = index
        self.allocator = CachingAllocator(driver, index, config)

    def allocate(self, nbytes: int) -> int:
        """The address of `nbytes` fresh bytes. Raises OutOfMemoryError."""
        return self.allocator.malloc(nbytes, current_handle(self.index))

    def free(self, address: int, nbytes: int) -> None:
        """Give a block back; work that is on its stream may still use it."""
        self.allocator.free(address)

    def read(self, address: int, nbytes: int) -> bytes:
        """A copy of bytes, as they are when the current stream is done with what it has now."""
        buffer = ctypes.create_string_buffer(nbytes)
        stream = current_handle(self.index)
        self.driver.memcpy(self.index, ctypes.addressof(buffer), address, nbytes, "d2h", stream)
        self.driver.stream_synchronize(self.index, stream)
        return buffer.raw

    def write(self, address: int, data: bytes) -> None:
        """Store bytes, after what the current stream has now."""
        buffer = ctypes.create_string_buffer(data, len(data))
        stream = current_handle(self.index)
        self.driver.memcpy(self.index, address, ctypes.addressof(buffer), len(data), "h2d", stream)
        self.driver.stream_synchronize(self.index, stream)

    def move(self, destination: int, source: int, nbytes: int) -> None:
        """Copy bytes within the device, in the order of the current stream."""
        self.driver.memcpy(self.index, destination, source, nbytes, "d2d", current_handle(self.index))
